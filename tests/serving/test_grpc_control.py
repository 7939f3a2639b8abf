"""Index, load and unload of the repository over gRPC."""

from __future__ import annotations

from pathlib import Path

import pytest
from grpc_client import Client, message, refusal
from running import Running
from served_models import put, rows

from ascend_ep.serving.protocol.messages import HEALTH_SERVICE
from ascend_ep.serving.settings import Settings


def named(method: str, model: str) -> object:
    return message(f"inference.{method}Request", model_name=model)


def index(client: Client, ready: bool = False) -> dict[str, str]:
    asked = message("inference.RepositoryIndexRequest", ready=ready)
    return {f"{m.name}/{m.version}": m.state for m in client.call("RepositoryIndex", asked).models}


def test_a_model_is_loaded_and_unloaded(tmp_path: Path) -> None:
    put(tmp_path, "rows", 1, rows)
    settings = Settings(tmp_path, http_port=None, grpc_port=0, model_control_mode="explicit")
    with Running(settings) as running, Client(running.grpc_port) as client:
        assert index(client) == {"rows/": ""}
        assert index(client, ready=True) == {}
        client.call("RepositoryModelLoad", named("RepositoryModelLoad", "rows"))
        assert index(client, ready=True) == {"rows/1": "READY"}
        check = message("grpc.health.v1.HealthCheckRequest", service="rows")
        assert client.call("Check", check, HEALTH_SERVICE).status == 1
        unload = named("RepositoryModelUnload", "rows")
        unload.parameters["unload_dependents"].bool_param = True  # type: ignore[attr-defined]
        client.call("RepositoryModelUnload", unload)
        assert index(client) == {"rows/1": "UNAVAILABLE"}
        assert client.call("Check", check, HEALTH_SERVICE).status == 2
        assert not client.call("ModelReady", message("inference.ModelReadyRequest", name="rows")).ready
        code, details = refusal(client.begin("RepositoryModelLoad", named("RepositoryModelLoad", "rowz")))
        assert code == "NOT_FOUND"
        assert "Did you mean [rows]" in details
        load = named("RepositoryModelLoad", "rows")
        load.parameters["config"].string_param = "{}"  # type: ignore[attr-defined]
        assert refusal(client.begin("RepositoryModelLoad", load))[0] == "PERMISSION_DENIED"


@pytest.mark.parametrize("method", ["RepositoryModelLoad", "RepositoryModelUnload"])
def test_only_with_explicit_control(running: Running, method: str) -> None:
    with Client(running.grpc_port) as client:
        code, details = refusal(client.begin(method, named(method, "rows")))
    assert code == "PERMISSION_DENIED"
    assert "--model-control-mode" in details
