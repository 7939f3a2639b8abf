"""One model: our answers beside onnxruntime's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx_suite.closeness import same

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

OPTIONS = ConvertOptions(codegen="off", precision="origin", self_check=False, sample_seed=None)
REFUSED = "refused by onnxruntime"
UNSTABLE = "unstable: onnxruntime's own numbers are others for inputs that differ by a millionth"
NUDGE = 1 + 1e-6


def finding(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> str:
    """What is wrong; nothing where both compute the same; REFUSED where there is nothing to compare with, as
    ONNX or onnxruntime refuses the model; UNSTABLE where rounding decides."""
    try:
        rival = _onnxruntime(model)
        wanted = rival.run(None, dict(feeds))
    except Exception:  # onnxruntime's own are of several kinds
        return REFUSED
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            got = ascend_ep.InferenceSession(convert(model, OPTIONS).to_bytes()).run(None, feeds)
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if said:  # such as of a pass that failed and was left out
        return f"warning: {str(said[0].message).splitlines()[0]}"
    if len(wanted) == len(got) and all(map(same, wanted, got)):
        return ""
    nudged = rival.run(None, {name: _nudged(array) for name, array in feeds.items()})
    return "other numbers" if all(map(same, wanted, nudged)) else UNSTABLE


def answer(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any] | None:
    """What onnxruntime computes; None where it refuses."""
    try:
        found: list[Any] = _onnxruntime(model).run(None, dict(feeds))
    except Exception:
        return None
    return found


def _onnxruntime(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Raises also where ONNX refuses the model."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    onnx.shape_inference.infer_shapes(model, strict_mode=True)
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def _nudged(array: Any) -> Any:
    """Floats a little larger."""
    return np.asarray(array * array.dtype.type(NUDGE)) if array.dtype in (np.float32, np.float64) else array
