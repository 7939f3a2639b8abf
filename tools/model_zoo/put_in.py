"""AscendEP put into programs that know nothing of it: every session they make gets it, from outside."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

PROVIDERS = ["AscendEP", "CPUExecutionProvider"]


def put_in() -> Callable[[], list[tuple[int, int]]]:
    """Replaces `onnxruntime.InferenceSession`, before the program imports it, by one that ignores the
    providers it is given. What is returned tells, of each session made since, how many nodes AscendEP took
    and how many it was asked about."""
    importlib.import_module("ascend_ep")  # registers the provider
    ort = importlib.import_module("onnxruntime")
    made: list[Any] = []

    class WithAscend(ort.InferenceSession):  # type: ignore[misc, name-defined]
        def __init__(
            self,
            path_or_bytes: Any,
            sess_options: Any = None,
            providers: Any = None,
            provider_options: Any = None,
            **named: Any,
        ) -> None:
            super().__init__(path_or_bytes, sess_options, providers=PROVIDERS, **named)
            made.append(self)

    ort.InferenceSession = WithAscend
    return lambda: [_taken(session) for session in made]


def _taken(session: Any) -> tuple[int, int]:
    report = importlib.import_module("ascend_ep.provider").report(session)
    return len(report.placements) - len(report.on_cpu), len(report.placements)
