"""ascend-op run FOLDER: a program, the script that makes its data, and the one that checks what it wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.opbuild.kernels.golden_files import compared_goldens
from ascend_ep.opbuild.kernels.program_project import find_program, refused_by

Run = Callable[..., tuple[int, str, str]]
KERNEL = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void doubled(GM_ADDR x, GM_ADDR y) {
    for (int i = 0; i < 16; i++) ((__gm__ float *)y)[i] = 2 * ((__gm__ float *)x)[i];
}
"""
MAIN = """#include <cstdio>
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void doubled(GM_ADDR x, GM_ADDR y);
int main(int n, char **words) {
    uint8_t *x = (uint8_t *)AscendC::GmAlloc(64), *y = (uint8_t *)AscendC::GmAlloc(64);
    FILE *in = fopen("input/x.bin", "rb"), *out = fopen("output/y.bin", "wb");
    if (!in || !out || fread(x, 1, 64, in) != 64) return 1;
    ICPU_RUN_KF(doubled, 1, x, y);
    printf("ran %s\\n", n > 1 ? words[1] : "alone");
    fwrite(y, 1, 64, out);
    fclose(out);
}
"""
GEN = """import sys
import numpy as np
x = np.arange(16, dtype=np.float32) + len(sys.argv)
x.tofile("input/x.bin")
(2 * x).tofile("output/golden.bin")
"""
VERIFY = """import sys
import numpy as np
right = (np.fromfile(sys.argv[1], np.float32) == np.fromfile(sys.argv[2], np.float32)).all()
print("test pass" if right else "[ERROR] result error")
"""
RUN_SH = """CASE=$2
# python3 scripts/never.py
python3 scripts/gen_data.py $CASE
(export X=1 && ./doubled_cpu $CASE)
NAME=y
ret=`python3 scripts/verify_result.py output/${NAME}.bin output/golden.bin`
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name, text in (
        ("main.cpp", MAIN),
        ("doubled.cpp", KERNEL),
        ("bind.cpp", "#include <pybind11/pybind11.h>\nPYBIND11_MODULE(m, n) {}"),
        ("scripts/gen_data.py", GEN),
        ("scripts/verify_result.py", VERIFY),
        ("run.sh", RUN_SH),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_what_run_sh_says(folder: Path) -> None:
    project = find_program(folder)
    assert project is not None
    assert [p.name for p in project.sources] == ["main.cpp", "doubled.cpp"]
    [made], [check] = project.makes, project.checks
    assert (made.words(["case1"]), made.words([])) == (["case1"], [])
    assert check.words([]) == ["output/y.bin", "output/golden.bin"]


def test_without_run_sh_the_folder_says_it(folder: Path) -> None:
    (folder / "run.sh").unlink()
    project = find_program(folder)
    assert project is not None
    assert [s.path.name for s in (*project.makes, *project.checks)] == ["gen_data.py", "verify_result.py"]


def test_one_program_of_a_folder(folder: Path) -> None:
    (folder / "other.cpp").write_text("int main() {}")
    assert find_program(folder).sources[0].name == "main.cpp"
    (folder / "main.cpp").rename(folder / "first.cpp")
    with pytest.raises(AscendError, match=r"first.cpp, other.cpp have a main function each"):
        find_program(folder)
    assert find_program(folder / "scripts") is None


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("error ratio: 0.0000, tolerance: 0.0010\ntest pass\n", ""),
        ("[ERROR] result error\n", "[ERROR] result error"),
        ("a\n test failed \n", "test failed"),
    ],
)
def test_what_scripts_print_decides(said: str, line: str) -> None:
    assert refused_by(said) == line


def test_data_program_and_check(folder: Path, run: Run) -> None:
    status, out, err = run("run", folder, "--program_args", "case1")
    assert status == 0, err
    assert [line.split() for line in out.splitlines()] == [
        ["program", "main.cpp,", "doubled.cpp"],
        ["data", "gen_data.py"],
        ["ran", "case1"],
        ["check", "verify_result.py:", "test", "pass"],
    ]
    assert (folder / "output" / "y.bin").stat().st_size == 64

    (folder / "scripts" / "gen_data.py").write_text(GEN.replace("2 * x", "3 * x"))
    status, out, err = run("run", folder)
    assert status == 1
    assert "E43204" in err
    assert "[ERROR] result error" in err

    (folder / "scripts" / "gen_data.py").write_text("import sys\nsys.argv[1]\n")
    status, out, err = run("run", folder)
    assert status == 1
    assert "E43206" in err
    assert "--program_args" in err


def test_golden_files_that_run_sh_only_prints(folder: Path, run: Run) -> None:
    for name in ("verify_result.py", "gen_data.py"):
        (folder / "scripts" / name).unlink()
    (folder / "doubled.py").write_text(GEN)
    (folder / "run.sh").write_text("python3 $1.py\n./$1_cpu\nmd5sum output/*.bin\n")
    status, out, err = run("run", folder)
    assert status == 0, err
    assert "check     y.bin with golden.bin: the same bits" in out
    for factor, verdict in (("2.0001", "as float32: largest difference"), ("3", "bytes differ")):
        (folder / "doubled.py").write_text(GEN.replace("(2 * x)", f"(np.float32({factor}) * x)"))
        status, out, err = run("run", folder)
        assert verdict in out + err
        assert status == int(factor == "3")


FLOATS = np.random.default_rng(0).normal(size=64)


@pytest.mark.parametrize(
    ("golden", "changed", "verdict"),
    [
        (np.arange(64, dtype=np.int32), 1, "bytes differ"),
        (np.arange(64, dtype=np.int64), 1, "bytes differ"),
        (np.ones(64, np.bool_), True, "bytes differ"),
        (FLOATS.astype(np.float16), np.float16(0.25), "bytes differ"),
        (FLOATS.astype(np.float32), np.float32(1e-2), "bytes differ"),
        (FLOATS.astype(np.float16), np.float16(0), ""),
        (FLOATS.astype(np.float32), np.float32(0), ""),
    ],
    ids=["int32", "int64", "bool", "half", "float", "last bits of a half", "last bits of a float"],
)
def test_golden_files_of_an_unknown_type(
    golden: np.ndarray, changed: object, verdict: str, tmp_path: Path
) -> None:
    """One number of the first ten differs, in each place: no reading makes a wrong number right."""
    (tmp_path / "output").mkdir()
    golden.tofile(tmp_path / "output" / "golden.bin")
    for at in range(10):
        wrong = golden.copy()
        if verdict:
            wrong[at] = ~wrong[at] if golden.dtype == bool else wrong[at] + changed
        else:
            wrong[at] = np.nextafter(wrong[at], golden.dtype.type(9))
        wrong.tofile(tmp_path / "output" / "y.bin")
        (pair,) = compared_goldens(tmp_path)
        assert verdict in pair.refusal, pair
        assert bool(pair.refusal) == bool(verdict)
        assert verdict or pair.said.startswith(f"as {golden.dtype.name}")


def test_what_is_no_project(tmp_path: Path, run: Run) -> None:
    assert "nor a file with a main function" in run("run", tmp_path)[2]
    kernel = tmp_path / "k.cpp"
    kernel.write_text(KERNEL)
    assert "no main function takes it" in run("run", kernel, "--program_args", "a")[2]
