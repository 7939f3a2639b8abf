"""Requests as spans of OpenTelemetry: one for the request, and below it its wait and its run."""

from __future__ import annotations

import importlib
import random
import threading
import time

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from ascend_ep.serving.execution.job import Job
from ascend_ep.serving.outcome import Outcome

from .context import parse

#: For what is left to be sent at the end.
_LAST_SECONDS = 2.0
_EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class Spans:
    """An observer of the service. share: of the requests without a trace that are recorded; one that comes
    with a trace is recorded when its caller records it."""

    def __init__(self, exporter: SpanExporter, share: float) -> None:
        self._share = share
        self._exporter = exporter
        self._provider = TracerProvider(resource=Resource.create({"service.name": "ascend-serve"}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("ascend_ep.serving")

    def __call__(self, outcome: Outcome) -> None:
        request, version, error = outcome.request, outcome.version, outcome.error
        parent = parse(request.traceparent) if request.traceparent else None
        if not (random.random() < self._share if parent is None else parent.sampled):
            return
        ended = time.time_ns()
        began = ended - outcome.ns
        context = None
        if parent is not None:
            remote = SpanContext(
                int(parent.trace_id, 16), int(parent.parent_id, 16), True, TraceFlags(TraceFlags.SAMPLED)
            )
            context = trace.set_span_in_context(NonRecordingSpan(remote))
        span = self._tracer.start_span("infer", context, SpanKind.SERVER, start_time=began)
        span.set_attribute("model", request.model)
        if version is not None:
            span.set_attribute("version", version.name)
        if request.id:
            span.set_attribute("request.id", request.id)
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, f"{error.code}: {error.text}"))
        if outcome.job is not None and error is None:
            self._below(span, outcome.job, began)
        span.end(ended)

    def close(self) -> None:
        """Sends what is left, for a moment: a collector that is gone doesn't keep the process."""
        giving_up = threading.Timer(_LAST_SECONDS, self._exporter.shutdown)
        giving_up.start()
        self._provider.shutdown()
        giving_up.cancel()

    def _below(self, span: Span, job: Job, began: int) -> None:
        context = trace.set_span_in_context(span)
        timings = job.timings
        at = began
        for name, ns in (
            ("queue", timings.queue),
            ("compute", timings.compute_input + timings.compute_infer),
        ):
            part = self._tracer.start_span(name, context, start_time=at)
            if name == "compute":
                part.set_attribute("batch", timings.batch)
            at += ns
            part.end(at)


def otlp_exporter(endpoint: str) -> SpanExporter:
    """Sends to a collector by OTLP over HTTP. Raises ModuleNotFoundError without its package."""
    made: SpanExporter = importlib.import_module(_EXPORTER).OTLPSpanExporter(endpoint=endpoint)
    return made
