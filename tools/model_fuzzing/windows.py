"""Random nodes whose windows slide: pools and convolutions of one to three axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from model_fuzzing.contributed import family, some
from model_fuzzing.draw import Case, Draw

AUTO = ("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
#: Of pools: where ONNX and onnxruntime contradict each other, where ONNX says nothing, and where a free size
#: decides how a count is rounded.
REFUSALS = (
    "has another size in onnxruntime than in ONNX",
    "pool: a window is larger than the padded input",
    "a window sees padding alone",
)


def _spatial(draw: Draw) -> tuple[list[int], dict[str, Any]]:
    """Sizes of one to three axes, and a window over them that may be wider than they are."""
    count = draw.one_of(1, 1, 2, 2, 3)
    most = 9 if count == 3 else 19
    sizes = [draw.random.randint(1, most) for _ in range(count)]
    kept: dict[str, Any] = {"kernel_shape": [draw.one_of(1, 2, 3, 3, 4, 5) for _ in range(count)]}
    if draw.chance(0.7):
        kept["strides"] = [draw.one_of(1, 2, 2, 3, 4) for _ in range(count)]
    if draw.chance(0.4):
        kept["dilations"] = [draw.one_of(1, 2, 3) for _ in range(count)]
    if draw.chance(0.6):
        kept["auto_pad"] = draw.one_of(*AUTO)
    if kept.get("auto_pad", "NOTSET") == "NOTSET" and draw.chance(0.7):
        kept["pads"] = [draw.random.randint(0, 3) for _ in range(2 * count)]
    return sizes, kept


@family("MaxPool")
def _max_pool(draw: Draw) -> Case:
    sizes, kept = _spatial(draw)
    if draw.chance():
        kept["ceil_mode"] = 1
    if len(sizes) < 3 and draw.chance(0.2):
        kept["storage_order"] = 1
    x = draw.floats(draw.one_of(1, 2), draw.one_of(1, 2, 3, 17), *sizes)
    if draw.chance(0.3):
        x[draw.rng.random(x.shape) < draw.one_of(0.1, 0.9)] = draw.one_of(-np.inf, np.inf)
    return Case("MaxPool", [x], kept, draw.one_of(1, 2), domain="", refusals=REFUSALS)


@family("AveragePool")
def _average_pool(draw: Draw) -> Case:
    sizes, kept = _spatial(draw)
    kept |= {name: 1 for name in ("ceil_mode", "count_include_pad") if draw.chance()}
    x = draw.floats(draw.one_of(1, 2), draw.one_of(1, 2, 3, 17), *sizes)
    return Case("AveragePool", [x], kept, domain="", refusals=REFUSALS)


@family("LpPool")
def _lp_pool(draw: Draw) -> Case:
    sizes, kept = _spatial(draw)
    if draw.chance():
        kept["ceil_mode"] = 1
    if draw.chance():
        kept["p"] = draw.one_of(1, 2, 3)
    return Case(
        "LpPool",
        [draw.floats(draw.one_of(1, 2), draw.one_of(1, 2, 3), *sizes)],
        kept,
        domain="",
        refusals=REFUSALS,
    )


@family("Conv")
def _conv(draw: Draw) -> Case:
    sizes, kept = _spatial(draw)
    group = draw.one_of(1, 1, 2, 4)
    channels, outputs = group * draw.one_of(1, 1, 2, 3), group * draw.one_of(1, 2, 4)
    kernel = kept["kernel_shape"] if draw.chance(0.8) else kept.pop("kernel_shape")
    inputs = [
        draw.floats(draw.one_of(1, 2), channels, *sizes),
        draw.floats(outputs, channels // group, *kernel),
        draw.maybe(lambda: draw.floats(outputs)),
    ]
    return Case("Conv", inputs, {**kept, "group": group}, constant=some(draw, 1, 2, share=0.7), domain="")


@family("FusedConv")
def _fused_conv(draw: Draw) -> Case:
    conv = _conv(draw)
    numbers = {"Clip": 2, "HardSigmoid": 2, "LeakyRelu": 1, "Relu": 0, "Sigmoid": 0, "Tanh": 0}
    name = draw.one_of(*numbers)
    attributes = {**conv.attributes, "activation": name}
    if numbers[name]:
        attributes["activation_params"] = sorted(draw.one_of(0.1, 0.25, 0.5) for _ in range(numbers[name]))
    return Case("FusedConv", conv.inputs, attributes, constant=conv.constant)


@family("ConvTranspose")
def _conv_transpose(draw: Draw) -> Case:
    sizes, kept = _spatial(draw)
    group = draw.one_of(1, 1, 2)
    channels, outputs = group * draw.one_of(1, 2, 3), draw.one_of(1, 2, 4)
    strides = kept.get("strides", [1] * len(sizes))
    if draw.chance(0.3):
        kept["output_padding"] = [draw.random.randint(0, s - 1) for s in strides]
    if draw.chance(0.2):
        kept["output_shape"] = [
            max(1, n * s + draw.random.randint(-2, 2)) for n, s in zip(sizes, strides, strict=True)
        ]
        kept.pop("pads", None)
    inputs = [
        draw.floats(draw.one_of(1, 2), channels, *sizes),
        draw.floats(channels, outputs, *kept["kernel_shape"]),
        draw.maybe(lambda: draw.floats(outputs * group)),
    ]
    return Case(
        "ConvTranspose", inputs, {**kept, "group": group}, constant=some(draw, 1, 2, share=0.7), domain=""
    )
