"""FusedConv."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_ep.bodies.body import Body, written

WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
#: The activations that onnxruntime takes, each with its numbers in the order of `activation_params`.
NUMBERS: dict[str, tuple[str, ...]] = {
    "": (),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
}


@written("fused_conv")
def write_fused_conv(body: Body) -> None:
    """ONNX's Conv, plus a fourth operand, through an activation."""
    body.refuse_half_types()
    kept: dict[str, Any] = {
        n: v for n, v in body.node.attributes.items() if n in WINDOW and (v or isinstance(v, int))
    }
    x = body.add("Conv", body.given(0), body.given(1), body.given(2), **kept)
    if body.given(3):
        x = body.add("Add", x, body.given(3))
    name, numbers = body.text("activation"), list(body.node.attr("activation_params", ()))
    wanted = 2 if name == "Clip" else len(NUMBERS.get(name, ()))
    body.refuse(name != "Clip" and name not in NUMBERS, f"its activation {name!r} is not known here")
    body.refuse(len(numbers) != wanted, f"its activation {name} takes {wanted} numbers")
    if name == "Clip":
        limits = (body.constant(n, np.float32) for n in numbers)
        body.add("Clip", x, *limits, into=body.wanted(0))
    else:
        given = dict(zip(NUMBERS[name], map(float, numbers), strict=True))
        body.add(name or "Identity", x, into=body.wanted(0), **given)
