"""Units that ask which core they are compiled for: for which they are; each core runs its own code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kernel_launch import COMPILER

from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.opbuild.ascendc.core_types import core_types, flags_of
from ascend_ep.opbuild.ascendc.cpp import find_cpp

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("if ASCEND_IS_AIC { Mmad(c, a, b, p); }", ()),
        ("if (g_coreType == AIV && i < n) return; Matmul<A, B, C> mm;", ()),
        ("// #ifdef __DAV_C220_VEC__", ()),
        ("#ifdef __DAV_C220_VEC__\nvoid f() {}\n#endif", ("vector",)),
        ("#if defined(__DAV_CUBE__)\nvoid f() {}\n#endif", ("cube",)),
        ("#ifdef __DAV_C220_CUBE__\n#elif __DAV_C220_VEC__\n#endif", ("cube", "vector")),
        ("#ifdef __DAV_C220_CUBE__\n#endif\nTQue<TPosition::VECIN, 1> q;", ("cube", "vector")),
        ("template <int32_t T = g_coreType> void f();", ("cube", "vector")),
        ("if constexpr (g_coreType == AscendC::AIV) {}", ("cube", "vector")),
        (
            "constexpr int f = g_coreType == AIC ? 9 : 8; KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);",
            ("vector",),
        ),
        ("#ifdef __DAV_C220_VEC__\n#endif KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIC_ONLY);", ("cube",)),
    ],
)
def test_what_a_unit_is_compiled_for(text: str, kinds: tuple[str, ...]) -> None:
    assert core_types([text]) == kinds


def compiled(source: Path, target: Path) -> None:
    """Compiles as build files of a toolkit do."""
    command = [*find_cpp(), "-std=c++17", "-O0", "-w", "-DASCENDC_CPU_NO_CHECK", f"-I{HEADERS / 'ascendc'}"]
    command += [f"-I{HEADERS}", "-MD", "-MF", f"{target}.d", "-o", str(target), "-c", str(source)]
    done = subprocess.run(
        [sys.executable, "-m", "ascend_ep.cli.compile_tool", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_each_core_of_a_program_runs_its_own_code(tmp_path: Path) -> None:
    folder = Path(__file__).parent
    objects = [tmp_path / "kernels.o", tmp_path / "main.o"]
    for name, target in zip(("core_types", "core_types_main"), objects, strict=True):
        compiled(folder / f"{name}.cpp", target)
    assert str(folder / "core_types.cpp") in Path(f"{objects[0]}.d").read_text()
    program = tmp_path / "program"
    subprocess.run([*find_cpp(), "-pthread", *map(str, objects), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "10 10 20 20 20 20 \n8\n1 3 3 6 6 6 6 \n7 3 6 6 6 6 \n", done.stderr


def test_a_unit_for_one_core_is_launched_on_it() -> None:
    assert "-DASC_CORES_JOINED" not in flags_of("vector", False)
    assert "-D__DAV_C220_VEC__=1" in flags_of("vector", False)
