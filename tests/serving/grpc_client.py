"""A gRPC client of the test's own process: the project's messages over grpcio's channel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import grpc
import numpy as np

from ascend_ep.serving.protocol import messages

SERVICE = messages.INFERENCE_SERVICE


class Client:
    """Sends messages, or bytes as they are."""

    def __init__(self, port: int, credentials: Any = None) -> None:
        address = f"127.0.0.1:{port}"
        self.channel = (
            grpc.insecure_channel(address)
            if credentials is None
            else grpc.secure_channel(address, credentials)
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def call(self, method: str, message: Any = b"", service: str = SERVICE, **given: Any) -> Any:
        """The answer of a unary method; raises grpc.RpcError."""
        return self.begin(method, message, service, **given).result()

    def begin(self, method: str, message: Any = b"", service: str = SERVICE, **given: Any) -> Any:
        """The call, a future of its answer."""
        answer = _response_class(service, method)
        rpc = self.channel.unary_unary(f"/{service}/{method}", _bytes_of, answer.FromString)
        return rpc.future(message, timeout=given.pop("timeout", 30), **given)

    def stream(self, method: str, sent: Iterable[Any], service: str = SERVICE, **given: Any) -> Iterator[Any]:
        """The call of a method with streams both ways, an iterator of its answers."""
        answer = _response_class(service, method)
        rpc = self.channel.stream_stream(f"/{service}/{method}", _bytes_of, answer.FromString)
        return rpc(iter(sent), timeout=given.pop("timeout", 30), **given)


def request(model: str, inputs: dict[str, np.ndarray], datatype: str = "FP32", **fields: Any) -> Any:
    """A ModelInferRequest with raw tensors, all of one datatype."""
    made = messages.ModelInferRequest(model_name=model, **fields)
    for name, array in inputs.items():
        made.inputs.add(name=name, datatype=datatype, shape=array.shape)
        made.raw_input_contents.append(array.tobytes())
    return made


def refusal(call: Any) -> tuple[str, str]:
    """The status and the sentence that a call ends with."""
    try:
        call() if callable(call) else call.result()
    except grpc.RpcError as error:
        return error.code().name, error.details()
    raise AssertionError("it was answered")


def message(name: str, /, **fields: Any) -> Any:
    return messages.message_class(name)(**fields)


def _bytes_of(message: Any) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()


def _response_class(service: str, method: str) -> Any:
    found = messages.POOL.FindServiceByName(service.replace("v1alpha", "v1")).methods_by_name[method]
    return messages.message_class(found.output_type.full_name)
