"""The KServe runtime and the container: what they say is what the server takes; it is started as they say."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from reloading import answer, place
from running import Running

import ascend_ep
from ascend_ep.cli.serve_arguments import parse
from ascend_ep.runtime.cache_folder import open_cache
from ascend_ep.serving.settings import Settings

FOLDER = Path(ascend_ep.__file__).parent / "serving" / "kserve"
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
#: Seconds that Kubernetes gives a pod to end.
GRACE = 30


@pytest.fixture(scope="module")
def runtime() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((FOLDER / "serving_runtime.yaml").read_text())
    return read


@pytest.fixture(scope="module")
def container() -> dict[str, list[str]]:
    """The instructions of the last stage, by name."""
    text = re.sub(r"\\\n|^#.*\n", "", (FOLDER / "Containerfile").read_text(), flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.clear()
        found.setdefault(name, []).append(rest.strip())
    return found


def settings_of(arguments: list[str], root: Path, name: str = "my-model") -> Settings:
    given = [a.replace("/mnt/models", str(root)).replace("{{.Name}}", name) for a in arguments]
    return parse(given).settings


def test_ports_and_times(runtime: dict[str, Any], tmp_path: Path) -> None:
    (server,) = runtime["spec"]["containers"]
    settings = settings_of(server["args"], tmp_path)
    assert settings.model_name == "my-model"
    addresses = (settings.http_address, settings.grpc_address, settings.metrics_address)
    assert addresses == ("0.0.0.0",) * 3
    assert server["ports"][0]["containerPort"] == settings.http_port
    probes = [server[f"{kind}Probe"]["httpGet"] for kind in ("liveness", "readiness", "startup")]
    assert {probe["port"] for probe in probes} == {settings.http_port}
    assert runtime["spec"]["annotations"]["prometheus.kserve.io/port"] == str(settings.metrics_port)
    assert settings.drain_delay + settings.exit_timeout < GRACE
    assert server["image"] == f"ascend-serve:{PROJECT['version']}"


def test_it_writes_into_its_volume_only(runtime: dict[str, Any], tmp_path: Path) -> None:
    (server,) = runtime["spec"]["containers"]
    (mount,) = server["volumeMounts"]
    assert mount["name"] in [volume["name"] for volume in runtime["spec"]["volumes"]]
    written = [Path(variable["value"]) for variable in server["env"]]
    assert all(path.is_relative_to(mount["mountPath"]) for path in written)
    volume = tmp_path / "volume"  # as the kubelet makes it: anybody may write it
    volume.mkdir()
    volume.chmod(0o777)
    cache = next(v["value"] for v in server["env"] if v["name"] == "ASCEND_EP_CACHE")
    open_cache(volume / Path(cache).relative_to(mount["mountPath"]))


@pytest.mark.parametrize("version", ["", "1", "7"])
def test_served_as_kserve_mounts_it(
    runtime: dict[str, Any], tmp_path: Path, bundles: dict[float, bytes], version: str
) -> None:
    """KServe mounts the folder of one model, which may have versions or be just a bundle's."""
    place(tmp_path, "", int(version), bundles[2.0]) if version else (tmp_path / "model.om").write_bytes(
        bundles[2.0]
    )
    (server,) = runtime["spec"]["containers"]
    settings = settings_of(server["args"], tmp_path)
    local = {f"{kind}_address": "127.0.0.1" for kind in ("http", "grpc", "metrics")}
    ports = {f"{kind}_port": 0 for kind in ("http", "grpc", "metrics")}
    with Running(replace(settings, **local, **ports, drain_delay=0)) as running:
        for kind in ("liveness", "readiness", "startup"):
            assert running.ask("GET", server[f"{kind}Probe"]["httpGet"]["path"])[0] == 200
        assert running.get("/v2/models/my-model")["versions"] == [version or "1"]
        assert answer(running, "my-model") == 2.0


def test_the_container_starts_the_server(container: dict[str, list[str]], tmp_path: Path) -> None:
    (entry,), (command,) = container["ENTRYPOINT"], container["CMD"]
    assert json.loads(entry)[0] in PROJECT["scripts"]
    settings = settings_of(json.loads(command), tmp_path)
    assert settings.drain_delay + settings.exit_timeout < GRACE


def test_the_container_agrees_with_the_runtime(
    container: dict[str, list[str]], runtime: dict[str, Any], tmp_path: Path
) -> None:
    (exposed,) = container["EXPOSE"]
    (server,) = runtime["spec"]["containers"]
    for arguments in (json.loads(container["CMD"][0]), server["args"]):
        settings = settings_of(arguments, tmp_path)
        ports = {str(p) for p in (settings.http_port, settings.grpc_port, settings.metrics_port)}
        assert ports <= set(exposed.split())
    (user,) = container["USER"]
    assert int(user) > 0, "runAsNonRoot needs a number"


def test_what_the_container_installs(container: dict[str, list[str]]) -> None:
    asked = re.search(r'"ascend-ep\[([\w,]+)\]"', container["RUN"][-1])
    assert asked is not None
    assert set(asked[1].split(",")) <= set(PROJECT["optional-dependencies"])
    (base,) = container["FROM"]
    version = re.match(r"python:(\d+)\.(\d+)-", base)
    assert version is not None
    assert (int(version[1]), int(version[2])) >= (3, 11)
