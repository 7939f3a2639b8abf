"""ascend-serve-load: what it measures is what the server counts, over HTTP and gRPC."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

import numpy as np
import pytest
from running import Running

from ascend_ep.cli.serve_load import _range, main
from ascend_ep.errors import AscendError
from ascend_ep.serving.load.clients import HttpClient, ServerTimes
from ascend_ep.serving.load.measure import Measured, Window
from ascend_ep.serving.load.sweep import Setting, best_concurrency, settings

QUICK = ["-p", "40", "-r", "3", "-s", "1000"]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_client_and_server_count_alike(
    protocol: str, running: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = running.port if protocol == "http" else running.grpc_port
    target = tmp_path / "load.csv"
    command = ["-m", "rows", "-u", f"localhost:{port}", "-i", protocol, "-b", "4", "-f", str(target), *QUICK]
    before = asyncio.run(HttpClient(f"localhost:{running.port}", "rows").statistics())
    assert main([*command, "--concurrency-range", "1:3:2"]) == 0
    after = asyncio.run(HttpClient(f"localhost:{running.port}", "rows").statistics())
    said = capsys.readouterr().out
    assert "Concurrency: 1\n" in said
    assert "Concurrency: 3, throughput: " in said
    counts = [int(n) for line in said.splitlines() if "Request count:" in line for n in line.split()[-1:]]
    of_server = [int(line.split()[-1]) for line in said.splitlines() if "Successful request count" in line]
    assert counts == of_server
    assert sum(counts) <= after.count - before.count
    assert after.inferences - before.inferences == 4 * (after.count - before.count)
    rows = list(csv.DictReader(target.open()))
    assert [row["Concurrency"] for row in rows] == ["1", "3"]
    for row in rows:
        assert float(row["p50 latency"]) <= float(row["p99 latency"])
        assert float(row["Server Compute Infer"]) > 0


def test_rates_are_kept(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["-m", "rows", "-u", f"localhost:{running.port}", "--request-rate-range", "100", "-r", "1"]
    assert main([*command, "-p", "200", "--request-distribution", "poisson", "-l", "0.001"]) == 1
    said = capsys.readouterr().out
    (count,) = (int(line.split()[-1]) for line in said.splitlines() if "Request count" in line)
    assert 5 <= count <= 40
    assert "the latency is over 0.001 ms" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-m", "nothing"], "the server says"),
        (["-m", "rows", "-u", "localhost:1"], "no server answers at [localhost:1]"),
        (["-m", "rows", "--concurrency-range", "0"], "[--concurrency-range]"),
        (["-m", "rows", "--concurrency-range", "2:1"], "FROM:TO:STEP"),
        (["-m", "rows", "--shape", "z:3"], "The inputs are x"),
        (["-m", "rows", "--shape", "x:1,7"], "every request failed"),
        (["-m", "rows", "--input-data", "no.npz"], "E40002"),
        (["-m", "rows", "--percentile", "200"], "[--percentile]"),
        (["-m", "rows", "--sweep"], "--latency-budget=MS"),
    ],
)
def test_mistakes_are_said(
    more: list[str], said: str, running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    url = [] if "-u" in more else ["-u", f"localhost:{running.port}"]
    assert main([*more, *url, *QUICK]) == 1
    found = capsys.readouterr()
    assert said in found.err
    assert "Traceback" not in found.err


def test_ranges() -> None:
    assert _range("1:4", "x") == [1, 2, 3, 4]
    assert _range("0.5:2:0.5", "x") == [0.5, 1, 1.5, 2]
    assert _range("8", "x") == [8]
    with pytest.raises(AscendError):
        _range("1:2:3:4", "x")


def test_the_concurrency_doubles_within_the_budget() -> None:
    """A server of 10 ms that does two at a time: more than two callers only wait."""
    tried: list[int] = []

    async def measure(callers: int) -> Measured:
        tried.append(callers)
        latency = 0.01 * max(1.0, callers / 2)
        times = ServerTimes(0, 0, 0, 0, 0, 0, 0, 0)
        window = Window(1.0, np.full(int(callers / latency), latency), 0, "", times, 0.0)
        return Measured(callers, window, True)

    best = asyncio.run(best_concurrency(measure, 64, 0.1, 95))
    assert best is not None
    assert (best.value, tried) == (2, [1, 2, 4])
    assert asyncio.run(best_concurrency(measure, 64, 0.001, 95)) is None


def test_settings_share_the_cores() -> None:
    assert settings(64, 2, [1]) == [Setting(1, 1, 1), Setting(1, 2, 1), Setting(2, 1, 1)]
    assert len(settings(1, 4, [1, 8])) == 6
