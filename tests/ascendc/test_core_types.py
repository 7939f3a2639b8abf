"""Units that ask which core they are compiled for: for which they are; each core runs its own code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kernel_launch import COMPILER

from ascend_ep.cli.compile_tool import compilation
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.ascendc.core_types import core_types, join, tool
from ascend_ep.opbuild.ascendc.cpp import find_cpp

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler is installed")


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("if ASCEND_IS_AIC { Mmad(c, a, b, p); }", ()),
        ("if (g_coreType == AIV && i < n) return; Matmul<A, B, C> mm;", ()),
        ("// #ifdef __DAV_C220_VEC__", ()),
        ('const char *a = "/*";\n#ifdef __DAV_C220_VEC__\n#endif\nconst char *b = "*/";', ("vector",)),
        ("static_assert(g_coreType == AIV);", ("cube", "vector")),
        ("enum Kind { NONE, KIND = g_coreType };", ("cube", "vector")),
        ("constexpr int t[] = {1, g_coreType == AIV};", ("cube", "vector")),
        ("using T = std::conditional_t<(g_coreType == AIV), int, float>;", ("cube", "vector")),
        ("void f() { run<T, (n > 1), g_coreType>(); }", ("cube", "vector")),
        ("switch (x) { case g_coreType: ; }", ("cube", "vector")),
        ("#define IS_VECTOR (g_coreType == AIV)\n", ("cube", "vector")),
        ("void f() { if (i < n && g_coreType == AIV) g(g_coreType); return; }", ()),
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


def compiled(source: Path, target: Path, *more: str) -> str:
    """Compiles as build files of a toolkit do. Returns what the compiler says."""
    command = [
        *find_cpp(),
        "-std=c++17",
        "-O0",
        "-DASCENDC_CPU_NO_CHECK",
        f"-I{HEADERS / 'ascendc'}",
        f"-I{HEADERS}",
    ]
    command += ["-MD", "-o", str(target), *more, "-c", str(source)]
    done = subprocess.run(
        [sys.executable, "-m", "ascend_ep.cli.compile_tool", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def program_of(folder: Path, *objects: Path) -> str:
    """What the program of these objects prints."""
    program = folder / "program"
    subprocess.run([*find_cpp(), *map(str, objects), "-pthread", "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_compiler
def test_each_core_of_a_program_runs_its_own_code(tmp_path: Path) -> None:
    folder = Path(__file__).parent
    (tmp_path / "a b").mkdir()
    objects = [tmp_path / "a b" / "kernels.o", tmp_path / "main.o"]
    source = tmp_path / "kernels.cpp"
    source.write_text(
        f'#ifdef __DAV_C220_CUBE__\n#include "cube.h"\n#endif\n#include "{folder}/core_types.cpp"\n'
    )
    (tmp_path / "cube.h").write_text('#warning "of the cube"\n')
    assert "of the cube" in compiled(source, objects[0], "-flto")
    compiled(folder / "core_types_main.cpp", objects[1], "-w")
    library = (
        "namespace elsewhere {\ntemplate <int n> int eight() { return 8; }\ntemplate int eight<1>();\n}\n"
    )
    (tmp_path / "library.cpp").write_text(library)
    compiled(tmp_path / "library.cpp", tmp_path / "library.o")
    subprocess.run([tool("ar"), "rc", tmp_path / "library.a", tmp_path / "library.o"], check=True)
    said = program_of(tmp_path, *objects, tmp_path / "library.a")
    assert said == "1 1\n10 10 20 20 20 20 \n8\n1 3 3 6 6 6 6 \n7 3 6 6 6 6 \n"
    assert objects[0].stat().st_mode == source.stat().st_mode  # as that of any new file
    rules = objects[0].with_suffix(".d").read_text()
    assert rules.count("a\\ b/kernels.o:") == 2
    assert str(tmp_path / "cube.h") in rules


ONE_CORE = """
#include <cstdio>
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void core_of(GM_ADDR y) {
#ifdef __DAV_C220_CUBE__
    *(int32_t *)y = 10 + (asc_cpu::core().kind == asc_cpu::CoreKind::Cube);
#endif
}
int main() {
    auto *y = (uint8_t *)AscendC::GmAlloc(64);
    ICPU_RUN_KF(core_of, 1, y);
    std::printf("%d", *(int32_t *)y);
    AscendC::GmFree(y);
}
"""


@needs_compiler
def test_a_unit_for_one_core_is_launched_on_it(tmp_path: Path) -> None:
    source, target = tmp_path / "one.cpp", tmp_path / "one.o"
    source.write_text(ONE_CORE)
    compiled(source, target)
    assert program_of(tmp_path, target) == "11"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("g++ -c a.cpp", "g++ -c a.cpp > a.o"),
        ("env A=b g++ -ox.o -c a.cpp -I a.cpp", "env A=b g++ -c a.cpp -I a.cpp > x.o"),
        ("g++ -MT a.cpp -MD -x c++ -c a.cpp -o b/x.o", "g++ -c a.cpp -MD -MF b/x.d -MT a.cpp > b/x.o"),
        ("g++ -Wp,-MMD,x.dep -MP -c a.cpp -o x.o", "g++ -c a.cpp -MMD -MF x.dep -MQ x.o -MP > x.o"),
        (
            "g++ -MMD -MFx.dep -include a.cpp -c a.cpp",
            "g++ -c a.cpp -include a.cpp -MMD -MF x.dep -MQ a.o > a.o",
        ),
        ("g++ -c a.cpp a.cpp -o x.o", None),
        ("g++ -M -c a.cpp", None),
        ("g++ -x c -c a.cpp", None),
        ("g++ a.cpp -o a", None),
    ],
)
def test_what_a_command_line_compiles(
    words: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.cpp").touch()
    found = compilation(words.split())
    assert (found and f"{' '.join(found.words)} > {found.target}") == expected


def test_a_tool_that_fails_says_what(tmp_path: Path) -> None:
    def empty(_: object, made: Path, out: object) -> None:
        made.write_bytes(b"")

    with pytest.raises(AscendError, match=r"E43002.*objdump"):
        join(tmp_path / "cube.o", tmp_path / "vector.o", tmp_path / "made.o", (), empty, "")
