"""The OpenAPI document beside the router, and the server beside the document."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest
from running import Running

from ascend_ep.serving.http import infer_body, page
from ascend_ep.serving.http.openapi import document
from ascend_ep.serving.http.operations import OPERATORS, PUBLIC
from ascend_ep.serving.http.router import Router
from ascend_ep.serving.server import Server
from ascend_ep.serving.settings import Settings

schemathesis = pytest.importorskip("schemathesis")
import hypothesis  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(document(PUBLIC))


def test_every_route_is_described(repository: Path) -> None:
    server = Server(Settings(repository))
    router = server.http.handler
    assert isinstance(router, Router)
    described = {(o.method, o.path) for o in PUBLIC}
    assert router.operations == described | {("GET", path) for path in page.OPEN}
    operators = server.admin.handler
    assert isinstance(operators, Router)
    assert operators.operations == {(o.method, o.path) for o in OPERATORS}


@pytest.mark.parametrize(
    ("struct", "name"),
    [
        (infer_body.InferBody, "InferenceRequest"),
        (infer_body.Tensor, "RequestInput"),
        (infer_body.Wanted, "RequestOutput"),
    ],
)
def test_fields_of_requests(struct: type[msgspec.Struct], name: str) -> None:
    described = document(PUBLIC)["components"]["schemas"][name]
    fields = msgspec.structs.fields(struct)
    assert {f.name for f in fields} == set(described["properties"])
    assert {f.name for f in fields if f.required} == set(described["required"])


def test_it_is_served(running: Running) -> None:
    assert running.get("/v2/openapi.json") == document(PUBLIC)


@SCHEMA.include(path_regex="infer|repository|^/v2/models/{model}$").parametrize()
@hypothesis.settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck)
)
def test_answers_are_as_described(case: schemathesis.Case, running: Running) -> None:
    answer_is_as_described(case, running)


def answer_is_as_described(case: schemathesis.Case, running: Running) -> None:
    """Mostly with a model that there is: others are all 404."""
    parameters = case.path_parameters
    chance = random.Random(repr(parameters) + repr(case.body))
    if "model" in parameters and chance.random() < 0.8:
        parameters["model"] = chance.choice(["rows", "every_type"])
    if "version" in parameters and chance.random() < 0.8:
        parameters["version"] = "1"
    response = case.call(base_url=f"http://127.0.0.1:{running.port}", timeout=20)
    case.validate_response(response, checks=CHECKS)
