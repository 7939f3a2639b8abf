"""A toolkit folder, and programs compiled in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_ep.cli.atc import main as atc
from ascend_ep.cli.toolkit import make

from .operators import Device

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Run:
    status: int
    out: str
    err: str


Runner = Callable[..., Run]


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """On which functions aclnn<Name> are called in this process."""
    made = Device()
    yield made
    made.close()


@pytest.fixture(scope="session")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("toolkit") / "cann")


@pytest.fixture(scope="session")
def build(toolkit: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compiles programs/NAME.c, or .cpp, once, as build files of samples do: against the stub folder."""
    made: dict[str, Path] = {}
    folder = tmp_path_factory.mktemp("programs")

    def compiled(name: str) -> Path:
        if name not in made:
            source = HERE / "programs" / name
            made[name] = folder / source.stem
            compiler = ["g++", "-std=c++11"] if source.suffix == ".cpp" else ["gcc", "-std=c11"]
            command = [*compiler, "-g", "-O1", "-Wall", "-Wextra", str(source), "-o", str(made[name])]
            command += [
                f"-I{toolkit}/runtime/include",
                f"-L{toolkit}/runtime/lib64/stub",
                "-lascendcl",
                "-pthread",
            ]
            subprocess.run([*command, "-Werror"], check=True, timeout=120)
        return made[name]

    return compiled


@pytest.fixture
def run(build: Callable[[str], Path], toolkit: Path) -> Runner:
    """Runs a program with arguments; keywords are environment variables."""

    def ran(name: str, *arguments: object, **environment: str) -> Run:
        env = {**os.environ, "LD_LIBRARY_PATH": f"{toolkit}/lib64", **environment}
        command = [str(build(name)), *map(str, arguments)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
        return Run(done.returncode, done.stdout, done.stderr)

    return ran


@pytest.fixture(scope="session")
def convert(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A bundle of a model in ONNX's text form, converted with these flags."""
    import onnx

    folder = tmp_path_factory.mktemp("models")
    count = 0

    def converted(text: str, *flags: str) -> Path:
        nonlocal count
        count += 1
        source, target = folder / f"m{count}.onnx", folder / f"m{count}"
        onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'), source)
        fixed = [f"--model={source}", "--framework=5", f"--output={target}", "--soc_version=Ascend910B3"]
        assert atc([*fixed, "--precision_mode_v2=origin", *flags]) == 0
        return target.with_suffix(".om")

    return converted


PYTHON = sys.executable
