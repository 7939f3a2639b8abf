"""Run by the Python that has tritonclient: its four clients, at once, with a mix of requests.

Arguments: a JSON object {http, grpc: ports; count: of requests; seed; data: a folder}. The folder has a file
`<model>.<version>.npz` for every version: the rows of a pool, inputs by their names and outputs by `=name`,
as runs of single rows made them. Each request takes some rows of a pool; every row of its answer must have
the pool's bits. Some requests are wrong and must be refused, and some of the aio clients' are cancelled on
their way. Prints how many requests of each kind were checked, and ends with 0 when all held.
"""

from __future__ import annotations

import asyncio
import json
import queue
import random
import sys
import threading
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as grpc_module
import tritonclient.grpc.aio as grpc_aio_module
import tritonclient.http as http_module
import tritonclient.http.aio as http_aio_module
from tritonclient.utils import InferenceServerException

ROWS = 12
TYPES = {"float32": "FP32", "float64": "FP64"}
AT_ONCE = 8


class Pool:
    """The rows of one version of a model."""

    def __init__(self, path: Path) -> None:
        self.model, self.version, _ = path.name.split(".")
        kept = np.load(path)
        self.inputs = {name: kept[name] for name in kept if not name.startswith("=")}
        self.outputs = {name[1:]: kept[name] for name in kept if name.startswith("=")}
        self.rows = len(next(iter(self.inputs.values())))


class Request:
    """Some rows of a pool, and how they are asked for."""

    def __init__(self, pools: list[Pool], choose: random.Random) -> None:
        self.pool = choose.choice(pools)
        self.rows = [choose.randrange(self.pool.rows) for _ in range(choose.choice([1, 1, 1, 2, 3, ROWS]))]
        self.binary = choose.random() < 0.7
        names = list(self.pool.outputs)
        self.outputs = (
            choose.sample(names, choose.randrange(1, len(names) + 1)) if choose.random() < 0.5 else []
        )
        self.compression = choose.choice([None] * 6 + ["gzip", "deflate"])
        self.id = str(choose.randrange(10**9))
        self.fate = choose.choice(["answered"] * 17 + ["refused", "refused", "cancelled"])

    def arguments(self, module: Any, http: bool) -> dict[str, Any]:
        inputs = []
        for name, pool in self.pool.inputs.items():
            array = np.ascontiguousarray(pool[self.rows])
            if self.fate == "refused":
                array = np.concatenate([array, array], axis=1)
            made = module.InferInput(name, list(array.shape), TYPES[array.dtype.name])
            if http:
                made.set_data_from_numpy(array, binary_data=self.binary)
            else:
                made.set_data_from_numpy(array)
            inputs.append(made)
        options = {"binary_data": self.binary} if http else {}
        outputs = [module.InferRequestedOutput(name, **options) for name in self.outputs]
        return {
            "model_name": self.pool.model,
            "model_version": self.pool.version,
            "inputs": inputs,
            "outputs": outputs or None,
            "request_id": self.id,
        }

    def compressed(self, http: bool) -> dict[str, Any]:
        if http:
            return {
                "request_compression_algorithm": self.compression,
                "response_compression_algorithm": self.compression,
            }
        return {"compression_algorithm": self.compression}

    def check(self, answer: Any) -> None:
        """Raises AssertionError unless these are the pool's rows, bit for bit; or the refusal, when the
        request is wrong."""
        if self.fate == "refused":
            assert isinstance(answer, InferenceServerException), answer
            assert "E50004" in str(answer), answer
            return
        assert not isinstance(answer, Exception), answer
        shown = answer.get_response()
        shown = shown if isinstance(shown, dict) else {"id": shown.id, "model_version": shown.model_version}
        assert (shown["id"], shown["model_version"]) == (self.id, self.pool.version), shown
        for name in self.outputs or self.pool.outputs:
            made, expected = answer.as_numpy(name), self.pool.outputs[name][self.rows]
            assert made is not None, (self.pool.model, name)
            assert made.dtype == expected.dtype, (made.dtype, expected.dtype)
            assert made.tobytes() == expected.tobytes(), (
                self.pool.model,
                self.pool.version,
                name,
                made,
                expected,
            )


Requests = list[Request]


def result(call: Any) -> Any:
    """What the call returns, or the refusal that it raises."""
    try:
        return call()
    except InferenceServerException as refusal:
        return refusal


def http(port: int, requests: Requests) -> None:
    client = http_module.InferenceServerClient(f"127.0.0.1:{port}", concurrency=AT_ONCE)
    waiting: list[tuple[Request, Any]] = []
    for i, request in enumerate(requests):
        arguments = request.arguments(http_module, http=True) | request.compressed(http=True)
        if i % 2:
            request.check(result(partial(client.infer, **arguments)))
        else:
            waiting.append((request, client.async_infer(**arguments)))
        if len(waiting) == AT_ONCE or request is requests[-1]:
            for sent, call in waiting:
                sent.check(result(call.get_result))
            waiting.clear()
    client.close()


def grpc(port: int, requests: Requests) -> None:
    """A third each: one after the other, several at once, in a stream."""
    client = grpc_module.InferenceServerClient(f"127.0.0.1:{port}")
    answered: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
    third = len(requests) // 3
    for request in requests[:third]:
        arguments = request.arguments(grpc_module, http=False) | request.compressed(http=False)
        request.check(result(partial(client.infer, **arguments)))
    waiting = 0

    def answer_of(request: Request, result: Any, error: Any) -> None:
        answered.put((request, result if error is None else error))

    def check_one() -> None:
        request, answer = answered.get(timeout=60)
        request.check(answer)

    for request in requests[third : 2 * third]:
        arguments = request.arguments(grpc_module, http=False) | request.compressed(http=False)
        client.async_infer(callback=partial(answer_of, request), **arguments)
        waiting += 1
        if waiting == AT_ONCE:
            check_one()
            waiting -= 1
    for _ in range(waiting):
        check_one()
    in_stream = iter(requests[2 * third :])  # a stream's answers come in the order of its requests
    client.start_stream(lambda result, error: answer_of(next(in_stream), result, error))
    for request in requests[2 * third :]:
        client.async_stream_infer(**request.arguments(grpc_module, http=False))
    for _ in requests[2 * third :]:
        check_one()
    client.stop_stream()
    client.close()


async def aio(client: Any, module: Any, requests: Requests, is_http: bool) -> None:
    free = asyncio.Semaphore(AT_ONCE)

    async def one(request: Request) -> None:
        async with free:
            arguments = request.arguments(module, is_http) | request.compressed(is_http)
            if request.fate == "cancelled":
                call = asyncio.ensure_future(client.infer(**arguments))
                await asyncio.sleep(int(request.id) % 4 / 1000)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                return
            try:
                answer = await client.infer(**arguments)
            except InferenceServerException as refusal:
                answer = refusal
            request.check(answer)

    async with client:
        await asyncio.gather(*map(one, requests))


async def both_aio(http_port: int, grpc_port: int, of_http: Requests, of_grpc: Requests) -> None:
    http_client = http_aio_module.InferenceServerClient(f"127.0.0.1:{http_port}")
    grpc_client = grpc_aio_module.InferenceServerClient(f"127.0.0.1:{grpc_port}")
    await asyncio.gather(
        aio(http_client, http_aio_module, of_http, is_http=True),
        aio(grpc_client, grpc_aio_module, of_grpc, is_http=False),
    )


def main() -> None:
    given = json.loads(sys.argv[1])
    pools = [Pool(path) for path in sorted(Path(given["data"]).glob("*.npz"))]
    choose = random.Random(given["seed"])
    requests = [Request(pools, choose) for _ in range(given["count"])]
    shares = {name: requests[i::4] for i, name in enumerate(("http", "grpc", "http.aio", "grpc.aio"))}
    failures: list[BaseException] = []

    def run(work: Any, *arguments: Any) -> threading.Thread:
        def guarded() -> None:
            try:
                work(*arguments)
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    threads = [
        run(http, given["http"], shares["http"]),
        run(grpc, given["grpc"], shares["grpc"]),
        run(
            lambda: asyncio.run(
                both_aio(given["http"], given["grpc"], shares["http.aio"], shares["grpc.aio"])
            )
        ),
    ]
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure
    checked = Counter({name: len(share) for name, share in shares.items()})
    checked["refused"] = sum(r.fate == "refused" for r in requests)
    checked["cancelled"] = sum(r.fate == "cancelled" for n in ("http.aio", "grpc.aio") for r in shares[n])
    checked["rows"] = sum(len(r.rows) for r in requests)
    checked["versions"] = len({(r.pool.model, r.pool.version) for r in requests})
    print(json.dumps(checked))


main()
