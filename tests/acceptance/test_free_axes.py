"""A decoder with a cache whose every axis has a name of its own, as PyTorch's two exporters write it."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from decoders import LLAMA, WIDTH, Block, repeat_heads, rotate
from numpy.typing import NDArray
from torch import nn
from torch_export import EXPORTERS, export

import ascend_ep
from ascend_ep.cli.om_inputs import input_arrays
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from ascend_ep.plan.plan import NativePartition

#: batch, new positions, cached ones
SIZES = ((1, 1, 4), (2, 3, 5), (3, 4, 1), (1, 6, 0))
PAIR = {0: "batch", 2: "past"}
AXES = {
    "x": {0: "batch", 1: "new"},
    "mask": {0: "batch", 1: "total"},
    "past_key": PAIR,
    "past_value": PAIR,
}


class Cached(nn.Module):
    """Attention over a cache as decoders for language have it, hiding by a mask over all positions."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block(LLAMA, 0)
        self.turn = nn.Parameter(torch.randn(2, WIDTH // LLAMA.heads))

    def forward(
        self, x: torch.Tensor, mask: torch.Tensor, past_key: torch.Tensor, past_value: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        inner = self.block.attention
        q, k, v = (
            m(x).view(*x.shape[:2], -1, inner.size).transpose(1, 2) for m in (inner.q, inner.k, inner.v)
        )
        cos, sin = (t.expand(*x.shape[:2], -1) for t in self.turn)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k, v = torch.cat((past_key, k), dim=2), torch.cat((past_value, v), dim=2)
        groups = LLAMA.heads // LLAMA.kv_heads
        hidden = (1.0 - mask[:, None, None, :]) * torch.finfo(torch.float32).min
        scores = q @ repeat_heads(k, groups).transpose(2, 3) * inner.size**-0.5 + hidden
        mixed = (scores.softmax(-1) @ repeat_heads(v, groups)).transpose(1, 2)
        return x + inner.o(mixed.reshape(*x.shape[:2], -1)), k, v


def tensors(batch: int, new: int, past: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(batch + new + past)
    mask = torch.ones(batch, past + new)
    mask[1:, :1] = 0
    cached = (torch.randn(batch, LLAMA.kv_heads, past, WIDTH // LLAMA.heads) for _ in range(2))
    return dict(zip(AXES, (torch.randn(batch, new, WIDTH), mask, *cached), strict=True))


@cache
def exported(exporter: str) -> onnx.ModelProto:
    torch.manual_seed(0)
    values = tuple(tensors(2, 3, 5).values())
    return export(Cached(), values, list(AXES), ["y", "key", "value"], AXES, exporter=exporter)


@cache
def converted(exporter: str) -> tuple[Conversion, bytes]:
    conversion = convert(exported(exporter))
    return conversion, conversion.to_bytes()


def as_arrays(given: dict[str, torch.Tensor]) -> dict[str, NDArray[np.generic]]:
    return {name: tensor.numpy() for name, tensor in given.items()}


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_attention_takes_the_cache_in(exporter: str) -> None:
    conversion, _ = converted(exporter)
    assert {row.target for row in conversion.partition_table} == {"AscendEP"}
    parts = [p for p in conversion.plan.partitions if isinstance(p, NativePartition)]
    assert [i.kernel for p in parts for i in p.insns if "attention" in i.kernel] == ["attention_append"]


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_samples_agree(exporter: str) -> None:
    conversion, bundle = converted(exporter)
    shapes = {s.edge.name: s.array.shape for s in conversion.plan.samples}
    assert shapes["mask"][1] == shapes["x"][1] + shapes["past_key"][2]
    session = ascend_ep.InferenceSession(bundle)
    feeds = input_arrays(session, [], ["past=5"], 0)
    assert feeds["mask"].shape[1] == 5 + feeds["x"].shape[1]
    session.run(None, feeds)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_sizes(exporter: str) -> None:
    own = ascend_ep.InferenceSession(converted(exporter)[1])
    stock, plain = (
        onnxruntime.InferenceSession(exported(exporter).SerializeToString(), providers=[p])
        for p in ("AscendEP", "CPUExecutionProvider")
    )
    assert [i.shape for i in own.get_inputs()] == [i.shape for i in plain.get_inputs()]
    for sizes in SIZES:
        feeds = as_arrays(tensors(*sizes))
        wanted = plain.run(None, feeds)
        for session in (own, stock):
            for got, want in zip(session.run(None, feeds), wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_one_column_of_the_mask_is_for_all_keys(exporter: str) -> None:
    feeds = as_arrays(tensors(2, 3, 5))
    feeds["mask"] = np.ones((2, 1), np.float32)
    plain = onnxruntime.InferenceSession(
        exported(exporter).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    got = ascend_ep.InferenceSession(converted(exporter)[1]).run(None, feeds)[0]
    np.testing.assert_allclose(got, plain.run(None, feeds)[0], rtol=2e-4, atol=2e-5)


def test_sizes_that_do_not_broadcast_are_named() -> None:
    text = """<ir_version: 10, opset_import: ["": 17]> g (float[p,4] a, float[q,4] b, float[r,4] c)
        => (float[n,4] y) { d = Add(a, b) y = Mul(d, c) }"""
    session = ascend_ep.InferenceSession(convert(onnx.parser.parse_model(text)).to_bytes())
    for p, q, r in ((3, 3, 3), (1, 3, 1), (3, 1, 3), (1, 1, 3)):
        feeds = {n: np.ones((s, 4), np.float32) for n, s in zip("abc", (p, q, r), strict=True)}
        assert session.run(None, feeds)[0].shape == (3, 4)
    feeds["a"] = feeds["a"].repeat(2, axis=0)
    axes = r"axis 0 of input \[a\] \('p'\) must be 'r', unless either is 1, for node \[y\]; "
    with pytest.raises(AscendError, match=axes + r"'r' is axis 0 of input \[c\]: given are 2 and 3"):
        session.run(None, feeds)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_sizes_that_do_not_agree_are_named(exporter: str) -> None:
    feeds = as_arrays(tensors(2, 3, 5))
    feeds["mask"] = feeds["mask"][:, :-2]
    # by their places: where sizes contradict names, the plan that knows none decides
    axes = r"axis 1 of input \[mask\] .* be 'past_key_d2\+x_d1', .* 1, .*: given are 6 and 8"
    with pytest.raises(AscendError, match=axes):
        ascend_ep.InferenceSession(converted(exporter)[1]).run(None, feeds)
    stock = onnxruntime.InferenceSession(exported(exporter).SerializeToString(), providers=["AscendEP"])
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match=axes):
        stock.run(None, feeds)
