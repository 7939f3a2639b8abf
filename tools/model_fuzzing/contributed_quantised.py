"""Random operators of onnxruntime on integers of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from model_fuzzing.contributed import family, some
from model_fuzzing.draw import Array, Case, Draw


def _scale(draw: Draw, *shape: int) -> Array:
    return np.asarray(draw.rng.uniform(0.01, 0.1, shape)).astype(np.float32)


def _types(draw: Draw) -> tuple[Any, Any]:
    a = draw.one_of(np.uint8, np.uint8, np.int8)
    return a, (draw.one_of(np.uint8, np.int8) if a is np.uint8 else np.int8)


def _one(draw: Draw, make: Callable[..., Array]) -> Array:
    """A scalar, or a vector of one."""
    return make() if draw.chance(0.7) else make(1)


@family("MatMulIntegerToFloat")
@family("DynamicQuantizeMatMul")
def _integer_product(draw: Draw) -> Case:
    m, k, n = draw.size(), draw.size(), draw.size()
    left, right = _types(draw)
    batch = draw.shape(0, 1) if draw.chance(0.4) else []
    vector = draw.chance(0.4)
    b_shape = (*batch, k, n) if batch and draw.chance(0.3) else (k, n)
    b = draw.bytes(right, *b_shape)
    b_scale = _scale(draw, n) if vector else _one(draw, lambda *s: _scale(draw, *s))
    b_zero = draw.maybe(lambda: draw.bytes(right, *b_scale.shape), 0.6)
    if b_zero is not None and vector and right is np.int8 and draw.chance():
        b_zero = np.zeros_like(b_zero)
    bias = draw.maybe(lambda: draw.floats(n), 0.4)
    if draw.chance():
        inputs = [draw.floats(*batch, m, k), b, b_scale, b_zero, bias]
        return Case("DynamicQuantizeMatMul", inputs, {}, 1, some(draw, 1, 2, 3, 4, share=0.7))
    a_zero = draw.maybe(lambda: _one(draw, lambda *s: draw.bytes(left, *s)))
    inputs = [
        draw.bytes(left, *batch, m, k),
        b,
        _one(draw, lambda *s: _scale(draw, *s)),
        b_scale,
        a_zero,
        b_zero,
        bias,
    ]
    return Case("MatMulIntegerToFloat", inputs, {}, 1, some(draw, 1, 2, 3, 4, 5, 6, share=0.7))


@family("QGemm")
def _qgemm(draw: Draw) -> Case:
    m, k, n = draw.size(), draw.size(), draw.size()
    left, right = _types(draw)
    attributes: dict[str, Any] = {f"trans{s}": draw.one_of(0, 1) for s in "AB" if draw.chance(0.5)}
    if draw.chance(0.3):
        attributes["alpha"] = draw.one_of(0.5, 2.0)
    a = draw.bytes(left, *((k, m) if attributes.get("transA") else (m, k)))
    b = draw.bytes(right, *((n, k) if attributes.get("transB") else (k, n)))
    scale = _scale(draw, n) if draw.chance(0.3) else _scale(draw)
    c = draw.maybe(lambda: draw.integers(-500, 500, *draw.one_of((n,), (m, n), (1, n), (m, 1), ())))
    inputs = [a, _scale(draw), draw.bytes(left), b, scale, draw.bytes(right, *scale.shape), c]
    if draw.chance():
        inputs += [np.asarray(_scale(draw) * 60), draw.bytes(left)]
    return Case("QGemm", inputs, attributes, 1, some(draw, 1, 2, 3, 4, 5, 6, 7, 8, share=0.8))


def _quantised(draw: Draw, dtype: Any, *shape: int) -> list[Array | None]:
    """Elements, their scale and zero point, which may be left out."""
    return [draw.bytes(dtype, *shape), _scale(draw), draw.maybe(lambda: draw.bytes(dtype), 0.85)]


def _tables(draw: Draw, dtype: Any) -> list[Array | None]:
    return [_scale(draw), draw.maybe(lambda: draw.bytes(dtype), 0.85)]


@family("QLinearAdd")
@family("QLinearMul")
def _qlinear_binary(draw: Draw) -> Case:
    dtype, shape = draw.one_of(np.uint8, np.int8), draw.shape(0, 4)
    other = [d if draw.chance(0.8) else 1 for d in shape][
        draw.random.randint(0, len(shape)) if draw.chance(0.3) else 0 :
    ]
    inputs = [*_quantised(draw, dtype, *shape), *_quantised(draw, dtype, *other), *_tables(draw, dtype)]
    return Case(
        draw.one_of("QLinearAdd", "QLinearMul"), inputs, {}, 1, some(draw, 3) | frozenset({1, 2, 4, 5, 6, 7})
    )


@family("QLinearSigmoid")
@family("QLinearLeakyRelu")
@family("QLinearSoftmax")
def _qlinear_unary(draw: Draw) -> Case:
    dtype, shape = draw.one_of(np.uint8, np.int8), draw.shape(1, 4)
    name = draw.one_of("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax")
    attributes: dict[str, Any] = {}
    tables = [_scale(draw), draw.bytes(dtype)]  # onnxruntime ends the process where the last is missing
    if name == "QLinearLeakyRelu" and draw.chance(0.7):
        attributes["alpha"] = draw.one_of(0.2, 0.01)
    if name == "QLinearSoftmax":
        tables = [np.float32(1 / 256).reshape(()), np.asarray(0 if dtype is np.uint8 else -128).astype(dtype)]
        attributes["opset"] = draw.one_of(13, 13, 11)
        if draw.chance(0.6):
            attributes["axis"] = draw.random.randint(-len(shape), len(shape) - 1)
    return Case(name, [*_quantised(draw, dtype, *shape), *tables], attributes, 1, frozenset({1, 2, 3, 4}))


@family("QLinearAveragePool")
@family("QLinearGlobalAveragePool")
def _qlinear_pool(draw: Draw) -> Case:
    dtype, spatial = draw.one_of(np.uint8, np.int8), draw.one_of(1, 2, 2, 3)
    shape = [draw.one_of(1, 2), draw.size(), *(draw.size() for _ in range(spatial))]
    last = draw.chance(0.25)
    attributes: dict[str, Any] = {"channels_last": 1} if last else {}
    tables = [_scale(draw), draw.bytes(dtype)]
    if draw.chance(0.3):
        return Case(
            "QLinearGlobalAveragePool",
            [draw.bytes(dtype, *shape), _scale(draw), draw.bytes(dtype), *tables],
            attributes,
            1,
            frozenset({1, 2, 3, 4}),
        )
    attributes["kernel_shape"] = [
        draw.random.randint(1, min(3, d)) for d in (shape[1:] if last else shape[2:])[:spatial]
    ]
    if draw.chance():
        attributes["strides"] = [draw.random.randint(1, 2) for _ in range(spatial)]
    if draw.chance(0.4):
        attributes["pads"] = [draw.random.randint(0, n - 1) for n in attributes["kernel_shape"]] * 2
    elif draw.chance(0.2):
        attributes["auto_pad"] = draw.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
    for name in ("ceil_mode", "count_include_pad"):
        if draw.chance(0.3):
            attributes[name] = 1
    return Case(
        "QLinearAveragePool",
        [*_quantised(draw, dtype, *shape), *tables],
        attributes,
        1,
        frozenset({1, 2, 3, 4}),
    )


@family("QLinearConcat")
def _qlinear_concat(draw: Draw) -> Case:
    dtype, shape = draw.one_of(np.uint8, np.int8), draw.shape(1, 4)
    axis = draw.random.randint(-len(shape), len(shape) - 1)
    inputs: list[Array | None] = [_scale(draw), draw.bytes(dtype)]
    for _ in range(draw.one_of(1, 2, 3)):
        dims = list(shape)
        dims[axis] = draw.size()
        inputs += [draw.bytes(dtype, *dims), _scale(draw), draw.bytes(dtype)]
    return Case(
        "QLinearConcat", inputs, {"axis": axis}, 1, frozenset(i for i in range(len(inputs)) if i % 3 != 2)
    )


@family("QLinearWhere")
def _qlinear_where(draw: Draw) -> Case:
    dtype, shape = draw.one_of(np.uint8, np.int8), draw.shape(0, 3)
    others = [[d if draw.chance(0.8) else 1 for d in shape] for _ in range(2)]
    inputs = [draw.bytes(np.uint8, *others[0]) > 100]
    for dims in (shape, others[1]):
        inputs += [draw.bytes(dtype, *dims), _scale(draw), draw.bytes(dtype)]
    return Case(
        "QLinearWhere", [*inputs, _scale(draw), draw.bytes(dtype)], {}, 1, frozenset({2, 3, 5, 6, 7, 8})
    )


@family("DynamicQuantizeLSTM")
def _lstm(draw: Draw) -> Case:
    steps, batch, width, hidden = draw.size(), draw.one_of(1, 2, 3), draw.size(), draw.size()
    direction = draw.one_of("forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    kind = draw.one_of(np.uint8, np.int8)
    wide = draw.chance(0.3)
    tables: list[Array | None] = []
    for _ in range(2):
        shape = (ways, 4 * hidden) if wide else (ways,)
        zero = draw.bytes(kind, *shape) if kind is np.uint8 and not wide else np.zeros(shape, kind)
        tables += [np.asarray(_scale(draw, *shape) / 10), zero]
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if draw.chance(0.2):
        attributes["clip"] = draw.one_of(0.5, 2.0)
    if draw.chance(0.2):
        attributes["input_forget"] = 1
    if draw.chance(0.2):
        attributes["activations"] = (
            draw.one_of(
                ["Sigmoid", "Tanh", "Tanh"], ["Sigmoid", "Relu", "Tanh"], ["HardSigmoid", "Tanh", "Tanh"]
            )
            * ways
        )
    inputs = [
        draw.floats(steps, batch, width),
        draw.bytes(kind, ways, width, 4 * hidden),
        draw.bytes(kind, ways, hidden, 4 * hidden),
        draw.maybe(lambda: draw.floats(ways, 8 * hidden)),
        draw.maybe(lambda: draw.integers(draw.one_of(0, 1), steps, batch), 0.3),
        draw.maybe(lambda: draw.floats(ways, batch, hidden), 0.4),
        draw.maybe(lambda: draw.floats(ways, batch, hidden), 0.4),
        draw.maybe(lambda: draw.floats(ways, 3 * hidden), 0.3),
        *tables,
    ]
    return Case(
        "DynamicQuantizeLSTM",
        inputs,
        attributes,
        draw.one_of(1, 3),
        frozenset({1, 2, 8, 9, 10, 11}) | some(draw, 3),
    )
