"""Run by a Python that has tritonclient[http], with the address of a server that has the models rows and
every_type: what users of the real client do. Ends with status 0 when all of it holds."""

from __future__ import annotations

import asyncio
import sys

import ml_dtypes
import numpy as np
import tritonclient.http as plain
import tritonclient.http.aio as aio
from tritonclient.utils import InferenceServerException

# float values that every floating type can hold
VALUES = {
    "BOOL": np.array([[True, False]]),
    "FP16": np.array([[1.5, -65504.0]], np.float16),
    "FP32": np.array([[1.5, 3.4e38]], np.float32),
    "FP64": np.array([[1.5, -1e300]]),
    "BF16": np.array([[1.5, -2.0]], ml_dtypes.bfloat16),
    "BYTES": np.array([["é\0", ""]], object),
} | {
    name: np.array([[np.iinfo(name.lower()).max, np.iinfo(name.lower()).min]], name.lower())
    for name in ("UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64")
}


def every_type_inputs(client, binary):
    inputs = []
    for name, array in VALUES.items():
        tensor = client.InferInput(f"in_{name}", list(array.shape), name)
        # the client has no JSON of these two
        tensor.set_data_from_numpy(array, binary_data=binary or name in ("FP16", "BF16"))
        inputs.append(tensor)
    return inputs


def check_every_type(result):
    for name, array in VALUES.items():
        found = result.as_numpy(f"out_{name}")
        if name == "BYTES":
            found = np.vectorize(lambda e: e if isinstance(e, str) else e.decode(), otypes=[object])(found)
        assert found.shape == array.shape, name
        assert (found == array).all(), (name, found)


def rows_input(client, x):
    tensor = client.InferInput("x", list(x.shape), "FP32")
    tensor.set_data_from_numpy(x)
    return [tensor]


def describe(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("rows", "1")
    assert not client.is_model_ready("nothing")
    assert client.get_server_metadata()["name"] == "ascend-serve"
    assert client.get_model_metadata("rows")["inputs"][0]["shape"] == [-1, 8]
    assert client.get_model_config("every_type")["input"][0]["data_type"] == "TYPE_BOOL"
    assert client.get_inference_statistics("rows", "2")["model_stats"][0]["version"] == "2"
    assert {"rows", "every_type"} <= {m["name"] for m in client.get_model_repository_index()}
    assert client.get_log_settings() == {}
    for refused in (
        lambda: client.get_system_shared_memory_status(),
        lambda: client.update_log_settings({"log_info": False}),
        lambda: client.load_model("rows"),
        lambda: client.get_model_metadata("nothing"),
    ):
        try:
            refused()
        except InferenceServerException as error:
            sentence = str(error)
        else:
            raise AssertionError("this should be refused")
        assert "E500" in sentence


def infer(client):
    for binary in (True, False):
        wanted = [plain.InferRequestedOutput(f"out_{name}", binary_data=binary) for name in VALUES]
        if not binary:
            wanted = [w for w in wanted if w.name() not in ("out_FP16", "out_BF16")]
            wanted += [plain.InferRequestedOutput(f"out_{n}", binary_data=True) for n in ("FP16", "BF16")]
        check_every_type(client.infer("every_type", every_type_inputs(plain, binary), outputs=wanted))
    check_every_type(client.infer("every_type", every_type_inputs(plain, True)))
    x = np.random.default_rng(0).standard_normal((700, 8)).astype("f")
    expected = client.infer("rows", rows_input(plain, x), "1", request_id="a", timeout=5_000_000)
    assert expected.get_response()["id"] == "a"
    for algorithm in ("gzip", "deflate"):
        found = client.infer(
            "rows",
            rows_input(plain, x),
            request_compression_algorithm=algorithm,
            response_compression_algorithm=algorithm,
        )
        assert (found.as_numpy("y") == expected.as_numpy("y")).all()
    best = client.infer(
        "rows", rows_input(plain, x), outputs=[plain.InferRequestedOutput("y", class_count=1)]
    )
    indices = [int(e.decode().split(":")[1]) for e in best.as_numpy("y").ravel()]
    assert indices == expected.as_numpy("y").argmax(1).tolist()
    pending = [client.async_infer("rows", rows_input(plain, x[i : i + 3])) for i in range(100)]
    for i, request in enumerate(pending):
        assert (request.get_result().as_numpy("y") == expected.as_numpy("y")[i : i + 3]).all()
    return x, expected.as_numpy("y")


async def infer_aio(address, x, expected):
    async with aio.InferenceServerClient(address) as client:
        assert await client.is_server_ready()
        check_every_type(await client.infer("every_type", every_type_inputs(plain, True)))

        async def one(i):
            algorithm = (None, "gzip", "deflate")[i % 3]
            result = await client.infer(
                "rows",
                rows_input(plain, x[i : i + 1 + i % 7]),
                request_compression_algorithm=algorithm,
                response_compression_algorithm=algorithm,
            )
            assert (result.as_numpy("y") == expected[i : i + 1 + i % 7]).all()

        await asyncio.gather(*(one(i) for i in range(300)))


def main():
    address = sys.argv[1]
    with plain.InferenceServerClient(address, concurrency=8) as client:
        describe(client)
        x, expected = infer(client)
    asyncio.run(infer_aio(address, x, expected))


main()
