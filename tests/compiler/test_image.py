"""Bundles written where they run: the same weights in the same places as in a file, memory given once."""

from __future__ import annotations

import mmap
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from small_models import FLOAT, WEIGHT, mixed, model, projection

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.plan.writing.image import LEAST_ROOM, Image, Room
from ascend_ep.runtime.binding import Model, ffi, lib, new_status, open_model, text_of
from ascend_ep.runtime.bundle import Bundle
from ascend_ep.runtime.executor import Executor
from ascend_ep.runtime.options import SessionOptions

BARE = ConvertOptions(sample_seed=None)


def opened(image: Image) -> Model:
    out, status = ffi.new("asc_model **"), new_status()
    assert lib.asc_image_open(image.pointer, ffi.NULL, out, status) == lib.ASC_OK, text_of(status.text)
    return Model(ffi.gc(out[0], lib.asc_model_release), "image", image)


def weights_of(found: Model) -> bytes:
    size = ffi.new("uint64_t *")
    return bytes(ffi.buffer(lib.asc_model_part(found.pointer, lib.ASC_PART_WEIGHTS, size), size[0]))


def stacked() -> object:
    """A packed product, a stack of packed products, and constants of other types."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"]),
        helper.make_node("MatMul", ["p", "s"], ["q"]),
        helper.make_node("Gather", ["q", "i"], ["g"], axis=0),
        helper.make_node("Where", ["c", "g", "z"], ["y"]),
    ]
    generator = np.random.default_rng(0)
    weights = {
        "w": generator.standard_normal((8, 40)).astype(np.float32),
        "s": generator.standard_normal((3, 40, 5)).astype(np.float32),
        "i": np.array([2, 0], np.int64),
        "c": np.array([True, False, True, True, False]),
        "z": np.float32(7),
    }
    return model(nodes, [("x", FLOAT, ["n", 8])], [("y", FLOAT, None)], weights)


@pytest.mark.parametrize("precision", ["origin", "allow_mix_precision_bf16"])
@pytest.mark.parametrize("build", [projection, stacked])
def test_an_image_is_the_bundle(build: object, precision: str) -> None:
    conversion = convert(build(), ConvertOptions(sample_seed=None, precision=precision))  # type: ignore[operator]
    image, file = opened(conversion.image()), open_model(conversion.to_bytes())
    assert weights_of(image) == weights_of(file)
    x = np.random.default_rng(1).standard_normal((4, 16 if build is projection else 8)).astype(np.float32)
    results = [Executor(Bundle(m), SessionOptions(), None).run(None, {"x": x}, None) for m in (image, file)]
    np.testing.assert_array_equal(*[r[0] for r in results])


def test_one_memory_is_one_weight() -> None:
    nodes = [helper.make_node("Add", ["x", "a"], ["p"]), helper.make_node("Mul", ["p", "b"], ["y"])]
    source = model(nodes, [("x", FLOAT, [16, 8])], [("y", FLOAT, None)], {"a": WEIGHT, "b": WEIGHT + 1})
    conversion = convert(source, BARE)
    refs = [r for p in conversion.plan.partitions for i in p.insns for r in i.ins if r and r.weight]
    shared = refs[0].weight.array()
    for ref in refs:
        ref.weight.source = shared
    assert len(Bundle(opened(conversion.image())).weights) == 1


@pytest.mark.parametrize("precision", ["origin", "allow_mix_precision_bf16"])
def test_so_is_what_is_made_of_it(precision: str) -> None:
    """Two gated layers of the same weights, and one that has them the other way round."""
    nodes, x = [], "x"
    for i, (v, w) in enumerate(["ab", "ab", "ba"]):
        nodes += [
            helper.make_node("MatMul", [x, name], [f"{side}{i}"])
            for side, name in zip("gu", (v, w), strict=True)
        ]
        nodes += [helper.make_node("Sigmoid", [f"g{i}"], [f"s{i}"])]
        nodes += [helper.make_node("Mul", [f"g{i}", f"s{i}"], [f"m{i}"])]
        nodes += [helper.make_node("Mul", [f"m{i}", f"u{i}"], [x := f"y{i}"])]
    square = np.eye(8, dtype=np.float32)
    source = model(nodes, [("x", FLOAT, [16, 8])], [(x, FLOAT, None)], {"a": square, "b": 2 * square})
    conversion = convert(source, ConvertOptions(sample_seed=None, precision=precision))
    (part,) = conversion.plan.partitions
    made = [i.ins[1].weight.source for i in part.insns]
    assert len(made) == 3
    sides = {1: made[0].first.source, 2: made[0].second.source}
    for source, (v, w) in zip(made, [(1, 2), (1, 2), (2, 1)], strict=True):
        source.first.source, source.second.source = sides[v], sides[w]
    assert len(Bundle(opened(conversion.image())).weights) == 2


def test_an_image_is_opened_once() -> None:
    image = convert(projection(), BARE).image()
    opened(image)
    out, status = ffi.new("asc_model **"), new_status()
    assert lib.asc_image_open(image.pointer, ffi.NULL, out, status) == lib.ASC_E_ARGUMENT
    assert out[0] == ffi.NULL
    assert lib.asc_image_bytes(image.pointer) == ffi.NULL


def test_a_damaged_image_is_refused() -> None:
    image = convert(projection(), BARE).image()
    image.bytes[len(image.bytes) - 1] = b"\x01"
    out, status = ffi.new("asc_model **"), new_status()
    assert lib.asc_image_open(image.pointer, ffi.NULL, out, status) == lib.ASC_E_CHECKSUM


def resident(image: Image) -> int:
    """Bytes of the mappings within an image that are in memory."""
    at = int(ffi.cast("uintptr_t", lib.asc_image_bytes(image.pointer)))
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if span := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = at < int(span[2], 16) and int(span[1], 16) < at + len(image.bytes)
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1]) << 10
    return found


def test_memory_that_is_there_is_kept_as_it_is() -> None:
    """Whoever says first what is written next, nothing that was written before changes."""
    huge = 2 << 20
    image = Image(5 * huge + 123)
    written = np.frombuffer(image.bytes, np.uint8)
    written[:] = np.arange(written.size // 4 + 1, dtype=np.uint32).view(np.uint8)[: written.size]
    with ThreadPoolExecutor(2) as workers:
        for end in (1, 3 * huge, huge, written.size + huge):
            workers.submit(lib.asc_image_populate, image.pointer, end)
    np.testing.assert_array_equal(written[::4], np.arange(-(-written.size // 4), dtype=np.uint32) & 0xFF)
    fresh = Image(5 * huge + 123)
    lib.asc_image_populate(fresh.pointer, huge + 1)
    if resident(fresh):  # kernels before 5.14 wait for the first write
        assert huge <= resident(fresh) <= 3 * huge
    assert not np.frombuffer(fresh.bytes, np.uint8).any()


def test_an_image_shrinks_under_whoever_populates_it() -> None:
    """Its first bytes stay, it ends at a page that can't be accessed, and it is an image as any."""
    image = Image(300 << 20)
    np.frombuffer(image.bytes, np.uint8)[:100] = 7
    with ThreadPoolExecutor(1) as worker:
        worker.submit(lib.asc_image_populate, image.pointer, 300 << 20)
        image.shrink(100)
        assert resident(image) <= mmap.PAGESIZE
    assert bytes(image.bytes) == b"\7" * 100
    end = int(ffi.cast("uintptr_t", lib.asc_image_bytes(image.pointer))) + mmap.PAGESIZE
    assert re.search(rf"^0*{end:x}-\w+ ---p", Path("/proc/self/smaps").read_text(), re.MULTILINE)


@pytest.mark.parametrize("size", [LEAST_ROOM - 1, LEAST_ROOM])
def test_room_holds_an_image_of_any_size(size: int) -> None:
    """Smaller or larger than what was thought; the image works, and nothing is left of the room."""
    conversion = convert(projection(), BARE)
    with closing(Room(size)) as room:
        image = opened(conversion.image(room))
    assert weights_of(image) == weights_of(open_model(conversion.to_bytes()))
    with closing(Room(size)) as room:
        large = room.take(4 * LEAST_ROOM)
    assert len(large.bytes) == 4 * LEAST_ROOM
    assert not np.frombuffer(large.bytes, np.uint8).any()


def test_an_open_image_takes_no_memory() -> None:
    image = convert(projection(), BARE).image()
    opened(image)
    lib.asc_image_populate(image.pointer, 1 << 30)


def test_host_partitions_have_no_image() -> None:
    with pytest.raises(ValueError, match="native"):
        convert(mixed(), BARE).image()
