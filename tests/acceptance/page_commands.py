"""The commands and programs of a page, run as they stand there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

#: The project's commands, from wherever it is; what is installed already isn't installed again.
PRELUDE = "set -euo pipefail\npip() { :; }\n" + "".join(
    f'{name}() {{ {shlex.quote(sys.executable)} -m {module} "$@"; }}\n'
    for name, module in (
        ("ascend-atc", "ascend_ep.cli.atc"),
        ("ascend-om", "ascend_ep.cli.om"),
        ("ascend-op", "ascend_ep.cli.op"),
        ("ascend-ep", "ascend_ep.cli.ep"),
        ("ascend-serve-load", "ascend_ep.cli.serve_load"),
        ("ascend-prof", "ascend_ep.cli.prof"),
    )
)
#: In the background it takes the place of its shell, so that `kill %1` ends it.
PRELUDE += (
    'ascend-serve() { [ "$BASHPID" = $$ ] || exec '
    f'{shlex.quote(sys.executable)} -m ascend_ep.cli.serve "$@"; }}\n'
)
PRELUDE += f'python() {{ {shlex.quote(sys.executable)} "$@"; }}\n'


def blocks(text: str) -> list[tuple[str, str]]:
    """Kind and text of every command or program of a page."""
    return re.findall(r"^```(sh|python|c|cpp|cmake)\n(.*?)^```", text, re.S | re.M)


def ran(
    folder: Path,
    kind: str,
    text: str,
    prelude: str = PRELUDE,
    python: str = sys.executable,
    seconds: float = 240,
) -> str:
    """What a block prints. It must succeed. What is compiled is only written, to the file that it names
    first. `prelude`: of its shell."""
    if kind in ("c", "cpp", "cmake"):
        (folder / text.split()[1]).write_text(text)
        return ""
    command = ["bash", "-c", prelude + text] if kind == "sh" else [python, "-c", text]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
