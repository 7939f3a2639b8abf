"""What only operators may do: splits, shadows, draining, the log's level. Served on the admin socket."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from ascend_ep.errors import AscendError
from ascend_ep.serving.service import InferenceService
from ascend_ep.serving.traffic.rules import TrafficRules
from ascend_ep.serving.traffic.shadow import ShadowRule
from ascend_ep.serving.traffic.split import MOST_VERSIONS, Split

from .json_body import JsonBody, NoFields, json_body
from .message import Request, Response
from .router import Router
from .v2 import as_json

#: As folders of versions are named.
_Version = Annotated[int, Meta(ge=1, lt=10**18, description="The number of a version that is ready.")]
_Tolerance = Annotated[float, Meta(ge=0, lt=1e9)]


class SplitBody(JsonBody):
    example: ClassVar[dict[str, Any]] = {"weights": {"1": 0.9, "2": 0.1}}

    weights: Annotated[
        dict[_Version, Annotated[float, Meta(ge=0)]],
        Meta(
            min_length=1,
            max_length=MOST_VERSIONS,
            description="By the number of a version its share; only ratios count, and one is more than 0.",
        ),
    ]


class ShadowBody(JsonBody):
    example: ClassVar[dict[str, Any]] = {"version": 1, "share": 0.1}

    version: _Version
    share: Annotated[float, Meta(gt=0, le=1, description="Of the requests, that are run once more.")] = 1.0
    rtol: _Tolerance = ShadowRule.rtol
    atol: _Tolerance = ShadowRule.atol


class LogBody(JsonBody):
    example: ClassVar[dict[str, Any]] = {"level": "info"}

    level: Literal["debug", "info", "warning", "error"]


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
        router.add_simple("PUT", "/admin/drain", self.begin_drain)
        router.add_simple("DELETE", "/admin/drain", self.end_drain)
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
        weights = json_body(request, SplitBody).weights
        for number in weights:
            self._known(name, number, f"weights.{number}")
        self._traffic.set_split(Split(name, weights), name)
        return as_json(self._shown(name))

    def clear_split(self, request: Request, names: dict[str, str]) -> Response:
        json_body(request, NoFields)
        self._traffic.set_split(None, names["model"])
        return as_json(self._shown(names["model"]))

    def set_shadow(self, request: Request, names: dict[str, str]) -> Response:
        given = json_body(request, ShadowBody)
        rule = ShadowRule(given.version, given.share, given.rtol, given.atol)
        self._known(names["model"], rule.version, "version")
        self._traffic.set_shadow(rule, names["model"])
        return as_json(self._shown(names["model"]))

    def clear_shadow(self, request: Request, names: dict[str, str]) -> Response:
        json_body(request, NoFields)
        self._traffic.set_shadow(None, names["model"])
        return as_json(self._shown(names["model"]))

    def set_log(self, request: Request, names: dict[str, str]) -> Response:
        level = json_body(request, LogBody).level
        logging.getLogger().setLevel(level.upper())
        return as_json({"level": level})

    @property
    def _traffic(self) -> TrafficRules:
        return self._service.traffic

    def begin_drain(self, request: Request, names: dict[str, str]) -> Response:
        return self._set_drain(request, True)

    def end_drain(self, request: Request, names: dict[str, str]) -> Response:
        return self._set_drain(request, False)

    def _set_drain(self, request: Request, begin: bool) -> Response:
        json_body(request, NoFields)
        self._drain(begin)
        return as_json({"draining": begin})

    def _known(self, name: str, number: int, field: str) -> None:
        """Raises AscendError E50002 or E50003, with the field that names the version, unless it is ready."""
        model = self._service.repository.model(name)
        try:
            self._service.repository.version(name, str(number))
        except AscendError as error:
            there = ", ".join(map(str, sorted(model.versions))) or "none"
            error.fix = f"The field [{field}] names it; ready are: {there}."
            raise

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
