"""--external_weight: weights in files beside the bundle, found there by every runtime, and nowhere else."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper
from plan_header import min_reader
from small_models import FLOAT, INT64, WEIGHT, model, projection

import ascend_ep
from ascend_ep.cli import om
from ascend_ep.compiler.conversion import Conversion
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.plan.writing import weight_files
from ascend_ep.plan.writing.writer import stamp
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle

X = np.random.default_rng(3).standard_normal((4, 16)).astype(np.float32)


@cache
def layers() -> Conversion:
    """x [N, 16] through a packed weight, an equal one, a plain one, and one without elements."""
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["p"]),
        helper.make_node("MatMul", ["x", "b"], ["q"]),
        helper.make_node("Sub", ["p", "c"], ["r"]),
        helper.make_node("Mul", ["q", "r"], ["s"]),
        helper.make_node("Concat", ["s", "none"], ["y"], axis=0),
    ]
    plain, none = np.arange(8, dtype=np.float32), np.zeros((0, 8), np.float32)
    weights = {"a": WEIGHT, "b": WEIGHT.copy(), "c": plain, "none": none}
    return convert(
        model(nodes, [("x", FLOAT, ["N", 16])], [("y", FLOAT, None)], weights), ConvertOptions(passes=False)
    )


def write(folder: Path, where: int) -> Path:
    """m.om and m_ctx.onnx of `layers`."""
    folder.mkdir(exist_ok=True)
    conversion = replace(layers(), options=ConvertOptions(passes=False, external_weight=where))
    conversion.write(folder / "m.om")
    (folder / "m_ctx.onnx").write_bytes(conversion.context_model("m.om"))
    return folder / "m.om"


def own(path: Path, **provider: str) -> np.ndarray:
    (y,) = ascend_ep.InferenceSession(path, providers=[("AscendEP", provider)]).run(None, {"x": X})
    return np.asarray(y)


def stock(path: Path) -> np.ndarray:
    so = ort.SessionOptions()
    so.log_severity_level = 4
    context = str(path.with_name("m_ctx.onnx"))
    session = ort.InferenceSession(context, so, providers=["AscendEP"], enable_fallback=0)
    return np.asarray(session.run(None, {"x": X})[0])


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return own(write(tmp_path_factory.mktemp("inside"), 0))


@pytest.mark.parametrize("where", [1, 2])
def test_the_same_bits_wherever_weights_are(tmp_path: Path, inside: np.ndarray, where: int) -> None:
    path = write(tmp_path / "first", where)
    assert lib.ASC_PART_WEIGHTS not in [kind for kind, _ in parts(path)]
    for y in (own(path), own(path, low_memory="1"), stock(path)):
        np.testing.assert_array_equal(y, inside)
    (tmp_path / "first").rename(tmp_path / "second")
    np.testing.assert_array_equal(own(tmp_path / "second" / "m.om"), inside)
    shutil.rmtree(tmp_path / "second" / "weight")
    for run in (own, stock):
        with pytest.raises(Exception, match=r"E40002.* No such file or directory: \[weight/"):
            run(tmp_path / "second" / "m.om")


def parts(path: Path) -> list[tuple[int, int]]:
    """Type and size of every partition of the file."""
    image = path.read_bytes()
    (count,) = struct.unpack_from("<I", image, 256)
    return [struct.unpack_from("<I12xQ", image, 264 + 24 * i) for i in range(count)]


def test_each_weight_in_a_file_named_by_its_digest(tmp_path: Path) -> None:
    bundle = Bundle(open_model(write(tmp_path, 1)))
    files = {f"weight/{p.name}": p.read_bytes() for p in (tmp_path / "weight").iterdir()}
    assert {f"weight/weight_{hashlib.sha256(b).hexdigest()}" for b in files.values()} == set(files)
    assert {f.name: (f.size, f.sha256) for f in bundle.weight_files} == {
        name: (len(b), hashlib.sha256(b).hexdigest()) for name, b in files.items()
    }
    assert sorted(map(len, files.values())) == [32, 16 * 32 * 4], "one for two equal ones, none for none"


def test_all_weights_in_one_file(tmp_path: Path) -> None:
    bundle = Bundle(open_model(write(tmp_path, 2)))
    (file,) = bundle.weight_files
    content = (tmp_path / file.name).read_bytes()
    assert file.name == f"weight/m_weight_combined_{file.sha256[:16]}"
    assert (file.size, file.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert [p.name for p in (tmp_path / "weight").iterdir()] == [Path(file.name).name]
    segments = [bundle.weights[i] for i in file.weights]
    assert [hashlib.sha256(content[s.offset : s.offset + s.size]).hexdigest() for s in segments] == [
        s.sha256 for s in segments
    ]


def test_a_bundle_written_before_stays_whole(tmp_path: Path, inside: np.ndarray) -> None:
    """Another model of the same name and sizes doesn't replace the files of a copy of the first."""
    first = write(tmp_path, 2).rename(tmp_path / "first.om")
    changed = model(
        [helper.make_node("MatMul", ["x", "a"], ["y"])], [("x", FLOAT, [4, 16])], [("y", FLOAT, None)],
        {"a": WEIGHT + 1},
    )  # fmt: skip
    convert(changed, ConvertOptions(external_weight=2)).write(tmp_path / "m.om")
    np.testing.assert_array_equal(own(first), inside)
    np.testing.assert_allclose(own(tmp_path / "m.om"), X @ (WEIGHT + 1), rtol=1e-5, atol=1e-5)


def test_a_model_without_weights_has_no_files(tmp_path: Path) -> None:
    empty = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, [2])], [("y", FLOAT, None)])
    convert(empty, ConvertOptions(external_weight=2)).write(tmp_path / "m.om")
    assert [p.name for p in tmp_path.iterdir()] == ["m.om"]


def test_a_conversion_that_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AscendError("E40011", "the check failed")

    monkeypatch.setattr(Conversion, "_check", fail)
    for where in (1, 2):
        with pytest.raises(AscendError, match="the check failed"):
            write(tmp_path / "m", where)
        assert list((tmp_path / "m").iterdir()) == []


def test_what_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "weight").write_text("")
    with pytest.raises(AscendError, match=r"E40002: can't write weights to \[.*/weight\]: File exists"):
        write(tmp_path, 1)


def test_more_files_than_a_bundle_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_files, "MOST_FILES", 1)
    write(tmp_path / "one", 2)
    with pytest.raises(AscendError, match="more weights than the 1 files") as caught:
        write(tmp_path / "each", 1)
    assert "--external_weight=2" in caught.value.fix
    assert list((tmp_path / "each").iterdir()) == []


@pytest.mark.parametrize(("low_memory", "least", "most"), [("0", 4096, 8192), ("1", 0, 512)])
def test_memory_is_given_back(tmp_path: Path, low_memory: str, least: int, most: int) -> None:
    """Of 8 MB in a file, what stays in memory after a run, in KB."""
    weight = np.arange(1024 * 2048, dtype=np.float32).reshape(1024, 2048)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    made = model([node], [("x", FLOAT, [1, 1024])], [("y", FLOAT, None)], {"w": weight})
    convert(made, ConvertOptions(external_weight=2, sample_seed=None)).write(tmp_path / "m.om")
    session = ascend_ep.InferenceSession(
        tmp_path / "m.om", providers=[("AscendEP", {"low_memory": low_memory})]
    )
    session.run(None, {"x": np.ones((1, 1024), np.float32)})
    (mapping,) = re.findall(
        rf"{re.escape(str(tmp_path))}/weight/\S+\n(?:\w+: .*\n)*?Rss: +(\d+) kB",
        Path("/proc/self/smaps").read_text(),
    )
    assert least <= int(mapping) <= most


def test_the_folder_may_be_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "weight").symlink_to("elsewhere")
    with pytest.raises(AscendError, match=r"E40002.*symbolic link"):
        write(tmp_path, 1)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_bundle_behind_a_link_has_its_weights_beside_it(tmp_path: Path) -> None:
    """It is opened by either name; and by that of a link that has the weights beside itself."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "m.om").symlink_to("real/m.om")
    path = write(tmp_path, 1)
    assert path.is_symlink()
    assert [p.parent for p in tmp_path.rglob("weight")] == [real]
    for name in (path, real / "m.om"):
        own(name)
    (real / "weight").rename(tmp_path / "weight")
    own(path)
    with pytest.raises(AscendError, match=r"E40002.*weights"):
        own(real / "m.om")


def test_older_readers_refuse_by_version(tmp_path: Path) -> None:
    """min_reader in the plan's header is 6 only where a bundle needs it."""
    for where, reader in ((0, 1), (1, 6)):
        assert min_reader(write(tmp_path, where).read_bytes()) == reader


def test_a_changed_byte_is_found_by_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 2)
    assert om.main(["verify", str(path)]) == 0
    assert "structure and 3 weights in 1 file: good" in capsys.readouterr().out
    (file,) = (tmp_path / "weight").iterdir()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    own(path)
    assert om.main(["verify", str(path)]) != 0
    said = capsys.readouterr().err
    assert said.startswith("E40004 ")
    assert f"changed after it was written: [weight/{file.name}]" in said


def test_inspect_shows_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, 1)
    assert om.main(["inspect", str(path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    found = shown["weight_files"]
    assert {w.get("file", "") for w in shown["weights"]} == {"", *(f["name"] for f in found)}
    assert {f["name"] for f in found} == {f"weight/{p.name}" for p in (tmp_path / "weight").iterdir()}
    assert om.main(["inspect", str(path)]) == 0
    assert f"  in {found[0]['name']}: 1, {found[0]['bytes']} B" in capsys.readouterr().out


def test_bytes_have_no_folder(tmp_path: Path) -> None:
    image = write(tmp_path, 1).read_bytes()
    with pytest.raises(AscendError, match=r"E40001.*open it by its path"):
        ascend_ep.InferenceSession(image)


@pytest.mark.parametrize("name", ["../", "a/../", "/tmp/", "..\\", "./"])
def test_a_name_that_leaves_the_folder(tmp_path: Path, name: str) -> None:
    """A bundle whose writer meant harm: the name is of the same length, and the digest is right."""
    path = write(tmp_path, 2)
    image = bytearray(path.read_bytes())
    at = image.index(b"weight/m_weight")
    image[at : at + len(name)] = name.encode()
    stamp(memoryview(image))
    path.write_bytes(image)
    with pytest.raises(AscendError, match=r"E40003.*would not be in the bundle's folder"):
        own(path)


@pytest.mark.parametrize("harm", ["truncated", "symbolic link", "hard link"])
def test_a_file_that_is_not_what_was_written(tmp_path: Path, harm: str) -> None:
    path = write(tmp_path, 2)
    (file,) = (tmp_path / "weight").iterdir()
    other = file.rename(tmp_path / "other")
    if harm == "truncated":
        file.write_bytes(other.read_bytes()[:-1])
    elif harm == "symbolic link":
        file.symlink_to(other)
    else:
        os.link(other, file)
    for run in (own, stock):
        with pytest.raises(Exception, match=rf"E4000[24].*({harm}|bytes, the bundle says)"):
            run(path)


def test_bundles_in_memory_hold_their_weights() -> None:
    image = convert(projection(), ConvertOptions(external_weight=1)).to_bytes()
    np.testing.assert_allclose(
        ascend_ep.InferenceSession(image).run(None, {"x": X})[0], (X @ WEIGHT).T, rtol=1e-5, atol=1e-5
    )


def test_host_partitions_run_beside_them(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("NonZero", ["m"], ["y"]),
    ]
    made = model(nodes, [("x", FLOAT, [4, 16])], [("y", INT64, None)], {"w": WEIGHT})
    convert(made, ConvertOptions(external_weight=1)).write(tmp_path / "m.om")
    np.testing.assert_array_equal(own(tmp_path / "m.om"), np.array(np.nonzero(X @ WEIGHT)))
