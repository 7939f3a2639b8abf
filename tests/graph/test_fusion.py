"""Fusions find what PyTorch's exporters write, keep results and a body others can run, and say why not."""

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
from ascend_ep.graph.passes.contract import verify
from ascend_ep.graph.reference import reference_run
from ascend_ep.opdef.registry import Registry

WIDTH = 8


class RMSNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class DividingRMSNorm(RMSNorm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight


class LayerNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, WIDTH))
        self.bias = nn.Parameter(torch.linspace(-1, 1, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred**2).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self.weight + self.bias


class RoPE(nn.Module):
    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        half = x.shape[-1] // 2
        rotated = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * cos.unsqueeze(1) + rotated * sin.unsqueeze(1)


class Gelu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(x)


class TanhGelu(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.gelu(x, approximate="tanh")


class SiLU(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(x)


class SwiGLU(nn.Module):
    def forward(self, x: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(x) * up


def export(
    module: nn.Module, inputs: Sequence[torch.Tensor], exporter: str, opset: int = 17
) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(inputs))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if exporter == "dynamo":
            batch = torch.export.Dim("batch")
            program = torch.onnx.export(
                module, tuple(inputs), input_names=names, output_names=["y"], opset_version=max(opset, 18),
                dynamo=True, dynamic_shapes=tuple({0: batch} for _ in names), verbose=False,
            )  # fmt: skip
            return program.model_proto
        buffer = io.BytesIO()
        torch.onnx.export(
            module, tuple(inputs), buffer, input_names=names, output_names=["y"], opset_version=opset,
            dynamo=False, dynamic_axes={n: {0: "batch"} for n in names},
        )  # fmt: skip
    return onnx.load_from_string(buffer.getvalue())


X = [(2, 3, 5, WIDTH)]
TABLES = [(2, 5, WIDTH), (2, 5, WIDTH)]


@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize(
    ("module", "shapes", "opset", "expected"),
    [
        (RMSNorm(), X, 17, "RMSNorm"),
        (DividingRMSNorm(), X, 14, "RMSNorm"),
        (LayerNorm(), X, 13, "LayerNorm"),
        (Gelu(), X, 17, "Gelu"),
        (TanhGelu(), X, 17, "Gelu"),
        (SiLU(), X, 17, "SiLU"),
        (SwiGLU(), X * 2, 17, "SwiGLU"),
        (RoPE(), X + TABLES, 17, "RoPE"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else None,
)
def test_what_exporters_write(
    module: nn.Module,
    shapes: list[tuple[int, ...]],
    opset: int,
    expected: str,
    exporter: str,
    registry: Registry,
) -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(s, generator=generator) for s in shapes]
    original = export(module.eval(), inputs, exporter, opset)
    model = run_passes(load_model(original), registry)
    fused = [n for n in model.graph if n.domain == "ascend_ep"]
    assert [n.op_type for n in fused] == [expected]
    assert all(n.op_type in ("Unsqueeze", expected) for n in model.graph)

    feeds = {f"x{i}": t.numpy() for i, t in enumerate(inputs)}
    wanted = reference_run(original, feeds, registry)["y"]
    proto = ir.to_proto(model)
    proto.ir_version = 10
    by_definition = reference_run(proto, feeds, registry)["y"]
    np.testing.assert_allclose(
        by_definition, wanted, rtol=1e-6, atol=1e-7
    )  # literals were rounded to float32
    by_body = reference_run(proto, feeds, Registry(builtin=False))["y"]
    np.testing.assert_allclose(by_body, wanted, rtol=1e-12, atol=1e-14)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, feeds)[0], wanted, rtol=1e-5, atol=1e-5)


node = helper.make_node


def attempt(
    nodes: list[onnx.NodeProto],
    constants: dict[str, np.ndarray] | None = None,
    outputs: Sequence[str] = ("y",),
    dims: Sequence[int | str] = ("N", 4),
    dtype: int = TensorProto.FLOAT,
) -> tuple[list[str], list[str]]:
    """(operators left, reasons of refusals) for a graph over `x` (and `u` of another shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", dtype, dims), helper.make_tensor_value_info("u", dtype, [1, 4])],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )
    model = load_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    _, refusals = fuse(model)
    verify(model, "after fusion")
    return [n.op_type for n in model.graph], [r.reason for r in refusals]


def rms(axes: Sequence[int] = (-1,), keepdims: int = 1) -> list[onnx.NodeProto]:
    return [
        node("Mul", ["x", "x"], ["s"]),
        node("ReduceMean", ["s"], ["m"], axes=list(axes), keepdims=keepdims),
        node("Add", ["m", "eps"], ["e"]),
        node("Sqrt", ["e"], ["d"]),
        node("Div", ["x", "d"], ["n"]),
        node("Mul", ["n", "w"], ["y"]),
    ]


EPSILON = {"eps": np.array(1e-6, np.float32)}
WEIGHT = {"w": np.ones(4, np.float32)}


def test_the_plain_pattern_is_fused() -> None:
    assert attempt(rms(), EPSILON | WEIGHT) == (["RMSNorm"], [])


@pytest.mark.parametrize(
    ("nodes", "constants", "word"),
    [
        (rms(axes=[0]), EPSILON | WEIGHT, "last axis"),
        (rms(axes=[0, 1]), EPSILON | WEIGHT, "last axis"),
        (rms(), {"eps": np.array(-1.0, np.float32)} | WEIGHT, "negative"),
        (rms(), EPSILON | {"w": np.ones((1, 4), np.float32)}, "vector"),
        (rms(), EPSILON | {"w": np.ones(1, np.float32)}, "vector"),
    ],
)
def test_refusals_of_rms_norm(
    nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], word: str
) -> None:
    left, reasons = attempt(nodes, constants)
    assert len(left) == 6
    assert word in reasons[0]


def test_an_intermediate_value_that_is_needed_stays() -> None:
    left, reasons = attempt(rms(), EPSILON | WEIGHT, outputs=["y", "e"])
    assert len(left) == 6
    assert "'e' is used elsewhere" in reasons[0]
    left, reasons = attempt([*rms(), node("Relu", ["n"], ["z"])], EPSILON | WEIGHT, outputs=["y", "z"])
    assert len(left) == 7
    assert "'n' is used elsewhere" in reasons[0]


def test_types_the_kernels_lack_are_refused() -> None:
    silu = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])]
    assert attempt(silu) == (["SiLU"], [])
    left, reasons = attempt(silu, dtype=TensorProto.DOUBLE)
    assert left == ["Sigmoid", "Mul"]
    assert "element type" in reasons[0]


def test_a_broadcast_factor_is_no_gate() -> None:
    nodes = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["s", "x"], ["g"]), node("Mul", ["u", "g"], ["y"])]
    left, reasons = attempt(nodes)
    assert left == ["SiLU", "Mul"]
    assert reasons == ["its factors differ in shape"]


def rope(split: int, order: Sequence[str] = ("second", "first"), axis: int = -1) -> list[onnx.NodeProto]:
    def piece(name: str, start: str, end: str) -> onnx.NodeProto:
        return node("Slice", ["x", start, end, "axes"], [name])

    return [
        piece("first", "zero", "split"),
        piece("second", "split", "end"),
        node("Neg", [order[0]], ["minus"]),
        node("Concat", ["minus", order[1]], ["r"], axis=axis),
        node("Mul", ["x", "cos"], ["a"]),
        node("Mul", ["r", "sin"], ["b"]),
        node("Add", ["a", "b"], ["y"]),
    ]


@pytest.mark.parametrize(
    ("nodes", "split", "table", "word"),
    [
        (rope(3), 2, (5, 6), "halves"),
        (rope(3, order=("first", "second")), 3, (5, 6), "halves"),
        (rope(3), 3, (1, 6), "table"),
        (rope(3), 3, (2, 5, 6), "between heads"),
    ],
)
def test_refusals_of_rope(nodes: list[onnx.NodeProto], split: int, table: tuple[int, ...], word: str) -> None:
    constants = {
        **{n: np.array([v]) for n, v in {"zero": 0, "split": split, "end": 2**63 - 1, "axes": -1}.items()},
        **{n: np.ones(table, np.float32) for n in ("cos", "sin")},
    }
    left, reasons = attempt(nodes, constants, dims=(1, 2, 5, 6))
    assert "RoPE" not in left
    assert any(word in r for r in reasons)


def test_one_tensor_as_two_operands(registry: Registry) -> None:
    """Exporters store equal weights once."""
    nodes = [
        node("ReduceMean", ["x"], ["m"], axes=[-1]),
        node("Sub", ["x", "m"], ["c"]),
        node("Mul", ["c", "c"], ["s"]),
        node("ReduceMean", ["s"], ["v"], axes=[-1]),
        node("Add", ["eps", "v"], ["e"]),
        node("Sqrt", ["e"], ["d"]),
        node("Div", ["c", "d"], ["n"]),
        node("Mul", ["w", "n"], ["p"]),
        node("Add", ["w", "p"], ["y"]),
    ]
    assert attempt(nodes, EPSILON | WEIGHT) == (["LayerNorm"], [])
