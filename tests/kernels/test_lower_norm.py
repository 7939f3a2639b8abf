"""Lowering of normalisations, softmax, rotary embeddings and SwiGLU.

Against onnxruntime where it has the operator; 3e-6 of the largest element, as both compute in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lowered import check, run, view_of
from onnx.helper import make_node
from test_rope_glu import rope64, swiglu64

from ascend_ep.compiler.lower import lowering
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Unsupported, lower_node
from ascend_ep.opdef.dims import symbol

rng = np.random.default_rng(3)


def f32(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return np.abs(f32(*shape)) + np.float32(0.1)


SINGLE = [
    ("softmax", "Softmax", [f32(2, 3, 40)], {}, 13),
    ("softmax", "Softmax", [f32(2, 3, 40)], {"axis": 1}, 13),
    ("softmax", "Softmax", [f32(2, 3, 40)], {"axis": 1}, 11),
    ("softmax", "Softmax", [f32(2, 3, 40)], {}, 11),
    ("log_softmax", "LogSoftmax", [f32(2, 3, 40)], {"axis": -2}, 13),
    ("log_softmax", "LogSoftmax", [f32(2, 3, 40)], {"axis": 2}, 9),
    ("layer_norm", "LayerNormalization", [f32(2, 3, 40), f32(40), f32(40)], {}, 17),
    ("layer_norm", "LayerNormalization", [f32(2, 3, 40), f32(3, 40)], {"axis": 1, "epsilon": 0.1}, 17),
    ("rms_norm", "RMSNormalization", [f32(2, 3, 40), f32(40)], {}, 23),
    ("rms_norm", "RMSNormalization", [f32(2, 3, 40), f32(3, 40)], {"axis": 1, "epsilon": 0.1}, 23),
    ("group_norm", "GroupNormalization", [f32(2, 6, 5, 7), f32(3), f32(3)], {"num_groups": 3}, 18),
    ("group_norm", "GroupNormalization", [f32(2, 6, 5, 7), f32(6), f32(6)], {"num_groups": 3}, 21),
    ("instance_norm", "InstanceNormalization", [f32(2, 6, 5, 7), f32(6), f32(6)], {"epsilon": 0.01}, 17),
    ("batch_norm", "BatchNormalization", [f32(2, 6, 5, 7), f32(6), f32(6), f32(6), positive(6)], {}, 15),
    ("batch_norm", "BatchNormalization", [f32(9, 6), f32(6), f32(6), f32(6), positive(6)], {}, 15),
    ("lp_norm", "LpNormalization", [f32(2, 6, 5)], {"axis": 1, "p": 1}, 17),
    ("lp_norm", "LpNormalization", [f32(2, 6, 5)], {}, 17),
    ("rotary_embedding", "RotaryEmbedding", [f32(2, 3, 5, 16), f32(2, 5, 8), f32(2, 5, 8)], {}, 23),
    (
        "rotary_embedding",
        "RotaryEmbedding",
        [f32(2, 5, 48), f32(9, 8), f32(9, 8), rng.integers(0, 9, (2, 5))],
        {"num_heads": 3, "interleaved": 1},
        23,
    ),
    (
        "rotary_embedding",
        "RotaryEmbedding",
        [f32(2, 3, 5, 20), f32(9, 8), f32(9, 8), rng.integers(0, 9, (2, 5))],
        {"rotary_embedding_dim": 16},
        23,
    ),
]


@pytest.mark.parametrize(("kernel", "op", "arrays", "attrs", "opset"), SINGLE)
def test_against_onnxruntime(
    kernel: str, op: str, arrays: list[np.ndarray], attrs: dict[str, Any], opset: int
) -> None:
    names = [f"x{i}" for i in range(len(arrays))]
    node = make_node(op, names, ["y"], **attrs)
    check(kernel, node, dict(zip(names, arrays, strict=True)), opset, rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("outputs", [["y", "m", "d"], ["y", "m"], ["y", "", "d"]])
def test_layer_norm_statistics(outputs: list[str]) -> None:
    node = make_node("LayerNormalization", ["x", "w"], outputs, axis=1)
    check("layer_norm", node, {"x": f32(4, 3, 50), "w": f32(3, 50)}, 17, rtol=3e-6, atol=3e-6)


def custom(
    kernel: str,
    op: str,
    arrays: list[np.ndarray | None],
    dims: list[Any] | None = None,
    out: tuple[Any, ...] | None = None,
    bindings: dict[str, int] | None = None,
    **attrs: Any,
) -> np.ndarray:
    ins = [
        None
        if a is None
        else Operand(f"x{i}", 1 if a.dtype == np.float32 else 7, tuple(dims[i] if dims else a.shape))
        for i, a in enumerate(arrays)
    ]
    assert ins[0] is not None
    node = NodeView(op, ins, [Operand("y", 1, tuple(out or ins[0].dims))], attrs, "ai.ascend")
    named = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    (got,) = run(kernel, node, named, bindings)
    assert got is not None
    return got


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("width", [8, 16])
def test_custom_rope(interleaved: int, width: int) -> None:
    b, h, s = symbol("B"), 3, symbol("S")
    bindings = {"B": 2, "S": 5}
    x, cos, sin = f32(2, 3, 5, 16), f32(5, width), f32(5, width)
    want = rope64(x, cos[None], sin[None], 2, 16, interleaved)
    for shape, dims in [((5, width), (s, width)), ((1, 1, 5, width), (1, 1, s, width))]:
        tables = [cos.reshape(shape), sin.reshape(shape)]
        got = custom(
            "rope",
            "RoPE",
            [x, *tables],
            [(b, h, s, 16), dims, dims],
            bindings=bindings,
            interleaved=interleaved,
        )
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=2e-6)
    got = custom("rope", "RoPE", [x[0], cos, sin], interleaved=interleaved)
    np.testing.assert_allclose(got, want[0], rtol=1e-6, atol=2e-6)
    got = custom("rope", "RoPE", [x[0, 0], cos, sin], interleaved=interleaved)
    np.testing.assert_allclose(got, want[0, 0], rtol=1e-6, atol=2e-6)
    positions = np.array([[4, 2, 0, 1, 3], [0, 0, 4, 4, 4]])
    got = custom("rope", "RoPE", [x, cos, sin, positions], interleaved=interleaved)
    want = rope64(x, cos[positions], sin[positions], 2, 16, interleaved)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=2e-6)
    got = custom("rope", "RoPE", [x, cos, sin, positions[0]], interleaved=interleaved)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6, atol=2e-6)


def test_custom_norms_and_swiglu() -> None:
    x, w = f32(4, 40), f32(40)
    rms = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(custom("rms_norm", "RMSNorm", [x, w]), rms * w, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(custom("rms_norm", "RMSNorm", [x]), rms, rtol=2e-6, atol=2e-6)
    node = [x, w, f32(40)]
    erf, tanh = (custom("layer_norm_gelu", "LayerNormGelu", [*node], approximate=a) for a in ("none", "tanh"))
    assert 1e-6 < np.abs(erf - tanh).max() < 1e-2
    np.testing.assert_allclose(
        custom("swiglu", "SwiGLU", [x, f32(4, 40) * 0 + 1]), swiglu64(x, x * 0 + 1), 1e-6
    )
    got = custom("swiglu", "SwiGLU", [x], out=(4, 20))
    np.testing.assert_allclose(got, swiglu64(x[:, :20], x[:, 20:]), 1e-6)


@pytest.mark.parametrize(
    ("kernel", "op", "shapes", "attrs", "reason"),
    [
        ("softmax", "Softmax", [(2, 3)], {"axis": 2}, "outside rank 2"),
        ("layer_norm", "LayerNormalization", [(2, 3), (3,)], {"stash_type": 11}, "stash_type"),
        ("layer_norm", "LayerNormalization", [(2, 3), (2,)], {}, "can't be repeated"),
        ("batch_norm", "BatchNormalization", [(2, 3)] + [(3,)] * 4, {"spatial": 0}, "for each channel"),
        ("lp_norm", "LpNormalization", [(2, 3)], {"p": 3}, "neither 1 nor 2"),
        ("rope", "RoPE", [(2, 3, 5, 8), (3, 5, 4), (3, 5, 4)], {}, "differ between heads"),
        ("rotary_embedding", "RotaryEmbedding", [(2, 5, 8), (2, 5, 4), (2, 5, 4)], {}, "num_heads"),
        ("layer_norm_gelu", "LayerNormGelu", [(2, 3), (3,)], {"approximate": "x"}, "approximate"),
    ],
)
def test_refusals_give_the_reason(
    kernel: str, op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Unsupported, match=reason):
        custom(kernel, op, [f32(*s) for s in shapes], **attrs)


BATCH = (2, 6, 5, 7), (1, 3, 9), (4, 5)


@pytest.mark.parametrize("shape", BATCH)
@pytest.mark.parametrize("mean", [0.0, 3.0, 1e4])
def test_batch_norm_of_known_statistics(shape: tuple[int, ...], mean: float) -> None:
    """A scale and an offset for each channel, unless a mean is so far from zero that they would cost bits."""
    channels = shape[1]
    statistics = [f32(channels), f32(channels), f32(channels) + np.float32(mean), positive(channels)]
    inputs = {"x": f32(*shape) + np.float32(mean), **dict(zip("sbmv", statistics, strict=True))}
    node = make_node("BatchNormalization", ["x", *"sbmv"], ["y"], epsilon=1e-3)
    shaped = {
        n: a.astype(np.float64).reshape(-1, *[1] * (len(shape) - 2)) for n, a in inputs.items() if n != "x"
    }
    factor = shaped["s"] / np.sqrt(shaped["v"] + 1e-3)
    wanted = (inputs["x"] - shaped["m"]) * factor + shaped["b"]
    (got,) = run("batch_norm", view_of(node, inputs, {"y": (1, shape)}, 15, known="sbmv"), inputs)
    # Roundings of terms up to |x| s: of x s, of the offset, of the sum. Far from zero of x - mean alone.
    largest = np.abs(inputs["x"]).max() if mean < 1e3 else np.abs(inputs["x"] - shaped["m"]).max()
    assert got is not None
    assert (
        np.abs(got - wanted).max()
        <= 3 * 2.0**-24 * (np.abs(factor).max() * largest + np.abs(wanted).max()) * 2
    )


def test_a_batch_norm_of_known_statistics_is_elementwise() -> None:
    inputs = {"x": f32(2, 3, 4), "s": f32(3), "b": f32(3), "m": f32(3), "v": positive(3)}
    node = make_node("BatchNormalization", ["x", *"sbmv"], ["y"])
    for mean, kernel in [(0, "elementwise"), (1e4, "batch_norm")]:
        inputs["m"] = np.full(3, mean, np.float32)
        builder, lowered = PlanBuilder(outputs=["y"]), lowering("batch_norm")
        view = view_of(node, inputs, {"y": (1, (2, 3, 4))}, 15, known="sbmv")
        assert view.inputs[0] is not None
        assert lowered is not None
        builder.input(view.inputs[0])
        lower_node(view, lowered, builder)
        assert [i.kernel for i in builder.insns] == [kernel]
