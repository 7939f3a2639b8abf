"""Drawn models as onnxruntime's optimizer saves them, converted, beside its run of the same file."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import onnx
import onnx.printer
import onnxruntime

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.errors import AscendError
from model_fuzzing.checking import OPTIONS, is_unsteady
from model_fuzzing.judging import difference
from model_fuzzing.models import Drawn

_LEVEL = onnxruntime.GraphOptimizationLevel
LEVELS = {
    "basic": _LEVEL.ORT_ENABLE_BASIC,
    "extended": _LEVEL.ORT_ENABLE_EXTENDED,
    "all": _LEVEL.ORT_ENABLE_ALL,
}


def saved(model: onnx.ModelProto, level: str) -> onnx.ModelProto:
    """The model that onnxruntime writes at a level."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = LEVELS[level]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved.onnx")
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(path)


def saved_fault(drawn: Drawn, level: str) -> str:
    """What is different of the saved model; "-" where onnxruntime refuses the drawn one or can't save it."""
    try:
        model = saved(drawn.model(), level)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        wanted = session.run(None, drawn.feeds)
    except Exception:  # onnxruntime's own are of several kinds
        return "-"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            bundle = convert(model, OPTIONS).to_bytes()
        got = ascend_ep.InferenceSession(bundle).run(None, drawn.feeds)
    except AscendError as error:
        return "-" if "ORT_ENABLE_EXTENDED" in str(error) else f"{level}: {error}"
    except Exception as error:
        return f"{level}: {type(error).__name__}: {error}"
    said = [d for a, b in zip(wanted, got, strict=True) if (d := difference(a, b))]
    if not said or is_unsteady(drawn, wanted, got):
        return ""
    return f"{level}: {said[0]}\n{onnx.printer.to_text(model)}"


def faults_of_levels(drawn: Drawn) -> str:
    """Those of all levels; "-" where none was compared."""
    said = [saved_fault(drawn, level) for level in LEVELS] if drawn.outputs else ["-"]
    return "-" if all(s == "-" for s in said) else "\n".join(s for s in said if s not in ("", "-"))
