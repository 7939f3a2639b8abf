"""Attention as both of PyTorch's exporters write it becomes one node with the same results."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.fusion import fuse
from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.registry import Registry

HEADS, POSITIONS, SIZE = 4, 6, 8
NAME = "ScaledDotProductAttention"


class Dotted(nn.Module):
    """torch's own function."""

    def __init__(self, causal: bool = False, grouped: bool = False) -> None:
        super().__init__()
        self.options = {"is_causal": causal, "enable_gqa": grouped}

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *mask: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, *(mask or (None,)), **self.options)


class ByHand(nn.Module):
    """As Hugging Face writes it: heads split from the last axis, repeated, and joined again."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *mask: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        group = q.shape[1] // k.shape[1]
        if group > 1:
            k, v = (
                t[:, :, None].expand(t.shape[0], t.shape[1], group, *t.shape[2:]).reshape(q.shape)
                for t in (k, v)
            )
        scores = q @ k.transpose(2, 3) / SIZE**0.5
        if mask:
            scores = scores + mask[0]
        return (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(q.shape[0], POSITIONS, -1)


def export(module: nn.Module, inputs: Sequence[torch.Tensor], exporter: str) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(inputs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            program = torch.onnx.export(
                module, tuple(inputs), input_names=names, output_names=["y"], opset_version=18,
                dynamo=True, verbose=False,
            )  # fmt: skip
            return program.model_proto
        buffer = io.BytesIO()
        torch.onnx.export(
            module, tuple(inputs), buffer, input_names=names, output_names=["y"], dynamo=False,
            opset_version=17,
        )  # fmt: skip
    return onnx.load_from_string(buffer.getvalue())


WIDE = (2, HEADS, POSITIONS, SIZE)
NARROW = (2, HEADS // 2, POSITIONS, SIZE)
SPLIT = (2, POSITIONS, HEADS, SIZE)
SPLIT_NARROW = (2, POSITIONS, HEADS // 2, SIZE)
MASK = (2, 1, POSITIONS, POSITIONS)


@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize(
    ("module", "shapes", "inputs", "attributes"),
    [
        (Dotted(), [WIDE] * 3, 3, {}),
        (Dotted(), [WIDE] * 3 + [MASK], 4, {}),
        (Dotted(causal=True), [WIDE] * 3, 4, {}),
        (Dotted(grouped=True), [WIDE, NARROW, NARROW], 3, {"key_transposed": 0}),
        (ByHand(), [SPLIT] * 3, 3, {"heads_last": 1}),
        (ByHand(), [SPLIT, SPLIT_NARROW, SPLIT_NARROW, MASK], 4, {"heads_last": 1, "key_transposed": 0}),
    ],
    ids=["plain", "mask", "causal", "grouped", "by hand", "by hand, grouped"],
)
def test_what_exporters_write(
    module: nn.Module,
    shapes: list[tuple[int, ...]],
    inputs: int,
    attributes: dict[str, int],
    exporter: str,
    registry: Registry,
) -> None:
    if exporter == "torchscript" and isinstance(module, Dotted) and module.options["enable_gqa"]:
        pytest.skip("this exporter refuses grouped heads")
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(s, generator=generator) for s in shapes]
    original = export(module.eval(), tensors, exporter)
    model = run_passes(load_model(original), registry)
    fused = [n for n in model.graph if n.domain == "ascend_ep"]
    assert [n.op_type for n in fused] == [NAME]
    assert len(fused[0].inputs) == inputs
    assert not {"MatMul", "Softmax", "Expand"} & {n.op_type for n in model.graph}
    found = {name: fused[0].attributes[name].as_int() for name in attributes}
    assert found == attributes

    feeds = {f"x{i}": t.numpy() for i, t in enumerate(tensors)}
    wanted = reference_run(original, feeds, registry)["y"]
    proto = ir.to_proto(model)
    proto.ir_version = 10
    np.testing.assert_allclose(reference_run(proto, feeds, registry)["y"], wanted, rtol=1e-5, atol=1e-6)
    by_body = reference_run(proto, feeds, Registry(builtin=False))["y"]
    np.testing.assert_allclose(by_body, wanted, rtol=1e-5, atol=1e-6)  # the scale was folded in float32
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, feeds)[0], wanted, rtol=1e-5, atol=1e-5)


def test_a_boolean_mask_gives_zero_where_nothing_is_seen(registry: Registry) -> None:
    mask = torch.ones(1, 1, POSITIONS, POSITIONS, dtype=torch.bool)
    mask[..., 2, :] = False
    q, k, v = (torch.randn(1, HEADS, POSITIONS, SIZE) for _ in range(3))
    original = export(Dotted(), [q, k, v, mask], "torchscript")
    model = run_passes(load_model(original), registry)
    (fused,) = (n for n in model.graph if n.domain == "ascend_ep")
    assert fused.attributes["nan_to_zero"].as_int() == 1
    proto = ir.to_proto(model)
    feeds = {f"x{i}": t.numpy() for i, t in enumerate((q, k, v, mask))}
    y = reference_run(proto, feeds, registry)["y"]
    assert not y[:, :, 2].any()
    np.testing.assert_allclose(y, reference_run(original, feeds, registry)["y"], rtol=1e-6, atol=1e-7)


def attempt(
    changes: dict[str, dict[str, object]] | None = None, mask: Sequence[int] = (1, 1, 5, 7)
) -> tuple[list[str], list[str]]:
    """(operators, reasons of refusals) of attention over q [2, 3, 5, 4] and k, v of 7 keys, with changes."""
    attributes: dict[str, dict[str, object]] = {
        "Transpose": {"perm": [0, 1, 3, 2]}, "Softmax": {"axis": -1}, **(changes or {}),
    }  # fmt: skip
    node = helper.make_node
    nodes = [
        node("Transpose", ["k"], ["kt"], **attributes["Transpose"]),
        node("MatMul", ["q", "kt"], ["qk"]),
        node("Add", ["qk", "m"], ["s"]),
        node("Softmax", ["s"], ["w"], **attributes["Softmax"]),
        node("MatMul", ["w", "v"], ["y"]),
    ]
    shapes = {"q": [2, 3, 5, 4], "k": [2, 3, 7, 4], "v": [2, 3, 7, 4]}
    if attributes["Transpose"]["perm"] == [1, 0, 3, 2]:
        shapes["k"] = [3, 2, 7, 4]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.zeros(mask, np.float32), "m")],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    _, refusals = fuse(model)
    return [n.op_type for n in model.graph], [r.reason for r in refusals]


def test_the_plain_pattern_is_fused() -> None:
    assert attempt() == ([NAME], [])


def test_keys_transposed_in_another_way_are_taken_as_they_come() -> None:
    assert attempt({"Transpose": {"perm": [1, 0, 3, 2]}})[0] == ["Transpose", NAME]


def test_refusals() -> None:
    operators, reasons = attempt({"Softmax": {"axis": 2}})
    assert NAME not in operators
    assert any("not over the keys" in r for r in reasons)
    operators, reasons = attempt(mask=(4, 2, 3, 5, 7))
    assert NAME not in operators
    assert any("mask" in r for r in reasons)
