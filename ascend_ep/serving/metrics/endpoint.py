"""`GET /metrics`, in the text format of Prometheus or, when it asks for that, of OpenMetrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from ascend_ep.serving.http.message import Request, Response
from ascend_ep.serving.http.router import Router


class MetricsEndpoint:
    def __init__(self, collector: Collector) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(collector)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def add_to(self, router: Router) -> None:
        router.add_simple("GET", "/metrics", self.metrics)

    def metrics(self, request: Request, names: dict[str, str]) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(200, (), (encode(self._registry),), content_type)
