"""Single operators in numpy, from what the recorder says of an execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
#: aclDataType -> numpy's.
TYPES = {
    0: "f4",
    1: "f2",
    2: "i1",
    3: "i4",
    4: "u1",
    6: "i2",
    7: "u2",
    8: "u4",
    9: "i8",
    10: "u8",
    11: "f8",
    12: "?",
}
NCHW, NHWC = 0, 1


@dataclass
class Operator:
    """Formats and values of inputs, and the outputs that the program was given."""

    kind: str = ""
    attributes: dict[str, list[int]] = field(default_factory=dict)
    inputs: list[Array] = field(default_factory=list)
    formats: list[int] = field(default_factory=list)
    outputs: list[Array] = field(default_factory=list)


def read(folder: Path) -> Operator:
    found = Operator()
    for line in (folder / "operator").read_text().splitlines():
        words = line.split()
        if words[0] == "type":
            found.kind = words[1]
        elif words[0] == "attribute":
            found.attributes[words[1]] = [int(n) for n in words[2].split(",")]
        else:
            side = found.inputs if words[0] == "in" else found.outputs
            dims = [int(n) for n in words[3].split(",")] if len(words) > 3 else []
            file = folder / f"{words[0]}_{len(side)}.bin"
            values = np.fromfile(file, TYPES[int(words[1])]) if file.exists() else np.zeros(0)
            # Values that were given with the description (aclSetTensorConst) are in no buffer.
            side.append(values[: int(np.prod(dims))].reshape(dims) if values.size else values)
            if words[0] == "in":
                found.formats.append(int(words[2]))
    return found


def expected(op: Operator) -> Array | None:
    """Its first output in the precision of float64, or None for an operator that isn't here."""
    wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in op.inputs]
    match op.kind:
        case "Add":
            return wide[0] + wide[1]
        case "Mul":
            return wide[0] * wide[1]
        case "Pow":
            return np.power(wide[0], wide[1])
        case "Cast":
            return wide[0]
        case "SoftmaxV2" | "Softmax":
            axis = op.attributes.get("axes", [-1])[0]
            raised = np.exp(wide[0] - wide[0].max(axis, keepdims=True))
            return np.asarray(raised / raised.sum(axis, keepdims=True))
        case "ArgMaxD" | "ArgMaxV2":
            return np.asarray(wide[0].argmax(op.attributes.get("dimension", [-1])[0]))
        case "MatMul" | "MatMulV2" | "BatchMatMul":
            flags = [op.attributes.get(n, [0])[0] for n in ("transpose_x1", "transpose_x2")]
            a, b = (x.swapaxes(-1, -2) if f else x for x, f in zip(wide, flags, strict=False))
            return np.asarray(a @ b)
        case "Conv2D":
            return _convolution(op, wide)
    return None


def _convolution(op: Operator, values: list[Array]) -> Array:
    """Stride and dilation one, as the samples have them; pads as set."""
    image, weight = values[:2]
    first = op.formats[0] == NCHW
    image = image if first else image.transpose(0, 3, 1, 2)
    top, low, left, right = op.attributes.get("pads", [0, 0, 0, 0])
    padded = np.pad(image, ((0, 0), (0, 0), (top, low), (left, right)))
    rows, columns = weight.shape[2:]
    height, width = padded.shape[2] - rows + 1, padded.shape[3] - columns + 1
    total = np.zeros((len(image), len(weight), height, width))
    for r in range(rows):
        for c in range(columns):
            part = padded[:, :, r : r + height, c : c + width]
            total += np.einsum("nchw,oc->nohw", part, weight[:, :, r, c])
    return total if first else total.transpose(0, 2, 3, 1)
