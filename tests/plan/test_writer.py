"""The bundle file: weights once, page-aligned and digested; tampering found; files replaced in one step."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from small_models import FLOAT, WEIGHT, model, projection

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.plan.plan import WEIGHT as WEIGHT_KIND
from ascend_ep.plan.plan import NativePartition, Ref, Weight
from ascend_ep.plan.writing.packing import pack, packed_bytes
from ascend_ep.plan.writing.writer import TYPES
from ascend_ep.runtime.binding import lib, open_model
from ascend_ep.runtime.bundle import Bundle


def table(image: bytes) -> dict[int, tuple[int, int]]:
    """Partition type -> (file offset, size), read from the bytes as cann.md's format says."""
    magic, head, version = struct.unpack_from("<4sII", image)
    assert (magic, head, version) == (b"IMOD", 256, 0x20000001)
    assert struct.unpack_from("<Q", image, 184)[0] == len(image) - 256
    (count, _) = struct.unpack_from("<II", image, 256)
    start = 264 + 24 * count
    rows = [struct.unpack_from("<IIQQ", image, 264 + 24 * i) for i in range(count)]
    kinds = {number: kind for kind, number in TYPES.items()}
    return {kinds[number]: (start + offset, size) for number, _, offset, size in rows}


def test_the_frame() -> None:
    image = convert(projection(), ConvertOptions(soc_version="Ascend910B3")).to_bytes()
    parts = table(image)
    assert parts[lib.ASC_PART_MODEL_DEF][0] == 264 + 24 * len(parts)
    assert parts[lib.ASC_PART_WEIGHTS][0] % 4096 == 0
    assert image[160:180].rstrip(b"\0") == b"Ascend910B3"
    assert image[193] == 1, "a dim is dynamic"
    digest = hashlib.sha256()
    begin, size = parts[lib.ASC_PART_WEIGHTS]
    digest.update(image[:12] + bytes(64) + image[76:begin] + image[begin + size :])
    assert image[12:44] == digest.digest()


def test_a_packed_weight_is_refused_where_its_kernel_reads_rows() -> None:
    node = helper.make_node("Add", ["x", "w"], ["y"])
    source = model([node], [("x", FLOAT, [16, 8])], [("y", FLOAT, None)], {"w": WEIGHT})
    made = convert(source, ConvertOptions(passes=False))
    made.to_bytes()
    (part,) = made.plan.partitions
    assert isinstance(part, NativePartition)
    (insn,) = part.insns
    (w,) = [ref for ref in insn.ins if ref is not None and ref.weight is not None]
    assert w.weight is not None
    assert insn.native is None
    w.weight = Weight(w.weight.source, "panel32")
    with pytest.raises(AscendError, match="packed weight that its kernel has no layout for"):
        made.to_bytes()


def test_equal_weights_are_stored_once() -> None:
    nodes = [
        helper.make_node("Add", ["x", "a"], ["p"]),
        helper.make_node("Mul", ["p", "b"], ["q"]),
        helper.make_node("Sub", ["q", "c"], ["y"]),
    ]
    weights = {"a": WEIGHT, "b": WEIGHT.copy(), "c": WEIGHT + 1}
    source = model(nodes, [("x", FLOAT, [16, 8])], [("y", FLOAT, None)], weights)
    bundle = Bundle(open_model(convert(source, ConvertOptions(passes=False)).to_bytes()))
    assert [w.sha256 for w in bundle.weights] == [
        hashlib.sha256(a.tobytes()).hexdigest() for a in (WEIGHT, WEIGHT + 1)
    ]


def test_panels_have_the_documented_layout() -> None:
    k, n = 5, 35
    matrix = np.arange(k * n, dtype=np.float32).reshape(k, n)
    weight = Weight(matrix, "panel32")
    packed = np.frombuffer(pack(weight, 1), np.float32).reshape(2, k, 32)
    np.testing.assert_array_equal(packed[0], matrix[:, :32])
    np.testing.assert_array_equal(packed[1, :, :3], matrix[:, 32:])
    assert not packed[1, :, 3:].any()
    assert packed_bytes(Ref("w", 1, (k, n), WEIGHT_KIND, weight=weight)) == packed.nbytes


def test_a_big_endian_weight_is_stored_little_endian() -> None:
    assert bytes(pack(Weight(np.array([1, 2], ">i4")), 6)) == struct.pack("<2i", 1, 2)


def test_a_changed_weight_is_found_when_asked_for(tmp_path: Path) -> None:
    image = bytearray(convert(projection()).to_bytes())
    image[table(bytes(image))[lib.ASC_PART_WEIGHTS][0] + 40] ^= 1
    path = tmp_path / "m.om"
    path.write_bytes(image)
    ascend_ep.InferenceSession(path)
    with pytest.raises(AscendError) as caught:
        open_model(path, flags=lib.ASC_OPEN_VERIFY_WEIGHTS)
    assert caught.value.code == "E40004"


def test_any_other_changed_byte_is_found_at_load() -> None:
    image = convert(projection()).to_bytes()
    begin, size = table(image)[lib.ASC_PART_WEIGHTS]
    for at in [*range(0, begin, 61), *range(begin + size, len(image), 61)]:
        changed = bytearray(image)
        changed[at] ^= 0x10
        with pytest.raises(AscendError):
            open_model(bytes(changed))


def test_files_are_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "m.om"
    path.write_bytes(b"old")
    old = path.open("rb")
    convert(projection()).write(path)
    assert old.read() == b"old", "a reader of the old file keeps it"
    assert [p.name for p in tmp_path.iterdir()] == ["m.om"]
    old.close()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AscendError) as caught:
        convert(projection()).write(tmp_path / "none" / "m.om")
    assert caught.value.code == "E40002"
