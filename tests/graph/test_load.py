"""Whatever the file holds, load_model gives a model or an AscendError that says what is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from ascend_ep.errors import AscendError
from ascend_ep.graph import infer_facts, load_model
from ascend_ep.graph.external_data import MEMORY_LOCATION
from ascend_ep.graph.proto_checks import Limits

FLOAT = TensorProto.FLOAT


def simple(**changes: object) -> onnx.ModelProto:
    nodes = [helper.make_node("Add", ["x", "w"], ["s"], name="add"), helper.make_node("Swish", ["s"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], **changes)


def refused(source: object, code: str, *words: str, **options: object) -> AscendError:
    with pytest.raises(AscendError) as info:
        load_model(source, **options)  # type: ignore[arg-type]
    assert info.value.code == code
    for word in words:
        assert word in str(info.value)
    assert len(str(info.value)) < 2000
    return info.value


def test_from_file_bytes_and_proto(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(simple(), path)
    for source in (path, str(path), path.read_bytes(), simple()):
        model = load_model(source)
        assert [n.op_type for n in model.graph] == ["Add", "Swish"]


def test_files_that_are_no_models(tmp_path: Path) -> None:
    refused(tmp_path / "absent.onnx", "E10410", "absent.onnx")
    refused(tmp_path, "E10041", "folder")
    path = tmp_path / "m.onnx"
    path.write_bytes(b"")
    refused(path, "E10041", "empty")
    path.write_bytes(b"\x08\x01\xff\xff\xff")
    refused(path, "E10041", "protobuf")
    path.write_bytes(onnx.TensorProto(name="t").SerializeToString())
    refused(path, "E10041")
    refused(simple().SerializeToString()[:-5], "E10041")


def change(edit: Callable[[onnx.ModelProto], object]) -> onnx.ModelProto:
    model = simple()
    edit(model)
    return model


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda m: m.ClearField("graph"), "no graph"),
        (lambda m: m.ClearField("opset_import"), "operator set"),
        (lambda m: setattr(m.opset_import[0], "version", 0), "outside 1"),
        (lambda m: setattr(m.opset_import[0], "version", 1000), "outside 1"),
        (lambda m: m.graph.node[1].output.__setitem__(0, "s"), "defined twice"),
        (lambda m: m.graph.node[1].output.__setitem__(0, "x"), "defined twice"),
        (lambda m: m.graph.node[1].input.__setitem__(0, "nowhere"), "'nowhere'"),
        (lambda m: m.graph.node[0].input.__setitem__(0, "y"), "cycle"),
        (lambda m: setattr(m.graph.node[0], "op_type", ""), "no operator type"),
        (lambda m: setattr(m.graph.node[0], "name", "n" * 5000), "5000 bytes"),
        (lambda m: setattr(m.graph.output[0], "name", "z"), "'z'"),
        (lambda m: m.graph.initializer.append(m.graph.initializer[0]), "occurs twice"),
        (lambda m: m.graph.input.append(m.graph.input[0]), "occurs twice"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, -3), "impossible"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, 2**62), "impossible"),
        (lambda m: m.graph.initializer[0].dims.__setitem__(0, 4), "bytes"),
        (lambda m: setattr(m.graph.initializer[0], "data_type", 77), "77"),
        (lambda m: setattr(m.graph.initializer[0], "data_type", 0), "no data type"),
        (lambda m: m.graph.initializer[0].ClearField("raw_data"), "entries of float_data"),
        (lambda m: m.graph.node[0].attribute.extend([helper.make_attribute("a", 1)] * 2), "occurs twice"),
        (lambda m: m.graph.sparse_initializer.add(), "sparse"),
    ],
)
def test_broken_models_are_named(edit: Callable[[onnx.ModelProto], object], word: str) -> None:
    refused(change(edit), "E10041", word)


def nested(depth: int) -> onnx.GraphProto:
    graph = helper.make_graph([], "leaf", [], [helper.make_tensor_value_info("c", TensorProto.BOOL, [])])
    for level in range(depth):
        node = helper.make_node("If", ["c"], [f"y{level}"], then_branch=graph, else_branch=graph)
        outputs = [helper.make_tensor_value_info(f"y{level}", TensorProto.BOOL, [])]
        graph = helper.make_graph([node], f"g{level}", [], outputs)
    graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    return graph


def test_limits() -> None:
    opsets = [helper.make_opsetid("", 17)]
    refused(helper.make_model(nested(8), opset_imports=opsets), "E10041", "nested", limits=Limits(nesting=4))
    load_model(helper.make_model(nested(5), opset_imports=opsets))
    refused(helper.make_model(nested(8), opset_imports=opsets), "E10041", "nodes", limits=Limits(nodes=100))
    refused(simple(), "E10041", "more than 1 nodes", limits=Limits(nodes=1))


def test_a_size_below_zero_is_free() -> None:
    model = simple()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -5
    shape = load_model(model).graph.inputs[0].shape
    assert shape is not None
    assert shape[0] == ir.SymbolicDim(None)
    assert shape[1] == 3
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == -5


def test_unsorted_nodes_are_sorted() -> None:
    def reverse(m: onnx.ModelProto) -> None:
        nodes = list(m.graph.node)
        del m.graph.node[:]
        m.graph.node.extend(reversed(nodes))

    assert [n.op_type for n in load_model(change(reverse)).graph] == ["Add", "Swish"]


def test_inputs_with_initializers_are_constants() -> None:
    model = simple(ir_version=3)
    model.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [3]))
    assert [v.name for v in load_model(model).graph.inputs] == ["x"]


# --- external data ----------------------------------------------------------------------------------


def external(tmp_path: Path, **entries: str) -> Path:
    """A model in its folder whose initializer `w` has these external_data entries, and data.bin."""
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "data.bin").write_bytes(b"\0" * 4 + np.array([5, 6, 7], "<f4").tobytes())
    model = simple()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def weight(model: ir.Model) -> np.ndarray:
    tensor = model.graph.initializers["w"].const_value
    assert tensor is not None
    return tensor.numpy()


def test_external_data_is_mapped(tmp_path: Path) -> None:
    model = load_model(external(tmp_path, location="data.bin", offset="4", length="12"))
    assert weight(model).tolist() == [5, 6, 7]
    assert not weight(model).flags.writeable
    fact = infer_facts(model)[model.graph.initializers["w"]]
    assert fact.dims == (3,)
    assert fact.is_const


def test_external_data_in_an_attribute(tmp_path: Path) -> None:
    path = external(tmp_path, location="data.bin", offset="4")
    model = onnx.load(path, load_external_data=False)
    tensor = model.graph.initializer.pop()
    model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=tensor))
    path.write_bytes(model.SerializeToString())
    loaded = load_model(path)
    assert loaded.graph[0].attributes["value"].as_tensor().numpy().tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("entries", "word"),
    [
        ({"location": "../model/data.bin"}, "leaves"),
        ({"location": "a/../../model/data.bin"}, "leaves"),
        ({"location": "/etc/passwd"}, "absolute"),
        ({"location": "..\\data.bin"}, "portable"),
        ({"location": "C:data.bin"}, "portable"),
        ({"location": "C:\\data.bin"}, "portable"),
        ({"location": "data.bin\0x"}, "portable"),
        ({"location": "."}, "leaves"),
        ({}, "location"),
        ({"location": "absent.bin"}, "absent.bin"),
        ({"location": "data.bin", "offset": "8"}, "bytes 8..20"),
        ({"location": "data.bin", "offset": "18446744073709551615"}, "bytes"),
        ({"location": "data.bin", "offset": "-1"}, ""),
        ({"location": "data.bin", "offset": "9" * 500}, ""),
        ({"location": "data.bin", "length": "8"}, "length 8"),
        ({"location": "data.bin", "length": "9223372036854775808"}, "length"),
        ({"location": MEMORY_LOCATION, "offset": "4096", "length": "12"}, "asc-memory"),
    ],
)
def test_external_data_that_is_refused(tmp_path: Path, entries: dict[str, str], word: str) -> None:
    refused(external(tmp_path, **entries), "E10041", word)


def test_links_and_other_files_are_refused(tmp_path: Path) -> None:
    path = external(tmp_path, location="linked.bin")
    folder = path.parent
    (folder / "linked.bin").symlink_to(folder / "data.bin")
    refused(path, "E10041", "symbolic link")
    (folder / "linked.bin").unlink()
    os.link(folder / "data.bin", folder / "linked.bin")
    refused(path, "E10041", "hard links")
    (folder / "linked.bin").unlink()
    os.mkfifo(folder / "linked.bin")
    refused(path, "E10041", "regular")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data.bin").write_bytes(b"\0" * 12)
    path = external(tmp_path, location="sub/data.bin")
    (folder / "sub").symlink_to(outside)
    refused(path, "E10041", "symbolic link")


def test_bytes_have_no_folder_unless_given(tmp_path: Path) -> None:
    path = external(tmp_path, location="data.bin", offset="4")
    refused(path.read_bytes(), "E10041", "no data folder")
    assert weight(load_model(path.read_bytes(), base_dir=path.parent)).tolist() == [5, 6, 7]


def test_borrowed_memory_only_when_allowed(tmp_path: Path) -> None:
    data = np.array([1, 2, 3], np.float32)
    address = data.ctypes.data
    path = external(tmp_path, location=MEMORY_LOCATION, offset=str(address), length="12")
    asked: list[tuple[int, int]] = []

    def memory(start: int, length: int) -> memoryview:
        asked.append((start, length))
        return memoryview(data).cast("B")

    refused(onnx.load(path, load_external_data=False), "E10041")
    model = load_model(onnx.load(path, load_external_data=False), memory=memory)
    assert asked == [(address, 12)]
    assert weight(model).tolist() == [1, 2, 3]
    data[0] = 9
    assert weight(model)[0] == 9


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_never_crash(data: st.DataObject) -> None:
    content = bytearray(simple().SerializeToString())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    code = "E4"
    try:
        infer_facts(load_model(bytes(content)))
    except AscendError as error:
        code = error.code
    assert code.startswith(("E1", "E4"))
