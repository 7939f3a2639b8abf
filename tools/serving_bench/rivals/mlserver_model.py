"""onnxruntime as a custom model of MLServer; tensors arrive as JSON numbers, or as base64 of their bytes."""

from __future__ import annotations

import base64

import numpy as np
import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class OnnxModel(MLModel):
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            self.settings.parameters.uri, options, providers=["CPUExecutionProvider"]
        )
        self.shape = self.session.get_inputs()[0].shape
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        given = payload.inputs[0]
        if given.datatype == "BYTES":
            x = np.frombuffer(base64.b64decode(given.data[0]), np.float32).reshape(self.shape)
        else:
            x = NumpyCodec.decode_input(given)
        y = self.session.run(None, {"x": x})[0]
        output = NumpyCodec.encode_output("probabilities", y)
        return InferenceResponse(model_name=self.name, outputs=[output])
