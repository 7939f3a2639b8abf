"""AIPP by its published formulas, in numpy: what reaches the model from the bytes that a program gives."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

#: YUV of BT.601 in the narrow range to RGB, as the documents' sample settings have it.
YUV_TO_RGB = ((256, 0, 359), (256, -88, -183), (256, 454, 0))
INPUT_BIAS = (0, 128, 128)


def settings_text(options: dict[str, str], height: int, width: int, coloured: bool) -> str:
    """A file as the one that the line names: by its name of coloured rows, or of YUV from DVPP."""
    rows = ["crop: false"]
    if height > 0 and width > 0:  # else the sizes come with each run
        rows += [f"src_image_size_w: {width}", f"src_image_size_h: {height}"]
    if coloured or re.search("bgr|rgb", options["insert_op_conf"].lower()):
        rows += ["input_format: RGB888_U8", "csc_switch: false"]
    else:
        rows += ["input_format: YUV420SP_U8", "csc_switch: true", "rbuv_swap_switch: false"]
        rows += [f"matrix_r{i}c{j}: {v}" for i, row in enumerate(YUV_TO_RGB) for j, v in enumerate(row)]
        rows += [f"input_bias_{i}: {v}" for i, v in enumerate(INPUT_BIAS)]
    rows += [f"min_chn_{i}: 0.0" for i in range(3)]
    rows += [f"var_reci_chn_{i}: 0.003921568627451" for i in range(3)]
    return "aipp_op {\n  aipp_mode: static\n" + "".join(f"  {row}\n" for row in rows) + "}\n"


def apply(text: str, data: NDArray[np.uint8], dims: list[int]) -> NDArray[np.float32]:
    """[N, C, H, W], or [N, H, W, C] where `dims` has channels last, of a file's settings and bytes."""
    said = dict(re.findall(r"^\s*(\w+)\s*:\s*([\w.\-]+)", text, re.MULTILINE))
    last = dims[-1] in (1, 3, 4) and dims[1] not in (1, 3, 4)
    rows, columns = (dims[1], dims[2]) if last else (dims[2], dims[3])
    height, width = int(said.get("src_image_size_h", rows)), int(said.get("src_image_size_w", columns))
    if said["input_format"].startswith("YUV420SP"):
        image = _from_yuv(said, data.reshape(-1, height * 3 // 2, width), height, width)
    else:
        image = data.reshape(-1, height, width, 3).astype(np.float64)
    if said.get("rbuv_swap_switch") == "true" and not said["input_format"].startswith("YUV"):
        image = image[..., ::-1]
    for c in range(image.shape[-1]):
        mean, least, factor = (float(said.get(f"{k}_{c}", d)) for k, d in _CHANNEL)
        image[..., c] = (image[..., c] - mean - least) * factor
    return np.ascontiguousarray(image if last else image.transpose(0, 3, 1, 2), np.float32)


_CHANNEL = (("mean_chn", "0"), ("min_chn", "0"), ("var_reci_chn", "1"))


def _from_yuv(said: dict[str, str], data: NDArray[np.uint8], height: int, width: int) -> NDArray[np.float64]:
    luma = data[:, :height].astype(np.float64)
    colour = (
        data[:, height:].reshape(-1, height // 2, width // 2, 2).repeat(2, 1).repeat(2, 2).astype(np.float64)
    )
    if said.get("rbuv_swap_switch") == "true":
        colour = colour[..., ::-1]
    planes = np.concatenate([luma[..., None], colour], -1)
    if said.get("csc_switch") != "true":
        return planes
    matrix = np.array([[float(said.get(f"matrix_r{i}c{j}", 0)) for j in range(3)] for i in range(3)])
    bias = np.array([float(said.get(f"input_bias_{i}", 0)) for i in range(3)])
    result = ((planes - bias) @ matrix.T) / 256
    return np.clip(np.floor(result), 0, 255)  # a shift by 8 bits
