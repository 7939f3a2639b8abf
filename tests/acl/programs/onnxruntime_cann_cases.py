"""Node cases of ONNX's suite through onnxruntime-cann: a JSON line for each name on standard input.

Runs with the Python that has onnxruntime-cann, in the toolkit's environment; arguments are the folder of the
cases, and options of the provider, NAME=VALUE. A case that the provider doesn't take whole is "other":
nothing falls back to the CPU.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

#: As onnx.backend.test compares, where a case says nothing else.
RELATIVE, ABSOLUTE = 1e-3, 1e-7
#: What onnxruntime says of a session, some of whose nodes no provider but the CPU's takes.
LEFT = (
    "fallback to CPU EP has been explicitly disabled",
    "NOT_IMPLEMENTED",
    "INVALID_GRAPH",
    "not supported",
    "is not a registered",
    "!node_provider_type.empty() was false",
)


def read(path: Path, kind: onnx.TypeProto) -> np.ndarray:
    if kind.WhichOneof("value") != "tensor_type":
        raise NotImplementedError("sequences and optionals")
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    array = numpy_helper.to_array(tensor)
    if array.dtype.name not in onnxruntime_types():
        raise NotImplementedError(array.dtype.name)
    return array


def onnxruntime_types() -> set[str]:
    signed = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
    return signed | {"float16", "float32", "float64", "bool", "object"}


def difference(name: str, got: np.ndarray, wanted: np.ndarray, relative: float) -> str:
    """What is wrong, or nothing."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{name}: {got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype.kind != "f":
        wrong = int((got != wanted).sum())
        return f"{name}: {wrong} of {wanted.size} elements differ" if wrong else ""
    if np.allclose(got, wanted, rtol=relative, atol=max(ABSOLUTE, relative / 100), equal_nan=True):
        return ""
    return f"{name}: off by {np.nanmax(np.abs(got.astype(np.float64) - wanted.astype(np.float64))):.3g}"


def run(folder: Path, options: dict[str, str], relative: float) -> tuple[str, str]:
    """agrees, differs, fails or other; and why."""
    model = onnx.load(folder / "model.onnx")
    settings = onnxruntime.SessionOptions()
    settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    settings.log_severity_level = 4
    try:
        data = folder / "test_data_set_0"
        inputs = [read(data / f"input_{i}.pb", v.type) for i, v in enumerate(model.graph.input)]
        outputs = [read(data / f"output_{i}.pb", v.type) for i, v in enumerate(model.graph.output)]
        providers = [("CANNExecutionProvider", options)]
        session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=providers)
    except NotImplementedError as error:
        return "other", str(error)
    except Exception as error:  # onnxruntime has a class for each of its codes
        text = str(error).strip()
        return ("other" if any(part in text for part in LEFT) else "fails"), text
    try:
        got = session.run(None, dict(zip((v.name for v in model.graph.input), inputs, strict=True)))
    except Exception as error:
        return "fails", str(error).strip()
    names = [v.name for v in model.graph.output]
    wrong = [difference(n, g, w, relative) for n, g, w in zip(names, got, outputs, strict=True)]
    return ("differs", "; ".join(filter(None, wrong))) if any(wrong) else ("agrees", "")


def main() -> None:
    cases, *words = sys.argv[1:]
    options = dict(word.partition("=")[::2] for word in words)
    relative = float(options.pop("relative", RELATIVE))
    with tempfile.TemporaryDirectory() as place:
        for line in sys.stdin:
            name = line.strip()
            result, why = run(Path(cases) / name, {"dump_om_model": "0", **options}, relative)
            print(json.dumps({"name": name, "result": result, "why": why[:600]}), flush=True)
        del place


if __name__ == "__main__":
    main()
