"""The second plan of a bundle, for sizes that contradict names of dims: what it costs, what it must be."""

from __future__ import annotations

import contextlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ascend_ep
from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.errors import AscendError
from ascend_ep.plan.writing.image import make_image
from ascend_ep.plan.writing.writer import stamp
from ascend_ep.runtime._rt import lib
from ascend_ep.runtime.binding import open_model
from ascend_ep.runtime.bundle import Bundle

WIDE = 256


def blocks(n: int, *names: str) -> onnx.ModelProto:
    """n products by weights of 256 KB, each followed by a sum with y; `names` of the first dims."""
    rng, nodes, weights, last = np.random.default_rng(0), [], [], "x"
    for i in range(n):
        array = rng.standard_normal((WIDE, WIDE)).astype(np.float32) / 16
        weights.append(numpy_helper.from_array(array, f"w{i}"))
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"]),
            helper.make_node("Add", [f"p{i}", "y"], [f"s{i}"]),
            helper.make_node("Relu", [f"s{i}"], [f"r{i}"]),
        ]
        last = f"r{i}"
    boundaries = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [dim, WIDE])
        for name, dim in zip("xy", names, strict=True)
    ]
    out = helper.make_tensor_value_info(last, TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", boundaries, [out], weights)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])


def part_bytes(image: bytes, kind: int) -> int:
    return len(Bundle(open_model(image)).part(kind))


def test_weights_are_stored_once_and_all_is_native() -> None:
    shared, single = blocks(8, "N", "N"), blocks(8, "N", "M")
    one, other = (convert(m, ConvertOptions(self_check=False)).to_bytes() for m in (shared, single))
    assert part_bytes(one, lib.ASC_PART_WEIGHTS) == part_bytes(other, lib.ASC_PART_WEIGHTS)
    assert len(one) - len(other) < 25_000
    apart = Bundle(open_model(one)).apart
    assert apart is not None
    assert [p.is_native for p in apart.partitions] == [True]
    assert Bundle(open_model(other)).apart is None


def test_an_image_stores_them_once_too() -> None:
    conversion = convert(blocks(4, "N", "N"), ConvertOptions(self_check=False, sample_seed=None))
    both = len(make_image(conversion.plan).bytes)
    conversion.plan.apart = None
    assert both - len(make_image(conversion.plan).bytes) < 15_000


def test_external_weights_serve_both(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for where in (1, 2):
        path = tmp_path / f"{where}.om"
        convert(blocks(2, "N", "N"), ConvertOptions(external_weight=where)).write(path)
        x, y = np.ones((3, WIDE), np.float32), np.ones((1, WIDE), np.float32)
        session = ascend_ep.InferenceSession(path)
        with pytest.warns(RuntimeWarning, match="names of dimensions don't count"):
            found = session.run(None, {"x": x, "y": y})[0]
        np.testing.assert_array_equal(found, session.run(None, {"x": x, "y": np.repeat(y, 3, 0)})[0])


def test_ranges_stay() -> None:
    options = ConvertOptions(symbol_ranges={"N": (1, 4)})
    session = ascend_ep.InferenceSession(convert(blocks(1, "N", "N"), options).to_bytes())
    with pytest.warns(RuntimeWarning, match="'N' is 4"):
        session.run(None, {"x": np.ones((4, WIDE), np.float32), "y": np.ones((1, WIDE), np.float32)})
    with pytest.raises(AscendError, match="allowed is 1 to 4"):
        session.run(None, {"x": np.ones((5, WIDE), np.float32), "y": np.ones((1, WIDE), np.float32)})


def test_a_plan_of_another_model_is_refused() -> None:
    conversion = convert(blocks(2, "N", "N"), ConvertOptions(self_check=False, sample_seed=None))
    assert conversion.plan.apart is not None
    next(e for e in conversion.plan.apart.edges if e.name == "y").name = "z"
    with pytest.raises(AscendError, match=r"E40003.*another model"):
        conversion.to_bytes()


def test_a_damaged_one_is_refused() -> None:
    image = bytearray(convert(blocks(1, "N", "N"), ConvertOptions(self_check=False)).to_bytes())
    magic = lib.ASC_PLAN_MAGIC.to_bytes(4, "little")
    second = image.index(magic, image.index(magic) + 1)
    for at in range(second, second + 400, 3):
        damaged = bytearray(image)
        damaged[at] ^= 0x55
        stamp(memoryview(damaged))
        with contextlib.suppress(AscendError):
            ascend_ep.InferenceSession(bytes(damaged))
