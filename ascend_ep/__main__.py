"""`python -m ascend_ep COMMAND`: commands without their scripts, as `python -m ascend_ep atc --model=...`."""

from __future__ import annotations

import sys

import _ascend_ep_start

#: Commands of their own; any other is one of ascend-ep's, as `python -m ascend_ep doctor`.
COMMANDS = tuple(name.replace("_", "-") for name in _ascend_ep_start.MODULES if name != "ep")


def main() -> int:
    """Runs the command line of this process and returns its exit status."""
    own = sys.argv[1:2] and sys.argv[1] in COMMANDS
    name = sys.argv.pop(1) if own else "ep"
    sys.argv[0] = f"ascend-{name}"
    status: int = getattr(_ascend_ep_start, name.replace("-", "_"))()
    return status


if __name__ == "__main__":
    sys.exit(main())
