"""The rival that people write: onnxruntime behind FastAPI, with raw bytes and with JSON (orjson).

In its best form: uvicorn on uvloop and httptools, no access log, handlers that read the body without a model
of pydantic's, and that run the model where they are, for a thread costs more than these models do.
Run by uvicorn's command line (`uvicorn fastapi_server:app`), in a folder with one `<model>.onnx` each.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import orjson
from fastapi import FastAPI, Request, Response

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
sessions = {
    path.stem: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    for path in Path().glob("*.onnx")
}
shapes = {name: session.get_inputs()[0].shape for name, session in sessions.items()}
app = FastAPI()


@app.get("/v2/health/ready")
async def ready() -> Response:
    return Response()


@app.post("/raw/{model}")
async def raw(model: str, request: Request) -> Response:
    x = np.frombuffer(await request.body(), np.float32).reshape(shapes[model])
    y = sessions[model].run(None, {"x": x})[0]
    return Response(y.tobytes(), media_type="application/octet-stream")


@app.post("/v2/models/{model}/infer")
async def infer(model: str, request: Request) -> Response:
    given = orjson.loads(await request.body())["inputs"][0]
    x = np.array(given["data"], np.float32).reshape(given["shape"])
    y = sessions[model].run(None, {"x": x})[0]
    output = {"name": "probabilities", "shape": y.shape, "datatype": "FP32", "data": y.ravel()}
    body = orjson.dumps({"model_name": model, "outputs": [output]}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, media_type="application/json")
