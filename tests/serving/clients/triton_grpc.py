"""Run by the Python that has tritonclient: the API of its gRPC client, sync and aio, against a server.

Arguments: the port. Ends with 0 when every check held.
"""

from __future__ import annotations

import asyncio
import queue
import sys
from typing import Any

import ml_dtypes
import numpy as np
import tritonclient.grpc as client_module
import tritonclient.grpc.aio as aio_module
from tritonclient.utils import InferenceServerException

X = np.arange(24, dtype=np.float32).reshape(3, 8) / 24


def tensor(module: Any, name: str, array: np.ndarray, datatype: str = "FP32") -> Any:
    made = module.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def arrays_of_every_type() -> dict[str, np.ndarray]:
    made = {"BOOL": np.array([[True, False], [False, True]])}
    for name, dtype in (("FP16", "f2"), ("FP32", "f4"), ("FP64", "f8"), ("BF16", ml_dtypes.bfloat16)):
        made[name] = np.array([[1.5, -np.inf], [-0.0, 2]], dtype)
    for bits in (8, 16, 32, 64):
        for sign in ("int", "uint"):
            info = np.iinfo(f"{sign}{bits}")
            made[f"{sign}{bits}".upper()] = np.array([[info.min, info.max], [1, 2]], info.dtype)
    made["BYTES"] = np.array([[b"", "ü".encode()], [b"a\0b", b"x" * 500]], object)
    return made


def queries(client: Any) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("rows", "1")
    assert not client.is_model_ready("nothing")
    assert "model_repository" in client.get_server_metadata(as_json=True)["extensions"]
    shown = client.get_model_metadata("rows", as_json=True)
    assert shown["inputs"] == [{"name": "x", "datatype": "FP32", "shape": ["-1", "8"]}], shown
    config = client.get_model_config("rows", as_json=True)["config"]
    assert config["input"][0]["data_type"] == "TYPE_FP32", config
    assert {s["version"] for s in client.get_inference_statistics("rows", as_json=True)["model_stats"]} == {
        "1",
        "2",
    }
    index = client.get_model_repository_index(as_json=True)["models"]
    assert {"name": "rows", "version": "2", "state": "READY"} in index, index


def infer(client: Any) -> None:
    wanted = [client_module.InferRequestedOutput("y")]
    first = client.infer("rows", [tensor(client_module, "x", X)], outputs=wanted, request_id="7")
    assert first.get_response().id == "7"
    assert first.as_numpy("y").shape == (3, 4)
    for compression in ("gzip", "deflate"):
        again = client.infer("rows", [tensor(client_module, "x", X)], compression_algorithm=compression)
        np.testing.assert_array_equal(again.as_numpy("y"), first.as_numpy("y"))
    answered: queue.SimpleQueue[Any] = queue.SimpleQueue()
    client.async_infer(
        "rows", [tensor(client_module, "x", X)], lambda result, error: answered.put((result, error))
    )
    result, error = answered.get(timeout=20)
    assert error is None, error
    np.testing.assert_array_equal(result.as_numpy("y"), first.as_numpy("y"))


def every_type(client: Any) -> None:
    arrays = arrays_of_every_type()
    answer = client.infer("every_type", [tensor(client_module, f"in_{n}", a, n) for n, a in arrays.items()])
    for name, array in arrays.items():
        made = answer.as_numpy(f"out_{name}")
        assert made.shape == array.shape, name
        assert made.dtype == array.dtype, name
        assert made.tobytes() == array.tobytes() or (made == array).all(), name


def refusals(client: Any) -> None:
    inputs = [tensor(client_module, "x", X)]
    cases = {
        "NOT_FOUND": lambda: client.infer("rowz", inputs),
        "INVALID_ARGUMENT": lambda: client.infer("rows", [tensor(client_module, "x", X[:, :7].copy())]),
        "UNIMPLEMENTED": client.get_system_shared_memory_status,
    }
    for status, call in cases.items():
        seen = None
        try:
            call()
        except InferenceServerException as error:
            seen = error
        assert seen is not None, status
        assert status in str(seen.status()), (status, seen)


def stream(client: Any) -> None:
    answered: queue.SimpleQueue[Any] = queue.SimpleQueue()
    client.start_stream(lambda result, error: answered.put((result, error)))
    for i in range(20):
        model = "rowz" if i == 10 else "rows"
        client.async_stream_infer(
            model, [tensor(client_module, "x", X + i)], request_id=str(i), enable_empty_final_response=i == 3
        )
    client.stop_stream()
    for i in range(20):
        result, error = answered.get(timeout=20)
        if i == 10:
            assert "no model [rowz]" in str(error), error
            continue
        assert error is None, error
        assert result.get_response().id == str(i)
        assert ("triton_final_response" in result.get_response().parameters) == (i == 3)


async def aio(address: str) -> None:
    async with aio_module.InferenceServerClient(address) as client:
        assert await client.is_server_ready()
        calls = [client.infer("rows", [tensor(aio_module, "x", X + i)], request_id=str(i)) for i in range(20)]
        answers = await asyncio.gather(*calls)
        assert [a.get_response().id for a in answers] == [str(i) for i in range(20)]

        async def requests() -> Any:
            for i in range(20):
                yield {"model_name": "rows", "inputs": [tensor(aio_module, "x", X + i)], "request_id": str(i)}

        at = 0
        async for result, error in client.stream_infer(requests()):
            assert error is None, error
            np.testing.assert_array_equal(result.as_numpy("y"), answers[at].as_numpy("y"))
            at += 1
        assert at == 20
        cancelled = asyncio.ensure_future(client.infer("rows", [tensor(aio_module, "x", X)]))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        assert await client.is_server_live()


def main() -> None:
    address = f"127.0.0.1:{sys.argv[1]}"
    client = client_module.InferenceServerClient(address)
    for check in (queries, infer, every_type, refusals, stream):
        check(client)
    client.close()
    asyncio.run(aio(address))


main()
