"""Static AIPP: an input of bytes in front of a model that reads floats.

Each aipp_op replaces one input of the model, [N, C, H, W], by bytes with channels last under the same name;
an operator AIPP between the two makes the first from the second in one pass.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.errors import AscendError, did_you_mean
from ascend_ep.opdef.kernel_references import KERNEL_REFERENCES

from .aipp_config import FORMATS, AippOp

FLAG = "--insert_op_conf"
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16)

#: Per format: channels of the source, and the bytes of one pixel along the last axis of the input.
_CHANNELS = {"YUV420SP_U8": 3, "XRGB8888_U8": 4, "RGB888_U8": 3, "YUV400_U8": 1}
_PIXEL = {"YUV420SP_U8": 1, "XRGB8888_U8": 4, "RGB888_U8": 3, "YUV400_U8": 1}

#: The domain of the operator in models that this module changes.
DOMAIN = "ascend_ep"


@dataclass(frozen=True)
class Preprocessing:
    """What one aipp_op does to one input: `attributes` are those of the operator AIPP (op_schemas/image)."""

    name: str
    shape: tuple[int | ir.SymbolicDim, ...]
    dtype: ir.DataType
    attributes: Mapping[str, Any]

    def apply(self, image: NDArray[Any]) -> NDArray[Any]:
        """What the model itself is given for these bytes, in float64."""
        return KERNEL_REFERENCES["aipp"]([image.astype(np.float64)], self.attributes)[0]


#: What a bundle says of its preprocessing, among the metadata that get_modelmeta() shows.
METADATA = "ascend_ep.aipp"


def metadata(preprocessing: Sequence[Preprocessing]) -> dict[str, str]:
    """The entry of a bundle's META section: the attributes by input, as JSON."""
    if not preprocessing:
        return {}
    return {f"custom:{METADATA}": json.dumps({p.name: p.attributes for p in preprocessing})}


def source_inputs(metadata: Mapping[str, str], inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What the source model is given where a bundle with this metadata is given `inputs`."""
    known = json.loads(metadata.get(METADATA, "{}"))
    return {
        name: KERNEL_REFERENCES["aipp"]([x.astype(np.float64)], known[name])[0] if name in known else x
        for name, x in inputs.items()
    }


def insert_aipp(
    model: ir.Model, ops: Sequence[AippOp], half_inputs: Collection[str] = ()
) -> list[Preprocessing]:
    """Changes the model's inputs. Raises AscendError E10052 with the place of what doesn't fit the model, and
    E10001 for an input that is to be float16 (--input_fp16_nodes) as well."""
    graph = model.graph
    inputs: list[ir.Value] = list(graph.inputs)
    chosen: dict[ir.Value, AippOp] = {}
    for op in ops:
        value = _related(op, inputs)
        if value in chosen:
            raise _refusal(
                op, f"Input [{value.name}] has another [aipp_op] already, at {chosen[value].where}."
            )
        if value.name in half_inputs:
            reason = f"AIPP makes bytes of it ({op.where})."
            raise AscendError("E10001", value.name, "--input_fp16_nodes", reason)
        chosen[value] = op
    made = []
    for value, op in chosen.items():
        found = preprocessing(op, value)
        _insert(graph, value, found)
        made.append(found)
    model.opset_imports.setdefault(DOMAIN, 1)
    return made


def _related(op: AippOp, inputs: Sequence[ir.Value]) -> ir.Value:
    """The input that an aipp_op is about: by name, or by its position."""
    if "related_input_name" in op.given:
        name = op.text("related_input_name")
        for value in inputs:
            if value.name == name:
                return value
        near = did_you_mean(name[:80], [str(v.name) for v in inputs])
        raise _refusal(op, f"[related_input_name] is {name}, and the model has no such input.{near}")
    rank = op.number("related_input_rank")
    if rank >= len(inputs):
        raise _refusal(op, f"[related_input_rank] is {rank}; the model has {len(inputs)} inputs.")
    return inputs[rank]


def preprocessing(op: AippOp, value: ir.Value) -> Preprocessing:
    """What an aipp_op does to an input of this type and shape."""
    if op.text("aipp_mode") == "dynamic":
        reason = (
            f"[aipp_mode] is dynamic ({op.where}): its parameters come with every run through the device's"
            " own interface (aclmdlSetInputAIPP), which a CPU bundle has no input for. Use static."
        )
        raise AscendError("E10055", reason)
    if op.flag("resize"):
        raise _refusal(op, "[resize] is reserved; resize the image before it is given.")
    channels, rows, columns = _wanted(op, value)
    image = op.text("input_format")
    if not image:
        raise _refusal(op, f"[input_format] is required; it is one of {', '.join(FORMATS)}.")
    order = _order(op, image, channels)
    width, height, crop = _geometry(op, image, rows, columns)
    padded = op.flag("padding")
    attributes: dict[str, Any] = {
        "format": FORMATS[image],
        "order": order,
        "crop": crop,
        "padding": [op.number(f"{side}_padding_size") if padded else 0 for side in ("left", "top")],
        "size": [channels, rows, columns],
        **_conversion(op, image),
        "shift": [op.number(f"mean_chn_{i}") + op.real(f"min_chn_{i}") for i in range(4)],
        "scale": [op.real(f"var_reci_chn_{i}") for i in range(4)],
        "padding_value": op.real("padding_value") if padded else 0.0,
    }
    assert value.shape is not None
    stored = height * 3 // 2 if image == "YUV420SP_U8" else height
    dtype = ir.DataType(value.dtype) if value.dtype is not None else ir.DataType.FLOAT
    return Preprocessing(str(value.name), (value.shape[0], stored, width, _PIXEL[image]), dtype, attributes)


def _wanted(op: AippOp, value: ir.Value) -> tuple[int, int, int]:
    """Channels, rows and columns of the input [N, C, H, W]."""
    if value.dtype not in _FLOATS:
        kind = value.dtype.name if value.dtype is not None else "unknown"
        raise _refusal(op, f"Input [{value.name}] is of type {kind}; AIPP makes images of FLOAT or FLOAT16.")
    if value.shape is None or len(value.shape) != 4:
        rank = "unknown rank" if value.shape is None else f"rank {len(value.shape)}"
        raise _refusal(op, f"Input [{value.name}] has {rank}; AIPP makes images [N, C, H, W].")
    sizes = [d for d in value.shape[1:] if isinstance(d, int)]
    if len(sizes) != 3:
        shape = ", ".join(map(str, value.shape))
        reason = (
            f"Input [{value.name}] is [{shape}]; C, H and W must be numbers. Give them with --input_shape."
        )
        raise _refusal(op, reason)
    if sizes[0] not in (1, 3, 4):
        raise _refusal(op, f"Input [{value.name}] has {sizes[0]} channels; images have 1, 3 or 4.")
    return sizes[0], sizes[1], sizes[2]


def _order(op: AippOp, image: str, channels: int) -> list[int]:
    """The source channel of each channel, after the swaps."""
    order = list(range(_CHANNELS[image]))
    if op.flag("rbuv_swap_switch"):
        if image == "YUV400_U8":
            raise _refusal(op, "[rbuv_swap_switch] is true, and YUV400_U8 has one channel only.")
        first, second = {"YUV420SP_U8": (1, 2), "RGB888_U8": (0, 2), "XRGB8888_U8": (1, 3)}[image]
        order[first], order[second] = order[second], order[first]
    if op.flag("ax_swap_switch"):
        if image != "XRGB8888_U8":
            raise _refusal(op, f"[ax_swap_switch] is true, and {image} has no fourth channel.")
        order = [*order[1:], order[0]]
    elif image == "XRGB8888_U8" and (channels != 4 or op.flag("csc_switch")):
        reason = (
            f"XRGB8888_U8 has X first, which would become a colour of the model's {channels} channels."
            " Set [ax_swap_switch] to true."
        )
        raise _refusal(op, reason)
    if channels > len(order):
        raise _refusal(op, f"{image} has {len(order)} channels, the model's input {channels}.")
    if channels < len(order) and not (op.flag("csc_switch") or image == "XRGB8888_U8"):
        reason = (
            f"{image} has {len(order)} channels, the model's input {channels}; set [csc_switch] to convert."
        )
        raise _refusal(op, reason)
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
            raise _refusal(op, "[crop] is true: [src_image_size_w] and [src_image_size_h] are required.")
        crop = [op.number(f"load_start_pos_{axis}") for axis in "wh"]
        crop += [op.number(f"crop_size_{axis}") or size for axis, size in zip("wh", inner, strict=True)]
    source = [size or part for size, part in zip(sizes, crop[2:], strict=True)]
    if image == "YUV420SP_U8":
        named = {"src_image_size_w": source[0], "src_image_size_h": source[1]}
        named |= {"load_start_pos_w": crop[0], "load_start_pos_h": crop[1]}
        for key, size in named.items():
            if size % 2:
                raise _refusal(op, f"[{key}] is {size}; with YUV420SP_U8 it must be even.")
    for axis, name in enumerate("wh"):
        if crop[axis] + crop[axis + 2] > source[axis]:
            reason = (
                f"[load_start_pos_{name}] + [crop_size_{name}] is {crop[axis] + crop[axis + 2]},"
                f" more than [src_image_size_{name}], {source[axis]}."
            )
            raise _refusal(op, reason)
        if not op.flag("crop") and source[axis] != inner[axis]:
            reason = (
                f"[src_image_size_{name}] is {source[axis]} and the model reads {inner[axis]}"
                f"{' besides the padding' if op.flag('padding') else ''}; set [crop] to true."
            )
            raise _refusal(op, reason)
        if crop[axis + 2] != inner[axis] or inner[axis] <= 0:
            first, second = sides[2 * axis : 2 * axis + 2]
            reason = (
                f"[crop_size_{name}] + [{first}_padding_size] + [{second}_padding_size] is"
                f" {crop[axis + 2] + pads[2 * axis] + pads[2 * axis + 1]}; the model's input has"
                f" {(columns, rows)[axis]}."
            )
            raise _refusal(op, reason)
    return source[0], source[1], crop


def _conversion(op: AippOp, image: str) -> dict[str, list[int]]:
    """The colour conversion: the bias of YUV is subtracted before it, that of RGB added after it."""
    if not op.flag("csc_switch"):
        return {"matrix": [], "input_bias": [], "output_bias": []}
    if image == "YUV400_U8":
        raise _refusal(op, "[csc_switch] is true, and YUV400_U8 has one channel only.")
    is_yuv = image == "YUV420SP_U8"
    biases = {side: [op.number(f"{side}_bias_{i}") for i in range(3)] for side in ("input", "output")}
    return {
        "matrix": [op.number(f"matrix_r{i // 3}c{i % 3}") for i in range(9)],
        "input_bias": biases["input"] if is_yuv else [0, 0, 0],
        "output_bias": [0, 0, 0] if is_yuv else biases["output"],
    }


def _insert(graph: ir.Graph, value: ir.Value, found: Preprocessing) -> None:
    """bytes -> AIPP (-> Cast) -> what read `value`."""
    position = list(graph.inputs).index(value)
    value.name = f"{found.name}/aipp"
    given = ir.Value(name=found.name, shape=ir.Shape(found.shape), type=ir.TensorType(ir.DataType.UINT8))
    graph.inputs[position] = given
    attributes = [ir.convenience.convert_attribute(k, v) for k, v in found.attributes.items() if v != []]
    wide = value
    if found.dtype != ir.DataType.FLOAT:
        wide = ir.Value(name=f"{found.name}/aipp_float32", type=ir.TensorType(ir.DataType.FLOAT))
    nodes = [ir.Node(DOMAIN, "AIPP", [given], attributes, outputs=[wide], name=f"{found.name}/AIPP")]
    if wide is not value:
        to = [ir.AttrInt64("to", found.dtype.value)]
        nodes.append(ir.Node("", "Cast", [wide], to, outputs=[value], name=f"{found.name}/AIPP_cast"))
    if len(graph):
        graph.insert_before(graph[0], nodes)
    else:
        graph.extend(nodes)


def _refusal(op: AippOp, reason: str) -> AscendError:
    return AscendError("E10052", reason, where=op.where)
