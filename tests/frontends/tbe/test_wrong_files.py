"""Files that fail, can't be expressed, or misbehave: the line, the reason, and an end in time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tbe_files import BINARY, describe_file

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.frontends.tbe import sandbox
from ascend_ep.frontends.tbe.recording import read_answer

HEAD = "import tbe.dsl as dsl\nfrom tbe import tvm\n"


def refusal(tmp_path: Path, text: str, *shapes: tuple[int, ...], **options: str) -> AscendError:
    with pytest.raises(AscendError) as raised:
        describe_file(tmp_path, text, *(shapes or ((4, 33),)), **options)
    return raised.value


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (
            "dsl.vadd(dsl.cast_to(x, 'int32'), dsl.cast_to(x, 'int8'))",
            "E42111",
            "E90001: vadd takes tensors of one type",
        ),
        ("dsl.vexp(dsl.floor(x))", "E42111", "E80008: vexp takes float16 or float32, not int32"),
        ("dsl.vdiv(dsl.floor(x), dsl.ceil(x))", "E42111", "E80008: vdiv takes float16 or float32"),
        ("dsl.vand(x, x)", "E42111", "E80008: vand takes int16 or uint16, not float32"),
        ("dsl.vadd(1.0, 2.0)", "E42111", "E90001: vadd takes a tensor, and none is given"),
        ("dsl.vexp(1.0)", "E42111", "E90001: vexp takes a tensor, not a float"),
        ("dsl.vexp(None)", "E42111", "E90001: vexp takes a tensor, not a NoneType"),
        ("dsl.broadcast(x, [5, 33])", "E42111", "E80013"),
        ("dsl.vadd(x, dsl.reduce_sum(x, 1))", "E42111", "E80013"),
        ("dsl.reduce_sum(x, axis=2)", "E42111", "reduce_sum of 2 dimensions has no axis 2"),
        ("dsl.cast_to(x, 'float12')", "E42111", "cast_to knows no element type 'float12'"),
        ("dsl.vcmp(x, x, 'gte')", "E42111", "vcmp knows lt, le, gt, ge, eq, ne, not gte"),
        ("dsl.vexpp(x)", "E42112", "doesn't know what tbe.dsl.vexpp does. Did you mean [vexp]?"),
        ("dsl.vadds(x, tvm.nothing)", "E42112", "doesn't know what tbe.tvm.nothing does"),
        ("1 if tvm.nothing else 2", "E42112", "doesn't know what tbe.tvm.nothing does"),
        ("dsl.static_schedule.elewise()", "E42112", "how hardware would be scheduled says nothing"),
        ("tvm.compute(x.shape, lambda i: x[i, 0])", "E42111", "calls its function with 2 indices"),
        ("tvm.compute(x.shape, lambda i, j: x[i])", "E42111", "x has 2 dimensions, but 1 indices are given"),
        ("tvm.compute(x.shape, lambda i, j: 1.0 if x[i, j] > 0 else 2.0)", "E42111", "no truth value yet"),
        ("dsl.concat([x, dsl.cast_to(x, 'int32')], 0)", "E42111", "takes tensors alike but for that axis"),
        ("dsl.transpose(x, (0, 0))", "E42111", "transpose of 2 dimensions takes each once"),
        ("dsl.gather(x, x)", "E42112", "standard operator Gather"),
        ("dsl.matmul(x, x)", "E42111", "matmul of [4, 33] and [4, 33]: unequal inner sizes"),
        ("dsl.matmul(x, x, format_a='FRACTAL_NZ')", "E42112", "standard operator MatMul"),
        ("tvm.compute((4, 4), lambda i, j: x[i, x[i, j]])", "E42112", "(a gather)"),
        ("tvm.compute((4,), lambda i: x[i, i + 3])", "E42112", "along its diagonal"),
        (
            "tvm.compute((4, 33), lambda i, j: x[i, j + 1])",
            "E42112",
            "read at 1 to 33 of axis -1, which has 33",
        ),
        ("tvm.extern([4], [x], None)", "E42112", "a program for the hardware"),
        ("1 / 0", "E42111", "ZeroDivisionError"),
        ("[][1]", "E42111", "IndexError"),
    ],
)
def test_the_line_and_the_reason(tmp_path: Path, line: str, code: str, words: str) -> None:
    error = refusal(tmp_path, f"{HEAD}def wrong_compute(x):\n    y = {line}\n    return y\n")
    assert error.code == code
    assert words in error.text
    assert error.where.endswith("operator.py:4")
    source, caret = error.details[:2]
    assert source == f"    y = {line}"
    assert caret.strip("^ ") == ""
    assert caret.index("^") >= 8


def test_errors_of_whole_files(tmp_path: Path) -> None:
    wrong = refusal(tmp_path, HEAD + "def f(x):\n    return dsl.vexp(x\n")
    assert wrong.code == "E42111"
    assert "it isn't Python" in wrong.text
    assert "could be the operator" in refusal(tmp_path, HEAD).text
    nowhere = "from te.nowhere import f\ndef g_compute(x):\n    return f(x)\n"
    assert "doesn't know what te.nowhere.f does" in refusal(tmp_path, nowhere).text
    assert "returns no tensor" in refusal(tmp_path, HEAD + "def f_compute(x):\n    return 3\n").text
    unbuilt = "def f(x, y, kernel_name='f'):\n    tvm.placeholder(x['shape'], name='x', dtype=x['dtype'])\n"
    assert "without a build" in refusal(tmp_path, HEAD + unbuilt).text
    own = HEAD + "def f_compute(x):\n    raise ValueError('the channel count is odd')\n"
    assert "ValueError: the channel count is odd" in refusal(tmp_path, own).text


def test_inputs_that_dont_fit(tmp_path: Path) -> None:
    text = BINARY.format(body="res = tbe.vadd(first, second)")
    assert "takes the inputs first, second, and 1 shape is given" in refusal(tmp_path, text, (4, 33)).text
    assert "E80013: the shapes [4, 33] and [4]" in refusal(tmp_path, text, (4, 33), (4,)).text
    wrong = refusal(tmp_path, text, (4,), (4,), types="int32 int32")
    assert "E80008: the type of first is int32, which isn't among float16, float32" in wrong.text


def test_a_failure_in_a_build_list(tmp_path: Path) -> None:
    text = HEAD + (
        "def f(x, y, kernel_name='f'):\n"
        "    a = tvm.placeholder(x['shape'], name='x', dtype=x['dtype'])\n"
        "    dsl.build(dsl.auto_schedule(a), {'name': 'f', 'tensor_list': [a]})\n"
    )
    assert "computes nothing" in refusal(tmp_path, text).text


# ---- misbehaviour ----------------------------------------------------------------------------------


@pytest.mark.measures
def test_an_endless_loop_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox.run_file, "__defaults__", (1.0,))
    start = time.monotonic()
    error = refusal(tmp_path, HEAD + "print('begun', flush=True)\nwhile True:\n    pass\n")
    assert error.code == "E42113"
    assert "it didn't end in time" in error.text
    assert error.details == ("begun",)
    assert time.monotonic() - start < 10


@pytest.mark.measures
def test_a_process_it_starts_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does one that holds the streams open keep us waiting."""
    monkeypatch.setattr(sandbox.run_file, "__defaults__", (3.0,))
    mark = tmp_path / "late"
    text = HEAD + (
        "import subprocess\n"
        f"subprocess.Popen(['sh', '-c', 'sleep 4; touch {mark}'], close_fds=False)\n"
        "def f_compute(x):\n    return dsl.vexp(x)\n"
    )
    start = time.monotonic()
    assert describe_file(tmp_path, text, (4, 33)).opdef.op == "F"
    assert time.monotonic() - start < 3.5
    time.sleep(max(0.0, 4.5 - (time.monotonic() - start)))
    assert not mark.exists()


def test_memory_is_limited(tmp_path: Path) -> None:
    error = refusal(tmp_path, HEAD + "data = bytearray(64 << 30)\n")
    assert "MemoryError" in error.text
    swallowed = refusal(tmp_path, HEAD + "l = []\nwhile True:\n    l.append(bytearray(1 << 28))\n")
    assert "MemoryError" in swallowed.text or swallowed.code == "E42113"


@pytest.mark.parametrize(
    "text", ["import os\nos._exit(3)\n", "import os\nos.abort()\n", "raise SystemExit(0)\n"]
)
def test_an_early_end(tmp_path: Path, text: str) -> None:
    error = refusal(tmp_path, HEAD + text)
    assert error.code in ("E42111", "E42113")
    assert any(w in error.text for w in ("status 3", "SIGABRT", "SystemExit"))


def test_endless_output_is_cut(tmp_path: Path) -> None:
    text = (
        HEAD + "for i in range(200000):\n    print(i, 'x' * 50)\ndef f_compute(x):\n    return dsl.vexp(x)\n"
    )
    described = describe_file(tmp_path, text, (4, 33))
    assert sum(w.startswith("the file printed") for w in described.warnings) == 5


def test_it_runs_with_the_users_rights_elsewhere(tmp_path: Path) -> None:
    """The file is code; what it imports is nowhere in this process."""
    text = HEAD + "import os\nos.system('echo ran')\ndef f_compute(x):\n    return dsl.vexp(x)\n"
    before = set(sys.modules), list(sys.path), list(sys.meta_path)
    described = describe_file(tmp_path, text, (4, 33))
    assert "the file printed: ran" in described.warnings
    assert before[1:] == (sys.path, sys.meta_path)
    assert not {"te", "tbe", "topi"} & {m.partition(".")[0] for m in sys.modules}
    found = subprocess.run([sys.executable, "-c", "import te"], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in found.stderr


def test_a_text_is_never_run(tmp_path: Path) -> None:
    """Only a file is: the answer of a language model can't be code that runs."""
    mark = tmp_path / "ran"
    text = f"from te import tvm\nopen({str(mark)!r}, 'w')\ndef f(x):\n    return x\n"
    with pytest.raises(AscendError):
        describe(text)
    assert not mark.exists()


RECORDED = {
    "formula": "y = x",
    "concrete": "y = x",
    "inputs": [["x", [2], "float32"]],
    "outputs": [["y", [2], "float32"]],
}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"entry": {"name": 3}},
        {"entry": {"name": "f"}, "recordings": [{}]},
        {"entry": {"name": "f"}, "recordings": [RECORDED | {"inputs": [["x", [-2], "float32"]]}]},
        {"entry": {"name": "f"}, "recordings": [RECORDED | {"inputs": [["x y", [2], "float32"]]}]},
        {"entry": {"name": "f"}, "recordings": [RECORDED | {"outputs": [["y", [2], "float3"]]}]},
        {"entry": {"name": "f"}, "recordings": [RECORDED | {"formula": "y = __import__('os')"}]},
        {"entry": {"name": "f"}, "recordings": [RECORDED | {"formula": "y = " + "(" * 900}]},
        {"entry": {"name": "f"}, "recordings": [RECORDED | {"compared": {"a": ["b"]}}]},
        {"error": {"kind": "failed", "message": "m", "line": "7"}},
    ],
)
def test_the_answer_is_a_strangers_data(answer: object) -> None:
    with pytest.raises(AscendError, match=r"E4211|E4200"):
        read_answer(answer, "operator.py")
