"""ONNX Attention natively, against onnx.reference in float64 and onnxruntime; what is refused, and why."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

#: Sums of at most 100 float32 products, and weights that sum to one.
TOLERANCE = 4e-6
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")
OUTPUTS = ("Y", "present_key", "present_value", "qk_matmul_output")
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """Shapes, the kind of mask ("" none, "bool", "float") with its dims, and attributes."""

    heads: int = 4
    kv_heads: int = 2
    queries: int = 7
    new: int = 7
    past: int = 0
    mask: str = ""
    mask_dims: tuple[int, ...] = ()
    flat: bool = False
    outputs: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def feeds(self, dtype: Any = np.float32, size: int = 24, width: int = 20) -> Arrays:
        random = np.random.default_rng(0)

        def draw(*dims: int) -> NDArray[Any]:
            return random.standard_normal(dims).astype(np.float32).astype(dtype)

        made = {
            "Q": draw(2, self.heads, self.queries, size),
            "K": draw(2, self.kv_heads, self.new, size),
            "V": draw(2, self.kv_heads, self.new, width),
        }
        if self.flat:
            made = {n: a.transpose(0, 2, 1, 3).reshape(2, a.shape[2], -1).copy() for n, a in made.items()}
        if self.past:
            made["past_key"] = draw(2, self.kv_heads, self.past, size)
            made["past_value"] = draw(2, self.kv_heads, self.past, width)
        if self.mask:
            mask = draw(*self.mask_dims)
            made["attn_mask"] = mask > -0.5 if self.mask == "bool" else mask
        return made

    def model(self, version: int = 23, dims: Mapping[str, Any] | None = None) -> onnx.ModelProto:
        feeds, attributes = self.feeds(), dict(self.attributes)
        if self.flat:
            attributes |= {"q_num_heads": self.heads, "kv_num_heads": self.kv_heads}
        names = [n if n in feeds else "" for n in INPUTS]
        while not names[-1]:
            names.pop()
        node = helper.make_node("Attention", names, OUTPUTS[: self.outputs], **attributes)
        types = {n: TensorProto.BOOL if a.dtype == np.bool_ else TensorProto.FLOAT for n, a in feeds.items()}
        shapes = {n: (dims or {}).get(n, a.shape) for n, a in feeds.items()}
        graph = helper.make_graph(
            [node],
            "attention",
            [helper.make_tensor_value_info(n, types[n], shapes[n]) for n in feeds],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in OUTPUTS[: self.outputs]],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=11)


def reference(case: Case) -> list[NDArray[Any]]:
    """In float64: it computes in the type it is given. It wants masks with a row for each query."""
    feeds = case.feeds(np.float64)
    if case.mask:
        mask = feeds["attn_mask"]
        feeds["attn_mask"] = np.broadcast_to(mask, (*mask.shape[:-2], case.queries, mask.shape[-1])).copy()
    return list(ReferenceEvaluator(case.model()).run(None, feeds))


def native(model: onnx.ModelProto, feeds: Arrays, precision: str = "origin") -> list[NDArray[Any]]:
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(precision=precision)).to_bytes())
    assert session.get_providers() == ["AscendEP"]
    return list(session.run(None, feeds))


CAUSAL = {"is_causal": 1}
CASES = {
    "plain": Case(),
    "cross": Case(queries=5, new=37),
    "flat": Case(flat=True, attributes={"scale": 0.3}),
    "many keys": Case(queries=70, new=70, attributes=CAUSAL),
    "causal": Case(attributes=CAUSAL),
    "causal, few": Case(queries=3, new=3, attributes=CAUSAL),
    "causal, fewer keys": Case(queries=40, new=9, attributes=CAUSAL),
    "decode": Case(queries=1, new=1, past=33, outputs=3, attributes=CAUSAL),
    "chunk": Case(queries=35, new=35, past=30, outputs=3, attributes=CAUSAL, flat=True),
    "past, no outputs": Case(past=5),
    "presents without past": Case(outputs=3),
    "float mask": Case(mask="float", mask_dims=(2, 1, 7, 7)),
    "mask of heads": Case(mask="float", mask_dims=(4, 7, 7), attributes=CAUSAL),
    "bool mask": Case(mask="bool", mask_dims=(7, 7)),
    "bool mask, causal": Case(queries=40, new=40, mask="bool", mask_dims=(2, 1, 1, 40), attributes=CAUSAL),
    "short mask": Case(queries=9, new=9, past=4, mask="float", mask_dims=(1, 4, 9, 10), outputs=3),
    "short mask, few": Case(queries=2, new=9, mask="bool", mask_dims=(2, 5)),
    "mask and past": Case(past=5, outputs=3, mask="bool", mask_dims=(2, 4, 7, 12)),
}


@pytest.mark.parametrize("name", CASES)
def test_against_float64(name: str) -> None:
    case = CASES[name]
    for version in (23, 24):
        for got, wanted in zip(native(case.model(version), case.feeds()), reference(case), strict=True):
            np.testing.assert_allclose(got, wanted, atol=TOLERANCE * np.abs(wanted).max())


@pytest.mark.parametrize(
    "name", ["plain", "flat", "causal", "decode", "bool mask", "float mask", "mask and past"]
)
def test_against_onnxruntime(name: str) -> None:
    case = CASES[name]
    session = ort.InferenceSession(case.model().SerializeToString(), providers=["CPUExecutionProvider"])
    for got, wanted in zip(native(case.model(), case.feeds()), session.run(None, case.feeds()), strict=True):
        np.testing.assert_allclose(got, wanted, atol=2 * TOLERANCE * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["chunk", "many keys", "bool mask, causal"])
def test_in_bfloat16(name: str) -> None:
    """Operands and weights keep 8 bits: 2^-9 each, on scores of a few units."""
    case = CASES[name]
    got, wanted = native(case.model(), case.feeds(), "allow_mix_precision_bf16")[0], reference(case)[0]
    assert 1e-4 < np.abs(got - wanted).max() / np.abs(wanted).max() < 2e-2


@pytest.mark.parametrize("queries", [3, 40])
def test_a_row_that_sees_nothing_is_zero(queries: int) -> None:
    case = Case(queries=queries, new=queries, mask="bool", mask_dims=(queries, queries))
    feeds = case.feeds()
    feeds["attn_mask"][1] = False
    feeds["Q"][0, 0, 2, 0] = np.nan
    (y,) = native(case.model(), feeds)
    assert not y[:, :, 1].any()
    assert np.isnan(y[0, 0, 2]).all()
    assert np.isnan(y).sum() == y.shape[-1]


def test_free_dims() -> None:
    """One conversion for every length of the past."""
    case = Case(queries=1, new=1, past=33, outputs=3, attributes=CAUSAL)
    dims = {n: [2, 2, "past", d] for n, d in (("past_key", 24), ("past_value", 20))}
    model = convert(case.model(dims=dims)).to_bytes()
    for past in (1, 40):
        longer = Case(queries=1, new=1, past=past, outputs=3, attributes=CAUSAL)
        results = ascend_ep.InferenceSession(model).run(None, longer.feeds())
        for got, wanted in zip(results, reference(longer), strict=True):
            np.testing.assert_allclose(got, wanted, atol=TOLERANCE * np.abs(wanted).max())


@pytest.mark.parametrize(
    "case",
    [
        Case(attributes={"softcap": 5.0}),
        Case(outputs=4),
        Case(attributes={"softmax_precision": TensorProto.DOUBLE}),
    ],
)
def test_what_the_kernel_lacks_runs_as_the_function_body(case: Case) -> None:
    results = native(case.model(24), case.feeds())
    np.testing.assert_allclose(results[0], reference(case)[0], atol=1e-5)


def test_export_from_pytorch() -> None:
    """The exporter writes scaled_dot_product_attention as Attention from opset 23 on."""
    torch = pytest.importorskip("torch")

    class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, q: Any, k: Any, v: Any) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    q, k, v = (torch.randn(1, 2, 40, 16) for _ in range(3))
    file = io.BytesIO()
    program = torch.onnx.export(Block(), (q, k, v), dynamo=True, opset_version=23, verbose=False)
    program.save(file)
    model = onnx.load_from_string(file.getvalue())
    assert "Attention" in [n.op_type for n in model.graph.node]
    feeds = {i.name: a.numpy() for i, a in zip(model.graph.input, (q, k, v), strict=True)}
    (y,) = native(model, feeds)
    np.testing.assert_allclose(y, Block()(q, k, v).numpy(), atol=1e-5)
