"""Every route of the admin socket that takes a body: its own example is taken, generated wrong bodies are
refused by the name of the field, and what is described is what is taken."""

from __future__ import annotations

import http.client
import json
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from running import Running

from ascend_ep.serving.http.openapi import document
from ascend_ep.serving.http.operations import OPERATORS
from ascend_ep.serving.settings import Settings

DESCRIBED = document(OPERATORS)
#: By method and path the schema of the body.
ROUTES: dict[tuple[str, str], dict[str, Any]] = {
    (o.method, o.path.format(model="rows")): DESCRIBED["components"]["schemas"][o.takes]
    for o in OPERATORS
    if o.takes and o.takes != "InferenceRequest"
}
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1.5,
    10**18,
    1e300,
    "",
    "loud",
    [],
    [1],
    {},
    {"": 1},
    {"x": 1},
    {"0": 1},
]
VALUES += [{"1": "x"}, {"1": -1}, {"1": 0}, {str(n): 1 for n in range(1, 20)}]
#: No object at all, and no JSON.
GARBAGE = [b"[]", b"null", b"1", b'"x"', b"{", b"\xff", b"[" * 5000, b'{"\xff": 1}', b"{}{}", b'{"x": NaN}']


class Admin(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))

    def ask(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        self.request(method, path, body)
        answer = self.getresponse()
        read = answer.read()
        return answer.status, json.loads(read) if read else None


@pytest.fixture(scope="module")
def admin(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    path = tmp_path_factory.mktemp("admin") / "socket"
    with Running(Settings(repository, http_port=0, admin_socket=path, tuning=0)):
        level = logging.getLogger().level
        connection = Admin(path)
        yield connection
        connection.close()
        logging.getLogger().setLevel(level)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"components": DESCRIBED["components"]}


def wrong_bodies(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Bodies that the description doesn't allow, with the field that is wrong."""
    example = schema["examples"][0]
    check = jsonschema.Draft202012Validator(resolved(schema))
    yield "strange", example | {"strange": 1}
    for field in schema.get("required", ()):
        yield field, {name: value for name, value in example.items() if name != field}
    for field, described in schema["properties"].items():
        for value in VALUES:
            body = example | {field: value}
            if not check.is_valid(body):
                yield field, body
        if "$ref" in described:
            yield f"{field}.strange", example | {field: {"strange": 1}}
        elif described.get("type") == "object" and described.get("additionalProperties"):
            yield field, example | {field: {"1": [1]}}


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_wrong_bodies_are_refused_by_the_field(admin: Admin, method: str, path: str) -> None:
    schema = ROUTES[method, path]
    for field, body in wrong_bodies(schema):
        status, answer = admin.ask(method, path, json.dumps(body).encode())
        assert status in (400, 404), (body, answer)
        assert f"field [{field}" in answer["error"], (body, answer)
    for garbage in GARBAGE:
        status, answer = admin.ask(method, path, garbage)
        assert status == 400, (garbage, answer)
        fields = schema["properties"]
        assert all(f'"{name}"' in answer["error"] for name in schema.get("required", ())), answer
        assert fields or "Send no body" in answer["error"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_its_example_is_taken(admin: Admin, method: str, path: str) -> None:
    (example,) = ROUTES[method, path]["examples"]
    assert admin.ask("POST", "/v2/repository/models/rows/load", b"")[0] == 200
    status, answer = admin.ask(method, path, json.dumps(example).encode())
    assert status == 200, answer
    if answer is not None and not path.startswith("/v2"):
        described = DESCRIBED["paths"][path.replace("rows", "{model}")][method.lower()]
        gives = described["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer, resolved(gives))


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("split", {"weights": {"1": 1, "7": 1}}, 404, "weights.7"),
        ("split", {"weights": {"1": 0, "2": 0}}, 400, "weights"),
        ("shadow", {"version": 9}, 404, "version"),
        ("shadow", {"version": 1, "share": 0}, 400, "share"),
    ],
)
def test_what_only_the_server_knows(admin: Admin, path: str, body: Any, status: int, field: str) -> None:
    found, answer = admin.ask("PUT", f"/admin/models/rows/{path}", json.dumps(body).encode())
    assert found == status, answer
    assert field in answer["error"]


def test_it_is_described_on_the_socket(admin: Admin) -> None:
    status, answer = admin.ask("GET", "/v2/openapi.json", b"")
    assert (status, answer) == (200, DESCRIBED)
    body = answer["paths"]["/admin/models/{model}/split"]["put"]["requestBody"]
    assert body["required"]
    assert ROUTES["PUT", "/admin/models/rows/split"]["examples"] == [{"weights": {"1": 0.9, "2": 0.1}}]
