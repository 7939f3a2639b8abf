"""onnxruntime in Triton's Python backend."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, os.environ["BENCH_PACKAGES"])  # the backend starts the interpreter outside the environment

import onnxruntime
import triton_python_backend_utils as backend


class TritonPythonModel:
    def initialize(self, args: dict[str, str]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        path = Path(args["model_repository"]) / args["model_version"] / "model.onnx"
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def execute(self, requests: list[Any]) -> list[Any]:
        return [self.respond(backend.get_input_tensor_by_name(request, "x")) for request in requests]

    def respond(self, tensor: Any) -> Any:
        y = self.session.run(None, {"x": tensor.as_numpy()})[0]
        return backend.InferenceResponse([backend.Tensor("probabilities", y)])
