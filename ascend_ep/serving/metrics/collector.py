"""The counters of a server as Prometheus's families: ours, and those that dashboards of Triton know."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from ascend_ep.serving.grpc.server import GrpcServer
from ascend_ep.serving.histogram import BOUNDS, Histogram
from ascend_ep.serving.http.server import HttpServer
from ascend_ep.serving.refusals import REASONS
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.statistics import VersionStatistics

Labels = tuple[str, ...]

_VERSION = ("model", "version")
_ROWS = tuple(1 << i for i in range(10))
_BOUNDS = (*(f"{ns / 1e9:g}" for ns in BOUNDS), "+Inf")


class ServerCollector(Collector):
    def __init__(self, service: InferenceService, http: HttpServer, grpc: GrpcServer) -> None:
        self._service = service
        self._http = http
        self._grpc = grpc.inference

    def collect(self) -> Iterator[Metric]:
        versions = [
            version
            for model in self._service.repository.models.values()
            for _, version in sorted(model.versions.items())
        ]
        yield from _requests(versions)
        yield from _durations(versions)
        yield from _batches(versions)
        yield from _implementations(versions)
        yield from _processes(versions)
        yield from _fallbacks(versions)
        yield from _load(versions)
        yield from self._models()
        yield from self._shadows()
        yield from _triton(versions)
        yield _counter(
            "ascend_rejected",
            "Requests that were refused before they had a place in a queue",
            ("reason",),
            (((REASONS.get(code, code),), count) for code, count in self._service.refused.items()),
        )
        yield from self._connections()

    def _models(self) -> Iterator[Metric]:
        models = self._service.repository.models
        yield _counter(
            "ascend_model_loads",
            "Versions that were loaded",
            ("model",),
            (((name,), model.loads) for name, model in models.items()),
        )
        yield _counter(
            "ascend_model_load_failures",
            "Versions that could not be loaded, and folders that were refused",
            ("model",),
            (((name,), model.load_failures) for name, model in models.items()),
        )

    def _shadows(self) -> Iterator[Metric]:
        """No family when there is no shadow."""
        shadows = self._service.traffic.shadows
        if not shadows:
            return
        labels = ("model", "version", "outcome")
        yield _counter(
            "ascend_shadow_requests",
            "Requests that were run once more, by what came of it",
            labels,
            (
                ((name, str(shadow.rule.version), outcome), count)
                for name, shadow in shadows.items()
                for outcome, count in shadow.comparison.outcomes.items()
            ),
        )
        for kind in ("absolute", "relative"):
            family = GaugeMetricFamily(
                f"ascend_shadow_largest_{kind}_difference", "Of all that was compared", labels=labels[:2]
            )
            for name, shadow in shadows.items():
                family.add_metric((name, str(shadow.rule.version)), getattr(shadow.comparison, kind))
            yield family

    def _connections(self) -> Iterator[Metric]:
        http = self._http
        yield _counter(
            "ascend_http_responses",
            "Answers over HTTP",
            ("status",),
            (((str(status),), count) for status, count in sorted(http.answered.items())),
        )
        yield CounterMetricFamily("ascend_http_received_bytes", "Bytes of clients", http.received)
        yield CounterMetricFamily("ascend_http_sent_bytes", "Bytes to clients", http.sent)
        yield _counter(
            "ascend_grpc_responses",
            "Answers to inference requests over gRPC",
            ("status",),
            (((status,), count) for status, count in sorted(self._grpc.answered.items())),
        )
        yield CounterMetricFamily("ascend_grpc_received_bytes", "Requests of clients", self._grpc.received)
        yield GaugeMetricFamily("ascend_http_connections", "Connected clients", http.connections)
        ready = self._service.repository.ready and not self._service.leaving
        yield GaugeMetricFamily("ascend_ready", "1 when the server says that it is ready", float(ready))


def _requests(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    counted = _counted(versions)
    yield _counter(
        "ascend_request_success",
        "Requests that were answered",
        _VERSION,
        ((labels, s.success.count) for labels, s in counted),
    )
    yield _counter(
        "ascend_request_failure",
        "Requests that had a place in a queue and failed",
        (*_VERSION, "reason"),
        (
            ((*labels, REASONS.get(code, code)), count)
            for labels, statistics in counted
            for code, count in statistics.failures.items()
        ),
    )


def _durations(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    shown: tuple[tuple[str, str, Callable[[VersionStatistics], Histogram]], ...] = (
        ("request", "From a request's arrival to its answer", lambda s: s.success),
        ("queue", "Waiting for a run", lambda s: s.queue),
        ("compute", "Running the model", lambda s: s.compute_infer),
    )
    for name, words, of in shown:
        family = HistogramMetricFamily(f"ascend_{name}_duration_seconds", words, labels=_VERSION)
        for version in versions:
            histogram = of(version.statistics)
            rising = map(float, itertools.accumulate(histogram.buckets))
            family.add_metric(
                (version.model, version.name), list(zip(_BOUNDS, rising, strict=True)), histogram.ns / 1e9
            )
        yield family


def _batches(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    family = HistogramMetricFamily("ascend_batch_size", "Rows of a run of the model", labels=_VERSION)
    for version in versions:
        batches = version.statistics.batches
        rising = [
            (str(bound), sum(s.count for rows, s in batches.items() if rows <= bound)) for bound in _ROWS
        ]
        counts = [*rising, ("+Inf", sum(s.count for s in batches.values()))]
        family.add_metric((version.model, version.name), counts, version.statistics.inferences)
    yield family
    yield _counter(
        "ascend_batches_divided",
        "Batches that failed and were run again, request by request",
        _VERSION,
        ((labels, statistics.divided) for labels, statistics in _counted(versions)),
    )


def _implementations(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    """Of versions that more than one of them can run."""
    found = [
        ((version.model, version.name, each.name), each)
        for version in versions
        if version.implementations is not None
        for each in version.implementations.all
    ]
    if not found:
        return
    labels = (*_VERSION, "implementation")
    yield _counter(
        "ascend_implementation_runs",
        "Runs that worked",
        labels,
        ((shown, each.runs) for shown, each in found),
    )
    yield _counter(
        "ascend_implementation_failures",
        "Runs that failed, for which another implementation stood in",
        labels,
        ((shown, each.failures) for shown, each in found),
    )


def _processes(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    """Of versions whose native code runs in a process of its own."""
    found = [v for v in versions if v.native is not None]
    if not found:
        return
    counted = [((v.model, v.name), v.statistics.processes) for v in found]
    yield _counter(
        "ascend_native_process_starts",
        "Processes that were started for native code of users",
        _VERSION,
        ((labels, counts.starts) for labels, counts in counted),
    )
    yield _counter(
        "ascend_native_process_ends",
        "Of them, those that crashed, ended by themselves, or had to be ended",
        (*_VERSION, "reason"),
        (((*labels, kind), count) for labels, counts in counted for kind, count in counts.ends.items()),
    )
    family = GaugeMetricFamily("ascend_native_process_up", "1 while it runs", labels=_VERSION)
    for version in found:
        if version.native is not None:
            family.add_metric((version.model, version.name), float(version.native.alive))
    yield family


def _fallbacks(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    """No family while every version is its bundle."""
    found = [v for v in versions if v.unused_code]
    if found:
        family = GaugeMetricFamily(
            "ascend_model_fallback",
            "1 for each version whose bundle can't be used, so that model.onnx answers; and why",
            labels=(*_VERSION, "reason"),
        )
        for version in found:
            family.add_metric((version.model, version.name, version.unused_code), 1)
        yield family


def _load(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    pending = GaugeMetricFamily("ascend_requests_pending", "Requests waiting or running", labels=_VERSION)
    ready = GaugeMetricFamily("ascend_model_ready", "1 for each version that answers", labels=_VERSION)
    for version in versions:
        labels = (version.model, version.name)
        pending.add_metric(labels, version.scheduler.pending if version.scheduler is not None else 0)
        ready.add_metric(labels, 1)
    yield pending
    yield ready


def _triton(versions: Iterable[LoadedVersion]) -> Iterator[Metric]:
    """Counters by Triton's names, which lack the suffix that Prometheus asks of a counter: untyped. Times
    are in microseconds."""
    shown: tuple[tuple[str, Callable[[VersionStatistics], int]], ...] = (
        ("count", lambda s: s.inferences),
        ("exec_count", lambda s: s.executions),
        ("request_success", lambda s: s.success.count),
        ("request_failure", lambda s: s.fail.count),
        ("request_duration_us", lambda s: (s.success.ns + s.fail.ns) // 1000),
        ("queue_duration_us", lambda s: s.queue.ns // 1000),
        ("compute_input_duration_us", lambda s: s.compute_input.ns // 1000),
        ("compute_infer_duration_us", lambda s: s.compute_infer.ns // 1000),
        ("compute_output_duration_us", lambda s: s.compute_output.ns // 1000),
    )
    for name, of in shown:
        family = Metric(f"nv_inference_{name}", "As Triton has it", "unknown")
        for labels, statistics in _counted(versions):
            family.add_sample(family.name, dict(zip(_VERSION, labels, strict=True)), of(statistics))
        yield family


def _counted(versions: Iterable[LoadedVersion]) -> list[tuple[Labels, VersionStatistics]]:
    return [((v.model, v.name), v.statistics) for v in versions]


def _counter(name: str, words: str, labels: Labels, values: Iterable[tuple[Labels, float]]) -> Metric:
    family = CounterMetricFamily(name, words, labels=labels)
    for shown, value in values:
        family.add_metric(shown, value)
    return family
