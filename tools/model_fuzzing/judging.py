"""One case in onnxruntime's CPU provider, in a bundle, and in the float64 reference: what is different."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.graph.reference import Reference
from model_fuzzing.draw import Array, Case

OPTIONS = ConvertOptions(codegen="off", precision="origin", self_check=False)


#: Operators whose results may be a step of 8 bits apart: float32 rounds in another order.
STEPS = {"QGemm": 1}

#: How far others may be apart, of the largest element. A state of the LSTM that falls on the other side of a
#: step of 8 bits changes what follows; -10000 in float32 leaves scores three digits.
CLOSE = {"DynamicQuantizeLSTM": 0.1, "Attention": 2e-3, "MultiHeadAttention": 2e-3}


@dataclass
class Verdict:
    """`refusal`: why onnxruntime doesn't run it. `host`: why ours leaves it to the CPU provider. `unknown`:
    why it has no reference. The others say what is wrong."""

    refusal: str = ""
    host: str = ""
    found: str = ""
    reference: str = ""
    unknown: str = ""


def difference(wanted: Any, got: Any, steps: int = 0, close: float = 2e-4) -> str:
    """Nothing where they agree: integers of 8 bits within `steps`, floats within `close` of the largest."""
    a, b = np.asarray(wanted), np.asarray(got)
    if a.shape != b.shape:
        return f"shape {list(b.shape)}, not {list(a.shape)}"
    if a.dtype != b.dtype and not (b.dtype == np.float64 and a.dtype.kind == "f"):
        return f"{b.dtype}, not {a.dtype}"
    if a.dtype.kind in "iub":
        apart = np.abs(a.astype(np.int64) - b.astype(np.int64)).max(initial=0)
        return f"{apart} apart" if apart > steps else ""
    wide, other = a.astype(np.float64), b.astype(np.float64)
    if not np.array_equal(np.isnan(wide), np.isnan(other)):
        return "NaN elsewhere"
    finite = np.isfinite(wide)
    largest = max(float(np.abs(wide[finite]).max(initial=0)), 1e-6)
    bound = max(close, 8 * float(np.finfo(a.dtype).eps)) * largest
    if not np.allclose(wide, other, rtol=0, atol=bound, equal_nan=True):
        return f"{np.abs(wide - other)[finite].max(initial=0) / largest:.2g} of the largest apart"
    return ""


def faults(case: Case) -> str:
    """What is wrong with a case, "" for nothing."""
    verdict = judged(case)
    return "; ".join(filter(None, (verdict.found, verdict.reference and f"reference: {verdict.reference}")))


def judged(case: Case) -> Verdict:
    steps = 1 if case.op_type.startswith("QLinear") else STEPS.get(case.op_type, 0)
    close = CLOSE.get(case.op_type, 2e-4)
    model, feeds = case.model(), case.feeds()
    try:
        wanted = onnxruntime_run(model, feeds)
    except Exception as error:  # onnxruntime's own are of several kinds
        return Verdict(refusal=str(error)[:200], found=_ours(model, feeds))
    verdict = Verdict()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            conversion = convert(model, OPTIONS)
        verdict.host = next((r.reason for r in conversion.partition_table if r.target != "AscendEP"), "")
        results = ascend_ep.InferenceSession(conversion.to_bytes()).run(None, feeds)
        mistakes = [str(w.message) for w in told if "a mistake of ascend-ep" in str(w.message)]
        verdict.found = "; ".join(mistakes) or _first(case, wanted, results, steps, close)
    except Exception as error:
        if any(words in str(error) for words in case.refusals):
            return Verdict(host=str(error))
        verdict.found = f"{type(error).__name__}: {error}"
    try:
        exact = Reference(model).run(feeds)
        results = [exact[f"y{i}"] for i in range(case.outputs)]
        verdict.reference = _first(case, wanted, results, steps, max(close, 2e-3))
    except NotImplementedError as error:
        verdict.unknown = str(error)
    except AscendError as error:
        verdict.unknown = error.text if error.code == "E42005" else ""
        verdict.reference = "" if verdict.unknown else str(error)
    except Exception as error:
        verdict.reference = f"{type(error).__name__}: {error}"
    return verdict


def onnxruntime_run(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, feeds))


def _first(case: Case, wanted: list[Any], got: list[Any], steps: int, close: float) -> str:
    for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if i in case.specified:
            mask = case.specified[i]
            if mask is None:
                continue
            if (
                a.dtype.kind == "f"
                and not np.isfinite(b).all()
                and np.isfinite(a[np.broadcast_to(mask, a.shape)]).all()
            ):
                return f"y{i}: what isn't specified isn't finite, which spreads through the next layer"
            if a.shape == b.shape:
                a, b = (np.where(mask, x, np.zeros_like(x)) for x in (a, b))
        if said := difference(a, b, steps, close):
            return f"y{i}: {said}"
    return ""


def _ours(model: onnx.ModelProto, feeds: dict[str, Array]) -> str:
    """What is wrong with what ours does with a model that onnxruntime refuses: nothing but a crash is."""
    try:
        ascend_ep.InferenceSession(convert(model, OPTIONS).to_bytes()).run(None, feeds)
    except AscendError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
