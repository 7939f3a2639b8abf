"""Trace context as clients send it, and the spans made of requests."""

from __future__ import annotations

import gzip
import http.server
import socket
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from running import Running

from ascend_ep.errors import AscendError
from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Settings
from ascend_ep.serving.tracing.context import TraceParent, parse
from ascend_ep.serving.tracing.spans import Spans

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
BODY = {"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.1] * 8}], "id": "r"}


def test_traceparent() -> None:
    assert parse(f"00-{TRACE}-{PARENT}-01") == TraceParent(TRACE, PARENT, True)
    assert parse(f"00-{TRACE}-{PARENT}-02") == TraceParent(TRACE, PARENT, False)
    assert parse(f"cc-{TRACE}-{PARENT}-03-what-comes") == TraceParent(TRACE, PARENT, True)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}-01\n",
        f"cc-{TRACE}-{PARENT}-01-" + "x" * 600,
    ],
)
def test_what_is_no_traceparent(header: str) -> None:
    assert parse(header) is None


def traced(repository: Path, share: float, headers: dict[str, str]) -> tuple[ReadableSpan, ...]:
    exporter = InMemorySpanExporter()
    spans = Spans(exporter, share)
    with Running(Settings(repository, http_port=0)) as running:
        running.server.service.observers.append(spans)
        assert running.ask("POST", "/v2/models/rows/infer", BODY, headers)[0] == 200
        assert running.ask("POST", "/v2/models/none/infer", BODY, headers)[0] == 404
    spans.close()
    return exporter.get_finished_spans()


def test_spans(repository: Path) -> None:
    queue, compute, infer, failed = traced(repository, 0, {"traceparent": f"00-{TRACE}-{PARENT}-01"})
    assert [span.name for span in (queue, compute, infer, failed)] == ["queue", "compute", "infer", "infer"]
    for span in (queue, compute, infer, failed):
        assert f"{span.context.trace_id:032x}" == TRACE
    assert infer.parent is not None
    assert f"{infer.parent.span_id:016x}" == PARENT
    for part in (queue, compute):
        assert part.parent is not None
        assert part.parent.span_id == infer.context.span_id
    assert infer.start_time is not None
    assert infer.start_time == queue.start_time
    assert queue.end_time == compute.start_time
    assert compute.end_time <= infer.end_time  # type: ignore[operator]
    assert infer.attributes == {"model": "rows", "version": "2", "request.id": "r"}
    assert failed.status.description is not None
    assert failed.status.description.startswith("E50002")


def test_sampling(repository: Path) -> None:
    assert not traced(repository, 1, {"traceparent": f"00-{TRACE}-{PARENT}-00"})
    assert not traced(repository, 0, {})
    assert len(traced(repository, 1, {})) == 4


class Collector(http.server.BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    received: ClassVar[list[tuple[str, bytes]]] = []

    def do_POST(self) -> None:
        self.received.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_spans_reach_a_collector(repository: Path) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{collector.server_port}/v1/traces"
        with Running(Settings(repository, http_port=0, otel_endpoint=endpoint, otel_sample=1)) as running:
            assert running.ask("POST", "/v2/models/rows/infer", BODY)[0] == 200
        collector.shutdown()
    ((path, sent),) = Collector.received
    assert path == "/v1/traces"
    data = gzip.decompress(sent) if sent[:2] == b"\x1f\x8b" else sent
    (resource,) = ExportTraceServiceRequest.FromString(data).resource_spans
    assert sorted(span.name for span in resource.scope_spans[0].spans) == ["compute", "infer", "queue"]


def test_a_collector_that_is_gone_delays_nothing(repository: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}/v1/traces"
        settings = Settings(repository, http_port=0, otel_endpoint=endpoint, otel_sample=1)
        running = Running(settings)
        began = time.monotonic()
        assert running.ask("POST", "/v2/models/rows/infer", BODY)[0] == 200
        assert time.monotonic() - began < 5
        began = time.monotonic()
        running.close()
        assert time.monotonic() - began < 6


def test_without_the_package(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.setitem(sys.modules, exporter, None)
    with pytest.raises(AscendError) as refused:
        Server(Settings(repository, otel_endpoint="http://127.0.0.1:4318/v1/traces"))
    assert refused.value.code == "E50022"
    assert "ascend-ep[otel]" in refused.value.fix
