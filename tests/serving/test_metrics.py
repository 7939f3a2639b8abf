"""/metrics, parsed as Prometheus does, beside the traffic that was sent."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from grpc_client import Client, refusal, request
from prometheus_client.parser import text_string_to_metric_families
from running import Running

from ascend_ep.serving.execution.implementations import Implementations
from ascend_ep.serving.histogram import BOUNDS, Histogram
from ascend_ep.serving.request import Timings
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.statistics import VersionStatistics
from ascend_ep.serving.traffic.shadow import Shadow, ShadowRule

INFER = "/v2/models/rows/versions/1/infer"
VERSION = {"model": "rows", "version": "1"}


def body(columns: int) -> dict[str, object]:
    data = np.zeros(columns).tolist()
    return {"inputs": [{"name": "x", "shape": [1, columns], "datatype": "FP32", "data": data}]}


@pytest.fixture(scope="module")
def measured(repository: Path) -> Iterator[Running]:
    with Running(Settings(repository, http_port=0, grpc_port=0, metrics_port=0)) as running:
        for _ in range(5):
            assert running.ask("POST", INFER, body(8))[0] == 200
        for _ in range(3):
            assert running.ask("POST", INFER, body(7))[0] == 400
        assert running.ask("POST", "/v2/models/none/infer", body(8))[0] == 404
        yield running


def scrape(running: Running, accept: str = "") -> tuple[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", running.server.metrics_port, timeout=10)
    connection.request("GET", "/metrics", headers={"accept": accept} if accept else {})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    assert answer.status == 200
    return text, answer.getheader("content-type", "")


def values(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(found: dict[tuple[str, tuple[tuple[str, str], ...]], float], name: str, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


def test_counters(measured: Running) -> None:
    found = values(scrape(measured)[0])
    assert of(found, "ascend_request_success_total", **VERSION) == 5
    assert of(found, "nv_inference_request_success", **VERSION) == 5
    assert of(found, "ascend_rejected_total", reason="bad_tensor") == 3
    assert of(found, "ascend_rejected_total", reason="no_model") == 1
    assert of(found, "ascend_http_responses_total", status="200") == 5
    assert of(found, "ascend_http_responses_total", status="400") == 3
    assert of(found, "ascend_http_received_bytes_total") > 9 * len(json.dumps(body(7)))
    assert of(found, "ascend_http_sent_bytes_total") > 9 * 100
    assert of(found, "ascend_requests_pending", **VERSION) == 0
    assert of(found, "ascend_model_ready", **VERSION) == 1
    assert of(found, "ascend_ready") == 1
    assert of(found, "ascend_batch_size_bucket", le="1", **VERSION) == 5
    assert of(found, "ascend_batch_size_sum", **VERSION) == 5
    assert of(found, "nv_inference_exec_count", **VERSION) == 5
    assert of(found, "ascend_model_loads_total", model="rows") == 2
    assert of(found, "ascend_model_load_failures_total", model="rows") == 0
    assert of(found, "process_resident_memory_bytes") > 2**20
    assert of(found, "process_open_fds") > 3


def test_histograms(measured: Running) -> None:
    found = values(scrape(measured)[0])
    for name in ("request", "queue", "compute"):
        family = f"ascend_{name}_duration_seconds"
        assert of(found, f"{family}_count", **VERSION) == 5
        rising = [of(found, f"{family}_bucket", le=f"{b / 1e9:g}", **VERSION) for b in BOUNDS]
        assert rising == sorted(rising)
        assert of(found, f"{family}_bucket", le="+Inf", **VERSION) == 5
    requests = of(found, "ascend_request_duration_seconds_sum", **VERSION)
    assert 0 < of(found, "ascend_compute_duration_seconds_sum", **VERSION) <= requests < 5


def test_implementations_and_shadows(measured: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    version = measured.server.repository.models["rows"].versions[1]
    made = Implementations("compiled", version.run, {}, lambda run: None)
    made.first.runs, made.first.failures = 7, 2
    monkeypatch.setattr(version, "implementations", made)
    shadow = Shadow(ShadowRule(2))
    shadow.comparison.compared, shadow.comparison.mismatched, shadow.comparison.absolute = 5, 1, 0.5
    monkeypatch.setitem(measured.server.service.traffic._shadows, "rows", shadow)
    found = values(scrape(measured)[0])
    compiled = VERSION | {"implementation": "compiled"}
    assert of(found, "ascend_implementation_runs_total", **compiled) == 7
    assert of(found, "ascend_implementation_failures_total", **compiled) == 2
    shadowed = {"model": "rows", "version": "2"}
    assert of(found, "ascend_shadow_requests_total", **shadowed, outcome="same") == 4
    assert of(found, "ascend_shadow_requests_total", **shadowed, outcome="mismatched") == 1
    assert of(found, "ascend_shadow_largest_absolute_difference", **shadowed) == 0.5


def test_formats(measured: Running) -> None:
    assert scrape(measured)[1].startswith("text/plain")
    text, content_type = scrape(measured, "application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_bounds_belong_to_their_bucket() -> None:
    histogram = Histogram()
    histogram.add_all(np.array([0, BOUNDS[0], BOUNDS[0] + 1]))
    histogram.add_all(np.array([BOUNDS[-1], BOUNDS[-1] + 1]))
    assert histogram.buckets[:2] == [2, 1]
    assert histogram.buckets[-2:] == [1, 1]
    assert (histogram.count, histogram.ns) == (5, 2 * BOUNDS[0] + 2 + 2 * BOUNDS[-1])


def test_counters_of_grpc(measured: Running) -> None:
    before = scrape(measured)[0]
    sent = request("rows", {"x": np.zeros((1, 8), np.float32)}, model_version="2")
    with Client(measured.grpc_port) as client:
        client.call("ModelInfer", sent)
        assert refusal(client.begin("ModelInfer", b"\xff"))[0] == "INVALID_ARGUMENT"
        [answer] = client.stream("ModelStreamInfer", [b"\xff"])
        assert answer.error_message
    found = values(scrape(measured)[0])
    assert "ascend_grpc_responses_total{" not in before
    assert of(found, "ascend_grpc_responses_total", status="OK") == 1
    assert of(found, "ascend_grpc_responses_total", status="INVALID_ARGUMENT") == 2
    assert of(found, "ascend_grpc_received_bytes_total") > len(sent.SerializeToString())


def test_statistics_count_every_request() -> None:
    """Whether they are read now and then or only at the end."""
    seldom, often = VersionStatistics(), VersionStatistics()
    assert seldom.last_inference_ms == 0
    for i in range(1300):
        for statistics in (seldom, often):
            statistics.succeeded(time.monotonic_ns(), i * 1000, Timings(i, 2 * i, 3 * i, 4 * i))
        assert often.success.count == i + 1
    for statistics in (seldom, often):
        whole = sum(range(1300))
        assert (statistics.success.ns, statistics.queue.ns) == (1000 * whole, whole)
        assert (statistics.compute_input.ns, statistics.compute_infer.ns) == (2 * whole, 3 * whole)
        assert (statistics.compute_output.count, statistics.compute_output.ns) == (1300, 4 * whole)
        assert abs(statistics.last_inference_ms - time.time() * 1000) < 5000
    assert seldom.success.buckets == often.success.buckets
    assert seldom.success.buckets[:3] == [11, 15, 25]
