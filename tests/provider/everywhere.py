"""A model in the own runtime and in onnxruntime with AscendEP, beside onnxruntime's CPU provider."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

Feeds = Mapping[str, np.ndarray]
SILENT = 4


def parsed(text: str, opset: int = 17) -> bytes:
    """The model of `g (inputs) => (outputs) <weights> { nodes }`."""
    head = f'<ir_version: 10, opset_import: ["": {opset}]>'
    proto: bytes = onnx.parser.parse_model(f"{head} {text}").SerializeToString()
    return proto


def stock(model: bytes, provider: str) -> ort.InferenceSession:
    """A session of onnxruntime, which says nothing of what models declare."""
    options = ort.SessionOptions()
    options.log_severity_level = SILENT
    options.enable_mem_reuse = False  # which goes by declared names, and refuses what contradicts them
    return ort.InferenceSession(model, options, providers=[provider])


class Everywhere:
    """The three sessions on one model, made once."""

    def __init__(self, model: bytes) -> None:
        self.conversion = convert(model, ConvertOptions(precision="origin"))
        self.cpu = stock(model, "CPUExecutionProvider")
        self.ours = {
            "own runtime": ascend_ep.InferenceSession(self.conversion.to_bytes()),
            "onnxruntime": stock(model, "AscendEP"),
        }

    def check(self, feeds: Feeds) -> None:
        """Each of ours gives what the CPU provider does, in shape, type and numbers."""
        expected = self.cpu.run(None, feeds)
        for where, session in self.ours.items():
            for one, wanted in zip(session.run(None, feeds), expected, strict=True):
                assert (one.shape, one.dtype) == (wanted.shape, wanted.dtype), where
                np.testing.assert_allclose(one, wanted, 1e-5, 1e-5, err_msg=where)


def ramp(*dims: int) -> np.ndarray:
    """Floats that differ everywhere."""
    return np.linspace(-1, 1, int(np.prod(dims)), dtype=np.float32).reshape(dims)
