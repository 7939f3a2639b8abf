"""TLS, certificates of clients and bearer tokens of the gRPC port."""

from __future__ import annotations

from pathlib import Path

import grpc
import numpy as np
import pytest
from certificates import authority, signed
from grpc_client import Client, message, refusal, request
from running import Running

from ascend_ep.serving.protocol.messages import HEALTH_SERVICE, REFLECTION_SERVICE
from ascend_ep.serving.settings import Settings

TOKEN = "0123456789abcdef"
SENT = request("rows", {"x": np.zeros((1, 8), np.float32)})


def test_tokens(repository: Path, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN)
    settings = Settings(repository, http_port=None, grpc_port=0, auth_tokens=tokens)
    with Running(settings) as running, Client(running.grpc_port) as client:
        for given in ([], [("authorization", TOKEN)], [("authorization", "Bearer fedcba9876543210")]):
            for method in ("ModelInfer", "ServerMetadata"):
                code, details = refusal(
                    client.begin(method, SENT if method == "ModelInfer" else b"", metadata=given)
                )
                assert code == "UNAUTHENTICATED"
                assert "token" in details
            for method, service in (("ModelStreamInfer", None), ("ServerReflectionInfo", REFLECTION_SERVICE)):
                options = {"service": service} if service else {}
                stream = client.stream(method, [b""], metadata=given, **options)
                assert refusal(lambda stream=stream: list(stream))[0] == "UNAUTHENTICATED"
        admitted = [("authorization", f"Bearer {TOKEN}")]
        assert client.call("ModelInfer", SENT, metadata=admitted).model_name == "rows"
        [answer] = client.stream("ModelStreamInfer", [SENT], metadata=admitted)
        assert not answer.error_message
        # probes have no token
        assert client.call("ServerReady").ready
        assert client.call("Check", message("grpc.health.v1.HealthCheckRequest"), HEALTH_SERVICE).status == 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("certificates")
    ours, theirs = authority(made, "ca"), authority(made, "other_ca")
    for name, by in (("server", ours), ("client", ours), ("stranger", theirs)):
        signed(made, name, by)
    return made


def credentials(folder: Path, name: str = "") -> grpc.ChannelCredentials:
    """A client's, that trusts the authority; name: of its own certificate, "" for none."""
    ca = (folder / "ca.pem").read_bytes()
    if not name:
        return grpc.ssl_channel_credentials(ca)
    return grpc.ssl_channel_credentials(
        ca, (folder / f"{name}.key").read_bytes(), (folder / f"{name}.pem").read_bytes()
    )


def reached(running: Running, with_credentials: grpc.ChannelCredentials | None) -> bool:
    with Client(running.grpc_port, with_credentials) as client:
        call = client.begin("ModelInfer", SENT, timeout=10)
        code = call.code().name
    assert code in ("OK", "UNAVAILABLE"), code
    return code == "OK"


def test_tls_and_a_replaced_certificate(repository: Path, folder: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"

    def install(name: str) -> None:
        certificate.write_bytes((folder / f"{name}.pem").read_bytes())
        key.write_bytes((folder / f"{name}.key").read_bytes())

    install("server")
    settings = Settings(
        repository, http_port=None, grpc_port=0, ssl_certificate=certificate, ssl_private_key=key
    )
    with Running(settings) as running:
        assert reached(running, credentials(folder))
        assert not reached(running, None)
        install("stranger")
        assert reached(running, credentials(folder)), "files count when the server is told to read them"
        running.server.reload_security()
        assert not reached(running, credentials(folder))


def test_certificates_of_clients(repository: Path, folder: Path) -> None:
    settings = Settings(
        repository,
        http_port=None,
        grpc_port=0,
        ssl_certificate=folder / "server.pem",
        ssl_private_key=folder / "server.key",
        ssl_client_ca=folder / "ca.pem",
    )
    with Running(settings) as running:
        assert reached(running, credentials(folder, "client"))
        assert not reached(running, credentials(folder, "stranger"))
        assert not reached(running, credentials(folder))
