"""Libraries that programs of the same repository link, such as acllite: built and installed once."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS = 600


@dataclass(frozen=True)
class Library:
    """`source` is its folder, `prefix` where its Makefile installed it; `reason` says why it didn't."""

    source: Path
    prefix: Path
    reason: str = ""


def build_all(folder: Path, work: Path, environment: dict[str, str]) -> list[Library]:
    """Each folder whose Makefile links a shared library with AscendCL and installs it in THIRDPART_PATH."""
    made = []
    for makefile in sorted(folder.rglob("Makefile")):
        text = makefile.read_text(errors="replace")
        if re.search(r"-shared\b", text) and "ascendcl" in text and "THIRDPART_PATH" in text:
            made.append(_build(makefile.parent, work / f"library_{len(made)}", environment))
    return made


def _build(source: Path, place: Path, environment: dict[str, str]) -> Library:
    """What was tried in this work folder before is not tried again."""
    prefix, outcome = place / "thirdpart", place / "outcome"
    if not outcome.exists():
        found = _try(source, place, environment)
        outcome.write_text(found)
    return Library(source, prefix, outcome.read_text())


def _try(source: Path, place: Path, environment: dict[str, str]) -> str:
    """Why it can't be built, or ""."""
    prefix = place / "thirdpart"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place / "source")
    prefix.mkdir()
    made = {**environment, "THIRDPART_PATH": str(prefix)}
    try:
        for goal in ("all", "install"):
            subprocess.run(
                ["make", "-j2", goal],
                cwd=place / "source",
                env=made,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=True,
            )
    except subprocess.CalledProcessError as error:
        found = re.search(r"error: (.*)", error.stderr)
        return found.group(1)[:120] if found else error.stderr.strip()[-120:]
    except subprocess.TimeoutExpired:
        return "the build took too long"
    return ""


def nearest(libraries: list[Library], root: Path) -> Library | None:
    """The library that lies closest to a program in the repository, of those that were built."""

    def shared(library: Library) -> int:
        pairs = zip(library.source.parts, root.parts, strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(root.parts))

    return max((x for x in libraries if not x.reason), key=shared, default=None)
