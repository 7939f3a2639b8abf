"""Kernel aipp against its float64 reference, at every ISA level.

Channel order, crop and colours are integers, so exact; (v - shift) * scale rounds twice in float32: within
2 ulp of the larger operand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from isa_levels import each_isa
from kernel_call import KernelError, call

from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES

BGR = [298, 516, 0, 298, -100, -208, 298, 0, 409]
PIXEL = {1: 1, 2: 4, 3: 3, 4: 1}


def case(image: int, order: list[int], channels: int, **changes: Any) -> dict[str, Any]:
    """Attributes of operator AIPP; the source is 10 x 14, the crop 5 x 7 within an 8 x 12 result."""
    attributes: dict[str, Any] = {
        "format": image,
        "order": order,
        "crop": [3, 2, 7, 5],
        "padding": [2, 1],
        "size": [channels, 8, 12],
        "matrix": [],
        "input_bias": [],
        "output_bias": [],
        "shift": [104.0, 117.5, 123.0, 1.0],
        "scale": [0.017, 1.0, 0.25, 3.0],
        "padding_value": -1.5,
    }
    return attributes | changes


CASES = {
    "rgb": case(3, [0, 1, 2, 0], 3),
    "rgb-swapped": case(3, [2, 1, 0, 0], 3),
    "argb-to-rgb": case(2, [1, 2, 3, 0], 3),
    "argb-all": case(2, [0, 3, 2, 1], 4),
    "grey": case(4, [0, 0, 0, 0], 1),
    "rgb-to-grey": case(
        3, [0, 1, 2, 0], 1, matrix=[76, 150, 30, 0, 0, 0, 0, 0, 0], input_bias=[0] * 3, output_bias=[0] * 3
    ),
    "rgb-to-yuv": case(
        3,
        [0, 1, 2, 0],
        3,
        matrix=[66, 129, 25, -38, -74, 112, 112, -94, -18],
        input_bias=[0] * 3,
        output_bias=[16, 128, 128],
    ),
    "yuv": case(
        1, [0, 1, 2, 0], 3, matrix=BGR, input_bias=[16, 128, 128], output_bias=[0] * 3, crop=[4, 2, 7, 5]
    ),
    "yvu": case(
        1, [0, 2, 1, 0], 3, matrix=BGR, input_bias=[16, 128, 128], output_bias=[0] * 3, crop=[2, 0, 7, 5]
    ),
    "wide": case(3, [2, 1, 0, 0], 3, crop=[1, 0, 611, 3], size=[3, 4, 613], padding=[2, 1]),
    "nothing-left": case(3, [0, 1, 2, 0], 3, crop=[0, 0, 0, 0], size=[3, 2, 2], padding=[0, 0]),
}


def arguments(attributes: dict[str, Any]) -> tuple[list[int], list[float]]:
    ints = [attributes["format"], *attributes["order"], *attributes["crop"], *attributes["padding"]]
    ints.append(int(bool(attributes["matrix"])))
    for name, count in (("matrix", 9), ("input_bias", 3), ("output_bias", 3)):
        ints += attributes[name] or [0] * count
    return ints, [*attributes["shift"], *attributes["scale"], attributes["padding_value"]]


def source(attributes: dict[str, Any], batch: int = 2) -> np.ndarray:
    rows, columns = (10, 612) if attributes["crop"][2] > 14 else (10, 14)
    if attributes["format"] == 1:
        rows = rows * 3 // 2
    shape = (batch, rows, columns, PIXEL[attributes["format"]])
    return np.random.default_rng(7).integers(0, 256, shape, dtype=np.uint8)


@each_isa
@pytest.mark.parametrize("name", CASES)
def test_against_the_reference(name: str, isa: int) -> None:
    attributes = CASES[name]
    for batch in (0, 1, 3):
        x = source(attributes, batch)
        shape = (batch, *attributes["size"])
        (y,) = call("aipp", [x], [(np.float32, shape)], *arguments(attributes), isa=isa)
        (wanted,) = KERNEL_REFERENCES["aipp"]([x.astype(np.float64)], attributes)
        np.testing.assert_allclose(y, wanted, rtol=2**-22, atol=2**-22 * 256 * 3)


WRONG = {
    "crop": case(3, [0, 1, 2, 0], 3, crop=[8, 2, 7, 5]),
    "overflow": case(3, [0, 1, 2, 0], 3, crop=[2**62, 2, 2**62, 5]),
    "negative": case(3, [0, 1, 2, 0], 3, crop=[-1, 2, 7, 5]),
    "channel": case(3, [0, 1, 3, 0], 3),
    "padding": case(3, [0, 1, 2, 0], 3, padding=[6, 1]),
    "format": case(3, [0, 1, 2, 0], 3) | {"format": 5},
    "grey-colours": case(4, [0, 0, 0, 0], 1, matrix=BGR, input_bias=[0] * 3, output_bias=[0] * 3),
    "twice": case(3, [0, 1, 1, 0], 3, matrix=BGR, input_bias=[0] * 3, output_bias=[0] * 3),
    "matrix": case(3, [0, 1, 2, 0], 3, matrix=[2**31] * 9, input_bias=[0] * 3, output_bias=[0] * 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    attributes = WRONG[name]
    x = np.zeros((1, 10, 14, PIXEL.get(attributes["format"], 3)), np.uint8)
    with pytest.raises(KernelError):
        call("aipp", [x], [(np.float32, (1, *attributes["size"]))], *arguments(attributes))
