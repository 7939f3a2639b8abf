"""Ways around tokens, as they were found in Triton, vLLM and TorchServe: each test is named by its CVE."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import grpc
import pytest
from grpc_client import request
from raw_http import GOOD, Raw
from running import Running
from served_models import put, rows

from ascend_ep.cli.serve_arguments import parse
from ascend_ep.serving.security.exposure import is_local
from ascend_ep.serving.security.tokens import Tokens
from ascend_ep.serving.settings import Settings

TOKEN = "0123456789abcdef"
#: What shows that a request came by: a model's description, and a result.
INSIDE = (b'"inputs"', b'"outputs"', b'"rows"')


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("kept") / "models"
    root.mkdir()
    put(root, "rows", 1, rows)
    tokens = root.parent / "tokens"
    tokens.write_text(f"{TOKEN}\n")
    with Running(Settings(root, http_port=0, grpc_port=0, auth_tokens=tokens)) as running:
        yield running


def answers(server: Running, sent: bytes) -> bytes:
    """All that the server says to it."""
    with Raw(server.port) as raw:
        raw.send(sent)
        said, head = b"", sent.startswith(b"HEAD")
        while (answer := raw.answer(bodiless=head)) is not None:
            said += b"%d " % answer.status + answer.body
            if len(said) > 1 << 20 or answer.headers.get("connection") == "close":
                break
        return said


@pytest.mark.parametrize(
    "target",
    [
        "HEAD /v2/models/rows",
        "OPTIONS /v2/models/rows",
        "GET //v2/models/rows",
        "GET /v2//models/rows",
        "GET /v2/models/rows/",
        "GET /v2/./models/rows",
        "GET /v2/health/../models/rows",
        "GET /v2/health/live/../../models/rows",
        "GET /v2/health/live%2f..%2f..%2fmodels%2frows",
        "GET http://x/v2/models/rows",
        "GET http://x/v2/health/live/../../models/rows",
        "GET /V2/models/rows",
        "GET /v2/models/rows;/v2/health/live",
        "GET /v2/models/rows?/v2/health/live",
        "GET /v2/models/rows#/v2/health/live",
        f"GET /v2/models/rows?access_token={TOKEN}",
        "POST /v2/models/rows/infer",
        "POST /v2/health/live/../../models/rows/infer",
        "POST /v2/repository/index",
        "POST /v2/repository/models/rows/unload",
        "GET /v2/models/stats",
        "GET /v2/openapi.json",
    ],
)
def test_cve_2026_24207_no_path_is_another_way_in(server: Running, target: str) -> None:
    for version in ("1.1", "1.0"):
        head = f"{target} HTTP/{version}\r\nHost: x\r\nConnection: close\r\n"
        said = answers(server, f"{head}Content-Length: {len(GOOD)}\r\n\r\n".encode() + GOOD)
        assert said[:3] in (b"401", b"400", b"404", b"405"), said
        assert not any(word in said for word in INSIDE), said


@pytest.mark.parametrize(
    "lines",
    [
        "Authorization: Bearer",
        "Authorization: Bearer \t",
        f"Authorization: Bearer {TOKEN[:-1]}",
        f"Authorization: Bearer {TOKEN}0",
        f"Authorization: Bearer {TOKEN}, Bearer {TOKEN}",
        f"Authorization: Bearer {TOKEN.upper()}",
        f"Authorization: Bearer\r\n {TOKEN}",
        f"Authorization : Bearer {TOKEN}",
        f"Authorization:\x0bBearer {TOKEN}",
        f"Proxy-Authorization: Bearer {TOKEN}",
        f"X-Authorization: Bearer {TOKEN}",
        f"Cookie: Authorization=Bearer {TOKEN}",
        "Authorization: Bearer *",
        "Authorization: Bearer sha256:" + "0" * 64,
        "Authorization: Bearer \xff\xfe",
        "Authorization: Bearer " + "0" * 9000,
        "X-Forwarded-For: 127.0.0.1",
        "X-Original-URL: /v2/health/live",
        "X-HTTP-Method-Override: HEAD",
        f"Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\nAuthorization: Bearer {TOKEN}",
    ],
    ids=range(20),
)
def test_cve_2026_24207_nothing_but_the_token_is_one(server: Running, lines: str) -> None:
    head = f"GET /v2/models/rows HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{lines}\r\n\r\n"
    said = answers(server, head.encode("latin-1"))
    assert said[:3] in (b"401", b"400", b"431"), said
    assert not any(word in said for word in INSIDE), said


def test_cve_2026_24207_each_request_shows_its_own(server: Running) -> None:
    """What a connection was once let in with counts for no later request of it."""
    plain = "GET /v2/models/rows HTTP/1.1\r\nHost: x\r\n"
    shown = f"{plain}Authorization: Bearer {TOKEN}\r\n\r\n"
    with Raw(server.port) as raw:
        raw.send((shown + plain + "\r\n" + shown).encode())
        first, second = raw.answer(), raw.answer()
    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (200, 401)
    said = answers(server, (plain + f"Content-Length: {len(shown)}\r\n\r\n" + shown).encode())
    assert said.startswith(b"401")
    assert b"200 " not in said


@pytest.mark.parametrize(
    "metadata",
    [
        (),
        (("authorization", ""),),
        (("authorization", f"Bearer {TOKEN}0"),),
        (("authorization", f"Bearer {TOKEN[:-1]}"),),
        (("authorization-bin", f"Bearer {TOKEN}".encode()),),
        (("x-authorization", f"Bearer {TOKEN}"),),
        (("authorization", "Bearer"), ("token", TOKEN)),
    ],
    ids=range(7),
)
@pytest.mark.parametrize(
    "method", ["ModelInfer", "ServerMetadata", "RepositoryIndex", "modelinfer", "../ModelInfer"]
)
def test_cve_2026_24207_calls(
    server: Running, method: str, metadata: tuple[tuple[str, str | bytes], ...]
) -> None:
    data = request("rows", {}).SerializeToString() if method == "ModelInfer" else b""
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary(f"/inference.GRPCInferenceService/{method}")
        with pytest.raises(grpc.RpcError) as refused:
            call(data, timeout=20, metadata=metadata)
    assert refused.value.code().name in ("UNAUTHENTICATED", "UNIMPLEMENTED")


@pytest.mark.parametrize("given", [TOKEN, "f" * 16, TOKEN[:-1] + "0", "", "a" * 5000])
def test_cve_2025_59425_tokens_are_compared_in_constant_time(tmp_path: Path, given: str) -> None:
    """Each that is allowed is compared, by digests of one length, whichever it is."""
    path = tmp_path / "tokens"
    path.write_text(f"{TOKEN}\n{'e' * 16}\n{'d' * 40}\n")
    tokens = Tokens(path)
    with mock.patch.object(hmac, "compare_digest", side_effect=hmac.compare_digest) as compared:
        tokens.admit(f"Bearer {given}")
    assert compared.call_count == 3
    assert {len(side) for call in compared.call_args_list for side in call.args} == {32}


def test_cve_2024_35199_ports_are_of_this_machine_alone(tmp_path: Path) -> None:
    """TorchServe's gRPC was open to the network where nobody had asked for it."""
    settings = parse([f"--model-repository={tmp_path}"]).settings
    for address in (settings.http_address, settings.grpc_address, settings.metrics_address):
        assert is_local(address)
