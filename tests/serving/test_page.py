"""The page at `/`: what is served, and what a browser makes of it when one is found."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import onnx
import pytest
from browser import Browser, find
from onnx import TensorProto, helper, numpy_helper
from running import Running
from served_models import put, rows

import ascend_ep
from ascend_ep.serving.http import page
from ascend_ep.serving.settings import Settings

FILES = sorted(f for f in files("ascend_ep.serving.page").iterdir() if not f.name.endswith((".py", "__")))


def classifier() -> onnx.ModelProto:
    """image [N, 3, 8, 8] -> classes [N, 10], of the means of its channels."""
    weight = np.random.default_rng(1).standard_normal((3, 10)).astype("f")
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["means", "w"], ["classes"]),
    ]
    x = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 8, 8])
    y = helper.make_tensor_value_info("classes", TensorProto.FLOAT, ["N", 10])
    graph = helper.make_graph(nodes, "classifier", [x], [y], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def png(red: int, green: int, blue: int) -> bytes:
    """An image of one colour, wider than high."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = (b"\0" + bytes((red, green, blue)) * 30) * 20
    header = struct.pack(">IIBBBBB", 30, 20, 8, 2, 0, 0, 0)
    pieces = part(b"IHDR", header), part(b"IDAT", zlib.compress(lines)), part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(pieces)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("page")
    put(root, "rows", 1, rows)
    put(root, "rows", 2, rows)
    put(root, "classifier", 1, classifier)
    broken = root / "broken" / "1" / "model.om"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"<script>alert(1)</script>")
    return root


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    profiles = tmp_path_factory.mktemp("profiles")
    with Running(Settings(models, http_port=0, exit_on_error=False, profile_dir=profiles)) as running:
        yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find()
    if program is None:
        pytest.skip("no Chromium or Chrome on the PATH to look at the page with")
    made = Browser(program, tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


def infer(server: Running, *sent: float) -> int:
    tensor = {"name": "x", "shape": [1, 8], "datatype": "FP32", "data": list(sent)}
    return server.ask("POST", "/v2/models/rows/infer", {"inputs": [tensor]})[0]


def test_every_file_is_served(server: Running) -> None:
    assert {f"/page/{f.name}" for f in FILES} - {"/page/index.html"} | {"/"} == page.OPEN
    for path in page.OPEN:
        status, headers, body = server.ask("GET", path)
        assert status == 200
        assert body
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "charset" in headers["content-type"] or "svg" in headers["content-type"]


def test_nothing_comes_from_elsewhere() -> None:
    for file in FILES:
        text = re.sub(r"http://www\.w3\.org/2000/svg", "", file.read_text())
        assert not re.search(r"https?:|//cdn|@import|innerHTML|eval\(", text), file.name


def test_state(server: Running) -> None:
    before = server.get(page.STATE)
    assert infer(server, *[0.5] * 8) == 200
    assert infer(server, 1.0) == 400
    after = server.get(page.STATE)
    assert [m["name"] for m in after["models"]] == ["broken", "classifier", "rows"]
    assert after["models"][0]["states"][0]["state"] == "UNAVAILABLE"
    (was, now) = (next(m for m in s["models"] if m["name"] == "rows")["versions"][1] for s in (before, after))
    assert now["succeeded"] - was["succeeded"] == 1
    assert sum(now["buckets"]) == now["succeeded"]
    assert sum(now["batches"].values()) >= 1
    assert len(after["bounds"]) + 1 == len(now["buckets"])
    assert "takes 8 elements; 1 were sent" in after["errors"][0]["text"]
    assert after["errors"][0]["where"] == "/v2/models/rows/infer"
    assert len(after["errors"]) == len(before["errors"]) + 1


def test_errors_are_bounded(server: Running) -> None:
    for _ in range(60):
        assert server.ask("GET", "/v2/models/" + "x" * 2000)[0] == 404
    errors = server.get(page.STATE)["errors"]
    assert len(errors) == 50
    assert all(len(error["text"]) <= 500 for error in errors)


def test_in_a_browser(server: Running, browser: Browser) -> None:
    assert server.ask("GET", "/v2/models/%3Cimg%20src=x%20onerror=alert(1)%3E")[0] == 404
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.wait("document.querySelectorAll('#models tr').length == 4")
    for _ in range(20):
        assert infer(server, *[0.5] * 8) == 200
    browser.wait("document.querySelector('#throughput path.first').getAttribute('d').length > 20")
    browser.wait(
        "[...document.querySelectorAll('#models tr')].some(r => /rows\\s2\\s.*µs/.test(r.innerText))"
    )
    text = browser.evaluate("document.body.innerText")
    assert "E40003" in text
    assert "<img src=x onerror=alert(1)>" in text
    assert browser.evaluate("document.querySelectorAll('#batches rect').length") >= 1
    assert browser.problems == []


def test_try_json_in_a_browser(server: Running, browser: Browser) -> None:
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.wait("document.querySelectorAll('#trial-model option').length == 3")
    browser.evaluate(
        "(s => { s.value = 'rows/1'; s.dispatchEvent(new Event('change')); })"
        "(document.getElementById('trial-model'))"
    )
    browser.evaluate("document.getElementById('trial-send').click()")
    browser.wait("document.getElementById('trial-status').textContent.startsWith('200')")
    assert "compute" in browser.evaluate("document.getElementById('trial-status').textContent")
    browser.evaluate("document.getElementById('trial-profile').click()")
    browser.wait("document.getElementById('trial-status').textContent.includes('profile PROF_000001_')")
    browser.evaluate("document.getElementById('trial-send').click()")
    browser.wait("!document.getElementById('trial-status').textContent.includes('profile')")
    assert json.loads(browser.evaluate("document.getElementById('trial-answer').textContent"))["outputs"] == [
        {"name": "y", "datatype": "FP32", "shape": [1, 4], "data": [0, 0, 0, 0]}
    ]
    assert browser.problems == []


def test_try_an_image_in_a_browser(server: Running, browser: Browser, models: Path, tmp_path: Path) -> None:
    image = tmp_path / "orange.png"
    image.write_bytes(png(255, 102, 0))
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.wait("document.getElementById('trial-model').value == 'classifier/1'")
    browser.upload("#image-file", image)
    browser.wait("document.getElementById('trial-status').textContent.includes('FP32[1,3,8,8]')")
    browser.evaluate("document.getElementById('trial-send').click()")
    browser.wait("document.getElementById('trial-status').textContent.startsWith('200')")
    answer = browser.evaluate("document.getElementById('trial-answer').textContent")
    session = ascend_ep.InferenceSession(str(models / "classifier" / "1" / "model.om"))
    pixels = np.zeros((1, 3, 8, 8), np.float32) + np.array([1.0, 0.4, 0.0], np.float32)[:, None, None]
    (expected,) = session.run(None, {"image": pixels})
    best = int(np.argmax(expected))
    assert answer.startswith(f"classes, best: {best} ({expected[0, best]:.4g}"[:22])
    found = json.loads(answer[answer.index("{") :])["outputs"][0]["data"]
    np.testing.assert_allclose(found, expected[0], rtol=1e-5, atol=1e-5)
    assert browser.problems == []


def test_a_token_in_a_browser(models: Path, browser: Browser, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("the-token-of-this-test-0123456789\n")
    tokens.chmod(0o600)
    with Running(Settings(models, http_port=0, exit_on_error=False, auth_tokens=tokens)) as running:
        assert running.ask("GET", page.STATE)[0] == 401
        browser.open(f"http://127.0.0.1:{running.port}/")
        browser.wait("!document.getElementById('token-form').hidden")
        browser.evaluate(
            "document.getElementById('token').value = 'the-token-of-this-test-0123456789';"
            "document.querySelector('#token-form button').click()"
        )
        browser.wait("document.querySelectorAll('#models tr').length == 4")
