"""Compiling: names, the cache, ISA levels, the aot ABI, sizes it wasn't compiled for."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.codegen import compilers
from ascend_ep.codegen.assembly import assemble
from ascend_ep.codegen.c_source import InputType, NotGenerated, Schedule, Source, generate_c, symbol_of
from ascend_ep.codegen.compiled_library import CompiledLibrary, compile_assembly, compile_library
from ascend_ep.codegen.leading import Form
from ascend_ep.codegen.library_call import run_library
from ascend_ep.codegen.library_session import TensorSpec, library_session
from ascend_ep.codegen.search import candidates, known_schedule, search
from ascend_ep.errors import AscendError
from ascend_ep.opdef.expression import Apply, Constant, Expression, Index, Input, Local, Program, Reduce
from ascend_ep.opdef.reference import evaluate_program
from ascend_ep.runtime.binding import lib, text_of
from ascend_ep.runtime.cache_folder import cache_path

X = Input("x")
SWISH = Apply("mul", (X, Apply("sigmoid", (X,))))
SHIFTED = Apply("exp", (Apply("sub", (X, Reduce("max", X))),))
SOFTMAX = Apply("div", (SHIFTED, Reduce("sum", SHIFTED)))
LEVELS = [
    level
    for i in range(lib.ASC_ISA_COUNT)
    if lib.asc_isa_supported(i) and (level := text_of(lib.asc_isa_name(i)))
]

pytestmark = pytest.mark.usefixtures("compiler")


def program(value: Expression) -> Program:
    return Program((), (("y", value),))


def source(name: str, value: Expression, schedule: Schedule | None = None) -> Source:
    return generate_c(name, program(value), ["x"], [InputType(1, ("n", "m"))], [1], schedule)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("value", [SWISH, SOFTMAX, Apply("sin", (X,))], ids=["swish", "softmax", "sin"])
def test_every_isa_level_is_near_the_reference(level: str, value: Expression) -> None:
    made = compile_library(source("Leveled", value), level)
    assert made.isa == level
    x = np.random.default_rng(0).standard_normal((5, 131), np.float32) * 4
    (found,) = run_library(made.path, "Leveled", [x])
    (expected,) = evaluate_program(program(value), {"x": x.astype(np.float64)}, {})
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)


def test_a_row_depends_neither_on_the_batch_nor_on_threads() -> None:
    made = compile_library(source("Rows", SOFTMAX))
    x = np.random.default_rng(0).standard_normal((400, 1100), np.float32)
    spec = [TensorSpec(1, x.shape)]
    results = [library_session(made, spec, spec, threads).run(None, {"x0": x})[0] for threads in (1, 2, 5)]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
    (alone,) = run_library(made.path, "Rows", [x[37:38]])
    np.testing.assert_array_equal(alone[0], results[0][37])


def test_schedules_change_no_bit() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4500), np.float32)
    schedules = [Schedule(), Schedule(tile=64, unroll=1, keep=1), Schedule(unroll=4, keep=1000, optimize=3)]
    found = []
    for schedule in schedules:
        made = compile_library(source("Scheduled", SOFTMAX, schedule))
        found.append(run_library(made.path, "Scheduled", [x])[0])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("value", [SOFTMAX, Apply("abs", (X,))])
def test_stores_past_the_caches_change_no_bit(value: Expression) -> None:
    x = np.random.default_rng(0).standard_normal((150, 1040), np.float32)
    spec = [TensorSpec(1, x.shape)]
    found = []
    for cached in (Schedule().cached, x.nbytes + 100_000, 0):  # none of the rows, some, all
        made = compile_library(source("Streamed", value, Schedule(optimize=1, cached=cached)))
        found.append(library_session(made, spec, spec, 2).run(None, {"x0": x})[0])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_sizes_that_do_not_fit_are_refused() -> None:
    add = Apply("add", (X, Input("y")))
    text = generate_c("Add2", program(add), ["x", "y"], [InputType(1, ("n",)), InputType(1, ("n",))], [1])
    made = compile_library(text)
    with pytest.raises(
        AscendError,
        match="dimension -1 of input 1 does not fit: it must be as long as dimension -1 of input 0",
    ):
        run_library(made.path, "Add2", [np.zeros(3, np.float32), np.zeros(4, np.float32)])
    with pytest.raises(AscendError, match="float32 of rank 1"):
        run_library(made.path, "Add2", [np.zeros(3, np.float32), np.zeros(3, np.float64)])
    with pytest.raises(AscendError, match="has no operator 'Other'"):
        run_library(made.path, "Other", [])


def test_long_programs() -> None:
    """Many operations are called instead of inlined, very many aren't compiled."""

    def long(count: int) -> Program:
        sums = [(f"a{i}", Apply("sin", (Local(f"a{i - 1}") if i else X,))) for i in range(count)]
        return Program(tuple(sums), (("y", Local(f"a{count - 1}")),))

    names, types = ["x"], [InputType(1, ("n",))]
    inlined = "#define FN static inline __attribute__((always_inline"
    assert inlined in generate_c("Short", long(15), names, types, [1]).text
    assert inlined not in generate_c("Long", long(25), names, types, [1]).text
    with pytest.raises(NotGenerated, match="more than 1000 steps"):
        generate_c("Endless", long(1001), names, types, [1])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (Apply("add", (X, Reduce("sum", X, (0,), False))), None),
        (Apply("add", (Reduce("sum", X, (0,)), Reduce("sum", X, (1,)))), None),
        (Apply("add", (Index(Input("z")), X)), "not given"),
        (Reduce("sum", X, (5,)), "rank 2"),
    ],
)
def test_what_has_no_code_says_why(value: Expression, reason: str | None) -> None:
    names, types = ["x", "z"], [InputType(1, ("n", "m")), None]
    if reason is None:
        generate_c("Fits", program(value), names, types, [1])
        return
    with pytest.raises(NotGenerated, match=reason):
        generate_c("Fits", program(value), names, types, [1])


# ---- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "sinf",
        "op_max",
        "main",
        "int",
        "memcpy",
        "a*/b",
        'q"); abort(); ("',
        "x\\",
        "数学",
        "",
        "1st",
        "chunk0",
    ],
)
def test_hostile_names_compile_and_run(name: str) -> None:
    made = compile_library(source(name, SWISH))
    x = np.linspace(-3, 3, 40, dtype=np.float32).reshape(2, 20)
    (found,) = run_library(made.path, name, [x])
    np.testing.assert_allclose(found, x / (1 + np.exp(-x)), rtol=1e-6)


@pytest.mark.parametrize("name", ["exp", "parts", "infer", "main", "a*/b", 'q"); abort(); ("', "数学", ""])
def test_assemblies_of_hostile_names(name: str) -> None:
    """The aot function has the operator's name."""
    made = assembled(source(name, SWISH))
    x = np.linspace(-3, 3, 40, dtype=np.float32).reshape(2, 20)
    (found,) = run_library(made.path, name, [x])
    np.testing.assert_allclose(found, x / (1 + np.exp(-x)), rtol=1e-6)
    assert hasattr(ctypes.CDLL(str(made.path)), made.symbol)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_symbols_are_names_that_c_and_shells_read(name: str) -> None:
    assert symbol_of(name).isidentifier()
    assert symbol_of(name).isascii()
    assert symbol_of(name) not in ("main", "malloc", "exp", "expf")


# ---- the cache -------------------------------------------------------------------------------------


def test_the_same_source_is_compiled_once(tmp_path: Path) -> None:
    first = compile_library(source("Once", SWISH), cache=tmp_path / "cache")
    second = compile_library(source("Once", SWISH), cache=tmp_path / "cache")
    assert (first.cached, second.cached) == (False, True)
    assert first.sha256 == second.sha256
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_two_processes_compile_once(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from ascend_ep.codegen.c_source import InputType, generate_c\n"
        "from ascend_ep.codegen.compiled_library import compile_library\n"
        "from ascend_ep.opdef.expression import Apply, Input, Program\n"
        "made = Program((), (('y', Apply('tanh', (Input('x'),))),))\n"
        "text = generate_c('Twice', made, ['x'], [InputType(1, ('n',))], [1])\n"
        "print(compile_library(text, cache=Path(sys.argv[1])).cached)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    tmp_path.chmod(0o700)
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sorted(p.communicate()[0].strip() for p in running) == ["False", "True"]
    assert len(list(tmp_path.glob("*.so"))) == 1
    assert not list(tmp_path.glob(".compile-*"))


def test_a_cache_that_others_may_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(AscendError, match="nobody else may write it"):
        compile_library(source("Shared", SWISH), cache=tmp_path)


def test_a_broken_entry_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    made = compile_library(source("Broken", SWISH), cache=folder)
    made.path.write_bytes(b"")
    assert not compile_library(source("Broken", SWISH), cache=folder).cached


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    if not compilers.has_compiler():  # ziglang is a Python package
        with pytest.raises(AscendError, match=r"E43001.*cc, gcc, clang, python -m ziglang cc"):
            compile_library(source("None", SWISH))


#: What $CC and $CXX may name that is no compiler, and what is said of it.
NO_COMPILERS = {
    "no-such-cc -x": "there is no such command",
    "./missing": "there is no such command",
    "./folder": "it is a folder",
    "./pipe": "it is no file that may be executed",
    "./open-pipe": "Permission denied",
    "./text": "it is no file that may be executed",
    "./open-text": "Exec format error",
    "./fails": "--version ends with status 3",
    "./silent": "it says nothing to --version",
    "./garbled": "",
    "'cc": "a quote in it has no end",
    "''": "there is no such command",
}


@pytest.mark.parametrize("named", NO_COMPILERS)
@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_a_named_compiler_that_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, named: str
) -> None:
    """It is said, and no other takes its place."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name, mode in {"pipe": 0o644, "open-pipe": 0o755}.items():
        os.mkfifo(name, mode)
    files = {
        "text": "int main;",
        "open-text": "int main;",
        "fails": "#!/bin/sh\nexit 3\n",
        "silent": "#!/bin/sh\n",
        "garbled": "#!/bin/sh\nprintf '\\377\\n'\n",
    }
    for name, text in files.items():
        Path(name).write_text(text)
        Path(name).chmod(0o644 if name == "text" else 0o755)
    monkeypatch.setenv(variable, named)
    find = {"CC": compilers.find_compiler, "CXX": compilers.find_cpp_compiler}[variable]
    if not NO_COMPILERS[named]:
        assert find().version == "\ufffd"
        return
    with pytest.raises(AscendError) as refused:
        find()
    error = refused.value
    assert (error.code, error.fix) == ("E43005", f"Correct {variable}, or unset it.")
    assert (
        error.text == f"${variable} names the compiler [{named}], which doesn't work: {NO_COMPILERS[named]}."
    )


def test_a_compiler_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "cc"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo fake 1.0 && exit 0\n'
        'echo "x.c:1: error: out of paper" >&2\nexit 1\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    with pytest.raises(AscendError, match=r"E43002.*out of paper"):
        compile_library(source("Fails", SWISH), cache=tmp_path / "cache")


# ---- MindSpore's ABI -------------------------------------------------------------------------------


def aot_call(made: CompiledLibrary, arrays: list[np.ndarray], types: list[bytes]) -> int:
    n = len(arrays)
    params = (ctypes.c_void_p * n)(*(a.ctypes.data for a in arrays))
    ranks = (ctypes.c_int * n)(*(a.ndim for a in arrays))
    shapes = [(ctypes.c_int64 * a.ndim)(*a.shape) for a in arrays]
    pointers = (ctypes.POINTER(ctypes.c_int64) * n)(*shapes)
    names = (ctypes.c_char_p * n)(*types)
    function = getattr(ctypes.CDLL(str(made.path)), made.symbol)
    return int(function(n, params, ranks, pointers, names, None, None))


def assembled(part: Source) -> CompiledLibrary:
    """The library of one part, of x [n, m] float32."""
    form = Form((InputType(1, ("n", "m")),), (2,))
    return compile_assembly(assemble(form, ["x"], [(part, [1], [1])], [{1}]))


def test_the_aot_function() -> None:
    made = assembled(source("Aot", SOFTMAX))
    x = np.random.default_rng(0).standard_normal((3, 50), np.float32)
    y = np.zeros_like(x)
    assert aot_call(made, [x, y], [b"float32", b"float"]) == 0
    np.testing.assert_array_equal(y, run_library(made.path, "Aot", [x])[0])
    assert aot_call(made, [x, y], [b"float64", b"float32"]) == 2
    assert aot_call(made, [x, y[:, :49]], [b"float32", b"float32"]) == 3
    assert aot_call(made, [x], [b"float32"]) == 1


# ---- search ----------------------------------------------------------------------------------------


def test_search_measures_and_remembers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path))
    spec, lines = [TensorSpec(1, (32, 96))], []
    given = ("Searched", program(Apply("add", (SOFTMAX, Constant(1.0)))), ["x"], spec, [1])
    found = search(*given, budget_seconds=2.0, log=lines.append)
    assert not found.cached
    assert len(found.candidates) == len(lines) >= 1
    assert found.best in {c.schedule for c in found.candidates}
    assert all(c.seconds > 0 and c.source_hash for c in found.candidates)
    again = search(*given, budget_seconds=2.0)
    assert again.cached
    assert again.best == found.best
    assert known_schedule(given[1], spec, [1]) == found.best
    assert search(*given, budget_seconds=0).candidates == ()
    assert len(set(candidates())) == len(candidates())


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path))
    assert cache_path() == tmp_path
    monkeypatch.delenv("ASCEND_EP_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_path() == tmp_path / ".cache" / "ascend_ep"
    for told, wanted in ((tmp_path / "xdg", tmp_path / "xdg"), ("relative", tmp_path / ".cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", str(told))
        assert cache_path() == wanted / "ascend_ep"
