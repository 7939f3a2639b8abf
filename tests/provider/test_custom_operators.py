"""Operators that onnxruntime has no schema for: built-in, from definitions, in any domain."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from provider_graphs import model, run_python, value, weights

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef.registry import Registry
from ascend_ep.provider import report

X = weights(1, 3, 8)


def session(content: bytes | str, **options: object) -> ort.InferenceSession:
    so = ort.SessionOptions()
    so.log_severity_level = 4
    return ort.InferenceSession(content, so, providers=[("AscendEP", options)], enable_fallback=0)


def one_node(op_type: str, domain: str = "", outputs: int = 1, **attributes: Any) -> bytes:
    """x [N,8] through one node; neither the operator nor the types of its outputs are declared anywhere."""
    names = [f"y{i}" for i in range(outputs)]
    node = oh.make_node(op_type, ["x"], names, name="custom", domain=domain, **attributes)
    return model([node], [value("x", ["N", 8])], [onnx.ValueInfoProto(name=n) for n in names])


def sigmoid(x: NDArray[np.float32]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def define(folder: Path, name: str, **definition: Any) -> str:
    path = folder / f"{name}.json"
    body = {"inputs": [{"name": "x", "type": "float32"}], "outputs": [{"name": "y", "type": "float32"}]}
    path.write_text(json.dumps({"op": name, **body, **definition}))
    return str(path)


@pytest.mark.parametrize("domain", ["", "ai.custom"])
def test_a_built_in_operator_needs_no_declaration(domain: str) -> None:
    s = session(one_node("Swish", domain, beta=1.5))
    (y,) = s.run(None, {"x": X})
    np.testing.assert_allclose(y, X * sigmoid(np.float32(1.5) * X), rtol=1e-6, atol=1e-7)
    assert report(s).on_cpu == []
    assert [(o.name, o.type, o.shape) for o in s.get_outputs()] == [("y0", "tensor(float)", ["N", 8])]


def test_a_definition_may_come_in_the_provider_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(
        tmp_path, "Shifted", formula="x*x + c", attributes=[{"name": "c", "type": "float", "default": 2.0}]
    )
    monkeypatch.chdir(tmp_path)  # relative paths start at the working directory
    s = session(one_node("Shifted", "my.ops", c=0.5), custom_op_info="Shifted.json")
    np.testing.assert_allclose(s.run(None, {"x": X})[0], X.astype(np.float64) ** 2 + 0.5, rtol=1e-6)


def test_shapes_of_outputs_follow_the_definition(tmp_path: Path) -> None:
    path = define(
        tmp_path,
        "RowSum",
        outputs=[{"name": "y", "type": "float32"}, {"name": "z", "type": "float32"}],
        shape={"y": "x.with_dim(-1, 1)", "z": "x"},
        formula="y = sum(x, axis=-1, keepdims=True); z = x - y",
    )
    s = session(one_node("RowSum", outputs=2), custom_op_info=path)
    assert [o.shape for o in s.get_outputs()] == [["N", 1], ["N", 8]]
    y, z = s.run(None, {"x": X})
    total = X.astype(np.float64).sum(-1, keepdims=True)
    np.testing.assert_allclose(y, total, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(z, X - total, rtol=1e-5, atol=1e-6)


def test_two_sessions_may_mean_different_things_by_one_name(tmp_path: Path) -> None:
    for folder, formula in (("a", "x + 1"), ("b", "x * 3")):
        (tmp_path / folder).mkdir()
        define(tmp_path / folder, "Mine", formula=formula)
    a = session(one_node("Mine"), custom_op_info=str(tmp_path / "a" / "Mine.json"))
    b = session(one_node("Mine"), custom_op_info=str(tmp_path / "b" / "Mine.json"))
    for _ in range(2):
        np.testing.assert_allclose(a.run(None, {"x": X})[0], X + 1, rtol=1e-6)
        np.testing.assert_allclose(b.run(None, {"x": X})[0], X * 3, rtol=1e-6)


def test_the_users_definition_wins_over_a_standard_operator(tmp_path: Path) -> None:
    path = define(tmp_path, "Relu", domain="", formula="x + 10")
    y = session(one_node("Relu"), custom_op_info=path).run(None, {"x": X})[0]
    np.testing.assert_allclose(y, X + 10, rtol=1e-6)
    np.testing.assert_array_equal(session(one_node("Relu")).run(None, {"x": X})[0], np.maximum(X, 0))


def test_one_session_options_serves_several_sessions(tmp_path: Path) -> None:
    so = ort.SessionOptions()
    for _ in range(3):
        s = ort.InferenceSession(one_node("Swish"), so, providers=["AscendEP"], enable_fallback=0)
        np.testing.assert_allclose(s.run(None, {"x": X})[0], X * sigmoid(X), rtol=1e-6, atol=1e-7)
    path = define(tmp_path, "Mine", formula="x + 1")
    with pytest.raises(ascend_ep.AscendError, match="already declare operators for another model"):
        ort.InferenceSession(one_node("Mine"), so, providers=[("AscendEP", {"custom_op_info": path})])


def test_definitions_of_the_environment_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    define(tmp_path, "Mine", formula="x * 2")
    monkeypatch.setenv("ASCEND_CUSTOM_OPS", str(tmp_path))
    np.testing.assert_allclose(session(one_node("Mine")).run(None, {"x": X})[0], X * 2, rtol=1e-6)


def test_operators_inside_control_flow_are_declared_too() -> None:
    body = oh.make_graph([oh.make_node("Swish", ["x"], ["a"])], "body", [], [value("a", ["N", 8])])
    other = oh.make_graph([oh.make_node("Identity", ["x"], ["b"])], "other", [], [value("b", ["N", 8])])
    node = oh.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)
    content = model(
        [node], [value("x", ["N", 8]), value("c", [], onnx.TensorProto.BOOL)], [value("y", ["N", 8])]
    )
    s = session(content)
    (y,) = s.run(None, {"x": X, "c": np.array(True)})
    np.testing.assert_allclose(y, X * sigmoid(X), rtol=1e-6, atol=1e-7)


def test_a_nameless_operator_is_onnxruntimes_own_error() -> None:
    with pytest.raises(Exception, match="NobodyKnowsThis"):
        session(one_node("NobodyKnowsThis", "nowhere"))


def test_a_declaration_without_semantics_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps({"op": "Hollow", "input_num": 1, "output_num": 1}))
    with pytest.raises(ascend_ep.AscendError) as caught:
        session(one_node("Hollow"), custom_op_info=str(tmp_path / "d.json"))
    assert caught.value.code == "E41009"


def test_a_wrong_type_or_count_is_refused_by_the_declared_schema(tmp_path: Path) -> None:
    path = define(tmp_path, "Mine", formula="x + 1")
    ints = model(
        [oh.make_node("Mine", ["x"], ["y"])],
        [value("x", ["N"], onnx.TensorProto.INT64)],
        [value("y", ["N"], onnx.TensorProto.INT64)],
    )
    with pytest.raises(Exception, match=r"tensor\(int64\)"):
        session(ints, custom_op_info=path)
    two = model([oh.make_node("Mine", ["x", "x"], ["y"])], [value("x", ["N"])], [value("y", ["N"])])
    with pytest.raises(Exception, match="input size 2 not in range"):
        session(two, custom_op_info=path)


def test_our_own_session_needs_no_private_method() -> None:
    done = run_python(
        """
        import numpy as np, onnxruntime as ort, ascend_ep
        from test_custom_operators import X, one_node, sigmoid
        ort.InferenceSession._register_ep_custom_ops = lambda *a: None  # no hook
        s = ascend_ep.InferenceSession(one_node("Swish"))
        assert s.get_providers()[0] == "AscendEP"
        assert np.allclose(s.run(None, {"x": X})[0], X * sigmoid(X), atol=1e-6)
        """
    )
    assert done.returncode == 0, done.stderr


def test_the_library_can_be_registered_on_session_options(tmp_path: Path) -> None:
    """ORT's public way, with what `declare` added for the whole process."""
    path = define(tmp_path, "Everywhere", domain="every.where", formula="x - 1")
    done = run_python(
        """
        import sys, numpy as np, onnxruntime as ort, ascend_ep
        from ascend_ep.provider import declare
        from test_custom_operators import X, one_node
        declare(sys.argv[1])
        so = ort.SessionOptions()
        so.register_custom_ops_library(ascend_ep.get_library_path())
        so.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == "AscendEP"], {})
        s = ort.InferenceSession(one_node("Everywhere", "every.where"), so)
        assert np.allclose(s.run(None, {"x": X})[0], X - 1)
        s = ort.InferenceSession(one_node("Everywhere", "every.where"), providers=["AscendEP"])
        assert np.allclose(s.run(None, {"x": X})[0], X - 1)
        """,
        path,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def rope_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("rope") / "rope.so"
    source = Path(__file__).parent.parent / "assets" / "rope_library.c"
    include = ascend_ep.get_include()
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", f"-I{include}", source, "-o", library], check=True)
    return library


def rope_model() -> bytes:
    node = oh.make_node("RoPE", ["x", "cos", "sin"], ["y"], name="turn", domain="ai.custom")
    inputs = [value("x", ["S", 8]), value("cos", ["S", 4]), value("sin", ["S", 4])]
    return model([node], inputs, [value("y", ["S", 8])])


def check_rope(s: ort.InferenceSession) -> None:
    angle = np.arange(3)[:, None] * 0.5 ** np.arange(4)
    x, cos, sin = weights(3, 3, 8), np.cos(angle), np.sin(angle)
    (y,) = s.run(None, {"x": x, "cos": cos.astype(np.float32), "sin": sin.astype(np.float32)})
    a, b = x[:, :4].astype(np.float64), x[:, 4:].astype(np.float64)
    np.testing.assert_allclose(y, np.concatenate([a * cos - b * sin, b * cos + a * sin], -1), atol=1e-6)


def test_a_shared_library_gives_an_operator(
    rope_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named in the session's own options, it needs no entry in the trust store."""
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))
    s = session(rope_model(), custom_op=f"RoPE:{rope_library}")
    check_rope(s)
    assert report(s).on_cpu == []
    assert not (tmp_path / "trust").exists()


@pytest.mark.parametrize("embedded", [False, True])
def test_native_code_of_a_compiled_model_has_to_be_trusted(
    embedded: bool, rope_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_EP_TRUST", str(tmp_path / "trust"))
    registry = Registry.from_options(custom_op=[f"RoPE:{rope_library}"])
    conversion = convert(rope_model(), ConvertOptions(registry=registry))
    conversion.write(tmp_path / "m.om")
    compiled = onnx.load_from_string(conversion.context_model("m.om"))
    if embedded:
        attributes = {a.name: a for a in compiled.graph.node[0].attribute}
        attributes["embed_mode"].i = 1
        attributes["ep_cache_context"].s = (tmp_path / "m.om").read_bytes()
    onnx.save(compiled, tmp_path / "m.onnx")
    check_rope(session(str(tmp_path / "m.onnx")))
    (tmp_path / "trust").unlink()
    digest = hashlib.sha256(rope_library.read_bytes()).hexdigest()
    with pytest.raises(Exception, match=f"E40009 .*{digest}"):
        check_rope(session(str(tmp_path / "m.onnx")))
    check_rope(session(str(tmp_path / "m.onnx"), trust=f"sha256:{digest}"))
