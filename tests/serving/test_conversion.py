"""ONNX models in the repository: converted at load, in a process of its own, once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from running import Running
from served_models import rows, scaled

from ascend_ep.errors import AscendError
from ascend_ep.serving.repository.conversion_options import read_options
from ascend_ep.serving.repository.layout import Layout
from ascend_ep.serving.settings import Settings


def serve(root: Path, cache: Path, **more: object) -> Running:
    settings = {"http_port": 0, "exit_on_error": False, "conversion_cache": cache} | more
    return Running(Settings(root, model_control_mode="explicit", load_models=("*",), **settings))  # type: ignore[arg-type]


def infer(running: Running, name: str, array: np.ndarray) -> np.ndarray:
    tensor = {"name": "x", "shape": array.shape, "datatype": "FP32", "data": array.tolist()}
    status, _, body = running.ask("POST", f"/v2/models/{name}/infer", {"inputs": [tensor]})
    assert status == 200, body
    output = json.loads(body)["outputs"][0]
    return np.array(output["data"], "f").reshape(output["shape"])


def reason(running: Running) -> str:
    (entry,) = running.server.repository.index()
    return entry.reason


def test_converted_with_options_kept_and_converted_again(tmp_path: Path) -> None:
    """Also: an external weight file, a context model beside it, what fails, and that places aren't told."""
    root, cache = tmp_path / "models", tmp_path / "cache"
    version = root / "m" / "1"
    version.mkdir(parents=True)
    model = rows()
    weight = onnx.numpy_helper.to_array(model.graph.initializer[0])
    external = version / "model.onnx"
    onnx.save(model, external, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (version / "model_ctx.onnx").write_bytes(b"not a model")
    (root / "m" / "atc.cfg").write_text("# fixed\n\n--input_shape=x:3,8\n")
    x = np.random.default_rng(0).standard_normal((3, 8)).astype("f")
    with serve(root, cache) as running:
        repository = running.server.repository
        np.testing.assert_allclose(infer(running, "m", x), np.tanh(x @ weight), rtol=1e-5)
        assert repository.models["m"].latest.signature.inputs[0].shape == [3, 8]
        (kept,) = cache.iterdir()
        assert kept.stat().st_mode & 0o077 == 0
        (root / "m" / "atc.cfg").write_text("--input_shape=x:-3,8")
        with pytest.raises(AscendError) as caught:
            running.call(repository.load_model("m"))
        assert "m/1/model.onnx" in str(caught.value)
        assert "E10" in str(caught.value)
        assert str(tmp_path) not in str(caught.value)
        assert infer(running, "m", x).shape == (3, 4)
        assert list(cache.iterdir()) == [kept]
    (root / "m" / "atc.cfg").write_text("--input_shape=x:3,8")
    began = time.monotonic()
    with serve(root, cache, conversion_timeout=0.001) as running:
        assert infer(running, "m", x).shape == (3, 4)
        assert time.monotonic() - began < 5
        (root / "m" / "atc.cfg").unlink()
        with pytest.raises(AscendError, match=r"it took more than 0\.001 s"):
            running.call(running.server.repository.load_model("m"))
        assert list(cache.iterdir()) == [kept]


def definition(version: Path, **semantics: str) -> None:
    node = helper.make_node("Twice", ["x"], ["y"], domain="own")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    graph = helper.make_graph([node], "twice", [x], [y])
    version.mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), version / "model.onnx")
    tensor = {"type": ["float32"], "param_type": "required"}
    written = {"op": "Twice", "domain": "own", "inputs": [{"name": "x"} | tensor], **semantics}
    (version / "twice.json").write_text(json.dumps(written | {"outputs": [{"name": "y"} | tensor]}))
    (version / "atc.cfg").write_text("--custom_op_info=twice.json")


def test_own_operators_by_formula_but_not_by_code(tmp_path: Path) -> None:
    """In the only file of definitions, or in the second of two."""
    root = tmp_path / "models"
    definition(root / "good" / "1", formula="y = 2 * x")
    definition(root / "bad" / "1", source="twice.c")
    (root / "bad" / "1" / "twice.c").write_text("")
    other = {"op": "Other", "input_num": 1, "output_num": 1}
    for name in ("good", "bad"):
        (root / name / "1" / "other.json").write_text(json.dumps(other))
        (root / name / "1" / "atc.cfg").write_text("--custom_op_info=other.json;twice.json")
    with serve(root, tmp_path / "cache", conversions=2) as running:
        np.testing.assert_array_equal(infer(running, "good", np.ones((2, 4), "f")), np.full((2, 4), 2))
        entries = {e.name: e for e in running.server.repository.index()}
        assert entries["good"].state == "READY"
        assert "native code, which a server doesn't take" in entries["bad"].reason


def places(tmp_path: Path, text: str) -> Layout:
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "m" / "1" / "atc.cfg").write_text(text)
    return Layout(tmp_path)


def test_options(tmp_path: Path) -> None:
    found = places(tmp_path, "--keep_dtype=keep.cfg\n --precision_mode=force_fp16")
    keep = tmp_path / "m" / "1" / "keep.cfg"
    keep.write_text("a")
    assert read_options(found, "m", tmp_path / "m" / "1") == {
        "soc_version": "Ascend910B3",
        "keep_dtype": str(keep),
        "precision_mode": "force_fp16",
    }
    assert read_options(found, "m", tmp_path / "m" / "2")["precision_mode"] == "must_keep_origin_dtype"


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        ("--custom_op=T:./x.so", "E50047", "give it to ascend-atc"),
        ("--output=/tmp/x", "E50047", "give it to ascend-atc"),
        ("--model=x", "E50047", "give it to ascend-atc"),
        ("--inputshape=x:1", "E50047", "input_shape"),
        ("input_shape=x:1", "E50047", "is no --flag=value"),
        ("--input_shape", "E50047", "is no --flag=value"),
        ("--out_nodes=a\n--out_nodes=b", "E50047", "there twice"),
        ("--keep_dtype=../../../secret", "E50042", "outside"),
        ("--keep_dtype=/etc/passwd", "E50042", "outside"),
        ("--keep_dtype=absent", "E50045", "isn't there"),
    ],
)
def test_refused_options(tmp_path: Path, line: str, code: str, why: str) -> None:
    (tmp_path / "secret").write_text("")
    root = tmp_path / "models"
    with pytest.raises(AscendError) as caught:
        read_options(places(root, f"#\n{line}"), "m", root / "m" / "1")
    assert caught.value.code == code
    assert why in str(caught.value)


def test_a_cache_that_others_may_write_is_refused(tmp_path: Path) -> None:
    version = tmp_path / "models" / "m" / "1"
    version.mkdir(parents=True)
    onnx.save(scaled(2), version / "model.onnx")
    cache = tmp_path / "cache"
    cache.mkdir()
    os.chmod(cache, 0o777)
    with serve(tmp_path / "models", cache) as running:
        assert "must belong to this user" in reason(running)
