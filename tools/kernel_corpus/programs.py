"""Programs of others that launch their kernels: run as `ascend-op run FOLDER` does it, and checked by the
scripts beside them."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ascend_ep.cann.soc import Soc
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.program_process import run_source_program
from ascend_ep.opbuild.kernels.golden_files import compared_goldens
from ascend_ep.opbuild.kernels.launch_functions import launched
from ascend_ep.opbuild.kernels.launches import has_launches
from ascend_ep.opbuild.kernels.program_project import (
    DATA_FOLDERS,
    ProgramProject,
    find_program,
    program_of,
    refused_by,
    run_script,
)

from .comparing import Compared
from .found import KernelFile, left_for_licence

SECONDS = 240
_CASE = re.compile(r"==\s*[\"'](\w+)[\"']")


def programs_of(folder: Path, licences: Sequence[str]) -> list[ProgramProject]:
    """Programs in the folders of a folder that launch kernels and have a script which checks their output, or
    makes golden files."""
    found = []
    for place in sorted({p.parent for p in folder.resolve().rglob("*.cpp")}):
        try:
            project = find_program(place)
        except AscendError:
            continue
        if project is None or not (project.checks or project.makes_goldens):
            continue
        is_left = any(left_for_licence(p, licences) for p in project.sources)
        if not is_left and any(_launches(p) for p in project.sources):
            found.append(project)
    return found


def _launches(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return "ICPU_RUN_KF" in text or has_launches(text) or bool(launched(path, (path.parent,)))


def run_project(project: ProgramProject, soc: Soc) -> Compared:
    """What its own check says, of a copy of its folder."""
    file = KernelFile(project.sources[0], (), True)
    words = _words(project)
    with tempfile.TemporaryDirectory(prefix="kernel-program-") as work:
        try:
            _, program = program_of(project, (), True, soc)
            copied = _copied(project, Path(work))
            for script in copied.makes:
                run_script(copied, script, words, SECONDS)
            run_source_program(program, file.path.name, soc.name, SECONDS, words, copied.folder)
            for script in copied.checks:
                if refusal := refused_by(run_script(copied, script, words, SECONDS)):
                    return Compared(file, script.path.name, "differs", refusal)
            if project.makes_goldens:
                return _by_goldens(file, copied.folder)
        except AscendError as error:
            outcome = "fault" if error.code == "E43201" else "no run"
            return Compared(file, "program", outcome, " ".join(error.line.split())[:240])
    return Compared(file, "program", "right")


def _by_goldens(file: KernelFile, folder: Path) -> Compared:
    """What the golden files say that the project's own script made."""
    pairs = compared_goldens(folder)
    if not pairs:
        return Compared(file, "program", "no run", "no written file for each golden one")
    wrong = [f"{p.written.name}: {p.refusal}" for p in pairs if p.refusal]
    return Compared(file, "golden", "differs" if wrong else "right", wrong[0] if wrong else pairs[0].said)


def _copied(project: ProgramProject, work: Path) -> ProgramProject:
    """The project with a copy of its folder, where it may write."""
    shutil.copytree(project.folder, work, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", ".git"))
    for name in DATA_FOLDERS:
        (work / name).mkdir(exist_ok=True)
    makes, checks = (
        tuple(replace(s, path=work / s.path.relative_to(project.folder)) for s in scripts)
        for scripts in (project.makes, project.checks)
    )
    return replace(project, folder=work, makes=makes, checks=checks)


def _words(project: ProgramProject) -> list[str]:
    """The first case that a script knows, where it takes one from its command line."""
    for script in project.makes:
        text = script.path.read_text(encoding="utf-8", errors="replace")
        cases = [word for word in _CASE.findall(text) if word != "__main__"]
        if "sys.argv[1]" in text and cases:
            return cases[:1]
    return []
