"""What only operators may do: splits, shadows, draining, the log's level. Served on the admin socket."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ascend_ep.errors import AscendError
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.traffic.rules import TrafficRules
from ascend_ep.serving.traffic.shadow import ShadowRule
from ascend_ep.serving.traffic.split import Split

from .message import Request, Response
from .router import Router
from .v2 import as_json


class SplitBody(msgspec.Struct, forbid_unknown_fields=True):
    """weights: by the number of a version."""

    weights: dict[int, float]


class ShadowBody(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    share: float = 1.0
    rtol: float = ShadowRule.rtol
    atol: float = ShadowRule.atol


class LogBody(msgspec.Struct, forbid_unknown_fields=True):
    level: str


Body = TypeVar("Body", SplitBody, ShadowBody, LogBody)

_LEVELS = ("debug", "info", "warning", "error")


class Admin:
    """drain: begins (True) or ends (False) what comes before the server's end: it isn't ready, and every
    answer is its connection's last."""

    def __init__(self, service: InferenceService, drain: Callable[[bool], None]) -> None:
        self._service = service
        self._drain = drain

    def add_to(self, router: Router) -> None:
        model = "/admin/models/{model}"
        router.add_simple("GET", "/admin", self.state)
        router.add_simple("GET", model, self.model)
        router.add_simple("PUT", f"{model}/split", self.set_split)
        router.add_simple("DELETE", f"{model}/split", self.clear_split)
        router.add_simple("PUT", f"{model}/shadow", self.set_shadow)
        router.add_simple("DELETE", f"{model}/shadow", self.clear_shadow)
        router.add_simple("PUT", "/admin/drain", lambda request, names: self._set_drain(True))
        router.add_simple("DELETE", "/admin/drain", lambda request, names: self._set_drain(False))
        router.add_simple("PUT", "/admin/log", self.set_log)

    def state(self, request: Request, names: dict[str, str]) -> Response:
        return as_json(
            {
                "ready": self._service.repository.ready and not self._service.leaving,
                "draining": self._service.leaving,
                "models": {name: self._shown(name) for name in self._service.repository.models},
            }
        )

    def model(self, request: Request, names: dict[str, str]) -> Response:
        return as_json(self._shown(names["model"]))

    def set_split(self, request: Request, names: dict[str, str]) -> Response:
        name = names["model"]
        weights = _body(request, SplitBody).weights
        self._known(name, weights)
        self._traffic.set_split(Split(name, weights), name)
        return as_json(self._shown(name))

    def clear_split(self, request: Request, names: dict[str, str]) -> Response:
        self._traffic.set_split(None, names["model"])
        return as_json(self._shown(names["model"]))

    def set_shadow(self, request: Request, names: dict[str, str]) -> Response:
        given = _body(request, ShadowBody)
        rule = ShadowRule(given.version, given.share, given.rtol, given.atol)
        self._known(names["model"], [rule.version])
        self._traffic.set_shadow(rule, names["model"])
        return as_json(self._shown(names["model"]))

    def clear_shadow(self, request: Request, names: dict[str, str]) -> Response:
        self._traffic.set_shadow(None, names["model"])
        return as_json(self._shown(names["model"]))

    def set_log(self, request: Request, names: dict[str, str]) -> Response:
        level = _body(request, LogBody).level
        if level not in _LEVELS:
            raise AscendError("E50001", f"the level is one of {', '.join(_LEVELS)}")
        logging.getLogger().setLevel(level.upper())
        return as_json({"level": level})

    @property
    def _traffic(self) -> TrafficRules:
        return self._service.traffic

    def _set_drain(self, begin: bool) -> Response:
        self._drain(begin)
        return as_json({"draining": begin})

    def _known(self, name: str, numbers: Any) -> None:
        """Raises AscendError E50002 unless these are versions of that model that are ready."""
        for number in numbers:
            self._service.repository.version(name, str(number))

    def _shown(self, name: str) -> dict[str, Any]:
        """Raises AscendError E50002."""
        model = self._service.repository.model(name)
        split, shadow = self._traffic.split(name), self._traffic.shadow(name)
        shown: dict[str, Any] = {"versions": sorted(model.versions)}
        if split is not None:
            shown["split"] = {str(number): weight for number, weight in split.weights.items()}
        if shadow is not None:
            rule = msgspec.to_builtins(shadow.rule)
            shown["shadow"] = rule | {"comparison": shadow.comparison.shown()}
        return shown


def _body(request: Request, kind: type[Body]) -> Body:
    """Raises AscendError E50001."""
    try:
        return msgspec.json.decode(request.body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise AscendError("E50001", f"the body is no valid JSON of its kind: {error}") from None
