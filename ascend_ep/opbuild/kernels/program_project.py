"""A folder with a program that launches its kernels, and the scripts beside it: one that makes its data, one
that checks what it wrote. run.sh says their arguments, where there is one."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.cann.soc import Soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.cpp import linked

from .launch_functions import with_launched
from .project_files import SUFFIXES
from .sources import Sources, is_program
from .units import source_program_units

#: Folders that a program reads from and writes to, as its run.sh makes them.
DATA_FOLDERS = ("input", "output")
#: Modules for Python beside a program: not of its own sources.
_BINDS = re.compile(r"\bPYBIND11_MODULE\b|#\s*include\s*<(?:torch|pybind11)/")
_SCRIPT_LINE = re.compile(r"\bpython3?\s+(?P<script>[^\s;|&`)]+\.py)(?P<rest>[^;|&`)\n]*)")
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?(\w+)=[\"']?([\w./-]+)[\"']?\s*$", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_CHECKS = re.compile(r"verif|check|compare", re.IGNORECASE)
_MAKES = re.compile(r"gen", re.IGNORECASE)
_BAD = re.compile(r"\[ERROR\]|result error|\bfail(?:s|ed|ure)?\b|\bmismatch", re.IGNORECASE)


@dataclass(frozen=True)
class Script:
    """A Python script and its arguments; those that only the command line of run.sh knows are None."""

    path: Path
    arguments: tuple[str | None, ...] = ()

    def words(self, given: Sequence[str]) -> list[str]:
        """Its arguments, with the program's own where run.sh passes these on."""
        rest = list(given)
        found = (a if a is not None else rest.pop(0) if rest else None for a in self.arguments)
        return [a for a in found if a is not None]


@dataclass(frozen=True)
class ProgramProject:
    """sources: the file with the main function first."""

    folder: Path
    sources: tuple[Path, ...]
    makes: tuple[Script, ...] = ()
    checks: tuple[Script, ...] = ()

    @property
    def makes_goldens(self) -> bool:
        """Whether golden files are made that no script compares."""
        return not self.checks and any("golden" in _text(s.path) for s in self.makes)


def find_program(folder: Path) -> ProgramProject | None:
    """The program of a folder; None where none of its own files has a main function. Raises AscendError
    E43202 where several have one and none is main."""
    folder = folder.resolve()
    files = [p for p in sorted(folder.glob("*")) if p.suffix in SUFFIXES and p.is_file()]
    mains = [p for p in files if is_program([p])]
    if not mains:
        return None
    main = next((p for p in mains if p.stem == "main"), mains[0])
    if len(mains) > 1 and main.stem != "main":
        names = ", ".join(p.name for p in mains)
        fix = "Name the files of one program."
        raise AscendError("E43202", folder, f"{names} have a main function each", fix=fix)
    others = [p for p in files if p not in mains and not _BINDS.search(_text(p))]
    scripts = _scripts(folder)
    checks = tuple(s for s in scripts if _CHECKS.search(s.path.stem))
    return ProgramProject(
        folder, (main, *others), tuple(s for s in scripts if s not in checks), checks or _lone_check(folder)
    )


def _scripts(folder: Path) -> list[Script]:
    """The scripts that run.sh runs, in order; without it, the folder's own gen_data.py."""
    run = folder / "run.sh"
    if run.is_file():
        text = re.sub(r"^\s*#.*", "", _text(run), flags=re.MULTILINE)
        known = {"CURRENT_DIR": str(folder), "PWD": str(folder), **dict(_ASSIGNED.findall(text))}
        found = (_script(folder, m, known) for m in _SCRIPT_LINE.finditer(text))
        if scripts := list(dict.fromkeys(s for s in found if s is not None)):
            return scripts
    places = [p for p in (folder / "scripts", folder) if p.is_dir()]
    makers = [p for place in places for p in sorted(place.glob("*.py")) if _MAKES.search(p.stem)]
    return [Script(p) for p in makers[:1]]


def _script(folder: Path, line: re.Match[str], known: Mapping[str, str]) -> Script | None:
    named = _filled(line["script"], known)
    path = folder / named if named is not None else _only(folder, line["script"])
    if path is None or not path.is_file():
        return None
    return Script(path.resolve(), tuple(_filled(w, known) for w in line["rest"].split()))


def _only(folder: Path, script: str) -> Path | None:
    """The one file that a script's name fits, whose variables only the command line of run.sh knows."""
    pattern = _VARIABLE.sub("*", script).strip("\"'").removeprefix("./")
    found = [] if pattern.startswith(("/", "*/")) else sorted(folder.glob(pattern))
    return found[0] if len(found) == 1 else None


def _filled(word: str, known: Mapping[str, str]) -> str | None:
    """A word of a shell's line; None where it has a variable that is not known."""
    names = _VARIABLE.findall(word)
    if any(n not in known for n in names):
        return None
    return _VARIABLE.sub(lambda m: known[m[1]], word).strip("\"'")


def _lone_check(folder: Path) -> tuple[Script, ...]:
    """verify_result.py that no run.sh names: run_script gives it what was written."""
    for place in (folder / "scripts", folder):
        found = [p for p in sorted(place.glob("*.py")) if _CHECKS.search(p.stem)] if place.is_dir() else []
        if found:
            return (Script(found[0]),)
    return ()


def program_of(
    project: ProgramProject, included: Sequence[Path], is_checked: bool, soc: Soc
) -> tuple[list[Path], Path]:
    """Its files, with those of kernels that it launches, and the program that they make. Raises AscendError
    E43001 and E43002."""
    named = tuple(f.resolve() for f in project.sources)
    folders = Sources(named, included=tuple(included)).folders
    paths = with_launched(named, folders)
    units = source_program_units(paths, folders, is_checked, soc)
    return paths, linked(units, "run", libraries=["ascendcl"])


def run_script(project: ProgramProject, script: Script, given: Sequence[str], seconds: float) -> str:
    """Runs it in the project's folder; what it prints. Raises AscendError E43206."""
    words = script.words(given)
    if script in project.checks and not words:
        written = sorted((project.folder / "output").glob("*.bin"))
        words = [str(p) for p in sorted(written, key=lambda p: "golden" in p.name)]
    about = script.path.name
    try:
        ended = subprocess.run(
            [sys.executable, str(script.path), *words],
            cwd=project.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=seconds, check=False, preexec_fn=_without_core,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise AscendError("E43206", about, f"it ran longer than {seconds:g} s and was stopped") from error
    said = ended.stdout.decode("utf-8", "replace")
    if ended.returncode:
        fix = "Correct the script, or give what run.sh passes on by --program_args."
        lines = said.splitlines()[-4:]
        raise AscendError("E43206", about, f"with status {ended.returncode}", fix=fix, details=lines)
    return said


def refused_by(said: str) -> str:
    """The line by which a check says that it failed, whose status may be 0 all the same; "" without one."""
    return next((line.strip() for line in said.splitlines() if _BAD.search(line)), "")


def _without_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
