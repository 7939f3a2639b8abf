"""Projects of others whose operator a program calls as aclnn<Op>: built by their own build.sh, installed, and
run by the program's own run.sh, each in a toolkit's folder of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.cli.toolkit import make
from ascend_ep.opbuild.kernels.program_project import DATA_FOLDERS, refused_by

from .comparing import Compared
from .found import KernelFile, left_for_licence

BUILD_SECONDS, RUN_SECONDS = 1200, 600
_CALLED = re.compile(r'#\s*include\s*[<"]aclnn_\w+\.h[>"]')
_CHECK = re.compile(r"\w*(?:verif|check|compare)\w*\.py", re.IGNORECASE)


@dataclass(frozen=True)
class AclnnProject:
    """operator: has op_host, op_kernel and build.sh. program: has run.sh, which calls it and checks."""

    operator: Path
    program: Path

    @property
    def kernel(self) -> Path:
        return sorted((self.operator / "op_kernel").glob("*.cpp"))[0]


def aclnn_projects_of(folder: Path, licences: Sequence[str]) -> list[AclnnProject]:
    """Operators with a program beside them that calls them and checks what it gets."""
    found = []
    for build in sorted(folder.resolve().rglob("build.sh")):
        operator = build.parent
        kernels = sorted((operator / "op_kernel").glob("*.cpp"))
        if not kernels or not (operator / "op_host").is_dir():
            continue
        if any(left_for_licence(p, licences) for p in (*kernels, *(operator / "op_host").glob("*.cpp"))):
            continue
        found += [
            AclnnProject(operator, run.parent)
            for run in sorted(operator.parent.glob("*/run.sh"))
            if run.parent != operator and _calls(run.parent) and _CHECK.search(_text(run))
        ]
    return found


def _calls(program: Path) -> bool:
    return any(_CALLED.search(_text(p)) for p in (*program.glob("*.cpp"), *program.glob("src/*.cpp")))


def run_aclnn_project(project: AclnnProject, soc: str) -> Compared:
    """What the program's own check says, of copies of both folders."""
    file = KernelFile(project.kernel, (), True)
    case = project.program.name
    with tempfile.TemporaryDirectory(prefix="kernel-aclnn-") as work:
        root = Path(work) / "sample"
        root.mkdir()
        for part in (project.operator, project.program):
            shutil.copytree(
                part, root / part.name, ignore=shutil.ignore_patterns("build_out", "build", ".git")
            )
        for name in DATA_FOLDERS:  # git keeps no empty folder
            (root / case / name).mkdir(exist_ok=True)
        toolkit = make(Path(work) / "cann")
        operator = root / project.operator.name
        _name_toolkit(operator, toolkit)
        steps = (
            (operator, "bash build.sh", BUILD_SECONDS),
            (operator, "./build_out/custom_opp*.run --quiet", 60),
        )
        for folder, line, seconds in (*steps, (root / case, "bash run.sh", RUN_SECONDS)):
            said, status = _run(folder, line, toolkit, soc, seconds)
            if status:
                return Compared(file, case, "no run", f"{line}: {' '.join(said.split())[-240:]}")
        refusal = refused_by(said)
        return Compared(file, case, "differs" if refusal else "right", refusal)


def _name_toolkit(operator: Path, toolkit: Path) -> None:
    """What its README asks for: the toolkit's folder in the presets, and scripts that may be run."""
    presets = operator / "CMakePresets.json"
    if presets.is_file():
        content = json.loads(_text(presets))
        for preset in content.get("configurePresets", []):
            variable = preset.get("cacheVariables", {}).get("ASCEND_CANN_PACKAGE_PATH")
            if isinstance(variable, dict):
                variable["value"] = str(toolkit)
        presets.write_text(json.dumps(content, indent=4), encoding="utf-8")
    for script in operator.rglob("*"):
        if script.suffix in (".sh", ".py") and script.is_file():
            script.chmod(0o755)


def _run(folder: Path, line: str, toolkit: Path, soc: str, seconds: float) -> tuple[str, int]:
    """What a line of shell prints in the toolkit's environment, and its status."""
    environment = {**os.environ, "ASCEND_INSTALL_PATH": str(toolkit), "ASCEND_HOME_DIR": str(toolkit)}
    environment["ASCEND_EP_SOC_VERSION"] = soc
    script = f". {shlex.quote(str(toolkit / 'set_env.sh'))} && {line}"
    try:
        done = subprocess.run(
            ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it ran longer than {seconds:g} s", 1
    return done.stdout.decode("utf-8", "replace"), done.returncode


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
