"""ascend-atc as ascend-serve runs it: one that builds nothing from sources that lie beside a model, and loads
no libraries from there, since what a repository brings is data."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ascend_ep.cli import atc
from ascend_ep.cli.atc_arguments import UsageError, parse
from ascend_ep.cli.atc_explain import FAILED
from ascend_ep.errors import AscendError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line of ascend-atc and returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _refuse_code(parse(words))
    except UsageError:
        pass  # ascend-atc says it
    except AscendError as error:
        print(atc.FAILURE, atc.failure_text(error), sep="\n")
        return FAILED
    return atc.main(words)


def _refuse_code(given: dict[str, str]) -> None:
    """Raises AscendError E50043 for definitions that name sources or libraries."""
    from ascend_ep.opdef.definition import Library, Source
    from ascend_ep.opdef.library import separate
    from ascend_ep.opdef.loader import load_definitions

    for path in separate(given.get("custom_op_info", "")):
        for opdef in load_definitions(path):
            if isinstance(opdef.semantics, Source | Library):
                raise AscendError(
                    "E50043",
                    opdef.op,
                    "its definition brings native code, which a server doesn't take from its repository.",
                )


if __name__ == "__main__":
    sys.exit(main())
