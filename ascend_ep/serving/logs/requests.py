"""A line for each request, or only for each that failed."""

from __future__ import annotations

import logging
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.serving.outcome import Outcome
from ascend_ep.serving.refusals import public, sentence, status_of
from ascend_ep.serving.tracing.context import trace_id

from .limit import WANTED
from .setup import FIELDS

log = logging.getLogger("ascend_ep.serving.requests")

_LONGEST = 128


class RequestLog:
    """An observer of the service. wanted: whether a line was asked for, and so isn't limited in number."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._last: AscendError | None = None

    def note(self, error: AscendError) -> None:
        """What a front end refused; if the service did, it has its line already."""
        if error is not self._last and status_of(error).http < 500:
            log.info("refused: %s", sentence(public(error)))

    def __call__(self, outcome: Outcome) -> None:
        error = outcome.error
        status = 200 if error is None else status_of(error).http
        level = logging.WARNING if status >= 500 else logging.INFO
        if not log.isEnabledFor(level):
            return
        fields = _fields(outcome) | {"status": status}
        self._last = error
        if error is not None:
            fields["error"] = sentence(public(error)) if status < 500 else f"{error.code}: {error.text}"
        extra = {FIELDS: fields, WANTED: self._wanted}
        # Clients choose ids and names: repr keeps them in their line.
        log.log(level, "infer %s", " ".join(f"{k}={v!r}" for k, v in fields.items()), extra=extra)


def _fields(outcome: Outcome) -> dict[str, Any]:
    request, version, job = outcome.request, outcome.version, outcome.job
    fields: dict[str, Any] = {
        "model": request.model[:_LONGEST],
        "version": request.version[:_LONGEST] if version is None else version.name,
    }
    if request.id:
        fields["id"] = request.id[:_LONGEST]
    trace = trace_id(request.traceparent)
    if trace:
        fields["trace_id"] = trace
    if job is not None:
        fields["ms"] = round(outcome.ns / 1e6, 3)
        fields["queue_ms"] = round(job.timings.queue / 1e6, 3)
        fields["compute_ms"] = round(job.timings.compute_infer / 1e6, 3)
        fields["batch"] = job.timings.batch
    return fields
