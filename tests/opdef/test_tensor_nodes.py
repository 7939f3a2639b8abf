"""Reductions, top-k and changes of shape in the reference, against PyTorch and NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.expression import REDUCTIONS, Input, Reduce
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.output_types import infer
from ascend_ep.opdef.reductions import ELEMENTARY, expanded
from ascend_ep.opdef.reference import evaluate, evaluate_program

X = np.random.default_rng(3).normal(0, 4, (3, 4, 5))
T = torch.from_numpy(X)


def formula(text: str, outputs: str = "y") -> OpDef:
    entry = {
        "op": "A",
        "inputs": [{"name": "x"}, {"name": "b", "param_type": "optional"}],
        "outputs": [{"name": n} for n in outputs],
        "attr": [{"name": "k", "type": "int", "default": 2}, {"name": "order", "type": "int", "default": 0}],
        "formula": text,
    }
    return parse_definitions(json.dumps(entry))[0]


TENSOR: dict[str, Callable[[], torch.Tensor]] = {
    "logsumexp(x, axis=1)": lambda: torch.logsumexp(T, 1, keepdim=True),
    "logsumexp(x, axis=[0, 2], keepdims=false)": lambda: torch.logsumexp(T, (0, 2)),
    "log_softmax(x, axis=1)": lambda: torch.log_softmax(T, 1),
    "layer_norm(x)": lambda: torch.nn.functional.layer_norm(T, (5,)),
    "mean(x, axis=all, keepdims=false)": lambda: T.mean(),
    "logsumexp(x, axis=all)": lambda: torch.logsumexp(T, (0, 1, 2), keepdim=True),
    "layer_norm(x, 0.5, axis=[-2, -1])": lambda: torch.nn.functional.layer_norm(T, (4, 5), eps=0.5),
    "rms_norm(x)": lambda: torch.nn.functional.rms_norm(T, (5,), eps=1e-6),
    "argmax(x, axis=1)": lambda: T.argmax(1, keepdim=True),
    "argmin(x, axis=0, keepdims=false)": lambda: T.argmin(0),
    "any(x > 6) + 2*all(x < 6, axis=1)": lambda: (T > 6).any(-1, True) + 2 * (T < 6).all(1, True),
    "topk(x, 2)": lambda: T.topk(2)[0],
    "topk(x, k=k, axis=0, largest=order)": lambda: T.topk(2, 0, largest=False)[0],
    "topk_indices(x, k, axis=1, largest=false)": lambda: T.topk(2, 1, largest=False)[1],
    "unsqueeze(sum(x, axis=1, keepdims=false), axis=1) + x": lambda: T.sum(1, True) + T,
    "unsqueeze(x, axis=[0, -1])": lambda: T[None, ..., None],
    "sum_to(x, max(x, axis=[0, 1], keepdims=false))": lambda: T.sum((0, 1)),
    "sum_to(x, max(x, axis=1))": lambda: T.sum(1, keepdim=True),
    "sum_to(max(x, axis=1), x)": lambda: T.amax(1, keepdim=True).expand(3, 4, 5),
}


@pytest.mark.parametrize("text", TENSOR)
def test_against_pytorch(text: str) -> None:
    expected = TENSOR[text]().numpy()
    opdef = formula(text)
    np.testing.assert_allclose(evaluate(opdef, [X])[0], expected, rtol=1e-12, atol=1e-14)
    ((_, shape),) = infer(opdef, [(11, X.shape)], {})
    assert shape == expected.shape


@pytest.mark.parametrize("op", [r for r in REDUCTIONS if r not in ELEMENTARY])
@pytest.mark.parametrize("keepdims", [True, False])
def test_expanded_reductions_give_the_same(op: str, keepdims: bool) -> None:
    x = X.copy()
    x[0, 0, 1], x[1, 2, 3], x[2, 3] = np.nan, np.inf, -np.inf
    array = np.abs(x) > 3 if REDUCTIONS[op].takes == ("bool",) else x
    node = Reduce(op, Input("x"), (-1,) if op.startswith("arg") else (0, -1), keepdims)
    program = formula_program(formula("x"))
    results = [
        evaluate_program(type(program)((), (("y", tree),)), {"x": array}, {})[0]
        for tree in (node, expanded(node))
    ]
    np.testing.assert_allclose(results[1], results[0], rtol=1e-13)


def test_one_line_may_give_both_results_of_topk() -> None:
    values, indices = evaluate(formula("v = topk(x, 3)\ni = topk_indices(x, 3)", "vi"), [X])
    np.testing.assert_array_equal(np.take_along_axis(X, indices.astype(np.int64), -1), values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topk(x, 6)", "k is 6, but axis 2 has 5"),
        ("topk(x, k, axis=7)", "axis 7"),
        ("unsqueeze(x, axis=[0, 0])", "repeat"),
        ("sum_to(x, topk(x, 3))", "doesn't fit|broadcast|fit"),
    ],
)
def test_what_does_not_fit(text: str, words: str) -> None:
    with pytest.raises(AscendError, match=words):
        evaluate(formula(text), [X])
    with pytest.raises(AscendError, match=words):
        infer(formula(text), [(11, X.shape)], {})


WRONG = [
    "topk(x)",
    "topk(x, 2.5)",
    "topk(x, k=-1)",
    "argmax(x, axis=[0, 1])",
    "argmax(x, axis=all)",
    "index(x, axis=all)",
    "topk(x, 2, keepdims=true)",
    "sum(x, k=2)",
    "softmax(x, largest=true)",
    "layer_norm(x, 1, 2)",
    "sum_to(x)",
    "topk(x, x)",
]


@pytest.mark.parametrize("text", WRONG)
def test_wrong_calls(text: str) -> None:
    with pytest.raises(AscendError, match=r"E4200[13]"):
        formula_program(formula(text))
