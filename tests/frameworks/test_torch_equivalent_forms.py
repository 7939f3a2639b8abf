"""Equivalents in many combinations of attributes: the runtime's values, and its differences as slopes. One in
some is tried each time, all of them where slow tests are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
import torch
from torch_gradient_cases import f, i, signed, x
from torch_gradient_checks import check_slopes, check_values

#: The operator, its tensors and its attributes.
Form = tuple[str, tuple[Any, ...], dict[str, Any]]
EVERY = 11


def pools() -> Iterator[Form]:
    for op, ceil, pads, strides, dilations, inner in product(
        ("AveragePool", "MaxPool", "LpPool"), (0, 1), ([0] * 4, [1, 0, 1, 1]), ([1, 1], [2, 3], [3, 2]),
        ([1, 1], [2, 1]), (0, 1),
    ):  # fmt: skip
        if op == "AveragePool" or not inner:
            a = {"ceil_mode": ceil, "pads": pads, "strides": strides, "dilations": dilations}
            a |= {"count_include_pad": inner} if inner else {}
            yield op, (x(1, 1, 7, 8),), {"kernel_shape": [2, 3], **a}
    for op, auto in product(("AveragePool", "MaxPool", "LpPool"), ("SAME_UPPER", "SAME_LOWER", "VALID")):
        yield op, (x(1, 2, 7, 8),), {"kernel_shape": [2, 3], "auto_pad": auto, "strides": [2, 2]}


def convolutions() -> Iterator[Form]:
    for auto, strides in product(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"), ([2, 3], [3, 4], [1, 1])):
        a = {"auto_pad": auto, "strides": strides}
        yield "ConvTranspose", (signed(1, 2, 4, 5), signed(2, 3, 3, 2), x(3)), a
        yield "Conv", (signed(1, 2, 6, 5), signed(4, 1, 3, 2), x(4)), {**a, "group": 2}
        if auto != "VALID" and strides != [1, 1]:
            a["output_shape"] = [4 * strides[0] + 1, 5 * strides[1]]
            yield "ConvTranspose", (signed(1, 2, 4, 5), signed(2, 1, 2, 2), x(1)), a
    yield (
        "ConvTranspose",
        (signed(1, 1, 4, 5), signed(1, 1, 3, 2)),
        {"strides": [2, 3], "output_padding": [1, 2]},
    )


def grids() -> Iterator[Form]:
    for mode, padding, corners, rows in product(
        ("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1), (1, 4)
    ):
        a = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        yield "GridSample", (x(1, 2, rows, 5), (1.5 * signed(1, 3, 4, 2)).detach()), a


def sizes() -> Iterator[Form]:
    coordinates = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
    for mode, coordinate, outside, smooth in product(("linear", "cubic"), coordinates, (0, 1), (0, 1)):
        a = {"mode": mode, "coordinate_transformation_mode": coordinate}
        a |= {"exclude_outside": outside, "antialias": smooth}
        yield "Resize", (x(1, 1, 5, 6), None, f(1, 1, 1.7, 0.45)), a
        yield "Resize", (x(1, 1, 5, 6), None, None, i(1, 1, 1, 9)), a
    rounds = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    for coordinate, nearest, scales in product(coordinates, rounds, ((1.7, 0.45), (0.6, 2.3), (3.0, 1.1))):
        a = {"coordinate_transformation_mode": coordinate, "nearest_mode": nearest}
        yield "Resize", (x(1, 1, 5, 6), None, f(1, 1, *scales)), a


def states() -> Iterator[Form]:
    for direction, clip, layout, ends, own in product(
        ("forward", "reverse", "bidirectional"), (None, 0.7), (0, 1), (None, (3, 1), (3, 0)), (0, 1)
    ):
        d, lengths = 1 + (direction[0] == "b"), None if ends is None else i(*ends).int()
        t = signed(2, 3, 2) if layout else signed(3, 2, 2)
        a: dict[str, Any] = {"hidden_size": 2, "direction": direction, "layout": layout}
        a |= {"clip": clip} if clip else {}
        w = {n: (signed(d, n, 2), signed(d, n, 2), signed(d, 2 * n), lengths) for n in (8, 6, 2)}
        yield "LSTM", (t, *w[8]), {**a, "input_forget": own}
        yield "GRU", (t, *w[6]), {**a, "linear_before_reset": own}
        yield "RNN", (t, *w[2]), {**a, "activations": ["Softsign", "Tanh"][:d]}


def others() -> Iterator[Form]:
    for mode, pads in product(
        ("constant", "edge", "reflect", "wrap"), ((1, -1, 2, 0), (2, 1, -1, 3), (5, 0, 0, 6))
    ):
        yield "Pad", (x(3, 4), i(*pads)), {"mode": mode}
    kinds = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
    for kind, noop in product(kinds, (0, 1)):
        for axes in (None, torch.zeros(0, dtype=torch.int64), i(-1)):
            yield f"Reduce{kind}", (x(2, 3), axes), {"noop_with_empty_axes": noop, "keepdims": noop}
    for axis, inverse, half, last, length in product((1, -2, 2), (0, 1), (0, 1), (1, 2), (None, 4, 7)):
        if half == 0 or last == 1 + inverse:
            given = None if length is None else torch.tensor(length)
            yield "DFT", (x(2, 5, 6, last), given, torch.tensor(axis)), {"inverse": inverse, "onesided": half}
    for start, end, step in ((-1, -9, -1), (5, -9, -2), (-2, 9, 1), (9, 0, -1), (0, 0, 1), (-9, 9, 3)):
        yield "Slice", (x(5, 3), i(start), i(end), i(0), i(step)), {}
    for kind in ("none", "add", "mul", "max", "min"):
        yield "ScatterND", (x(4, 3), i([0], [-1]), x(2, 3)), {"reduction": kind}
        yield "ScatterElements", (x(4, 3), i([0, 1, -1], [1, 2, 0]), x(2, 3)), {"reduction": kind}
    for mode, coordinate, ratio in product(("avg", "max"), ("half_pixel", "output_half_pixel"), (0, 2)):
        rois = f(0, 0, 3, 4, 1, 1, 8, 9, -3, -3, 2, 2).reshape(3, 4)
        a = {"mode": mode, "coordinate_transformation_mode": coordinate, "sampling_ratio": ratio}
        yield "RoiAlign", (x(2, 1, 6, 6), rois, i(0, 1, 0)), {**a, "output_height": 2, "output_width": 3}
    for corners, shape in product((0, 1), ((1, 1, 2, 3), (1, 1, 1, 3), (1, 1, 1, 1))):
        yield "AffineGrid", (x(1, 2, 3), i(*shape)), {"align_corners": corners}
    for alone, backwards, op in product((0, 1), (0, 1), ("CumSum", "CumProd")):
        yield op, (x(3, 4), torch.tensor(1)), {"exclusive": alone, "reverse": backwards}
    for causal, cap, mask in product(
        (0, 1), (0.0, 1.5), (None, signed(3, 5), torch.ones(3, 5) > 2, signed(1, 4, 3, 5))
    ):
        q, k, v = signed(1, 4, 3, 4), signed(1, 2, 5, 4), signed(1, 2, 5, 4)
        yield "Attention", (q, k, v, mask), {"is_causal": causal, "softcap": cap}


def forms() -> list[Form]:
    torch.manual_seed(0)
    return [form for m in (pools, convolutions, grids, sizes, states, others) for form in m()]


@pytest.mark.parametrize(
    "remainder", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, EVERY))]
)
def test_forms(remainder: int) -> None:
    wrong = []
    for op, tensors, attributes in forms()[remainder::EVERY]:
        try:
            check_values(op, tensors, attributes)
            check_slopes(op, tensors, attributes, second=False)
        except Exception as error:
            wrong.append(f"{op} {attributes}: {error}")
    assert not wrong, "\n".join(wrong)
