"""What broke other loaders of models, tried on the converter: each test is named by the CVE of its class.

The attacks on models themselves are those of hostile_models.py.
"""

from __future__ import annotations

import ast
import json
import os
import threading
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from hostile_models import MODELS, add, external
from onnx import TensorProto, helper

import ascend_ep
from ascend_ep.cli.om import main as om
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.graph import external_data
from ascend_ep.graph.load import load_model
from ascend_ep.opdef.loader import load_definitions

PACKAGE = Path(ascend_ep.__file__).parent

#: CVE -> the models of hostile_models that are of its class.
CLASSES = {
    "CVE-2022-25882": ("location above the folder", "absolute location"),
    "CVE-2024-27318": ("location that leaves and returns",),
    "CVE-2026-27489": ("symbolic link",),
    "CVE-2026-34447": ("symbolic link as a folder",),
    "CVE-2026-34446": ("hard link",),
    "CVE-2026-34445": (
        "offset beyond 2^63", "length beyond the file", "offset and length that overflow", "negative offset",
    ),
    "CVE-2020-15211": ("an index below the first", "an axis of 2^40", "a negative axis too far"),
    "CVE-2020-15213": (
        "a filled tensor of 2^62", "an endless range", "a tile of 2^60", "an expansion that overflows",
        "padding of 2^62", "one-hot of depth 2^40",
    ),
    "CVE-2022-23558": ("dims whose product overflows", "dims times element size overflow", "negative dim"),
    "CVE-2026-7482": ("less data than dims", "a terabyte without data"),
    "CVE-2023-27579": (
        "stride 0", "dilation 0", "group 0", "a window of 0", "pooling stride 0", "block size 0", "step 0",
        "split in 0 parts", "groups 0",
    ),
    "CVE-2025-62164": (
        "a sparse weight of 2^40 elements", "a sparse constant of 2^40 elements",
        "a sparse weight beyond its dims", "a sparse constant before its dims",
    ),
    "CVE-2024-7254": ("messages 5,000 deep", "branches 20 deep"),
    "CVE-2025-4565": ("a function that calls itself", "functions of a billion nodes"),
}  # fmt: skip


@pytest.mark.parametrize(("cve", "name"), [(c, n) for c, names in CLASSES.items() for n in names])
def test_models(cve: str, name: str, tmp_path: Path) -> None:
    """test_models.py bounds their time and memory."""
    codes, make = MODELS[name]
    with pytest.raises(AscendError) as caught:
        convert(make(tmp_path), ConvertOptions(codegen="off")).to_bytes()
    assert caught.value.code in codes


@pytest.mark.parametrize("key", ["__class__", "__dict__", "basepath", "checksum", "length ", ""])
def test_cve_2026_34445_keys_that_set_attributes(key: str, tmp_path: Path) -> None:
    """An entry of a weight's place that nobody knows changes nothing."""
    path = external(location="w", **{key: "9" * 30})(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx says which it doesn't know
        bundle = convert(path, ConvertOptions(codegen="off")).to_bytes()
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(ascend_ep.InferenceSession(bundle).run(None, {"x": x})[0], x)


def _beside(folder: Path, values: np.ndarray) -> Path:
    """A model with its weights in w.bin."""
    folder.mkdir(exist_ok=True)
    weight = onnx.numpy_helper.from_array(values, "w")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, list(values.shape)) for name in "xy")
    node = helper.make_node("Add", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return folder / "m.onnx"


def test_ghsa_q56x_g2fj_4rj6_links_that_come_between_check_and_use(tmp_path: Path) -> None:
    """A file of weights that becomes a link to another file, and its folder, again and again."""
    model = _beside(tmp_path / "m", np.ones((4, 4), np.float32))
    secret = tmp_path / "secret"
    secret.write_bytes(np.full(16, 7, np.float32).tobytes())
    plain = (tmp_path / "m" / "w.bin").read_bytes()
    ends = threading.Event()

    def swap() -> None:
        made = tmp_path / "m" / "made"
        while not ends.is_set():
            made.symlink_to(secret)
            made.replace(tmp_path / "m" / "w.bin")
            made.write_bytes(plain)
            made.replace(tmp_path / "m" / "w.bin")

    swapping = threading.Thread(target=swap)
    swapping.start()
    codes, taken = set(), 0
    try:
        for _ in range(400):
            try:
                loaded = load_model(str(model))
            except AscendError as error:
                codes.add(error.code)
            else:
                (weight,) = loaded.graph.initializers.values()
                np.testing.assert_array_equal(weight.const_value.numpy(), 1)
                taken += 1
    finally:
        ends.set()
        swapping.join()
    assert (codes, taken > 0) == ({"E10041"}, True)


@pytest.mark.parametrize("change", ["cut", "written"])
def test_weights_that_change_while_they_are_read(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After they were opened: cut short they raised SIGBUS in the converter."""
    model = _beside(tmp_path / "m", np.ones((64, 64), np.float32))
    real = external_data._open_contained

    def opened(folder: str, location: str) -> int:
        descriptor = real(folder, location)
        size = os.fstat(descriptor).st_size
        monkeypatch.setattr(np, "empty", lambda *a: (_change(), np.zeros(*a))[1])
        assert size
        return descriptor

    def _change() -> None:
        path = tmp_path / "m" / "w.bin"
        if change == "cut":
            os.truncate(path, 100)
        else:
            with path.open("r+b") as file:
                file.write(bytes(400))
            os.utime(path, (1, 1))

    monkeypatch.setattr(external_data, "_open_contained", opened)
    with pytest.raises(AscendError, match="written to while it was read"):
        load_model(str(model))


def test_weights_that_are_cut_once_they_were_read(tmp_path: Path) -> None:
    model = _beside(tmp_path / "m", np.ones((64, 64), np.float32))
    loaded = load_model(str(model))
    os.truncate(tmp_path / "m" / "w.bin", 0)
    (weight,) = loaded.graph.initializers.values()
    np.testing.assert_array_equal(weight.const_value.numpy(), 1)


def test_cve_2025_51480_names_of_weights_as_paths(tmp_path: Path) -> None:
    """Nothing of what is written is named by the model."""
    evil = "../../evil"
    node = helper.make_node("Add", ["x", evil], ["y"], name="../n")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    weight = onnx.numpy_helper.from_array(np.ones(3, np.float32), evil)
    graph = helper.make_graph([node], "../g", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    convert(model, ConvertOptions(codegen="off", external_weight=1)).write(folder / "m.om")
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert len(written) == 2
    assert all(name.startswith(("a/b/m.om", "a/b/weight/weight_")) for name in written)


def test_cve_2024_5187_no_archive_is_unpacked() -> None:
    """Also CVE-2024-7776, CVE-2025-1550, CVE-2025-32434, CVE-2026-24747, CVE-2025-49655, CVE-2019-6446: the
    package uses nothing that unpacks archives or pickles, or runs text; but a TBE file, which the user names,
    in a process of its own. Nor protobuf's JSON, whose messages had no bottom (CVE-2026-0994)."""
    wrong = {"pickle", "dill", "marshal", "shelve", "tarfile", "zipfile", "urllib.request"}
    wrong |= {"google.protobuf.json_format", "torch.load", "cloudpickle", "joblib", "yaml"}
    allowed = {"urllib.request": "frontends/language_model.py", "exec": "frontends/tbe/toolkit/run.py"}
    allowed["google.protobuf.json_format"] = "serving/load/clients.py"  # a client, which only writes it
    found = []
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [(name, m) for m in modules if m in wrong and name != allowed.get(m)]
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if called in ("eval", "exec") and name != allowed.get(called):
                found.append((name, called))
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant)
                assert node.value.value is False
    assert not found


def test_cve_2019_6446_an_input_that_is_a_pickle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(add_one(), ConvertOptions(codegen="off")).write(tmp_path / "m.om")
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert om(["run", str(tmp_path / "m.om"), f"--input={tmp_path / 'x.npy'}"]) != 0
    assert "Traceback" not in capsys.readouterr().err


def add_one() -> onnx.ModelProto:
    return add(onnx.numpy_helper.from_array(np.ones(3, np.float32), "w"))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "y = x.__class__.__mro__[1].__subclasses__()",
        "(lambda: open('/etc/passwd'))()",
        "f(x) = exec(x)",
        "[c for c in ().__class__.__base__.__subclasses__()]",
        "y = x if __debug__ else open",
        "import os\ny = x",
    ],
)
def test_cve_2025_1550_code_in_descriptions(text: str) -> None:
    with pytest.raises(AscendError):
        describe(text)


@pytest.mark.parametrize("field", ["module", "class_name", "build_config", "python", "__reduce__"])
def test_cve_2025_1550_code_named_by_a_definition(field: str, tmp_path: Path) -> None:
    definition = {
        "op": "Evil", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "formula": "x + 1",
        field: "os.system",
    }  # fmt: skip
    path = tmp_path / "evil.json"
    path.write_text(json.dumps([definition]))
    with pytest.raises(AscendError):
        load_definitions(path)


@pytest.mark.parametrize("source", ["../evil.c", "/etc/passwd", "a/../../evil.c"])
def test_cve_2022_25882_sources_of_a_definition(source: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "evil.c").write_text("int x;")
    definition = {"op": "Evil", "inputs": [{"name": "x"}], "outputs": [{"name": "y"}], "source": source}
    (folder / "evil.json").write_text(json.dumps([definition]))
    with pytest.raises(AscendError):
        load_definitions(folder / "evil.json")


def with_operator(name: str) -> onnx.ModelProto:
    node = helper.make_node(name, ["x"], ["y"], domain="own")
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=opsets, ir_version=9)


def run_wrongly(model: onnx.ModelProto, name: str) -> None:
    """Converts, and gives an input of this name, which there isn't."""
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(codegen="off")).to_bytes())
    session.run(None, {name: np.ones(3, np.float32)})


@pytest.mark.parametrize("length", [255, 256, 4095, 4096, 100_000])
def test_cve_2024_27319_long_names_in_messages(length: int) -> None:
    """What is said of a name ends where the room for it does."""
    name = "n" * length
    with pytest.raises(AscendError) as caught:
        convert(with_operator(name), ConvertOptions(codegen="off"))
    assert len(str(caught.value)) < 20_000
    model = add_one()
    model.graph.node[0].name = name
    with pytest.raises(AscendError) as caught:  # by the converter, or the session of what it made
        run_wrongly(model, name)
    assert len(str(caught.value)) < 20_000
    assert caught.value.code == ("E10041" if length > 4095 else "E40001"), caught.value


def test_cve_2024_27319_long_names_that_are_joined() -> None:
    """Each is short enough; the instruction that the nodes become is named by all."""
    nodes = [
        helper.make_node(op, [a], [b], name=b * 4000)
        for op, a, b in (("Sigmoid", "x", "h"), ("Tanh", "h", "g"), ("Neg", "g", "y"))
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xy")
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets, ir_version=9)
    session = ascend_ep.InferenceSession(convert(model, ConvertOptions(codegen="off")).to_bytes())
    assert session.run(None, {"x": np.zeros(3, np.float32)})[0].shape == (3,)
