"""Weights that onnxruntime reads from the model's own file: sessions are as before, whatever it holds."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import pytest
from onnx.external_data_helper import load_external_data_for_model, set_external_data
from provider_graphs import model, two_layers, two_layers_reference, value, weights

from ascend_ep.provider import placement, report, session_hook, shared_options, weights_in_place
from ascend_ep.provider.weights_in_place import without_weights


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models do."""
    monkeypatch.setattr(weights_in_place, "LEAST_WEIGHT", 64)
    monkeypatch.setattr(weights_in_place, "LEAST_BYTES", 64)


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that weights were left in."""
    files: list[str] = []
    plain = without_weights

    def counted(path: str, location: str) -> bytes | None:
        found = plain(path, location)
        files.extend([path] if found is not None else [])
        return found

    monkeypatch.setattr(weights_in_place, "without_weights", counted)
    return files


def saved(folder: Path, content: bytes, name: str = "m.onnx") -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return str(folder / name)


def session(source: str | bytes, options: ort.SessionOptions | None = None) -> ort.InferenceSession:
    return ort.InferenceSession(source, options, providers=["AscendEP"], enable_fallback=0)


def test_sessions_are_as_those_of_bytes(tmp_path: Path, lent: list[str]) -> None:
    x = weights(3, 5, 8)
    for shift in range(4):  # weights at every offset from a multiple of 4
        content = onnx.load_from_string(two_layers())
        content.producer_version = "v" * shift
        oh.set_model_props(content, {"key": "value"})
        path = saved(tmp_path, content.SerializeToString(), f"m{shift}.onnx")
        ours, plain = session(path), session(content.SerializeToString())
        assert len(lent) == shift + 1
        assert report(ours).on_cpu == []
        np.testing.assert_array_equal(ours.run(None, {"x": x})[0], plain.run(None, {"x": x})[0])
        np.testing.assert_allclose(ours.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
        assert ours.get_modelmeta().custom_metadata_map == {"key": "value"}
        assert ours.get_modelmeta().graph_name == plain.get_modelmeta().graph_name


def test_a_session_can_be_created_anew(tmp_path: Path, lent: list[str]) -> None:
    path, x = saved(tmp_path, two_layers()), weights(3, 5, 8)
    s = session(path)
    assert (s._model_path, s._model_bytes) == (path, None)
    first = s.run(None, {"x": x})[0]
    for providers in (["CPUExecutionProvider"], ["AscendEP"]):
        s.set_providers(providers)
        np.testing.assert_allclose(s.run(None, {"x": x})[0], first, atol=1e-6)
    assert lent == [path] * 2


def test_the_file_may_go_when_the_session_is_there(tmp_path: Path, lent: list[str]) -> None:
    path, x = saved(tmp_path / "gone", two_layers()), weights(3, 5, 8)
    s = session(path)
    shutil.rmtree(tmp_path / "gone")
    np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
    assert lent == [path]


def test_a_link_to_a_file_elsewhere(tmp_path: Path, lent: list[str]) -> None:
    path, x = saved(tmp_path / "blobs", two_layers(), "0f3a"), weights(3, 5, 8)
    (tmp_path / "m.onnx").symlink_to(path)
    s = session(str(tmp_path / "m.onnx"))
    np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
    assert lent == [path]


def test_other_files_are_found_beside_the_link(tmp_path: Path, lent: list[str]) -> None:
    content, x = onnx.load_from_string(two_layers()), weights(3, 5, 8)
    set_external_data(content.graph.initializer[1], "w2.bin")
    (tmp_path / "blobs").mkdir()
    onnx.save(content, tmp_path / "m.onnx")
    (tmp_path / "m.onnx").rename(tmp_path / "blobs" / "0f3a")
    (tmp_path / "m.onnx").symlink_to(tmp_path / "blobs" / "0f3a")
    s = session(str(tmp_path / "m.onnx"))
    np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
    assert lent == []


def test_options_are_kept_apart(tmp_path: Path, lent: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of one model isn't that of the next, of a file or of bytes, with the same options."""
    x = weights(3, 5, 8)
    first = saved(tmp_path / "a", two_layers())
    others = onnx.load_from_string(two_layers())
    others.graph.initializer[0].raw_data = (-weights(1, *others.graph.initializer[0].dims)).tobytes()
    second = saved(tmp_path / "b", others.SerializeToString())
    options = ort.SessionOptions()
    options.log_severity_level = 3
    for path in (first, second):
        plain = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        got, wanted = session(path, options).run(None, {"x": x})[0], plain.run(None, {"x": x})[0]
        np.testing.assert_allclose(got, wanted, atol=1e-5)
    assert lent == [first, second]
    outside = onnx.load_from_string(two_layers())
    onnx.save(outside, tmp_path / "c.onnx", save_as_external_data=True, location="c.bin", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    s = session((tmp_path / "c.onnx").read_bytes(), options)
    np.testing.assert_allclose(s.run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5)
    session(first), session(second)  # nobody's options
    session(second, options)
    assert lent == [first, second, first, second, second]


def test_options_that_lent_a_model_serve_one_with_files_of_its_own(tmp_path: Path, lent: list[str]) -> None:
    """By whatever provider, and no model may name a file elsewhere."""
    options = ort.SessionOptions()
    session(saved(tmp_path, two_layers()), options)
    assert options.get_session_config_entry(shared_options.FOLDER) == ""
    path = beside(tmp_path / "beside")
    for providers in (["AscendEP"], ["CPUExecutionProvider"]):
        ort.InferenceSession(path, options, providers=providers, enable_fallback=0)
    content = onnx.load(path, load_external_data=False)
    for tensor in content.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = str(tmp_path / "beside" / "b.data")[1:]
    elsewhere = content.SerializeToString()
    for source in (saved(tmp_path, elsewhere, "c.onnx"), elsewhere):
        session(saved(tmp_path, two_layers()), options)
        with pytest.raises(Exception, match="External data path"):
            session(source, options)
    assert len(lent) == 3


def beside(folder: Path) -> str:
    """A model whose weights are in another file of its folder."""
    folder.mkdir()
    path = str(folder / "b.onnx")
    content = onnx.load_from_string(two_layers())
    onnx.save(content, path, save_as_external_data=True, location="b.data", size_threshold=0)
    return path


@pytest.mark.parametrize("first", ["lent", "beside"])
def test_threads_share_options(
    tmp_path: Path, lent: list[str], monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Of a model that lends and one that can't, one is being created while the other begins."""
    paths = {"lent": saved(tmp_path / "a", two_layers()), "beside": beside(tmp_path / "b")}
    (second,) = paths.keys() - {first}
    options, prepared, done = ort.SessionOptions(), threading.Event(), threading.Event()
    plain = session_hook.prepare

    def prepare(created: Any, *others: Any) -> None:
        path = created._model_path
        plain(created, *others)
        if path == paths[first]:
            prepared.set()
            done.wait(1)  # all the time the other could take, if it doesn't wait in its turn

    monkeypatch.setattr(session_hook, "prepare", prepare)

    def create_second() -> ort.InferenceSession:
        prepared.wait(30)
        try:
            return session(paths[second], options)
        finally:
            done.set()

    with ThreadPoolExecutor(2) as threads:
        made = [threads.submit(session, paths[first], options), threads.submit(create_second)]
        x = weights(3, 5, 8)
        for future in made:
            np.testing.assert_allclose(
                future.result(60).run(None, {"x": x})[0], two_layers_reference(x), atol=1e-5
            )
    assert len(lent) == 1
    session(paths["lent"], options), session(paths["beside"], options)  # nobody is left in there


def test_what_is_written_has_its_weights(tmp_path: Path, lent: list[str]) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    with pytest.raises(Exception, match="compiled nodes"):  # onnxruntime writes none of any provider
        session(saved(tmp_path, two_layers()), options)
    assert lent == []


def test_nodes_left_to_the_cpu_find_their_weights(
    tmp_path: Path, lent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that turns out not to compile."""
    refused = "it does not compile"
    monkeypatch.setattr(placement, "may_be_one_group", lambda *_: False)
    monkeypatch.setattr(placement._Graph, "_claim", lambda _, node: refused if node.name == "left" else None)
    w, table = weights(1, 33, 20), weights(2, 40, 20).astype(np.float64) + 5
    nodes = [
        oh.make_node("MatMul", ["x", "w"], ["y"]),
        oh.make_node("Mod", ["d", "table"], ["z"], name="left", fmod=1),
    ]
    inputs = [value("x", [2, 33]), value("d", [40, 20], onnx.TensorProto.DOUBLE)]
    outputs = [value("y", [2, 20]), value("z", [40, 20], onnx.TensorProto.DOUBLE)]
    path = saved(tmp_path, model(nodes, inputs, outputs, {"w": w, "table": table}))
    s = session(path)
    x, d = weights(3, 2, 33), weights(4, 40, 20).astype(np.float64) * 100
    y, z = s.run(None, {"x": x, "d": d})
    np.testing.assert_allclose(y, x.astype(np.float64) @ w, atol=1e-4)
    np.testing.assert_array_equal(z, np.fmod(d, table))
    assert [p.node for p in report(s).on_cpu] == ["left"]
    assert lent == [path]


def test_an_operator_without_definition_reads_the_whole_file(tmp_path: Path, lent: list[str]) -> None:
    nodes = [
        oh.make_node("MatMul", ["x", "w"], ["y"]),
        oh.make_node("RandomUniformLike", ["y"], ["z"]),
    ]
    content = model(nodes, [value("x", [2, 8])], [value("z", [2, 8])], {"w": weights(1, 8, 8)})
    session(saved(tmp_path, content))
    assert lent == []


def many_kinds() -> onnx.ModelProto:
    """Initializers of which some can be left in the file: those named there...."""
    tensors = [
        onnx.numpy_helper.from_array(weights(1, 8, 16), "there1"),
        onnx.numpy_helper.from_array(weights(1, 1), "small"),
        onnx.numpy_helper.from_array(np.arange(100), "there2"),
        oh.make_tensor("typed", onnx.TensorProto.FLOAT, [32], weights(2, 32)),
        oh.make_tensor("text", onnx.TensorProto.STRING, [2], [b"a" * 99, b"b" * 99]),
        onnx.numpy_helper.from_array(weights(4, 64).astype(np.float16), "there3"),
    ]
    node = oh.make_node("Identity", ["there1"], ["y"])
    graph = oh.make_graph([node], "g", [], [value("y", [8, 16])], tensors)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)])


def test_only_raw_data_is_left_in_the_file(tmp_path: Path) -> None:
    content = many_kinds()
    path = saved(tmp_path, content.SerializeToString())
    thin = without_weights(path, "m.onnx")
    assert thin is not None
    found = onnx.load_from_string(thin)
    outside = [t.name for t in found.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL]
    assert outside == ["there1", "there2", "there3"]
    load_external_data_for_model(found, str(tmp_path))
    for tensor in found.graph.initializer:
        tensor.ClearField("data_location")
        del tensor.external_data[:]
    for tensor in content.graph.initializer:
        tensor.ClearField("data_location")
    assert found == content


def test_a_model_that_names_other_files_is_left_alone(tmp_path: Path) -> None:
    """However it writes that: with the root as the folder of weights it could read any file."""
    small = b"\x08\x01\x10\x01\x42\x01z\x70\x01"  # float32 [1], external
    for length in (b"\x08", b"\x88\x00"):
        place = b"\x0a" + length + b"location\x12\x0aetc/passwd"
        tensor = small + b"\x6a" + bytes([len(place)]) + place
        graph = b"\x2a" + bytes([len(tensor)]) + tensor
        content = two_layers() + b"\x3a" + bytes([len(graph)]) + graph  # merged with the graph before
        found = onnx.load_from_string(content).graph.initializer[-1]
        assert found.external_data[0].value == "etc/passwd"
        assert without_weights(saved(tmp_path, content), "m.onnx") is None
    assert without_weights(saved(tmp_path, two_layers()), "in/location/m.onnx") is not None


def test_a_model_that_is_no_model_is_left_alone(tmp_path: Path) -> None:
    content = many_kinds().SerializeToString()
    for number, damaged in enumerate((b"", b"\xff" * 100, content[:-7], content[: len(content) // 2])):
        assert without_weights(saved(tmp_path, damaged, f"{number}.onnx"), "m.onnx") is None
    assert without_weights(str(tmp_path / "missing"), "m.onnx") is None
    assert without_weights(str(tmp_path), "m.onnx") is None


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_as_damaging_as_in_the_whole_file(tmp_path: Path, seed: int) -> None:
    """Of a damaged file the result is none, or holds what a parser finds in the file."""
    rng = np.random.default_rng(seed)
    content = bytearray(many_kinds().SerializeToString())
    for at in rng.integers(0, len(content), 3):
        content[at] = rng.integers(0, 256)
    thin = without_weights(saved(tmp_path, bytes(content)), "m.onnx")
    try:
        whole = onnx.load_from_string(bytes(content))
    except Exception:
        return
    if thin is not None:
        found = onnx.load_from_string(thin)
        assert [t.name for t in found.graph.initializer] == [t.name for t in whole.graph.initializer]
        for ours, theirs in zip(found.graph.initializer, whole.graph.initializer, strict=True):
            if ours.data_location == onnx.TensorProto.EXTERNAL and theirs.raw_data:
                place = {e.key: e.value for e in ours.external_data}
                first, length = int(place["offset"]), int(place["length"])
                assert bytes(content[first : first + length]) == theirs.raw_data
