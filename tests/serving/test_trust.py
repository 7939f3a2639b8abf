"""Native code of bundles: run only when the operator trusts it, interpreted otherwise, and said."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from running import Running
from served_models import put

import ascend_ep
from ascend_ep.codegen.compilers import has_compiler
from ascend_ep.runtime import trust
from ascend_ep.serving.settings import Settings


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bundle of a repository, with generated code that its maker trusts."""
    if not has_compiler():
        pytest.skip("there is no C compiler")
    monkeypatch.setenv("ASCEND_EP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ASCEND_EP_CODEGEN", raising=False)
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "of-who-converts"))
    root = tmp_path / "models"
    root.mkdir()
    return put(root, "chain", 1, chain, codegen="always")


@pytest.fixture
def compiled(made: Path) -> Path:
    """A repository with a bundle whose generated code is trusted here, beside the model it was made from."""
    bundle = ascend_ep.InferenceSession(str(made)).bundle
    trust.trust([(n.sha256, "") for n in bundle.natives])
    onnx.save(chain(), str(made.with_name("model.onnx")))
    return made.parents[2]


def chain() -> onnx.ModelProto:
    """x [N, 64] -> y [N, 64]: elementwise, so that code is generated for it."""
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Mul", ["x", "s"], ["m"]),
        helper.make_node("Tanh", ["m"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 64])
    graph = helper.make_graph(nodes, "chain", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def answered(running: Running) -> np.ndarray:
    data = np.linspace(-2, 2, 64, dtype=np.float32).tolist()
    tensor = {"name": "x", "shape": [1, 64], "datatype": "FP32", "data": data}
    status, _, body = running.ask("POST", "/v2/models/chain/infer", {"inputs": [tensor]})
    assert status == 200, body
    return np.array(json.loads(body)["outputs"][0]["data"], np.float32)


def test_only_what_is_trusted_runs(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    root = made.parents[2]
    digests = [n.sha256 for n in ascend_ep.InferenceSession(str(made)).bundle.natives]
    assert digests
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "of-who-serves"))

    def refused(settings: Settings) -> tuple[list[str], np.ndarray]:
        caplog.clear()
        with caplog.at_level(logging.WARNING), Running(settings) as running:
            (version,) = running.server.repository.models["chain"].versions.values()
            found = [n.sha256 for n in version.session.bundle.refused_natives]
            said = [r.getMessage() for r in caplog.records if "isn't trusted here" in r.getMessage()]
            assert len(said) == len(found)
            assert all(f"--trust=sha256:{digest}" in text for digest, text in zip(found, said, strict=True))
            return found, answered(running)

    by_default, interpreted = refused(Settings(root, http_port=0))
    assert by_default == digests
    trusted, compiled = refused(Settings(root, http_port=0, trust=tuple(f"sha256:{d}" for d in digests)))
    assert trusted == []
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-5, atol=1e-6)
    assert refused(Settings(root, http_port=0, trust=(f"sha256:{'0' * 64}",)))[0] == digests


def test_implementations_stand_in_for_each_other(compiled: Path) -> None:
    def broken(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        raise RuntimeError("broken kernel")

    with Running(Settings(compiled, http_port=0, auto_implementation=True)) as running:
        (version,) = running.server.repository.models["chain"].versions.values()
        there = version.implementations
        assert there is not None
        assert [i.name for i in there.all] == ["compiled", "interpreted", "host"], there.describe()
        expected = answered(running)
        for count, one in enumerate(there.all[:2]):
            one.run = broken
            for _ in range(10):
                np.testing.assert_allclose(answered(running), expected, rtol=1e-4, atol=1e-6)
            assert there.all[2].runs or count == 0
        parameters = running.get("/v2/models/chain/config")["parameters"]
        assert "failures), interpreted (" in parameters["implementations"]["string_value"]


def test_what_stands_in_is_opened_when_it_is_needed(compiled: Path) -> None:
    with Running(Settings(compiled, http_port=0)) as running:
        (version,) = running.server.repository.models["chain"].versions.values()
        there = version.implementations
        assert there is not None
        expected = answered(running)
        assert [i.name for i in there.all] == ["compiled"]

        def broken(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
            raise RuntimeError("broken kernel")

        there.first.run = broken
        np.testing.assert_allclose(answered(running), expected, rtol=1e-4, atol=1e-6)
        assert [i.name for i in there.all] == ["compiled", "interpreted"]
