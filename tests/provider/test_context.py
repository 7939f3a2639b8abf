"""EPContext models: stock onnxruntime and plain C programs run a bundle of ascend-atc."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from provider_graphs import NOISE, run_python, two_layers, two_layers_reference, weights, with_noise

from ascend_ep import get_library_path
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

TOLERANCE = 1e-5  # as in test_sessions


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    """A folder with m.om and m_ctx.onnx of `two_layers`."""
    return write(two_layers(), tmp_path)


def write(content: bytes, folder: Path) -> Path:
    conversion = convert(content)
    conversion.write(folder / "m.om")
    (folder / "m_ctx.onnx").write_bytes(conversion.context_model("m.om"))
    return folder


def session(model: Path | bytes, **entries: str) -> ort.InferenceSession:
    so = ort.SessionOptions()
    so.log_severity_level = 4
    for key, entry in entries.items():
        so.add_session_config_entry(key.replace("__", "."), entry)
    source = model if isinstance(model, bytes) else str(model)
    return ort.InferenceSession(source, so, providers=["AscendEP"], enable_fallback=0)


def change(folder: Path, edit: Callable[[dict[str, onnx.AttributeProto]], None]) -> Path:
    """m_ctx.onnx with the attributes of its first EPContext node changed."""
    model = onnx.load(folder / "m_ctx.onnx")
    node = next(n for n in model.graph.node if n.op_type == "EPContext")
    attributes = {a.name: a for a in node.attribute}
    edit(attributes)
    del node.attribute[:]
    node.attribute.extend(attributes.values())
    onnx.save(model, folder / "changed.onnx")
    return folder / "changed.onnx"


def test_it_runs_and_any_batch_fits(compiled: Path) -> None:
    s = session(compiled / "m_ctx.onnx", session__disable_cpu_ep_fallback="1")
    for batch in (1, 5, 0, 33):
        x = weights(batch, batch, 8)
        np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE)


def test_its_bits_are_those_of_the_plain_model(compiled: Path) -> None:
    x = weights(4, 9, 8)
    plain = session(two_layers()).run(None, {"x": x})[0]
    np.testing.assert_array_equal(session(compiled / "m_ctx.onnx").run(None, {"x": x})[0], plain)


def test_the_compile_side_is_not_imported(compiled: Path) -> None:
    done = run_python(
        """
        import sys, numpy as np, onnxruntime as ort, ascend_ep
        s = ort.InferenceSession(sys.argv[1], providers=["AscendEP"], enable_fallback=0)
        s.run(None, {"x": np.ones((2, 8), np.float32)})
        heavy = ("onnx", "onnx_ir", "ascend_ep.compiler", "ascend_ep.plan")
        print([m for m in sys.modules if m in heavy])
        """,
        str(compiled / "m_ctx.onnx"),
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_host_nodes_stay_with_the_cpu_provider(tmp_path: Path) -> None:
    write(with_noise(), tmp_path)
    s = session(tmp_path / "m_ctx.onnx", session__record_ep_graph_assignment_info="1")
    x, like = weights(1, 5, 4), weights(2, 1, 2)
    (y,) = s.run(None, {"x": x, "s": like})
    np.testing.assert_allclose(y, np.full((5, 2), NOISE), rtol=1e-6)
    placed = {n.op_type: g.ep_name for g in s.get_provider_graph_assignment_info() for n in g.get_nodes()}
    assert placed == {"EPContext": "AscendEP", "RandomUniformLike": "CPUExecutionProvider"}


def test_a_model_in_memory_says_where_its_bundle_is(compiled: Path) -> None:
    content = (compiled / "m_ctx.onnx").read_bytes()
    x = weights(4, 2, 8)
    s = session(content, ep__context_file_path=str(compiled / "m_ctx.onnx"))
    np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE)
    with pytest.raises(Exception, match=r"ep\.context_file_path"):
        session(content)


def test_a_bundle_may_be_embedded(compiled: Path) -> None:
    def embed(attributes: dict[str, onnx.AttributeProto]) -> None:
        attributes["embed_mode"].i = 1
        attributes["ep_cache_context"].s = (compiled / "m.om").read_bytes()

    content = change(compiled, embed).read_bytes()
    x = weights(4, 2, 8)
    np.testing.assert_allclose(
        session(content).run(None, {"x": x})[0], two_layers_reference(x), atol=TOLERANCE
    )


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../m.om", "a/../../m.om", "..\\m.om", "C:\\m.om", "", "m.om\0../../m.om", "\\m.om"],
)
def test_a_bundle_outside_the_models_folder_is_refused(compiled: Path, path: str) -> None:
    changed = change(compiled, lambda attributes: setattr(attributes["ep_cache_context"], "s", path.encode()))
    with pytest.raises(Exception, match="must be a path below the model's folder"):
        session(changed)


def test_a_missing_bundle_is_named(compiled: Path) -> None:
    changed = change(compiled, lambda attributes: setattr(attributes["ep_cache_context"], "s", b"other.om"))
    with pytest.raises(Exception, match=r"E40002 .*other\.om"):
        session(changed)


def test_a_damaged_bundle_is_refused(compiled: Path) -> None:
    bundle = bytearray((compiled / "m.om").read_bytes())
    bundle[len(bundle) // 2] ^= 1
    bundle[-70] ^= 1
    (compiled / "m.om").write_bytes(bundle)
    with pytest.raises(Exception, match=r"AscendEP: E4000[34]"):
        session(compiled / "m_ctx.onnx")


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("partition_name", b"p9", "has no partition p9"),
        ("main_context", 0, "main_context=0, but no main node"),
        ("source", b"OtherEP", "EPContext"),
    ],
)
def test_attributes_that_are_wrong(compiled: Path, name: str, given: object, message: str) -> None:
    def edit(attributes: dict[str, onnx.AttributeProto]) -> None:
        attributes[name] = onnx.helper.make_attribute(name, given)
        if name == "main_context":
            attributes["ep_cache_context"].s = b""

    with pytest.raises(Exception, match=message):
        session(change(compiled, edit))


def test_the_nodes_of_one_bundle_share_it(tmp_path: Path) -> None:
    write(with_noise(), tmp_path)
    model = onnx.load(tmp_path / "m_ctx.onnx")
    contexts = [n for n in model.graph.node if n.op_type == "EPContext"]
    assert {a.s for n in contexts for a in n.attribute if a.name == "ep_cache_context"} == {b"m.om"}
    s = session(tmp_path / "m_ctx.onnx")
    maps = Path("/proc/self/maps").read_text().splitlines()
    assert len({line.split()[0] for line in maps if line.endswith(str(tmp_path / "m.om"))}) <= 2
    assert s.get_providers()[0] == "AscendEP"


# --- without Python ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def host_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("needs a C compiler")
    program = tmp_path_factory.mktemp("host") / "host_program"
    source = Path(__file__).with_name("host_program.c")
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-o", program, source, "-ldl"], check=True)
    return program


def libonnxruntime() -> str:
    (library,) = (Path(ort.__file__).parent / "capi").glob("libonnxruntime.so.*")
    return str(library)


def host(program: Path, model: Path, rows: int) -> subprocess.CompletedProcess[str]:
    command = [str(program), libonnxruntime(), get_library_path(), str(model), str(rows), "8"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_c_program_runs_the_compiled_model(host_program: Path, compiled: Path) -> None:
    done = host(host_program, compiled / "m_ctx.onnx", 5)
    assert (done.returncode, done.stderr) == (0, "")
    x = (np.arange(40) % 7 - 3).astype(np.float32).reshape(5, 8)
    y = np.array([float(line) for line in done.stdout.split()], np.float32).reshape(5, 4)
    np.testing.assert_array_equal(y, session(compiled / "m_ctx.onnx").run(None, {"x": x})[0])


def test_a_c_program_finds_weights_beside_the_bundle(host_program: Path, tmp_path: Path) -> None:
    conversion = convert(two_layers(), ConvertOptions(external_weight=1))
    conversion.write(tmp_path / "m.om")
    (tmp_path / "m_ctx.onnx").write_bytes(conversion.context_model("m.om"))
    done = host(host_program, tmp_path / "m_ctx.onnx", 5)
    assert (done.returncode, done.stderr, len(done.stdout.split())) == (0, "", 20)
    for file in (tmp_path / "weight").iterdir():
        file.unlink()
    done = host(host_program, tmp_path / "m_ctx.onnx", 5)
    assert done.returncode != 0
    assert "No such file or directory: [weight/weight_" in done.stderr


def test_a_c_program_without_a_compiler_still_runs_plain_models(host_program: Path, tmp_path: Path) -> None:
    (tmp_path / "plain.onnx").write_bytes(two_layers())
    done = host(host_program, tmp_path / "plain.onnx", 2)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 8


def test_a_c_program_runs_what_a_session_compiled(host_program: Path, tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(two_layers())
    session(tmp_path / "m.onnx", ep__context_enable="1")
    done = host(host_program, tmp_path / "m_ctx.onnx", 5)
    assert (done.returncode, done.stderr, len(done.stdout.split())) == (0, "", 20)
