"""ascend-serve-load: load for a server of the protocol, with perf_analyzer's flags and words."""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ascend_ep import array_file
from ascend_ep.cli.atc_files import check_target, write_renamed
from ascend_ep.cli.atc_shapes import parse_input_shape
from ascend_ep.errors import AscendError
from ascend_ep.serving.datatypes import BYTES, DTYPES
from ascend_ep.serving.load import report, sweep
from ascend_ep.serving.load.clients import Client, GrpcClient, HttpClient, Tensor
from ascend_ep.serving.load.measure import Measured, Plan, at_concurrency, at_rate

from .command import Parser, command


@command("ascend-serve-load")
def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints and returns 0; 1 where a latency is over its threshold, or for an error."""
    given = command_parser().parse_args(arguments)
    plan = _plan(given)
    check_target(given.file or "", "-f")
    return asyncio.run(_sweep(given, plan) if given.sweep else _measure(given, plan))


def command_parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = Parser(
        prog="ascend-serve-load", description="Load for ascend-serve, or another server of the protocol."
    )
    add = parser.add_argument
    add("-m", "--model", required=True, metavar="NAME", dest="model")
    add("-x", "--model-version", default="", metavar="N")
    add("-u", "--url", default="", metavar="HOST:PORT", help="default: localhost:8000, and 8001 of gRPC")
    add("-i", "--protocol", choices=("http", "grpc"), default="http")
    add("-b", "--batch-size", type=int, default=1, metavar="N", help="rows of a request")
    add("--shape", default="", metavar="NAME:D,D;...", help="sizes of inputs where they are free")
    add("--input-data", default="random", metavar="random|zero|FILE.npz", help="what is sent")
    loads = parser.add_mutually_exclusive_group()
    loads.add_argument(
        "--concurrency-range", metavar="FROM[:TO[:STEP]]", help="requests at a time (default 1)"
    )
    loads.add_argument("--request-rate-range", metavar="FROM[:TO[:STEP]]", help="requests a second")
    add("--request-distribution", choices=("constant", "poisson"), default="constant")
    add("-p", "--measurement-interval", type=int, default=5000, metavar="MS", help="of a window")
    add("-s", "--stability-percentage", type=float, default=10, metavar="P", help="of three windows")
    add("-r", "--max-trials", type=int, default=10, metavar="N", help="windows at most")
    add("--percentile", type=int, metavar="P", help="whose latency counts (default: the mean's)")
    add("-l", "--latency-threshold", type=float, default=0, metavar="MS", help="stop where it is over this")
    add("-f", metavar="FILE.csv", dest="file", help="write a row for each load")
    group = parser.add_argument_group("the best setting of a server (Model Analyzer)")
    group.add_argument("--sweep", action="store_true", help="start servers of --model-repository and find it")
    group.add_argument("--model-repository", metavar="DIR")
    group.add_argument("--latency-budget", type=float, metavar="MS", help="what a setting must keep")
    group.add_argument("--batch-sizes", default="1", metavar="N,N", help="rows of a request to try")
    group.add_argument("--run-config-search-max-concurrency", type=int, default=64, metavar="N")
    group.add_argument("--run-config-search-max-instance-count", type=int, default=64, metavar="N")
    return parser


def _plan(given: argparse.Namespace) -> Plan:
    checks = (
        ("batch-size", given.batch_size, 1, 1 << 20),
        ("measurement-interval", given.measurement_interval, 10, 600_000),
        ("stability-percentage", given.stability_percentage, 0.1, 1000),
        ("max-trials", given.max_trials, 1, 1000),
        ("percentile", given.percentile or 50, 1, 99),
        ("latency-threshold", given.latency_threshold, 0, 1e9),
    )
    for flag, value, least, most in checks:
        if not least <= value <= most:
            raise AscendError("E10003", value, flag, f"It is from {least:g} to {most:g}.")
    return Plan(
        given.measurement_interval / 1e3,
        given.stability_percentage / 100,
        given.max_trials,
        given.percentile,
        given.request_distribution == "poisson",
    )


async def _measure(given: argparse.Namespace, plan: Plan) -> int:
    url = given.url or ("localhost:8001" if given.protocol == "grpc" else "localhost:8000")
    by_rate = given.request_rate_range is not None
    word = "Request Rate" if by_rate else "Concurrency"
    flag = "request-rate-range" if by_rate else "concurrency-range"
    values = _range(given.request_rate_range or given.concurrency_range or "1", flag)
    client = await _client(given, url, given.batch_size)
    measured: list[Measured] = []
    over = False
    for value in values:
        found = await (
            at_rate(client, value, plan) if by_rate else at_concurrency(client, round(value), plan)
        )
        measured.append(found)
        print(report.text(found, word, given.batch_size, plan), "", sep="\n", flush=True)
        over = 0 < given.latency_threshold < found.window.latency(plan.percentile) * 1e3
        if over:
            print(f"the latency is over {given.latency_threshold:g} ms: no more is tried")
            break
    print(report.summary(measured, word, given.batch_size, plan))
    if given.file:
        write_renamed(Path(given.file), report.csv(measured, word, given.batch_size), "-f")
    return int(over)


async def _sweep(given: argparse.Namespace, plan: Plan) -> int:
    if not given.model_repository or not Path(given.model_repository).is_dir() or not given.latency_budget:
        fix = "Give --model-repository=DIR and --latency-budget=MS."
        raise AscendError("E40001", "--sweep needs a repository and a latency budget", fix=fix)
    batches = [round(v) for text in given.batch_sizes.split(",") for v in _range(text, "batch-sizes")]
    budget = given.latency_budget / 1e3
    tried: list[sweep.Tried] = []
    for setting in sweep.settings(given.run_config_search_max_instance_count, sweep.cores(), batches):
        print(
            f"instances {setting.instances}, threads {setting.threads}, batch {setting.batch}",
            file=sys.stderr,
        )
        with sweep.served(Path(given.model_repository), setting) as addresses:
            url = addresses["gRPC" if given.protocol == "grpc" else "HTTP"]
            client = await _client(given, url.rpartition("//")[2], setting.batch)

            async def measure(callers: int, client: Client = client) -> Measured:
                return await at_concurrency(client, callers, plan)

            most = given.run_config_search_max_concurrency
            tried.append(
                sweep.Tried(setting, await sweep.best_concurrency(measure, most, budget, plan.percentile))
            )
    print(sweep.text(tried, budget, plan.percentile, given.model_repository))
    return int(all(t.best is None for t in tried))


async def _client(given: argparse.Namespace, url: str, batch: int) -> Client:
    kind = GrpcClient if given.protocol == "grpc" else HttpClient
    client: Client = kind(url, given.model, given.model_version)
    tensors = await client.inputs()
    client.encode(_arrays(given, tensors, batch), tensors)
    return client


def _arrays(given: argparse.Namespace, tensors: list[Tensor], batch: int) -> dict[str, Any]:
    names = [t.name for t in tensors]
    shapes = parse_input_shape(given.shape, names) if given.shape else {}
    for name in shapes:
        if name not in names:
            raise AscendError("E10001", name, "--shape", f"The inputs are {', '.join(names)}.")
    stored: dict[str, Any] = {}
    if given.input_data not in ("random", "zero"):
        try:
            stored = array_file.load_several(given.input_data)
        except (OSError, ValueError) as error:
            fix = "Give random, zero, or a file of numpy.savez."
            raise AscendError("E40002", f"[{given.input_data}] can't be read: {error}", fix=fix) from error
    random = np.random.default_rng(0)
    return {t.name: _array(t, shapes.get(t.name), stored, given.input_data, batch, random) for t in tensors}


def _array(tensor: Tensor, shape: Any, stored: dict[str, Any], data: str, batch: int, random: Any) -> Any:
    if tensor.datatype == BYTES or tensor.datatype not in DTYPES:
        raise AscendError("E40001", f"input [{tensor.name}] of {tensor.datatype} can't be made up")
    dtype = DTYPES[tensor.datatype]
    if tensor.name in stored:
        return np.ascontiguousarray(stored[tensor.name], dtype)
    dims = list(shape or tensor.shape)
    if dims and dims[0] == -1:
        dims[0] = batch
    if not all(isinstance(d, int) and d >= 0 for d in dims):
        fix = f"Give --shape={tensor.name}:{','.join('N' if d == -1 else str(d) for d in dims)}."
        raise AscendError(
            "E40001", f"input [{tensor.name}] is {list(tensor.shape)}: some sizes are free", fix=fix
        )
    if data == "zero":
        return np.zeros(dims, dtype)
    return (random.random(dims) if dtype.kind == "f" else random.integers(0, 2, dims)).astype(dtype)


def _range(text: str, flag: str) -> list[float]:
    """FROM:TO:STEP, both ends included."""
    try:
        numbers = [float(part) for part in text.split(":")]
        last = numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) > 2 else 1.0
        count = math.floor((last - numbers[0]) / step + 1e-9) + 1 if len(numbers) < 4 else 0
    except (ValueError, ZeroDivisionError, OverflowError):
        numbers, step, count = [0.0], 0.0, 0
    values = [numbers[0] + step * i for i in range(min(count, 1001))]
    if not values or min(values) <= 0 or len(values) > 1000:
        raise AscendError("E10003", text, flag, "It is FROM, FROM:TO or FROM:TO:STEP, of numbers above 0.")
    return values


if __name__ == "__main__":
    sys.exit(main())
