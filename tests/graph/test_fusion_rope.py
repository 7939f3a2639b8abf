"""Rotary embeddings as models write them become one RoPE; what only looks like one stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx
import pytest
import torch
from exported_models import EXPORTERS, assert_same, export
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.registry import Registry

SIZE, LENGTH = 12, 5


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


def halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return x * cos + rotate_half(x) * sin


def chunked_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def joined_halves(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def stacked(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def paired(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.view(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)


def indexed(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


def every_two(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return x * cos + torch.stack((-b, a), -1).flatten(-2) * sin


def regrouped(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    batch, heads, length, size = x.shape
    x = x.view(batch, heads, length, size // 2, 2).transpose(4, 3).reshape(batch, heads, length, size)
    return x * cos + rotate_half(x) * sin


class Module(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return self.function(x, cos, sin)


FORMS = [
    (halves, SIZE, 0),
    (chunked_halves, SIZE, 0),
    (joined_halves, SIZE // 2, 0),
    (stacked, SIZE // 2, 1),
    (paired, SIZE // 2, 1),
    (indexed, SIZE // 2, 1),
    (every_two, SIZE, 1),
    (regrouped, SIZE, 2),
]


#: Exporter, and whether axes are free. The dynamo exporter takes a second each.
WRITTEN = [("torchscript", False), ("torchscript", True), ("dynamo", True)]
IDS = ["static-torchscript", "free-torchscript", "free-dynamo", "static-dynamo"]


@pytest.mark.parametrize(
    ("exporter", "free"), [*WRITTEN, pytest.param("dynamo", False, marks=pytest.mark.slow)], ids=IDS
)
@pytest.mark.parametrize(("form", "width", "interleaved"), FORMS, ids=[f[0].__name__ for f in FORMS])
def test_what_exporters_write(
    form: Callable[..., Tensor],
    width: int,
    interleaved: int,
    free: bool,
    exporter: str,
    registry: Registry,
) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(2, 3, LENGTH, SIZE), torch.randn(LENGTH, width), torch.randn(LENGTH, width)]
    axes = [{0: "batch", 2: "length"}, {0: "length"}, {0: "length"}] if free else []
    original = export(Module(form), inputs, exporter, axes)
    model = run_passes(load_model(original), registry)
    (node,) = model.graph
    assert (node.op_type, node.attributes["interleaved"].as_int()) == ("RoPE", interleaved)
    assert_same(original, model, inputs, registry)
    feeds = {f"x{i}": t.numpy() for i, t in enumerate(inputs)}
    options = ConvertOptions(sample_seed=None, self_check=False)
    (got,) = ascend_ep.InferenceSession(convert(original, options).to_bytes()).run(None, feeds)
    np.testing.assert_allclose(got, form(*inputs).numpy(), rtol=1e-5, atol=1e-5)


def swapped_pairs(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    b, a = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def unflattened(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -2).flatten(-2)


def read_twice(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    low = a * cos - b * sin
    return torch.stack((low, a * sin + b * cos), -1).flatten(-2) + low.sum()


def other_way(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), -1).flatten(-2)


def third_part(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The second sum reads another part of x than the first."""
    a, b, c = x[..., ::2], x[..., 1::2], x[..., : SIZE // 2]
    return torch.stack((a * cos - b * sin, b * cos + c * sin), -1).flatten(-2)


def turned_elsewhere(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The axes before the pairs change places too."""
    batch, heads, length, size = x.shape
    x = x.view(batch, heads, length, size // 2, 2).permute(0, 1, 4, 2, 3).reshape(x.shape)
    return x * cos + rotate_half(x) * sin


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(
    ("form", "width", "reason"),
    [
        (swapped_pairs, SIZE // 2, "every second element"),
        (unflattened, SIZE // 2, "stacked along a last axis"),
        (read_twice, SIZE // 2, "used elsewhere"),
        (other_way, SIZE // 2, ""),
        (third_part, SIZE // 2, ""),
        (turned_elsewhere, SIZE, "rotated in another way"),
    ],
)
def test_what_only_looks_like_one(
    form: Callable[..., Tensor], width: int, reason: str, exporter: str, registry: Registry
) -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(2, 3, LENGTH, SIZE), torch.randn(LENGTH, width), torch.randn(LENGTH, width)]
    original = export(Module(form), inputs, exporter)
    ledger = Ledger()
    model = run_passes(load_model(original), registry, ledger=ledger)
    made = [n.attributes["interleaved"].as_int() for n in model.graph if n.op_type == "RoPE"]
    assert made == ([0] if form is turned_elsewhere else [])  # which rotates what was rotated
    assert any(reason in o.reason for o in ledger.outcomes) or not reason
    assert_same(original, model, inputs, registry)


node = helper.make_node


def pairs(outputs: Sequence[str], cos: Sequence[int]) -> onnx.ModelProto:
    """The stacked form with these outputs and tables of these dims."""
    nodes = [
        node("Slice", ["x", "zero", "end", "axis", "two"], ["a"]),
        node("Slice", ["x", "one", "end", "axis", "two"], ["b"]),
        node("Mul", ["a", "cos"], ["ac"]),
        node("Mul", ["b", "sin"], ["bs"]),
        node("Sub", ["ac", "bs"], ["low"]),
        node("Mul", ["b", "cos"], ["bc"]),
        node("Mul", ["a", "sin"], ["as"]),
        node("Add", ["bc", "as"], ["high"]),
        node("Unsqueeze", ["low", "axis"], ["u"]),
        node("Unsqueeze", ["high", "axis"], ["v"]),
        node("Concat", ["u", "v"], ["c"], axis=-1),
        node("Reshape", ["c", "shape"], ["y"]),
    ]
    numbers = {"zero": [0], "one": [1], "two": [2], "end": [2**62], "axis": [-1], "shape": [1, 2, 5, 6]}
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5, 6]),
            *(helper.make_tensor_value_info(n, TensorProto.FLOAT, cos) for n in ("cos", "sin")),
        ],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(np.array(v), n) for n, v in numbers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.mark.parametrize(
    ("outputs", "cos", "reason"),
    [
        (["y"], [5, 3], None),
        (["y"], [1, 1, 5, 3], None),
        (["y", "low"], [5, 3], "'low' is used elsewhere"),
        (["y"], [1, 3], "table of [sequence, 3]"),
        (["y"], [2, 5, 3], "differs between heads"),
    ],
)
def test_outputs_in_the_middle_and_tables(
    outputs: Sequence[str], cos: Sequence[int], reason: str | None
) -> None:
    ledger = Ledger()
    model = run_passes(load_model(pairs(outputs, cos)), ledger=ledger)
    assert ("RoPE" in [n.op_type for n in model.graph]) == (reason is None)
    assert reason is None or any(reason in o.reason for o in ledger.outcomes)
