"""What an aipp_op asks for, checked against the input that it is about: attributes of the operator AIPP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.errors import AscendError
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES

from .config import FORMATS, AippOp

YUV420SP = "YUV420SP_U8"
Size = int | ir.SymbolicDim
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16)

#: Per format: channels of the source, and the bytes of one pixel along the last axis of the input.
_CHANNELS = {YUV420SP: 3, "XRGB8888_U8": 4, "RGB888_U8": 3, "YUV400_U8": 1}
_PIXEL = {YUV420SP: 1, "XRGB8888_U8": 4, "RGB888_U8": 3, "YUV400_U8": 1}


@dataclass(frozen=True)
class Preprocessing:
    """What one aipp_op does to one input: `attributes` are those of the operator AIPP (op_schemas/image)."""

    name: str
    shape: tuple[int | ir.SymbolicDim, ...]
    attributes: Mapping[str, Any]

    def apply(self, image: NDArray[Any]) -> NDArray[Any]:
        """What the model itself is given for these bytes, in float64."""
        return KERNEL_REFERENCES["aipp"]([image.astype(np.float64)], self.attributes)[0]


def preprocessing(op: AippOp, value: ir.Value) -> Preprocessing:
    """What an aipp_op does to an input of this type and shape."""
    if op.flag("resize"):
        raise refusal(op, "[resize] is reserved; resize the image before it is given.")
    channels, rows, columns = _wanted(op, value)
    image = op.text("input_format")
    if not image:
        raise refusal(op, f"[input_format] is required; it is one of {', '.join(FORMATS)}.")
    order = _order(op, image, channels)
    if isinstance(rows, int) and isinstance(columns, int):
        width, height, crop = _geometry(op, image, rows, columns)
        size = [channels, rows, columns]
        stored: tuple[Size, Size] = (height * 3 // 2 if image == YUV420SP else height, width)
    else:
        _check_free(op, image, value)
        crop, size, stored = [], [channels], (rows, columns)
    padded = op.flag("padding")
    attributes: dict[str, Any] = {
        "format": FORMATS[image],
        "order": order,
        "crop": crop,
        "padding": [op.number(f"{side}_padding_size") if padded else 0 for side in ("left", "top")],
        "size": size,
        **_conversion(op, image),
        "shift": [op.number(f"mean_chn_{i}") + op.real(f"min_chn_{i}") for i in range(4)],
        "scale": [op.real(f"var_reci_chn_{i}") for i in range(4)],
        "padding_value": op.real("padding_value") if padded else 0.0,
    }
    assert value.shape is not None
    return Preprocessing(str(value.name), (value.shape[0], *stored, _PIXEL[image]), attributes)


def check_dynamic(op: AippOp, value: ir.Value) -> None:
    """Refuses what a dynamic aipp_op can't be about. Its parameters, but the size, come with each run."""
    _wanted(op, value)
    if value.dtype != ir.DataType.FLOAT:
        raise refusal(op, f"Input [{value.name}] is float16; images of dynamic AIPP are FLOAT.")
    if op.number("max_src_image_size") <= 0:
        raise refusal(
            op, "[max_src_image_size] is required; it is the bytes of the largest pictures of a batch."
        )


def _wanted(op: AippOp, value: ir.Value) -> tuple[int, Size, Size]:
    """Channels, rows and columns of the input [N, C, H, W]."""
    if value.dtype not in _FLOATS:
        kind = value.dtype.name if value.dtype is not None else "unknown"
        raise refusal(op, f"Input [{value.name}] is of type {kind}; AIPP makes images of FLOAT or FLOAT16.")
    if value.shape is None or len(value.shape) != 4:
        rank = "unknown rank" if value.shape is None else f"rank {len(value.shape)}"
        raise refusal(op, f"Input [{value.name}] has {rank}; AIPP makes images [N, C, H, W].")
    channels, rows, columns = value.shape[1:]
    if not isinstance(channels, int) or channels not in (1, 3, 4):
        raise refusal(op, f"Input [{value.name}] has {channels} channels; images have 1, 3 or 4.")
    return channels, rows, columns


def _check_free(op: AippOp, image: str, value: ir.Value) -> None:
    """Images of any size: only what needs no size may be asked for."""
    shape = ", ".join(map(str, value.shape or ()))
    what = f"Input [{value.name}] is [{shape}]: its height and width are free, and"
    for key in ("crop", "padding"):
        if op.flag(key):
            raise refusal(op, f"{what} [{key}] needs numbers. Give them with --input_shape.")
    if op.number("src_image_size_w") or op.number("src_image_size_h"):
        raise refusal(op, f"{what} [src_image_size_w] and [src_image_size_h] must be 0.")
    if image == YUV420SP:
        raise refusal(
            op, f"{what} the rows of YUV420SP_U8 can't be counted. Give numbers with --input_shape."
        )


def _order(op: AippOp, image: str, channels: int) -> list[int]:
    """The source channel of each channel, after the swaps."""
    order = list(range(_CHANNELS[image]))
    if op.flag("rbuv_swap_switch"):
        if image == "YUV400_U8":
            raise refusal(op, "[rbuv_swap_switch] is true, and YUV400_U8 has one channel only.")
        first, second = {YUV420SP: (1, 2), "RGB888_U8": (0, 2), "XRGB8888_U8": (1, 3)}[image]
        order[first], order[second] = order[second], order[first]
    if op.flag("ax_swap_switch"):
        if image != "XRGB8888_U8":
            raise refusal(op, f"[ax_swap_switch] is true, and {image} has no fourth channel.")
        order = [*order[1:], order[0]]
    elif image == "XRGB8888_U8" and (channels != 4 or op.flag("csc_switch")):
        reason = (
            f"XRGB8888_U8 has X first, which would become a colour of the model's {channels} channels."
            " Set [ax_swap_switch] to true."
        )
        raise refusal(op, reason)
    if channels > len(order):
        raise refusal(op, f"{image} has {len(order)} channels, the model's input {channels}.")
    if channels < len(order) and not (op.flag("csc_switch") or image == "XRGB8888_U8"):
        reason = (
            f"{image} has {len(order)} channels, the model's input {channels}; set [csc_switch] to convert."
        )
        raise refusal(op, reason)
    return order + [0] * (4 - len(order))


def _geometry(op: AippOp, image: str, rows: int, columns: int) -> tuple[int, int, list[int]]:
    """Width and height of the source, and the crop (left, top, width, height)."""
    sides = ("left", "right", "top", "bottom")
    pads = [op.number(f"{side}_padding_size") if op.flag("padding") else 0 for side in sides]
    inner = columns - pads[0] - pads[1], rows - pads[2] - pads[3]
    sizes = [op.number(f"src_image_size_{axis}") for axis in "wh"]
    crop = [0, 0, *inner]
    if op.flag("crop"):
        if not all(sizes):
            raise refusal(op, "[crop] is true: [src_image_size_w] and [src_image_size_h] are required.")
        crop = [op.number(f"load_start_pos_{axis}") for axis in "wh"]
        crop += [op.number(f"crop_size_{axis}") or size for axis, size in zip("wh", inner, strict=True)]
    source = [size or part for size, part in zip(sizes, crop[2:], strict=True)]
    if image == YUV420SP:
        named = {"src_image_size_w": source[0], "src_image_size_h": source[1]}
        named |= {"load_start_pos_w": crop[0], "load_start_pos_h": crop[1]}
        for key, size in named.items():
            if size % 2:
                raise refusal(op, f"[{key}] is {size}; with YUV420SP_U8 it must be even.")
    for axis, name in enumerate("wh"):
        if crop[axis] + crop[axis + 2] > source[axis]:
            reason = (
                f"[load_start_pos_{name}] + [crop_size_{name}] is {crop[axis] + crop[axis + 2]},"
                f" more than [src_image_size_{name}], {source[axis]}."
            )
            raise refusal(op, reason)
        if not op.flag("crop") and source[axis] != inner[axis]:
            reason = (
                f"[src_image_size_{name}] is {source[axis]} and the model reads {inner[axis]}"
                f"{' besides the padding' if op.flag('padding') else ''}; set [crop] to true."
            )
            raise refusal(op, reason)
        if crop[axis + 2] != inner[axis] or inner[axis] <= 0:
            first, second = sides[2 * axis : 2 * axis + 2]
            reason = (
                f"[crop_size_{name}] + [{first}_padding_size] + [{second}_padding_size] is"
                f" {crop[axis + 2] + pads[2 * axis] + pads[2 * axis + 1]}; the model's input has"
                f" {(columns, rows)[axis]}."
            )
            raise refusal(op, reason)
    return source[0], source[1], crop


def _conversion(op: AippOp, image: str) -> dict[str, list[int]]:
    """The colour conversion: the bias of YUV is subtracted before it, that of RGB added after it."""
    if not op.flag("csc_switch"):
        return {"matrix": [], "input_bias": [], "output_bias": []}
    if image == "YUV400_U8":
        raise refusal(op, "[csc_switch] is true, and YUV400_U8 has one channel only.")
    is_yuv = image == YUV420SP
    biases = {side: [op.number(f"{side}_bias_{i}") for i in range(3)] for side in ("input", "output")}
    return {
        "matrix": [op.number(f"matrix_r{i // 3}c{i % 3}") for i in range(9)],
        "input_bias": biases["input"] if is_yuv else [0, 0, 0],
        "output_bias": [0, 0, 0] if is_yuv else biases["output"],
    }


def refusal(op: AippOp, reason: str) -> AscendError:
    """E10052 at the block."""
    return AscendError("E10052", reason, where=op.where)
