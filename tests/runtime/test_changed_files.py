"""A bundle, or a file of its weights, that changes while a session maps it: an error, never a signal, never
numbers of two files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from small_models import FLOAT, model

import ascend_ep
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

SIZE = 1024
LIBRARIES = Path(ascend_ep.get_library_path()).parent
CHANGED = 14  # ASC_E_CHANGED

#: Opens the bundle, runs it if asked to, waits for the change, and runs it twice.
PROGRAM = """
import sys
import numpy as np
how, path, early = sys.argv[1], sys.argv[2], sys.argv[3] == "early"
if how == "own":
    import ascend_ep
    open_session = ascend_ep.InferenceSession
else:
    import ascend_ep, onnxruntime
    open_session = lambda p: onnxruntime.InferenceSession(p, providers=["AscendEP"])
x = np.ones((2, 1024), np.float32)
session = open_session(path)
if not early:
    print(session.run(None, {"x": x})[0][0, 0], flush=True)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(2):
    try:
        print(session.run(None, {"x": x})[0][0, 0], flush=True)
    except Exception as error:
        print(str(error).replace("\\n", " "), flush=True)
"""


@cache
def conversion(value: float) -> Conversion:
    """y = x w for w of one value, 4 MB of it."""
    weight = np.full((SIZE, SIZE), value, np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    made = model(nodes, [("x", FLOAT, ["N", SIZE])], [("y", FLOAT, None)], {"w": weight})
    return convert(made, ConvertOptions(self_check=False))


def write(folder: Path, value: float, external: int) -> Path:
    """m.om and m_ctx.onnx; the file that holds the weight."""
    folder.mkdir()
    kept = replace(conversion(value), options=ConvertOptions(external_weight=external))
    kept.write(folder / "m.om")
    (folder / "m_ctx.onnx").write_bytes(kept.context_model("m.om"))
    return next((folder / "weight").iterdir()) if external else folder / "m.om"


def cut(file: Path, other: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def cut_to_nothing(file: Path, other: Path) -> None:
    os.truncate(file, 0)


def rewrite(file: Path, other: Path) -> None:
    content = other.read_bytes()
    assert len(content) == file.stat().st_size
    with file.open("r+b") as opened:
        opened.write(content)


def rename(file: Path, other: Path) -> None:
    os.replace(other, file)


def remove(file: Path, other: Path) -> None:
    file.unlink()


def run(how: str, path: Path, early: bool, change: Callable[[], None]) -> list[str]:
    """What the program prints after the change."""
    command = [sys.executable, "-c", PROGRAM, how, str(path), "early" if early else "late"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "ready":
                break
        change()
        printed, _ = process.communicate("\n", timeout=60)
        assert process.returncode == 0, f"ended by signal {-process.returncode}"
        return printed.splitlines()


@pytest.mark.parametrize("early", [True, False], ids=["before the first run", "after it"])
@pytest.mark.parametrize("change", [cut, cut_to_nothing, rewrite])
@pytest.mark.parametrize("external", [0, 1], ids=["bundle", "file of weights"])
def test_a_changed_file_is_an_error(
    tmp_path: Path, external: int, change: Callable[[Path, Path], None], early: bool
) -> None:
    file, other = write(tmp_path / "a", 1, external), write(tmp_path / "b", 2, external)
    printed = run("own", tmp_path / "a" / "m.om", early, lambda: change(file, other))
    assert len(printed) == 2
    assert all("E40014" in line and "written to or cut short" in line for line in printed), printed


@pytest.mark.parametrize("change", [cut, rewrite])
def test_inside_onnxruntime(tmp_path: Path, change: Callable[[Path, Path], None]) -> None:
    file, other = write(tmp_path / "a", 1, 0), write(tmp_path / "b", 2, 0)
    printed = run("stock", tmp_path / "a" / "m_ctx.onnx", False, lambda: change(file, other))
    assert len(printed) == 2
    assert all("written to or cut short" in line for line in printed), printed


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """native/test/run_bundle.c."""
    made = tmp_path_factory.mktemp("program") / "run_bundle"
    source = Path(__file__).parents[2] / "native" / "test" / "run_bundle.c"
    flags = ["-I", ascend_ep.get_include(), f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lascend_rt"]
    subprocess.run(["cc", "-o", made, source, *flags], check=True)
    return made


@pytest.mark.parametrize("early", [True, False], ids=["before the first run", "after it"])
@pytest.mark.parametrize("change", [cut, cut_to_nothing, rewrite, rename])
@pytest.mark.parametrize("external", [0, 1], ids=["bundle", "file of weights"])
def test_in_c(
    tmp_path: Path, program: Path, external: int, change: Callable[[Path, Path], None], early: bool
) -> None:
    file, other = write(tmp_path / "a", 1, external), write(tmp_path / "b", 2, external)
    command = [program, tmp_path / "a" / "m.om", "2" if early else "3", "2x1024"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert next(process.stdout) == "ready\n"
        if not early:
            process.stdin.write("\n")
            process.stdin.flush()
            assert next(process.stdout) == "1024\n"
        change(file, other)
        printed = process.communicate("\n\n", timeout=60)[0].splitlines()
    if change is rename:
        assert (process.returncode, printed) == (0, ["1024", "1024"])
    else:
        assert process.returncode == 1
        assert len(printed) == 2
        assert all(line.startswith(f"run: error {CHANGED}: ") for line in printed), printed


@pytest.mark.parametrize("change", [rename, remove])
def test_a_file_that_gives_way_to_another_stays_as_it_was(
    tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    file, other = write(tmp_path / "a", 1, 0), write(tmp_path / "b", 2, 0)
    printed = run("own", tmp_path / "a" / "m.om", False, lambda: change(file, other))
    assert printed == ["1024.0", "1024.0"]


def test_small_bundles_are_read(tmp_path: Path) -> None:
    weight = np.ones((16, 16), np.float32)
    made = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", FLOAT, ["N", 16])],
                 [("y", FLOAT, None)], {"w": weight})  # fmt: skip
    path = tmp_path / "m.om"
    convert(made).write(path)
    program = PROGRAM.replace("1024", "16")
    command = [sys.executable, "-c", program, "own", str(path), "late"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [next(process.stdout).strip() for _ in range(2)] == ["16.0", "ready"]
        os.truncate(path, 0)
        assert process.communicate("\n", timeout=60)[0].split() == ["16.0", "16.0"]
