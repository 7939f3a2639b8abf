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
    """Each folder whose Makefile links a shared library with AscendCL and installs it in THIRDPART_PATH.
    Those side by side share it, since one may need another's headers: what fails is tried once more."""
    found = [makefile.parent for makefile in sorted(folder.rglob("Makefile")) if _is_library(makefile)]
    families = sorted({source.parent for source in found})
    made = []
    for source in found:
        place = work / f"library_{families.index(source.parent)}"
        made.append(_build(source, place, environment))
    return [_build(x.source, x.prefix.parent, environment, again=True) if x.reason else x for x in made]


def _is_library(makefile: Path) -> bool:
    text = makefile.read_text(errors="replace")
    return bool(re.search(r"-shared\b", text)) and "THIRDPART_PATH" in text and "install:" in text


def _build(source: Path, place: Path, environment: dict[str, str], again: bool = False) -> Library:
    """What was tried in this work folder before is not tried again."""
    prefix, outcome = place / "thirdpart", place / f"{source.name}{'_again' if again else ''}.outcome"
    if not outcome.exists():
        prefix.mkdir(parents=True, exist_ok=True)
        outcome.write_text(_try(source, place / source.name, prefix, environment))
    return Library(source, prefix, outcome.read_text())


def _try(source: Path, copy: Path, prefix: Path, environment: dict[str, str]) -> str:
    """Why it can't be built, or ""."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(source, copy)
    made = {**environment, "THIRDPART_PATH": str(prefix)}
    try:
        generate_messages(copy, made)
        for goal in ("all", "install"):
            subprocess.run(
                ["make", "-j2", goal],
                cwd=copy,
                env=made,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=True,
            )
    except subprocess.CalledProcessError as error:
        found = re.search(r"error:? (.*)", error.stderr)
        return found.group(1)[:120] if found else error.stderr.strip()[-120:]
    except subprocess.TimeoutExpired:
        return "the build took too long"
    return ""


def generate_messages(folder: Path, environment: dict[str, str]) -> None:
    """The C++ files of protobuf that lie there, by the protoc of this machine: they hold for one version."""
    protoc = environment.get("PROTOC") or shutil.which("protoc", path=environment["PATH"])
    for file in sorted(folder.rglob("*.proto")) if protoc else []:
        if file.with_suffix(".pb.cc").exists():
            command = [str(protoc), f"--proto_path={file.parent}", f"--cpp_out={file.parent}", str(file)]
            subprocess.run(command, env=environment, capture_output=True, timeout=60, check=True)


def nearest(libraries: list[Library], root: Path) -> Library | None:
    """The library that lies closest to a program in the repository, of those that were built."""

    def shared(library: Library) -> int:
        pairs = zip(library.source.parts, root.parts, strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), len(root.parts))

    return max((x for x in libraries if not x.reason), key=shared, default=None)
