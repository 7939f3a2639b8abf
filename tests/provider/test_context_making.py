"""Context models that onnxruntime writes: the session option ep.context_enable, and its ModelCompiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from provider_graphs import model, run_python, two_layers, two_layers_reference, value, weights, with_noise

EMBEDDED = {"ep.context_enable": "1", "ep.context_embed_mode": "1"}
BESIDE = {"ep.context_enable": "1"}
#: Two groups around what AscendEP leaves to the CPU provider, and a body.
GROUPS = """<ir_version: 8, opset_import: ["": 17]> g (float[n,4] x, float[1,4] s, bool c) => (float[n,4] z) {
  a = Softmax(x)
  d = RandomUniformLike<low=2.5, high=2.5>(s)
  b = Mul(a, d)
  y = If(c) <then_branch = t () => (float[n,4] p) { q = Exp(b) p = Mul(q, b) },
             else_branch = e () => (float[n,4] p) { p = Neg(b) }>
  z = Softmax(y) }"""


def options(entries: dict[str, str]) -> ort.SessionOptions:
    made = ort.SessionOptions()
    made.log_severity_level = 4
    for key, text in entries.items():
        made.add_session_config_entry(key, text)
    return made


def session(source: Path | bytes, entries: dict[str, str] | None = None) -> ort.InferenceSession:
    given = source if isinstance(source, bytes) else str(source)
    return ort.InferenceSession(given, options(entries or {}), providers=["AscendEP"], enable_fallback=0)


def contexts(path: Path) -> list[dict[str, Any]]:
    """The attributes of the EPContext nodes of a model."""
    nodes = [n for n in onnx.load(path).graph.node if n.op_type == "EPContext"]
    return [{a.name: onnx.helper.get_attribute_value(a) for a in n.attribute} for n in nodes]


@pytest.mark.parametrize("entries", [EMBEDDED, BESIDE], ids=["embedded", "beside"])
def test_a_session_writes_one(tmp_path: Path, entries: dict[str, str]) -> None:
    """Beside the model; a session of it gives the same bits, by the same names, in a process of its own."""
    (tmp_path / "m.onnx").write_bytes(two_layers())
    maker = session(tmp_path / "m.onnx", entries)
    inside = "ep.context_embed_mode" in entries
    files = {"m.onnx", "m_ctx.onnx"} | (set() if inside else {"m_ctx_0.om"})
    assert {p.name for p in tmp_path.iterdir()} == files
    (found,) = contexts(tmp_path / "m_ctx.onnx")
    assert (found["source"], found["embed_mode"], found["main_context"]) == (b"AscendEP", inside, 1)
    made = session(tmp_path / "m_ctx.onnx", {"session.disable_cpu_ep_fallback": "1"})
    for ask in ("get_inputs", "get_outputs"):
        assert [(v.name, v.type, v.shape) for v in getattr(made, ask)()] == [
            (v.name, v.type, v.shape) for v in getattr(maker, ask)()
        ]
    for batch in (1, 6, 0):
        x = weights(batch, batch, 8)
        (y,) = made.run(None, {"x": x})
        np.testing.assert_array_equal(y, maker.run(None, {"x": x})[0])
        np.testing.assert_allclose(y, two_layers_reference(x), atol=1e-5)
    code = """
        import sys, numpy as np, onnxruntime as ort, ascend_ep
        s = ort.InferenceSession(sys.argv[1], providers=["AscendEP"], enable_fallback=0)
        print(s.run(None, {"x": np.ones((2, 8), np.float32)})[0].tobytes().hex())
        print([m for m in sys.modules if m in ("onnx", "onnx_ir", "ascend_ep.compiler")])
        """
    done = run_python(code, str(tmp_path / "m_ctx.onnx"))
    ones = maker.run(None, {"x": np.ones((2, 8), np.float32)})[0]
    assert done.stdout.split("\n")[:2] == [ones.tobytes().hex(), "[]"], done.stderr


@pytest.mark.parametrize("entries", [EMBEDDED, BESIDE], ids=["embedded", "beside"])
def test_several_groups_and_a_body(tmp_path: Path, entries: dict[str, str]) -> None:
    """What AscendEP doesn't take stays as it was; so does what a body holds."""
    if ort.__version__.startswith("1.25."):
        pytest.skip("onnxruntime 1.25 writes no type for what bodies alone take, and then refuses the model")
    (tmp_path / "m.onnx").write_bytes(onnx.parser.parse_model(GROUPS).SerializeToString())
    named = {**entries, "ep.context_file_path": str(tmp_path / "made.onnx")}
    maker = session(tmp_path / "m.onnx", named)
    found = contexts(tmp_path / "made.onnx")
    assert len(found) >= 2
    if not found[0]["embed_mode"]:
        names = {f["ep_cache_context"].decode() for f in found}
        assert names == {p.name for p in tmp_path.glob("*.om")} == {f"made_{i}.om" for i in range(len(found))}
    made = session(tmp_path / "made.onnx")
    for c in (True, False):
        feeds = {"x": weights(1, 3, 4), "s": weights(2, 1, 4), "c": np.array(c)}
        np.testing.assert_array_equal(made.run(None, feeds)[0], maker.run(None, feeds)[0])


def test_a_model_whose_weights_stay_in_its_file(tmp_path: Path) -> None:
    w = weights(3, 1500, 1500)
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    content = model([node], [value("x", ["n", 1500])], [value("y", ["n", 1500])], {"w": w})
    (tmp_path / "m.onnx").write_bytes(content)
    maker = session(tmp_path / "m.onnx", BESIDE)
    (tmp_path / "m.onnx").unlink()
    x = weights(4, 2, 1500)
    made = session(tmp_path / "m_ctx.onnx")
    np.testing.assert_array_equal(made.run(None, {"x": x})[0], maker.run(None, {"x": x})[0])
    assert (tmp_path / "m_ctx.onnx").stat().st_size < 10_000


@pytest.mark.parametrize("inside", [True, False], ids=["embedded", "beside"])
@pytest.mark.parametrize("from_memory", [True, False], ids=["bytes", "file"])
def test_onnxruntimes_compiler(tmp_path: Path, inside: bool, from_memory: bool) -> None:
    if not hasattr(ort, "ModelCompiler"):
        pytest.skip("this onnxruntime has no ModelCompiler")
    (tmp_path / "m.onnx").write_bytes(two_layers())
    given = ort.SessionOptions()
    (device,) = [d for d in ort.get_ep_devices() if d.ep_name == "AscendEP"][:1]
    given.add_provider_for_devices([device], {})
    source = two_layers() if from_memory else str(tmp_path / "m.onnx")
    compiler = ort.ModelCompiler(given, source, embed_compiled_data_into_model=inside)
    compiler.compile_to_file(str(tmp_path / "made.onnx"))
    assert {p.name for p in tmp_path.iterdir()} - {"m.onnx", "made.onnx"} == (
        set() if inside else {"made_0.om"}
    )
    x = weights(5, 3, 8)
    for made in [tmp_path / "made.onnx"] + [compiler.compile_to_bytes()] * inside:
        np.testing.assert_allclose(session(made).run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)


def test_what_is_refused(tmp_path: Path) -> None:
    """No folder for bundles, a model that is compiled already, one that is another provider's."""
    with pytest.raises(Exception, match=r"INVALID_ARGUMENT.*ep.context"):
        session(two_layers(), BESIDE)
    (tmp_path / "m.onnx").write_bytes(with_noise())
    session(tmp_path / "m.onnx", EMBEDDED)
    again = {**EMBEDDED, "ep.context_file_path": str(tmp_path / "again.onnx")}
    with pytest.raises(Exception, match="compiled already"):
        session(tmp_path / "m_ctx.onnx", again)
    made = onnx.load(tmp_path / "m_ctx.onnx")
    (node,) = [n for n in made.graph.node if n.op_type == "EPContext"][:1]
    for attribute, text, message in (
        ("source", b"OtherEP", "EPContext"),
        ("partition_name", b"p9", "has no partition p9"),
        ("ep_cache_context", b"nothing", r"E4000\d"),
    ):
        (changed,) = [a for a in node.attribute if a.name == attribute]
        kept, changed.s = changed.s, text
        with pytest.raises(Exception, match=message):
            session(made.SerializeToString())
        changed.s = kept
