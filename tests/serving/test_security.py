"""TLS, certificates of clients, bearer tokens, and what is said of a server without them."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import ssl
from pathlib import Path

import pytest
from certificates import authority, signed
from running import Running

from ascend_ep.cli.serve_arguments import parse
from ascend_ep.errors import AscendError
from ascend_ep.serving.security.exposure import is_local
from ascend_ep.serving.security.tls import Tls
from ascend_ep.serving.security.tokens import Tokens
from ascend_ep.serving.settings import Settings

TOKEN, OTHER = "0123456789abcdef", "fedcba9876543210"


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


# --- tokens ---------------------------------------------------------------------------------------


def test_tokens(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# ours\n{TOKEN}\n\n")
    with Running(Settings(repository, http_port=0, metrics_port=0, auth_tokens=path)) as running:
        for given in (
            {},
            bearer(OTHER),
            bearer(""),
            {"authorization": TOKEN},
            {"authorization": f"Basic {TOKEN}"},
        ):
            status, headers, body = running.ask("GET", "/v2/models/rows", headers=given)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert "token" in json.loads(body)["error"]
        assert running.ask("GET", "/v2/models/rows", headers=bearer(TOKEN))[0] == 200
        assert running.ask("GET", "/v2/health/ready")[0] == 200
        connection = http.client.HTTPConnection("127.0.0.1", running.server.metrics_port)
        connection.request("GET", "/metrics")
        assert connection.getresponse().status == 401
        connection.close()
        path.write_text(f"{OTHER}\n")
        running.server.reload_security()
        assert running.ask("GET", "/v2/models/rows", headers=bearer(TOKEN))[0] == 401
        path.write_text("short\n")
        running.server.reload_security()  # says why, and keeps the tokens there were
        assert running.ask("GET", "/v2/models/rows", headers=bearer(OTHER))[0] == 200


def test_no_body_is_received_without_a_token(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(TOKEN)
    with Running(Settings(repository, http_port=0, auth_tokens=path)) as running:
        for framing in ("content-length: 60000000", "transfer-encoding: chunked"):
            with socket.create_connection(("127.0.0.1", running.port), timeout=10) as client:
                head = f"POST /v2/models/rows/infer HTTP/1.1\r\nhost: h\r\n{framing}\r\n\r\n"
                client.sendall(head.encode())
                assert client.recv(1000).startswith(b"HTTP/1.1 401 ")


def test_digests_of_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("sha256:9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f\n")
    assert Tokens(path).admit(f"bearer {TOKEN}")
    assert not Tokens(path).admit(f"Bearer {OTHER}")


@pytest.mark.parametrize("text", ["", "# only this\n", "short\n", "0123456789 abcdef\n", "sha256:00\n"])
def test_files_without_tokens(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(AscendError) as refused:
        Tokens(path)
    assert refused.value.code == "E50034"


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certificates")
    ca = authority(made, "ca")
    for name in ("server", "client"):
        signed(made, name, ca)
    signed(made, "stranger", authority(made, "other"))
    return made


def ask(running: Running, context: ssl.SSLContext, path: str = "/v2/models/rows", body: bytes = b"") -> int:
    connection = http.client.HTTPSConnection("127.0.0.1", running.port, timeout=10, context=context)
    try:
        connection.request("POST" if body else "GET", path, body or None)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def test_tls(repository: Path, folder: Path) -> None:
    settings = Settings(
        repository,
        http_port=0,
        ssl_certificate=folder / "server.pem",
        ssl_private_key=folder / "server.key",
    )
    with Running(settings) as running:
        trusting = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        assert ask(running, trusting) == 200
        big = {
            "name": "x",
            "shape": [20000, 8],
            "datatype": "FP32",
            "parameters": {"binary_data_size": 640000},
        }
        text = json.dumps({"inputs": [big], "parameters": {"binary_data_output": True}}).encode()
        connection = http.client.HTTPSConnection("127.0.0.1", running.port, timeout=10, context=trusting)
        headers = {"Inference-Header-Content-Length": str(len(text))}
        connection.request("POST", "/v2/models/rows/infer", text + bytes(640000), headers)
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 320000) == (200, True)
        connection.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(running, ssl.create_default_context())
        assert ask(running, trusting) == 200
        assert running.server.tls is not None
        assert running.server.tls.context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_certificates_of_clients(repository: Path, folder: Path) -> None:
    settings = Settings(
        repository,
        http_port=0,
        ssl_certificate=folder / "server.pem",
        ssl_private_key=folder / "server.key",
        ssl_client_ca=folder / "ca.pem",
    )
    with Running(settings) as running:
        for name, served in (("client", True), ("stranger", False), ("", False)):
            context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
            if name:
                context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
            if served:
                assert ask(running, context) == 200
            else:
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    ask(running, context)


def test_replaced_certificate(folder: Path, tmp_path: Path) -> None:
    for suffix in ("pem", "key"):
        (tmp_path / f"server.{suffix}").write_bytes((folder / f"server.{suffix}").read_bytes())
    tls = Tls(tmp_path / "server.pem", tmp_path / "server.key")
    (tmp_path / "server.pem").write_bytes((folder / "client.pem").read_bytes())
    with pytest.raises(AscendError, match="don't belong together"):
        tls.reload()


@pytest.mark.parametrize(
    "text", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_files_without_certificates(tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.pem"
    path.write_text(text)
    with pytest.raises(AscendError) as refused:
        Tls(path, path)
    assert refused.value.code == "E50034"


def test_flags_that_need_another(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    flags = [f"--model-repository={tmp_path}", f"--ssl-client-ca-file={tmp_path / 'ca.pem'}"]
    with pytest.raises(AscendError, match="needs --ssl-certificate-file"):
        parse(flags)


# --- exposure -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("h", False),
    ],
)
def test_local_addresses(address: str, local: bool) -> None:
    assert is_local(address) is local


def test_warning(repository: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.WARNING, "ascend_ep.serving"):
        Running(Settings(repository, http_port=0)).close()
        assert not caplog.records
        Running(Settings(repository, http_address="0.0.0.0", http_port=0)).close()
    assert ["--ssl-certificate-file" in r.message for r in caplog.records] == [True, False]
    assert "--auth-token-file" in caplog.records[1].message
