"""The same questions over gRPC, and messages that are none. Needs grpcio and the server's own messages."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .models import Asked
from .tally import Tally

METHOD = "/inference.GRPCInferenceService/ModelInfer"


class GrpcClient:
    """One channel. Raises ImportError where gRPC isn't installed."""

    def __init__(self, port: int) -> None:
        import grpc

        from ascend_ep.serving.protocol import messages

        self._grpc, self._messages = grpc, messages
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self._infer = self._channel.unary_unary(METHOD)

    async def converse(self, questions: list[Asked], choice: random.Random, tally: Tally) -> None:
        """Some valid requests, and a broken one now and then."""
        for _ in range(choice.randrange(1, 40)):
            asked = choice.choice(questions)
            data = self._request(asked)
            if choice.random() < 0.1:
                await self._misbehave(data, choice, tally)
                continue
            try:
                answer = self._messages.ModelInferResponse.FromString(await self._infer(data, timeout=30))
            except self._grpc.aio.AioRpcError as error:
                tally.counts[f"{asked.model}, gRPC: {error.code().name}"] += 1
                if error.code() is not self._grpc.StatusCode.RESOURCE_EXHAUSTED:
                    tally.late(f"{asked.model}, gRPC: {error.code().name} {error.details()}")
                continue
            tally.counts[f"{asked.model}, gRPC: OK"] += 1
            if answer.raw_output_contents[0] != asked.y.tobytes():
                got = np.frombuffer(answer.raw_output_contents[0], np.float32)
                tally.wrong(f"{asked.model} {asked.version}, gRPC: {np.abs(got - asked.y.ravel()).max()} off")

    async def _misbehave(self, data: bytes, choice: random.Random, tally: Tally) -> None:
        """Fewer bytes, other bytes, or any bytes: refused as the client's fault, or understood."""
        bad = bytearray(data[: choice.randrange(len(data))] if choice.random() < 0.5 else data[:2000])
        for _ in range(choice.randrange(4)):
            if bad:
                bad[choice.randrange(min(len(bad), 100))] = choice.randrange(256)
        try:
            await self._infer(bytes(bad), timeout=30)
            code = "OK"
        except self._grpc.aio.AioRpcError as error:
            code = error.code().name
            if code not in ("INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED", "UNIMPLEMENTED"):
                tally.late(f"gRPC malformed: {code} {error.details()}")
        tally.counts[f"gRPC malformed: {code}"] += 1

    async def close(self) -> None:
        await self._channel.close()

    def _request(self, asked: Asked) -> bytes:
        message: Any = self._messages.ModelInferRequest(model_name=asked.model, model_version=asked.version)
        message.inputs.add(name="x", datatype="FP32", shape=asked.x.shape)
        message.raw_input_contents.append(asked.x.tobytes())
        data: bytes = message.SerializeToString()
        return data
