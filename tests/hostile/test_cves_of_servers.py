"""What broke Triton, Ollama, TorchServe, vLLM, TensorFlow Serving and llama.cpp's server, tried on ours: each
test is named by its CVE.

tests/serving has the classes in full: malformed HTTP, floods of HTTP/2, tokens, repositories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from held_jobs import until
from raw_http import GOOD, IMPATIENT, Raw, chunk, chunked
from running import Running
from served_models import put, rows

from ascend_ep.serving.settings import Settings

TENSOR = {"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [0.5] * 8}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    root: Path = tmp_path_factory.mktemp("served") / "models"
    root.mkdir()
    put(root, "rows", 1, rows)
    (root.parent / "secret").mkdir()
    put(root.parent / "secret", "hidden", 1, rows)
    settings = Settings(
        root, http_port=0, model_control_mode="explicit", load_models=("rows",), limits=IMPATIENT
    )
    with Running(settings) as running:
        yield running


def refused(server: Running, body: bytes | dict[str, Any], path: str = "/v2/models/rows/infer") -> str:
    """The sentence that a 4xx says. The server answers what is right after it."""
    status, _, answer = server.ask("POST", path, body)
    text = answer.decode()
    assert 400 <= status < 500, text
    for inside in ("Traceback", ".py", "/tmp", "/home", "0x", "psm_", "shm", "site-packages"):
        assert inside not in text.replace("model.py", "")
    assert len(text) < 3000
    assert server.ask("POST", "/v2/models/rows/infer", GOOD)[0] == 200
    return text


def test_cve_2025_23310_a_chunk_for_every_byte(server: Running) -> None:
    """Triton had an array on the stack with a place for each chunk."""
    with Raw(server.port) as raw:
        raw.send(chunked(*[chunk(b" ")] * 200_000, chunk(GOOD), b"0\r\n\r\n"))
        answer = raw.answer()
        assert answer is not None
        assert answer.status in (200, 400, 413)
    assert server.ask("POST", "/v2/models/rows/infer", GOOD)[0] == 200


def test_cve_2025_23311_chunks_with_extensions(server: Running) -> None:
    body = b"".join(b"1;%s\r\n \r\n" % (b"e" * 200) for _ in range(5_000))
    with Raw(server.port) as raw:
        raw.send(chunked(body, chunk(GOOD), b"0\r\n\r\n"))
        answer = raw.answer()
        assert answer is not None
        assert answer.status in (200, 400, 413, 431)


@pytest.mark.parametrize(
    "name", ["", "triton_python_backend_shm_region_1", "../../dev/mem", "a" * 5000, "\u0000"]
)
def test_cve_2025_23319_shared_memory(server: Running, name: str) -> None:
    """Also CVE-2025-23320 and CVE-2025-23334: no region can be named, and no error tells of any."""
    for kind in ("system", "cuda"):
        path = f"/v2/{kind}sharedmemory/region/triton_region/register"
        refused(server, {"key": name, "offset": 0, "byte_size": 2**40}, path)
    wanted = {"shared_memory_region": name, "shared_memory_offset": 2**63, "shared_memory_byte_size": 64}
    refused(server, {"inputs": [{k: v for k, v in TENSOR.items() if k != "data"} | {"parameters": wanted}]})
    refused(server, {"inputs": [TENSOR], "outputs": [{"name": "y", "parameters": wanted}]})


def test_cve_2025_33201_a_payload_without_end(server: Running) -> None:
    with Raw(server.port) as raw:
        raw.send(chunked(*[chunk(bytes(1 << 16))] * 40))
        answer = raw.answer()
        assert answer is not None
        assert answer.status == 413
    assert server.server.http.budget.held == 0


@pytest.mark.parametrize(
    "shape",
    [
        [2**61, 8],
        [2**32, 2**32],
        [2**63 - 1],
        [1, 2**63],
        [2**64 + 1, 8],
        [-1, -8],
        [0, 8, 2**62],
        [1, 8, 1],
        [8],
    ],
)
def test_cve_2026_24173_shapes_whose_size_overflows(server: Running, shape: list[int]) -> None:
    refused(server, {"inputs": [TENSOR | {"shape": shape}]})


@pytest.mark.parametrize(
    "datatype", ["FP64", "INT8", "BYTES", "BOOL", "FP16", "", "fp32", "X" * 4000, 1, None, ["FP32"]]
)
def test_cve_2026_24173_types_that_are_confused(server: Running, datatype: object) -> None:
    refused(server, {"inputs": [TENSOR | {"datatype": datatype}]})


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e%2fsecret%2fhidden",
        "..%2Fsecret%2Fhidden",
        "rows%2f..%2frows",
        ".%00",
        "%2e",
        "rows/../rows",
        "%252e",
    ],
)
def test_cve_2026_24208_models_out_of_the_repository(server: Running, name: str) -> None:
    """Also CVE-2026-24209 and CVE-2024-37032: a name is no path, however it is coded."""
    refused(server, {}, f"/v2/repository/models/{name}/load")
    status, _, text = server.ask("GET", f"/v2/models/{name}")
    assert status in (400, 404), text


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/m.mar", "file:///etc/passwd", "s3://bucket/m", "ftp://a/b"]
)
def test_cve_2023_43654_models_from_elsewhere(server: Running, url: str) -> None:
    """The server opens no address that a request names."""
    for parameters in ({"url": url}, {"config": json.dumps({"name": "rows"})}, {"file:1/model.om": "AAAA"}):
        refused(server, {"parameters": parameters}, "/v2/repository/models/rows/load")
    assert server.ask("POST", f"/models?url={url}", {})[0] == 404


@pytest.mark.parametrize("value", [-1, -(2**31), -(2**63), 2**63, 2**64, 1e308, "-1", [1], {"a": 1}])
@pytest.mark.parametrize(
    "parameter", ["timeout", "priority", "sequence_id", "binary_data_output", "classification"]
)
def test_cve_2026_21869_parameters_below_zero(server: Running, parameter: str, value: object) -> None:
    status, _, text = server.ask(
        "POST", "/v2/models/rows/infer", {"inputs": [TENSOR], "parameters": {parameter: value}}
    )
    assert status in (200, 400, 503), text
    wanted = {"name": "y", "parameters": {parameter: value}}
    status, _, text = server.ask("POST", "/v2/models/rows/infer", {"inputs": [TENSOR], "outputs": [wanted]})
    assert status in (200, 400), text
    assert server.ask("POST", "/v2/models/rows/infer", GOOD)[0] == 200


@pytest.mark.parametrize("path", ["/v2/logging", "/v2/trace/setting", "/v2/models/rows/trace/setting"])
def test_cve_2024_0087_files_named_by_requests(server: Running, path: str) -> None:
    """Triton wrote its log to any file that a request named."""
    for body in ({"log_file": "/tmp/evil"}, {"trace_file": "../evil"}, {"log_format": "\n"}):
        refused(server, body, path)


@pytest.mark.parametrize(
    "text", ["a\r\nX-Injected: 1", "a\nlevel=ERROR all is lost", "\x1b[2J\x1b[31m", "\x00", "\u2028"]
)
def test_log_and_header_injection(server: Running, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """What a request says is never a line of the log, a header, or a terminal's command."""
    said = refused(server, {"inputs": [TENSOR | {"name": text}], "id": text})
    assert not any(c in said for c in "\r\n\x1b\x00")
    for record in caplog.records:
        assert not any(c in record.getMessage() for c in "\r\n\x1b\x00")
    assert (
        "X-Injected" not in server.ask("POST", "/v2/models/rows/infer", {"inputs": [TENSOR], "id": text})[1]
    )


def test_cve_2022_1941_deep_json(server: Running) -> None:
    for deep in (b"[" * 300_000, b'{"a":' * 100_000, b'{"inputs":' + b"[{" * 100_000):
        refused(server, deep)


@pytest.mark.parametrize("depth", [30, 1000, 100_000])
def test_cve_2025_0649_deep_data(server: Running, depth: int) -> None:
    """TensorFlow Serving wrote the JSON of a tensor by a function that called itself."""
    nested = b"[" * depth + b"0.5" + b"]" * depth
    body = b'{"inputs":[{"name":"x","shape":[1,8],"datatype":"FP32","data":%s}]}' % nested
    refused(server, body)
    refused(server, b'{"inputs":[],"parameters":{"a":%s}}' % nested)


@pytest.mark.parametrize("names", ["other", "y", "y and other"])
@pytest.mark.parametrize("count", [65, 5_000, 20_000])
def test_cve_2026_24146_outputs_by_the_thousand(server: Running, count: int, names: str) -> None:
    """Also CVE-2025-23331: memory for as many as a request names."""
    outputs = [
        {"name": "y" if names == "y" or (i % 2 and names != "other") else f"o{i}"} for i in range(count)
    ]
    refused(server, {"inputs": [TENSOR], "outputs": outputs})
    refused(server, {"inputs": [TENSOR] * count})


@pytest.mark.parametrize("size", [1 << 20, 64 << 20])
def test_cve_2025_48956_a_header_without_end(server: Running, size: int) -> None:
    with Raw(server.port) as raw:
        raw.send(b"GET /v2 HTTP/1.1\r\nHost: x\r\nX: ")
        for _ in range(size >> 14):
            raw.send(b"a" * (1 << 14))
        answer = raw.answer()
    assert answer is None or answer.status == 431
    assert server.ask("GET", "/v2/health/live")[0] == 200


def test_cve_2026_9540_clients_that_go_away(server: Running) -> None:
    """vLLM kept what requests held whose clients had gone. Also CVE-2025-23322."""
    request = (
        b"POST /v2/models/rows/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(GOOD) + GOOD
    )
    for cut in (1, 40, len(request) - len(GOOD), len(request) - 1, len(request)):
        for _ in range(60):
            with Raw(server.port) as raw:
                raw.send(request[:cut])
    until(lambda: server.server.http.budget.held == 0)
    assert server.ask("POST", "/v2/models/rows/infer", GOOD)[0] == 200


@pytest.mark.parametrize(
    "name",
    ["rows;id", "$(id)", "`id`", "rows\nid", "rows' OR '1", "__import__('os')", "${jndi:ldap://a}", "%n%s"],
)
def test_cve_2025_23316_names_that_are_commands(server: Running, name: str) -> None:
    quoted = quote(name, safe="")
    for path in (f"/v2/repository/models/{quoted}/load", f"/v2/models/{quoted}/infer"):
        assert "uid=" not in refused(server, {"inputs": [TENSOR]}, path)
