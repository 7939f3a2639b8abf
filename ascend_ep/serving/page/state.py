"""What the page shows, read from plain counters when it asks: it makes charts of their differences."""

from __future__ import annotations

import time
from typing import TypedDict

from ascend_ep.serving.descriptions import TensorMetadata, model_metadata
from ascend_ep.serving.histogram import BOUNDS
from ascend_ep.serving.release import installed_version
from ascend_ep.serving.repository.model import ServedModel
from ascend_ep.serving.repository.version import LoadedVersion
from ascend_ep.serving.service import InferenceService

from .recent import RecentError, RecentErrors


class VersionPage(TypedDict):
    """Counters since the version was loaded; nanoseconds where the name says ns. buckets: of the durations of
    requests that succeeded. batches: runs by rows."""

    version: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]
    execution: dict[str, str]
    pending: int
    succeeded: int
    failed: int
    buckets: list[int]
    queue_ns: int
    compute_ns: int
    batches: dict[str, int]


class StatePage(TypedDict):
    version: str
    state: str
    reason: str


class ModelPage(TypedDict):
    name: str
    states: list[StatePage]
    versions: list[VersionPage]


class PageState(TypedDict):
    """time: seconds since the start. profiles: whether requests can be profiled. bounds: nanoseconds,
    upper bounds of the buckets but the last."""

    version: str
    ready: bool
    profiles: bool
    time: float
    bounds: list[int]
    models: list[ModelPage]
    errors: list[RecentError]


class StateOfPage:
    def __init__(self, service: InferenceService, errors: RecentErrors) -> None:
        self._service = service
        self._errors = errors
        self._began = time.monotonic()

    def now(self) -> PageState:
        models = self._service.repository.models.values()
        return {
            "version": installed_version(),
            "ready": self._service.ready,
            "profiles": self._service.profiles.folder is not None,
            "time": time.monotonic() - self._began,
            "bounds": list(BOUNDS),
            "models": [_model(model) for model in sorted(models, key=lambda m: m.name)],
            "errors": self._errors.newest_first(),
        }


def _model(model: ServedModel) -> ModelPage:
    entries = model.index()
    return {
        "name": model.name,
        "states": [{"version": e.version, "state": e.state, "reason": e.reason} for e in entries],
        "versions": [_version(model, version) for _, version in sorted(model.versions.items())],
    }


def _version(model: ServedModel, version: LoadedVersion) -> VersionPage:
    kept, metadata = version.statistics, model_metadata(model, version)
    return {
        "version": version.name,
        "inputs": metadata["inputs"],
        "outputs": metadata["outputs"],
        "execution": version.execution.describe(),
        "pending": 0 if version.scheduler is None else version.scheduler.pending,
        "succeeded": kept.success.count,
        "failed": kept.fail.count,
        "buckets": list(kept.success.buckets),
        "queue_ns": kept.queue.ns,
        "compute_ns": kept.compute_infer.ns,
        "batches": {str(rows): size.count for rows, size in sorted(kept.batches.items())},
    }
