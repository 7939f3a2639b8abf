"""Inputs of odd lengths and values, where sizes are free: a code or onnxruntime's answer."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from odd_operands.oddities import with_free_dims
from odd_operands.trial import OPTIONS, trial
from onnx_suite.cases import Case, Loaded

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError


def model(opset: int, inputs: str, call: str) -> onnx.ModelProto:
    text = f'<ir_version: 10, opset_import: ["": {opset}]> g ({inputs}) => (float y) {{ y = {call} }}'
    return with_free_dims(onnx.parser.parse_model(text))


def floats(*dims: int) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(dims)), dtype=np.float32).reshape(dims)


ATTENTION = (
    "float[2, 3, 8] q, float[2, 5, 4] k, float[2, 5, 6] v",
    ("Attention <q_num_heads = 4, kv_num_heads = 2, scale = 0.3> (q, k, v)"),
)
GROUPS = "float[2, 4, 3] x, float[2] s, float[2] t", "GroupNormalization <num_groups = 2> (x, s, t)"
ROWS = "float[2, 4] x, float[4] s", "LayerNormalization <axis = 1> (x, s)"
UNPOOL = (
    "float[1, 1, 2, 2] x, int64[1, 1, 2, 2] at",
    ("MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, at)"),
)
AT = np.array([[[[0, 2], [8, 10]]]])


@pytest.mark.parametrize(
    ("opset", "described", "feeds", "told"),
    [
        (18, GROUPS, [floats(2, 4, 3), floats(4), floats(2)], "must be 2 for node"),
        (18, GROUPS, [floats(2, 4, 3), floats(2), floats(1)], "must be 2 for node"),
        (23, ATTENTION, [floats(2, 3, 8), floats(2, 5, 4), floats(2, 6, 6)], "given are 6 and 5"),
        (23, ATTENTION, [floats(2, 3, 8), floats(1, 5, 4), floats(2, 5, 6)], "given are 1 and 2"),
        (23, ATTENTION, [floats(2, 3, 9), floats(2, 5, 4), floats(2, 5, 6)], "given are 9 and 8"),
        (17, ROWS, [floats(3, 1), floats(4)], "must be 'd2'"),
        (11, UNPOOL, [floats(1, 1, 2, 2), np.concatenate([AT, AT], 2)], "given are 4 and 2"),
        (11, UNPOOL, [floats(1, 1, 2, 2), -AT], "outside an axis of length 16"),
    ],
)
def test_a_wrong_operand_is_refused(
    opset: int, described: tuple[str, str], feeds: list[np.ndarray], told: str
) -> None:
    """These were taken, and part of them was used."""
    made = model(opset, *described)
    session = ascend_ep.InferenceSession(convert(made, OPTIONS).to_bytes())
    assert session.get_providers() == ["AscendEP"]
    names = [i.name for i in made.graph.input]
    with pytest.raises(AscendError, match=told):
        session.run(None, dict(zip(names, feeds, strict=True)))


def test_indices_of_every_kind() -> None:
    """Indices of every kind, with onnxruntime's answers beside ours."""
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[3, 4] x, int64[2] at) => (float[2, 4] y)'
        "{ y = Gather(x, at) }"
    )
    given = [floats(3, 4), np.array([0, 2])]
    case = Case("node/gather", "Gather", 1e-5, 1e-6, lambda: Loaded(made, [(given, [])]))
    tried, found = trial(case)
    assert tried > 20
    assert not found
