"""Which front end reads a description; files; that what is described is a definition the loader reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opdef.definition import Formula, OpDef
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.reference import evaluate

PROSE = "“实现一个激活函数,输入张量 x,输出 x 乘以它的 sigmoid 值”"


@pytest.mark.parametrize(
    ("text", "kind", "op"),
    [
        ("Swish(x) = x * σ(x),其中 σ(x) = 1 / (1 + exp(-x))", "formula", "Swish"),
        ("Swish(x) = x * sigmoid(x)", "formula", "Swish"),
        ("def swish(x):\nreturn x * torch.sigmoid(x)", "pseudo-code", "Swish"),
        ("Please use:\n```python\ndef swish(x):\n    return x\n```", "pseudo-code", "Swish"),
        ("实现 PReLU: y = x if x > 0 else alpha * x,alpha 为可学习参数", "formula", "PReLU"),
        (
            "用 TBE DSL 实现 Swish 激活函数:swish(x) = x * sigmoid(x),输入 FP16 Tensor,shape 任意。",
            "formula",
            "Swish",
        ),
    ],
)
def test_the_form_is_recognized(text: str, kind: str, op: str) -> None:
    described = describe(text)
    assert (described.kind, described.opdef.op) == (kind, op)


def test_a_bare_expression_takes_its_name_from_outside() -> None:
    assert describe("x * sigmoid(x)", op_type="Swish").opdef.op == "Swish"
    with pytest.raises(AscendError, match="E42102"):
        describe("x * sigmoid(x)")


@pytest.mark.parametrize(
    "text",
    [PROSE, "an activation that squares its input", "实现 TopK:返回 values 和 indices,k=10", "softmax"],
)
def test_prose_without_a_model_shows_the_formula_form(text: str) -> None:
    with pytest.raises(AscendError) as caught:
        describe(text)
    assert caught.value.code == "E42103"
    assert "Swish(x) = x*sigmoid(x)" in caught.value.fix
    assert "--llm-url" in caught.value.fix


def test_prose_that_names_a_function_shows_its_formula() -> None:
    with pytest.raises(AscendError, match="E42103") as caught:
        describe("实现 TopK:返回 values 和 indices,k=10")
    (form,) = [d for d in caught.value.details if "topk" in d]
    text = form.partition(": ")[2]
    assert text == "TopK(x) -> values, indices = topk(x, 10)"
    assert describe(text).opdef.op == "TopK"
    with pytest.raises(AscendError, match="E42103") as caught:
        describe("please write the mish of my tensor")
    assert describe(caught.value.details[1].partition(": ")[2]).opdef.op == "Mish"


def test_files(tmp_path: Path) -> None:
    code = tmp_path / "swish.py"
    code.write_text("def swish(x):\n    return x * oops(x)\n")
    with pytest.raises(AscendError) as caught:
        describe(str(code))
    assert caught.value.where == f"{code} line 2"
    text = tmp_path / "gelu.txt"
    text.write_text("\ufeffGelu(x) = 0.5·x·(1 + erf(x/√2))", encoding="utf-8")
    assert describe(str(text)).opdef.op == "Gelu"
    with pytest.raises(AscendError, match="E10410"):
        describe(str(tmp_path / "none.py"))
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AscendError, match="UTF-8"):
        describe(str(tmp_path / "binary.txt"))
    (tmp_path / "large.txt").write_text("x+" * 1_000_000)
    with pytest.raises(AscendError, match="E42004"):
        describe(str(tmp_path / "large.txt"))
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(AscendError, match="E41010"):
        describe(str(tmp_path / "folder.py"))


def as_json(opdef: OpDef) -> str:
    assert isinstance(opdef.semantics, Formula)
    return json.dumps(
        {
            "op": opdef.op,
            "types": {"T": ["float32", "float16", "bfloat16"]},
            "inputs": [{"name": i.name, "type": "T", "param_type": i.occurrence} for i in opdef.inputs],
            "outputs": [{"name": o.name, "type": "T"} for o in opdef.outputs],
            "attributes": [{"name": a.name, "type": a.type, "default": a.default} for a in opdef.attributes],
            "formula": opdef.semantics.text.split("\n"),
        }
    )


@pytest.mark.parametrize(
    "text",
    [
        "LayerNormGelu(x, γ, β, ε=1e-5) = gelu(γ·(x − μ)/√(mean((x − μ)²) + ε) + β), where μ = mean(x)",
        "def f(x, w=None, eps=1e-6, mode='a'):\n    mean = x.mean(-1, keepdim=True)\n    index = x - mean\n"
        "    sum = index * index + eps\n    y = sum if mode == 'a' else index\n"
        "    if w is not None:\n        y = y * w\n    return y",
        "def silu(x, exp, e):\n    return x * torch.exp(exp) + e",
    ],
)
def test_a_description_is_a_definition_that_the_loader_reads(text: str) -> None:
    opdef = describe(text).opdef
    (loaded,) = parse_definitions(as_json(opdef))
    inputs = [np.linspace(-1, 1, 8).reshape(2, 4) + i for i in range(len(opdef.inputs))]
    for result, expected in zip(evaluate(loaded, inputs), evaluate(opdef, inputs), strict=True):
        np.testing.assert_array_equal(result, expected)
