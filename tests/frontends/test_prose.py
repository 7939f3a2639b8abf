"""Prose and formulas told apart, stated results held to, types that prose names, answers in any form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from prose_corpus import MISTAKES, PROSE, TYPED
from served_model import Model, models

from ascend_ep.errors import AscendError
from ascend_ep.frontends.answers import check_tbe
from ascend_ep.frontends.description import describe
from ascend_ep.frontends.prose import stated_type
from ascend_ep.frontends.tbe.sandbox import run_file
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.reference import evaluate

PYTORCH = "```python\ndef op(x):\n    return x * torch.sigmoid(x)\n```"
TBE = """Here it is, in the TBE DSL:
```python
import tbe.dsl as tbe
from tbe import tvm
from tbe.common.utils import para_check

@para_check.check_op_params(para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME)
def swish(x, y, kernel_name="swish"):
    data = tvm.placeholder(x.get("shape"), name="data", dtype=x.get("dtype"))
    one = tbe.vadds(tbe.vexp(tbe.vmuls(data, -1.0)), 1.0)
    res = tbe.vdiv(data, one)
    with tvm.target.cce():
        schedule = tbe.auto_schedule(res)
    tbe.build(schedule, {"name": kernel_name, "tensor_list": [data, res]})
```
"""


@pytest.fixture
def model() -> Iterator[Callable[..., Model]]:
    with models() as start:
        yield start


@pytest.mark.parametrize("text", PROSE)
def test_prose_reaches_the_model(model: Callable[..., Model], text: str) -> None:
    served = model(PYTORCH)
    described = describe(text, llm=served.endpoint())
    assert (described.kind, len(served.requests)) == ("language model", 1)
    assert served.requests[0]["messages"][-1]["content"] == text
    with pytest.raises(AscendError, match="E42103") as caught:
        describe(text)
    assert any(d.startswith("read as a formula: ") for d in caught.value.details)


@pytest.mark.parametrize("text", MISTAKES)
def test_a_formula_with_a_mistake_is_no_prose(model: Callable[..., Model], text: str) -> None:
    served = model(PYTORCH)
    with pytest.raises(AscendError) as caught:
        describe(text, llm=served.endpoint())
    assert caught.value.code in ("E42001", "E42002", "E42003", "E42102")
    assert not served.requests


@pytest.mark.parametrize("line", TYPED)
def test_the_type_that_a_description_names(line: str) -> None:
    text, _, kinds = line.rpartition(":")
    stated, named = stated_type(text)
    wanted = [dtypes.NUMBERS[k] for k in kinds.split()]
    assert named == wanted
    assert stated == (wanted[0] if len(wanted) == 1 else None)


@pytest.mark.parametrize(
    "said",
    [
        "f(1) = 0.9",
        "f(1) = 1",
        "f(1) ≈ 0.8",
        "e.g. swish(1) = 0.9",
        "例如 Swish(1) = 0.9",
        "f([0, 1]) = [0, 0.9]",
        "当 x=1 时输出 0.9",
        "when x = 1, y = 0.9",
        "f(0) = 0, f(1) is 0.9",
    ],
)
def test_a_stated_result_that_contradicts_is_an_error(said: str) -> None:
    for text in (
        f"Swish(x) = x*sigmoid(x), {said}",
        f"{said}:\n```python\ndef swish(x):\n    return x*torch.sigmoid(x)\n```",
    ):
        with pytest.raises(AscendError, match="E42106") as caught:
            describe(text)
        assert "; the function gives " in caught.value.text


@pytest.mark.parametrize(
    "said",
    [
        "f(1) = 0.731",
        "f(1) ≈ 1",
        "e.g. swish(1) = 0.731 and f(0) = 0",
        "f([0, 1]) = [0, 0.73]",
        "当 x=1 时输出 0.731",
    ],
)
def test_a_stated_result_that_agrees_is_no_warning(said: str) -> None:
    assert not describe(f"Swish(x) = x*sigmoid(x), {said}").warnings
    assert not describe(f"def swish(x):\n    return x*torch.sigmoid(x)  # {said}").warnings


def test_a_stated_result_that_cannot_be_compared_is_said() -> None:
    (warning,) = describe("Swish(x) = x*sigmoid(x), f(1, 2, 3) = 4").warnings
    assert warning == "f(1, 2, 3) = 4 wasn't checked: Swish takes 1 inputs"
    scaled = describe("Scale(x, a=2) = a*x, f(3, 4) = 12, f(3) = 6")
    assert not scaled.warnings
    assert scaled.opdef.op == "Scale"


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        (TBE, " as TBE DSL"),
        ("```\nSwish(x) = x * sigmoid(x)\n```", " as formula"),
        (r"$$\mathrm{Swish}(x) = \frac{x}{1 + e^{-x}}$$", " as formula"),
        (PYTORCH, ""),
    ],
    ids=["TBE", "formula", "LaTeX", "PyTorch"],
)
def test_an_answer_has_any_form_that_is_read_here(
    model: Callable[..., Model], answer: str, form: str
) -> None:
    served = model(answer)
    inputs = [(dtypes.FLOAT32, (3, 40))]
    described = describe("multiply x by its sigmoid", op_type="Swish", llm=served.endpoint(), inputs=inputs)
    assert f"written by coder{form} (round 1): check what it computes" in described.warnings
    x = np.linspace(-4, 4, 12).reshape(3, 4)
    (y,) = evaluate(described.opdef, [x])
    np.testing.assert_allclose(y, x / (1 + np.exp(-x)), rtol=1e-6)
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("import os", "os can't be imported"),
        ("from tbe import os", "os can't be imported"),
        ("from tbe import *", r"\* can't be imported"),
        ("import numpy", "numpy can't be imported"),
        ("open('owned', 'w')", "open isn't allowed"),
        ("__import__('os')", "__import__ isn't allowed"),
        ("getattr(tbe, 'dsl')", "getattr isn't allowed"),
        ("tbe.dsl.sys.exit()", r"\.sys isn't allowed"),
        ("tbe.dsl.np.save('owned', 1)", r"\.np isn't allowed"),
        ("().__class__.__base__", r"\.__(class|base)__ isn't allowed"),
        ("class A: pass", "ClassDef isn't allowed"),
        ("global x", "Global isn't allowed"),
        ("async def g(): pass", "AsyncFunctionDef isn't allowed"),
        ("x = (yield)", "Yield isn't allowed"),
        ("eval = 1; eval('1')", ""),
        ("exec('1')", "exec isn't allowed"),
        ("while True: pass", "While isn't allowed"),
        ("try:\n    pass\nfinally:\n    pass", "Try isn't allowed"),
        ("def f(:", "can't be read"),
    ],
)
def test_an_answer_in_tbe_passes_a_whitelist(line: str, words: str) -> None:
    text = f"import tbe.dsl as tbe\n{line}\n"
    if not words:
        check_tbe(text)
        return
    with pytest.raises(AscendError, match=f"E42101.*{words}"):
        check_tbe(text)


@pytest.mark.parametrize(
    "act",
    [
        "open('owned', 'w')",
        "open('/etc/hostname')",
        "__import__('os').system('touch owned')",
        "__import__('subprocess').run(['touch', 'owned'])",
        "__import__('socket').create_connection(('127.0.0.1', 9))",
        "__import__('os').mkdir('owned')",
        "__import__('ctypes').CDLL(None)",
    ],
)
def test_an_answer_that_runs_may_only_compute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run_file(
        Path("answer.py"), f"import tbe\n{act}\n", [{"shapes": [[4]], "attributes": {}}], confined=True
    )
    assert "an answer may not" in answer.data["error"]["message"]
    assert not (tmp_path / "owned").exists()
