"""Dumps of tensors, by acl.json and by aclmdlSetDump: folders, files and values as the documents describe."""

from __future__ import annotations

import csv
import ctypes
import gc
import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import acl_bundles
import dump_files
import numpy as np
import onnx
import onnxruntime
import pytest

from ascend_ep.cann import aclruntime
from ascend_ep.cann.older_tools.msame import main as msame
from ascend_ep.cann.pyacl.library import path as library_path
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions

#: A convolution whose result lies with channels last, as many as rows; a product with packed weights.
IMAGE = """<ir_version: 8, opset_import: ["": 17]> image (float[1,3,8,8] x) => (float[1,5] y)
    <float[8,3,3,3] w = {W}, float[8,5] m = {M}> {
    c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)  r = Relu(c)
    s = Softplus(r)  g = GlobalMaxPool(s)  f = Flatten(g)  d = MatMul(f, m)  y = Softmax(d) }"""
GATHER = """<ir_version: 8, opset_import: ["": 17]> gather (float[4,2] x, int64[3] i) => (float[3,2] y) {
    a = Abs(x)  y = Gather(a, i) }"""
#: Images with as many channels as rows and columns, whose order nothing but the converter knows.
CUBES = """<ir_version: 8, opset_import: ["": 17]> cubes (float[N,3,8,8] x) => (float[N,8,1,1] y)
    <float[8,3,3,3] w = {W}, float[8,8,2,2] t = {T}> {
    c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w)  s = Softplus(c)
    m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (s)
    q = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (m, t)  p = Softplus(q)
    r = Transpose <perm = [0, 2, 3, 1]> (p)  e = HardSigmoid(r)  v = Transpose <perm = [0, 3, 1, 2]> (e)
    d = Conv <kernel_shape = [2, 2], strides = [2, 2]> (v, t)  h = Softplus(d)  y = GlobalAveragePool(h) }"""
NAMED = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.\d+\.\d+\.\d{16}")


STATIC = {"x": [1, 3, 8, 8]}
#: By the bundle's name, its model and how it is converted.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "image": (IMAGE, {}),
    "gather": (GATHER, {}),
    "cubes": (CUBES, {"input_shapes": STATIC}),
    "half": (CUBES, {"input_shapes": STATIC, "precision": "force_fp16"}),
    "free": (CUBES, {}),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The source models beside their bundles."""
    folder = tmp_path_factory.mktemp("dumped")
    draw = np.random.default_rng(1)
    made = {}
    for name, (text, options) in KINDS.items():
        for letter, shape in (("W", (8, 3, 3, 3)), ("M", (8, 5)), ("T", (8, 8, 2, 2))):
            numbers = ", ".join(f"{v:.4f}" for v in draw.standard_normal(shape).ravel() / 4)
            text = text.replace(f"{{{letter}}}", f"{{{numbers}}}")
        model = onnx.parser.parse_model(text)
        for node in model.graph.node:
            node.name = f"/{node.output[0]}/{node.op_type}"
        onnx.save(model, folder / f"{name}.onnx")
        made[name] = folder / f"{name}.om"
        given = ConvertOptions(sample_seed=None, codegen="off", **options)
        convert(folder / f"{name}.onnx", given).write(made[name])
    return made


@pytest.fixture
def dump(acl: Any, tmp_path: Path) -> Iterator[Callable[..., tuple[int, Path]]]:
    """aclmdlSetDump with such a section, whose folder is made; its code, and the folder."""
    assert acl.mdl.init_dump() == 0

    def call(**section: Any) -> tuple[int, Path]:
        folder = tmp_path / "dump"
        folder.mkdir(exist_ok=True)
        path = tmp_path / "acl.json"
        path.write_text(json.dumps({"dump": {"dump_path": str(folder), **section}}))
        return acl.mdl.set_dump(str(path)), folder

    yield call
    assert acl.mdl.finalize_dump() == 0


def execute(acl: Any, path: Path, *arrays: np.ndarray[Any, Any], times: int = 1) -> list[int]:
    """The codes of executions of a model."""
    model, code = acl.mdl.load_from_file(str(path))
    assert code == 0, acl.get_recent_err_msg()
    inputs, outputs = acl.mdl.create_dataset(), acl.mdl.create_dataset()
    held, descs = [], []
    for i, array in enumerate(arrays):
        data = array.tobytes()
        address, _ = acl.rt.malloc(len(data), 0)
        acl.rt.memcpy(address, len(data), acl.util.bytes_to_ptr(data), len(data), 1)
        acl.mdl.add_dataset_buffer(inputs, acl.create_data_buffer(address, len(data)))
        number = acl.ACL_INT64 if array.dtype == np.int64 else acl.ACL_FLOAT
        descs.append(acl.create_tensor_desc(number, list(array.shape), acl.ACL_FORMAT_ND))
        acl.mdl.set_dataset_tensor_desc(inputs, descs[-1], i)
        held.append(address)
    acl.mdl.add_dataset_buffer(outputs, acl.create_data_buffer(0, 0))
    codes = [acl.mdl.execute(model, inputs, outputs) for _ in range(times)]
    acl.mdl.unload(model)
    held.append(acl.get_data_buffer_addr(acl.mdl.get_dataset_buffer(outputs, 0)))
    for address in filter(None, held):
        acl.rt.free(address)
    for desc in descs:
        acl.destroy_tensor_desc(desc)
    return codes


def reference(path: Path, feed: dict[str, Any]) -> dict[str, Any]:
    """Every value of the source model, by onnxruntime."""
    model = onnx.load(path.with_suffix(".onnx"))
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in node.output if o not in known)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


X = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)


def test_every_operator_is_dumped_as_the_model_has_it(
    acl: Any, dump: Callable[..., tuple[int, Path]], models: dict[str, Path]
) -> None:
    code, folder = dump(dump_mode="all", dump_list=[{"model_name": "image"}])
    assert code == 0
    assert execute(acl, models["image"], X, times=2) == [0, 0]
    expected = reference(models["image"], {"x": X})
    (time,) = folder.iterdir()
    assert re.fullmatch(r"\d{14}", time.name)
    (model,) = (time / "0" / "image").iterdir()
    assert sorted(p.name for p in model.iterdir()) == ["0", "1"]
    seen = set()
    for path in (model / "0").iterdir():
        assert NAMED.fullmatch(path.name)
        header, inputs, outputs = dump_files.read(path)
        assert (header.version, len(str(header.dump_time))) == ("2.0", 16)
        (output,) = header.output
        made = output.original_op.name.split("/")[1]  # the operator's first result
        seen.add(made)
        np.testing.assert_allclose(outputs[0], expected[made], atol=2e-6)
        assert outputs[0].shape == expected[made].shape
        if made == "d":
            np.testing.assert_allclose(inputs[0].reshape(-1), expected["f"].reshape(-1), atol=2e-6)
            product = inputs[0].reshape(1, 8) @ inputs[1].reshape(8, 5)  # of weights that were packed
            np.testing.assert_allclose(product, expected["d"], atol=1e-5)
    assert {"r", "d", "y"} <= seen


@pytest.mark.parametrize("name", ["cubes", "half", "free"])
def test_every_tensor_of_the_model_is_in_its_order(
    acl: Any, dump: Callable[..., tuple[int, Path]], models: dict[str, Path], name: str
) -> None:
    """In float16, with a free dim, and where every order of the axes has the same dims."""
    code, folder = dump(dump_list=[{"model_name": name}], dump_mode="all")
    assert code == 0
    assert execute(acl, models[name], X) == [0]
    expected = reference(models[name], {"x": X})
    seen = set()
    for path in sorted(folder.glob("*/*/*/*/0/*"), key=lambda p: int(p.name.split(".")[2])):
        header, inputs, outputs = dump_files.read(path)
        assert "ai_onnx" not in path.name
        origin = header.output[0].original_op.name
        if not origin:
            assert "ConvTranspose" in header.op_name or "Cast" in path.name.partition(".")[0]
            continue
        made = origin.split("/")[1]
        assert made not in seen
        seen.add(made)
        assert (outputs[0].shape, header.output[0].format) == (expected[made].shape, 0)
        np.testing.assert_allclose(outputs[0], expected[made], atol=2e-6 if name != "half" else 2e-2)
        if made == "e":
            np.testing.assert_allclose(inputs[0], expected["r"], atol=2e-6 if name != "half" else 2e-2)
    assert seen >= {"c", "s", "m", "p", "e", "d", "h", "y"}


def test_a_layer_that_another_reads_rounded(
    acl: Any, dump: Callable[..., tuple[int, Path]], models: dict[str, Path]
) -> None:
    code, folder = dump(dump_list=[{"model_name": "half", "layer": ["/s/Softplus", "/h/Softplus"]}])
    assert code == 0
    assert execute(acl, models["half"], X) == [0]
    found = [dump_files.read(p)[0].output[0].original_op.name for p in folder.glob("*/*/*/*/0/*")]
    assert sorted(found) == ["/h/Softplus", "/s/Softplus"]


def test_layers_steps_and_numbers(
    acl: Any,
    dump: Callable[..., tuple[int, Path]],
    models: dict[str, Path],
    capfd: pytest.CaptureFixture[str],
) -> None:
    layers = ["/y/Softmax", "/r/Relu", "/nowhere"]
    section = {"dump_list": [{"layer": layers}], "dump_step": "0|2-3", "dump_data": "stats"}
    code, folder = dump(**section)
    assert code == 0
    assert execute(acl, models["image"], X, times=5) == [0] * 5
    assert "[/nowhere]" in capfd.readouterr().err
    expected = reference(models["image"], {"x": X})
    (model,) = next(folder.iterdir()).glob("0/image/*")
    assert sorted(p.name for p in model.iterdir()) == ["0", "2", "3"]
    rows = {}
    for path in (model / "2").iterdir():
        assert NAMED.fullmatch(path.name.removesuffix(".csv"))
        (rows[path.name.partition(".")[0]],) = csv.DictReader(path.open())
    assert rows.keys() == {"Softmax", "Conv_Relu"}  # the Relu is fused into its convolution
    row, relu = rows["Conv_Relu"], expected["r"]
    assert (row["Input/Output"], row["Index"], row["Data Type"], row["Shape"]) == (
        *("Output", "0", "DT_FLOAT"),
        "1x8x8x8",
    )
    assert float(row["Max Value"]) == pytest.approx(relu.max(), rel=1e-5)
    assert float(row["Avg Value"]) == pytest.approx(relu.mean(), rel=1e-5)
    assert (row["Count"], row["Nan Count"], row["Positive Inf Count"]) == ("512", "0", "0")


def test_a_model_loaded_before_or_not_named_is_not_dumped(
    acl: Any, dump: Callable[..., tuple[int, Path]], models: dict[str, Path]
) -> None:
    code, folder = dump(dump_list=[{"model_name": "another"}])
    assert code == 0
    assert execute(acl, models["image"], X) == [0]
    assert list(folder.iterdir()) == []


def test_the_operator_that_failed_is_dumped(
    acl: Any,
    dump: Callable[..., tuple[int, Path]],
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    code, _ = dump(dump_scene="lite_exception")
    assert code == 0
    x, at = np.ones((4, 2), np.float32), np.array([0, 1, 9])
    assert execute(acl, models["gather"], x, at)[0] != 0
    (path,) = (tmp_path / "extra-info" / "data-dump" / "0").iterdir()
    assert path.name.startswith("Gather._y_Gather.")
    assert dump_files.read(path)[1][1].tolist() == [0, 1, 9]


def test_a_single_operator_is_dumped(acl: Any, dump: Callable[..., tuple[int, Path]]) -> None:
    code, folder = dump(dump_list=[], dump_op_switch="on", dump_mode="all")
    assert code == 0
    stream, _ = acl.rt.create_stream()
    arrays = [np.full((2, 7), n, np.float32) for n in (1, 2, 0)]
    addresses = [acl.rt.malloc(56, 0)[0] for _ in arrays]
    for address, array in zip(addresses, arrays, strict=True):
        acl.rt.memcpy(address, 56, acl.util.numpy_to_ptr(array), 56, 1)
    descs = [acl.create_tensor_desc(acl.ACL_FLOAT, [2, 7], acl.ACL_FORMAT_ND) for _ in arrays]
    buffers = [acl.create_data_buffer(address, 56) for address in addresses]
    attr = acl.op.create_attr()
    given = (descs[:2], buffers[:2], descs[2:], buffers[2:], attr, 0, 0, None, stream)
    assert acl.op.compile_and_execute("Add", *given) == 0, acl.get_recent_err_msg()
    assert acl.rt.synchronize_stream(stream) == 0
    (path,) = folder.glob("*/0/Add.*")
    _, inputs, outputs = dump_files.read(path)
    assert [a.ravel()[0] for a in (*inputs, *outputs)] == [1, 2, 3]
    acl.op.destroy_attr(attr)
    for address, buffer, desc in zip(addresses, buffers, descs, strict=True):
        acl.destroy_data_buffer(buffer)
        acl.destroy_tensor_desc(desc)
        acl.rt.free(address)
    acl.rt.destroy_stream(stream)


WRONG = [
    ({"dump_path": "/nowhere", "dump_list": [{}]}, "make that folder"),
    ({"dump_list": [{}], "dump_mode": "inputs"}, 'one of "output"'),
    ({"dump_list": [{}], "dump_data": "bytes"}, 'one of "tensor"'),
    ({"dump_list": [{}], "dump_step": "3-1"}, "0|3-5|7"),
    ({"dump_list": {"model_name": "m"}}, "array"),
    ({"dump_list": [{"model_name": "m"}], "dump_debug": "on"}, "dump_debug"),
    ({"dump_list": [{"model_name": "m"}], "dump_modes": "all"}, "no setting [dump_modes]"),
    ({"dump_list": [{"model_nam": "m"}]}, "no setting [model_nam]"),
    ({"dump_list": [{"model_name": 5}]}, '"model_name": TEXT'),
    ({"dump_list": [{"layer": [{"a": 1}]}]}, '"layer": [TEXT'),
    ({"dump_list": []}, "asks for nothing"),
    ({"dump_op_switch": "off"}, "name models in dump_list"),
    ({"dump_scene": "lite_exception", "dump_mode": "inputs"}, 'it is one of "output"'),
]


@pytest.mark.parametrize(("section", "said"), WRONG, ids=[said for _, said in WRONG])
def test_wrong_settings(
    acl: Any, dump: Callable[..., tuple[int, Path]], section: dict[str, Any], said: str
) -> None:
    assert dump(**section)[0] == 100009
    assert said in acl.get_recent_err_msg()


@pytest.mark.parametrize("section", ["[]", "null", '"on"', '{"dump_path": "\\q"}', '{"dump_path": "\\u12"}'])
def test_what_is_no_section(acl: Any, bundles: dict[str, str], tmp_path: Path, section: str) -> None:
    path = tmp_path / "acl.json"
    path.write_text(f'{{"dump": {section}}}')
    assert acl.mdl.init_dump() == 0
    code = acl.mdl.set_dump(str(path))
    assert acl.mdl.finalize_dump() == 0
    assert code == (100006 if "\\" in section else 100009)
    with pytest.raises(RuntimeError, match="E45003"):
        aclruntime.InferenceSession(bundles["pair"], 0, aclruntime.session_options(acl_json_path=str(path)))


def test_names_of_any_letters_and_length(
    acl: Any, dump: Callable[..., tuple[int, Path]], tmp_path: Path
) -> None:
    """JSON writes what isn't ASCII as \\u and four digits, twice beyond the first plane."""
    name = "层" * 400 + '"/\\/a\tb😀'
    model = onnx.parser.parse_model(GATHER)
    model.graph.node[0].name = name
    onnx.save(model, tmp_path / "m.onnx")
    file = tmp_path / ('模型"😀' + "m" * 200 + ".om")
    convert(tmp_path / "m.onnx", ConvertOptions(sample_seed=None, codegen="off")).write(file)
    code, folder = dump(dump_list=[{"model_name": "other"}, {"model_name": file.stem, "layer": [name]}])
    assert code == 0
    x, at = np.ones((4, 2), np.float32), np.array([0, 1, 3])
    assert execute(acl, file, x, at) == [0]
    (execution,) = folder.glob("*/0/*/*/0")
    number, _, long_name = (execution / "mapping.csv").read_text().strip().partition(",")
    assert len(long_name) > 1200
    header, _, (output,) = dump_files.read(execution / number)
    assert header.op_name == name
    assert output.tolist() == x.tolist()


def test_no_layers_are_all(acl: Any, dump: Callable[..., tuple[int, Path]], models: dict[str, Path]) -> None:
    code, folder = dump(dump_list=[{"model_name": "gather", "layer": []}])
    assert code == 0
    assert execute(acl, models["gather"], np.ones((4, 2), np.float32), np.array([0, 1, 3])) == [0]
    assert len(list(folder.glob("*/0/gather/*/0/*"))) == 2


def test_calls_in_a_wrong_order(acl: Any, tmp_path: Path) -> None:
    path = tmp_path / "acl.json"
    path.write_text("{}")
    assert acl.mdl.set_dump(str(path)) == 100045
    assert acl.mdl.finalize_dump() == 100045
    assert acl.mdl.init_dump() == 0
    assert acl.mdl.init_dump() == 100044
    assert acl.mdl.set_dump(str(path)) == 0
    assert acl.mdl.set_dump(str(tmp_path / "none.json")) != 0
    assert acl.mdl.finalize_dump() == 0


def test_ais_bench_dumps(bundles: dict[str, str], tmp_path: Path) -> None:
    words = ["-m", "ais_bench", "--model", bundles["dims"], "--dymDims", "a:2,8;b:2,8", "--dump", "1"]
    done = acl_bundles.run(tmp_path, *words, "--output", "out", "--output_dirname", "results")
    assert done.returncode == 0, done.stderr + done.stdout
    (path,) = tmp_path.glob("out/dump/*/0/dims/1/0/Add.*")
    header, inputs, outputs = dump_files.read(path)
    assert [a.shape for a in (*inputs, *outputs)] == [(2, 8)] * 3
    parse, body = _parser(), path.read_bytes()
    assert parse(body, len(body), bytes(tmp_path / "header.json")) == 0
    found = json.loads((tmp_path / "header.json").read_text())
    assert (found["op_name"], found["dump_time"]) == (header.op_name, header.dump_time)
    assert [t["shape"]["dim"] for t in (*found["input"], *found["output"])] == [[2, 8]] * 3
    assert [(t["data_type"], t["size"]) for t in found["output"]] == [(1, 64)]
    for wrong in (b"", body[:7], body[:20], body[:-1], b"\xff" * 8 + body[8:]):
        assert parse(wrong, len(wrong), bytes(tmp_path / "header.json")) == -1
    assert json.loads((tmp_path / "header.json").read_text()) == found  # the old one stays
    _replaces(lambda path: parse(body, len(body), os.fsencode(path)) == 0, tmp_path)


def _replaces(write: Callable[[Path], bool], folder: Path) -> None:
    """Links lead where they did, modes stay, devices and open files are written to; nothing is left."""
    own = folder / "own"
    (own / "real").mkdir(parents=True)
    real, link, loop = own / "real" / "kept.json", own / "link.json", own / "loop"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real/kept.json")
    (own / "new.json").symlink_to("real/new.json")
    loop.symlink_to("loop")
    assert write(link)
    assert write(own / "new.json")
    assert not write(loop)
    assert not write(own)
    assert not write(own / "none" / "x.json")
    content = real.read_text()
    assert json.loads(content)
    assert real.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert (own / "real" / "new.json").read_text() == content
    assert write(Path("/dev/null"))
    with open(own / "out", "wb", buffering=0) as file:
        file.write(b"before ")
        assert write(Path(f"/dev/fd/{file.fileno()}"))
    assert (own / "out").read_text() == f"before {content}"
    names = sorted(p.name for p in own.rglob("*"))
    assert names == ["kept.json", "link.json", "loop", "new.json", "new.json", "out", "real"]


def _parser() -> Any:
    """What comparison tools call of libascend_dump_parser.so."""
    found = ctypes.CDLL(str(library_path())).ParseDumpProtoToJson
    found.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    return found


def test_msame_dumps(bundles: dict[str, str], tmp_path: Path) -> None:
    assert msame(["--model", bundles["pair"], "--output", str(tmp_path), "--dump", "true"]) == 0
    (path,) = tmp_path.glob("dump/*/0/pair/*/0/Cast.*")
    assert dump_files.read(path)[2][0].dtype == np.int32


def test_msame_dumps_images_of_one_height(bundles: dict[str, str], tmp_path: Path) -> None:
    words = ["--model", bundles["wide"], "--output", str(tmp_path), "--dump", "true", "--dymHW"]
    assert msame([*words, "8,16"]) == 0
    (path,) = tmp_path.glob("dump/*/0/wide/*/0/Neg.*")
    assert dump_files.read(path)[2][0].shape == (1, 3, 8, 16)
    assert msame([*words, "9,16"]) == 1


def _session(bundle: str, tmp_path: Path, **section: Any) -> aclruntime.InferenceSession:
    """One whose acl.json has such a section dump."""
    path = tmp_path / "acl.json"
    path.write_text(json.dumps({"dump": {"dump_path": str(tmp_path), "dump_list": [{}], **section}}))
    return aclruntime.InferenceSession(bundle, 0, aclruntime.session_options(acl_json_path=str(path)))


def test_a_session_dumps_in_every_thread(acl: Any, bundles: dict[str, str], tmp_path: Path) -> None:
    """Threads need no device of their own, and keep what they have."""
    session = _session(bundles["pair"], tmp_path)
    own, _ = acl.rt.create_context(0)
    feeds = [aclruntime.Tensor(np.ones((2, 4), np.float32)) for _ in range(2)]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(session.run, ["s"], feeds).result()
    session.run(["s"], feeds)
    assert acl.rt.get_context() == (own, 0)
    session.free_resource()
    assert acl.rt.get_context() == (own, 0)
    assert acl.rt.destroy_context(own) == 0
    assert acl.rt.set_device(0) == 0
    assert sorted(p.name for p in tmp_path.glob("*/0/*/*/*")) == ["0", "1"]


def test_sessions_leave_ascendcl_as_it_was(acl: Any, bundles: dict[str, str], tmp_path: Path) -> None:
    """One that is refused, and one that nobody closes."""
    acl.init()
    before = acl.finalize_reference()
    with pytest.raises(RuntimeError, match=r"E45003.*100009.*no setting \[dump_mod\]") as refused:
        _session(bundles["pair"], tmp_path, dump_mod="all")
    assert f"fix: Correct [dump] in {tmp_path}/acl.json." in str(refused.value)
    assert ".\n." not in str(refused.value)
    _session(bundles["pair"], tmp_path)
    gc.collect()
    acl.init()
    assert acl.finalize_reference() == before
