"""Whole layers from both exporters: what remains of them, and that they compute the same."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import pytest
import torch
from exported_models import EXPORTERS, assert_same, export
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.graph import load_model, run_passes
from ascend_ep.graph.fusion.ledger import Ledger
from ascend_ep.opdef.fusion_rules import RULES
from ascend_ep.opdef.registry import Registry
from ascend_ep.plan.plan import NativePartition

HIDDEN, HEADS, NOPE, ROPE, VALUE, RANK, LENGTH = 32, 2, 8, 4, 6, 16, 5


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """As DeepSeek has it: pairs become halves."""
    batch, heads, length, size = x.shape
    x = x.view(batch, heads, length, size // 2, 2).transpose(4, 3).reshape(batch, heads, length, size)
    return x * cos + torch.cat((-x[..., size // 2 :], x[..., : size // 2]), -1) * sin


class Latent(nn.Module):
    """DeepSeek-V2's attention up to its scores' product with the values, without a cache."""

    def __init__(self) -> None:
        super().__init__()
        self.q_a_proj = nn.Linear(HIDDEN, RANK, bias=False)
        self.q_a_layernorm = RMSNorm(RANK)
        self.q_b_proj = nn.Linear(RANK, HEADS * (NOPE + ROPE), bias=False)
        self.kv_a_proj_with_mqa = nn.Linear(HIDDEN, RANK + ROPE, bias=False)
        self.kv_a_layernorm = RMSNorm(RANK)
        self.kv_b_proj = nn.Linear(RANK, HEADS * (NOPE + VALUE), bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x)))
        q = q.view(batch, length, HEADS, NOPE + ROPE).transpose(1, 2)
        q_nope, q_pe = torch.split(q, [NOPE, ROPE], dim=-1)
        latent, k_pe = torch.split(self.kv_a_proj_with_mqa(x), [RANK, ROPE], dim=-1)
        k_pe = k_pe.view(batch, length, 1, ROPE).transpose(1, 2)
        kv = self.kv_b_proj(self.kv_a_layernorm(latent))
        kv = kv.view(batch, length, HEADS, NOPE + VALUE).transpose(1, 2)
        k_nope, values = torch.split(kv, [NOPE, VALUE], dim=-1)
        q_pe, k_pe = rotate(q_pe, cos, sin), rotate(k_pe, cos, sin)
        query = torch.cat([q_nope, q_pe], -1)
        key = torch.cat([k_nope, k_pe.expand(-1, HEADS, -1, -1)], -1)
        scores = query @ key.transpose(2, 3) * (NOPE + ROPE) ** -0.5
        return scores.softmax(-1) @ values


class Gated(nn.Module):
    """A Llama block's second half."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = RMSNorm(HIDDEN)
        self.gate, self.up, self.down = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        return x + self.down(functional.silu(self.gate(h)) * self.up(h))


class FastGelu(nn.Module):
    """`gelu_fast` of Hugging Face's models."""

    def forward(self, x: Tensor) -> Tensor:
        return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))


class HandWritten(nn.Module):
    """Attention with a softmax written out."""

    def forward(self, x: Tensor) -> Tensor:
        q = x.view(2, LENGTH, HEADS, HIDDEN // HEADS).transpose(1, 2)
        scores = q @ q.transpose(2, 3) * 0.25
        powers = torch.exp(scores - scores.amax(-1, keepdim=True))
        return (powers / powers.sum(-1, keepdim=True)) @ q


LATENT = {"RMSNorm": 2, "RoPE": 2, "ScaledDotProductAttention": 1, "MatMul": 4}


def run_native(original: onnx.ModelProto, inputs: list[Tensor], off: frozenset[str]) -> np.ndarray:
    options = ConvertOptions(sample_seed=None, self_check=False, fusions_off=off)
    feeds = {f"x{i}": t.numpy() for i, t in enumerate(inputs)}
    result: np.ndarray = ascend_ep.InferenceSession(convert(original, options).to_bytes()).run(None, feeds)[0]
    return result


def calls(original: onnx.ModelProto) -> list[str]:
    plan = convert(original, ConvertOptions(sample_seed=None, self_check=False)).plan
    return [i.kernel for p in plan.partitions if isinstance(p, NativePartition) for i in p.insns]


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(
    ("module", "fused"),
    [
        (Latent, LATENT),
        (Gated, {"RMSNorm": 1, "SwiGLU": 1, "MatMul": 3, "Add": 1}),
        (FastGelu, {"Gelu": 1}),
        (lambda: nn.LayerNorm(HIDDEN), {"LayerNormalization": 1}),
        (lambda: nn.Softmax(-1), {"Softmax": 1}),
        (HandWritten, {"ScaledDotProductAttention": 1}),
    ],
    ids=["MLA", "gated", "fast GELU", "LayerNorm", "Softmax", "by hand"],
)
def test_layers(module: type[nn.Module], fused: dict[str, int], exporter: str, registry: Registry) -> None:
    torch.manual_seed(0)
    built = module()
    inputs = [torch.randn(2, LENGTH, HIDDEN)]
    if isinstance(built, Latent):
        inputs += [torch.randn(LENGTH, ROPE), torch.randn(LENGTH, ROPE)]
    original = export(built, inputs, exporter)
    model = run_passes(load_model(original), registry)
    moves = {"Reshape", "Transpose", "Split", "Slice", "Concat", "Expand"}
    left = Counter(n.op_type for n in model.graph if n.op_type not in moves)
    assert left == fused
    assert_same(original, model, inputs, registry)
    every = frozenset(rule.name for rule in RULES)
    wanted = built(*inputs).detach().numpy()
    for off in (frozenset[str](), every):
        np.testing.assert_allclose(run_native(original, inputs, off), wanted, rtol=1e-4, atol=1e-5)
    if module is Gated:  # the norm is a part of the product that is both of the gate's
        assert calls(original) == ["matmul", "matmul"]


class Near(nn.Module):
    """What nearly is a fused operator, by name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.weight, self.bias = nn.Parameter(torch.ones(HIDDEN)), nn.Parameter(torch.zeros(HIDDEN))

    def forward(self, x: Tensor) -> Tensor:
        if self.name == "erf of another scale":
            return 0.5 * x * (1 + torch.erf(x / 1.5))
        if self.name == "tanh of another factor":
            return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.05 * x**3)))
        if self.name == "sigmoid of another value":
            return x * torch.sigmoid(x + 1)
        axis = 1 if self.name.endswith("over positions") else -1
        if self.name.startswith("softmax"):
            powers = torch.exp(x - x.amax(axis, keepdim=True))
            y = powers / powers.sum(axis, keepdim=True)
            return y + powers.sum() if self.name == "softmax read in the middle" else y
        centred = x - x.mean(axis, keepdim=True)
        deviation = torch.sqrt((centred**2).mean(axis, keepdim=True) + 1e-5)
        y = centred / deviation * self.weight + self.bias
        return y + deviation.sum() if self.name == "norm read in the middle" else y


NEAR = {
    "erf of another scale": None,
    "tanh of another factor": None,
    "sigmoid of another value": None,
    "softmax over positions": "last axis",
    "softmax read in the middle": "used elsewhere",
    "norm over positions": "last axis",
    "norm read in the middle": "used elsewhere",
}


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("name", NEAR)
def test_what_is_nearly_one_stays(name: str, exporter: str, registry: Registry) -> None:
    inputs = [torch.randn(2, LENGTH, HIDDEN)]
    original = export(Near(name), inputs, exporter)
    ledger = Ledger()
    model = run_passes(load_model(original), registry, ledger=ledger)
    assert not any(n.domain == "ascend_ep" or n.op_type == "Softmax" for n in model.graph)
    assert not any(o.is_fused for o in ledger.outcomes)
    assert NEAR[name] is None or any(str(NEAR[name]) in o.reason for o in ledger.outcomes)
    assert_same(original, model, inputs, registry)


def test_a_quantised_product_stays_one() -> None:
    """Rules leave DequantizeLinear beside its product: the quantised kernels look for them together."""
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["w"], "dequantise", axis=1),
        helper.make_node("MatMul", ["x", "w"], ["m"], "product"),
        helper.make_node("Sigmoid", ["m"], ["s"], "sigmoid"),
        helper.make_node("Mul", ["m", "s"], ["y"], "gate"),
    ]
    weights = {"q": np.ones((16, 8), np.int8), "scale": np.ones(8, np.float32), "zero": np.zeros(8, np.int8)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    assert [n.op_type for n in run_passes(model).graph] == ["DequantizeLinear", "MatMul", "SiLU"]
