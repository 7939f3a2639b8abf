"""Lowering of layout and indexing operators, against onnxruntime; exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lowered import check, run
from onnx.helper import make_node

from ascend_ep.compiler.lowering import NodeView, Operand, Unsupported
from ascend_ep.opdef.dims import symbol

rng = np.random.default_rng(3)


def f32(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


SINGLE = [
    ("reshape", "Reshape", [f32(2, 3, 4), i64(0, -1)], {}, 13),
    ("reshape", "Flatten", [f32(2, 3, 4)], {"axis": 2}, 13),
    ("reshape", "Squeeze", [f32(2, 1, 4), i64(1)], {}, 13),
    ("reshape", "Unsqueeze", [f32(2, 4), i64(0, -1)], {}, 13),
    ("reshape", "Identity", [f32(2, 4)], {}, 13),
    ("transpose", "Transpose", [f32(2, 3, 4)], {}, 13),
    ("transpose", "Transpose", [f32(2, 3, 4, 5)], {"perm": [0, 2, 1, 3]}, 13),
    ("transpose", "Transpose", [f32(2, 1, 4, 5)], {"perm": [1, 0, 2, 3]}, 13),
    ("slice", "Slice", [f32(5, 6), i64(1, -3), i64(4, 100)], {}, 13),
    ("slice", "Slice", [f32(5, 6), i64(-1), i64(-100), i64(1), i64(-2)], {}, 13),
    ("slice", "Slice", [f32(5, 6), i64(100), i64(-100), i64(0), i64(-1)], {}, 13),
    ("slice", "Slice", [f32(5, 6), i64(0, 1), i64(2**63 - 1, 5), i64(1, 0), i64(2, 3)], {}, 13),
    ("slice", "Slice", [f32(5, 6), i64(4), i64(2), i64(1)], {}, 13),
    ("slice", "Slice", [f32(5, 6), i64(-2, 9), i64(2**31 - 1, 2**63 - 1), i64(0, 1), i64(-1, -2)], {}, 13),
    ("slice", "Slice", [f32(5, 6)], {"starts": [1], "ends": [-1], "axes": [1]}, 9),
    ("expand", "Expand", [f32(3, 1), i64(2, 1, 4)], {}, 13),
    ("tile", "Tile", [f32(2, 3, 4), i64(2, 1, 3)], {}, 13),
    ("depth_to_space", "DepthToSpace", [f32(2, 12, 3, 5)], {"blocksize": 2}, 13),
    ("depth_to_space", "DepthToSpace", [f32(2, 12, 3, 5)], {"blocksize": 2, "mode": "CRD"}, 13),
    ("space_to_depth", "SpaceToDepth", [f32(2, 3, 4, 6)], {"blocksize": 2}, 13),
    ("space_to_depth", "SpaceToDepth", [f32(2, 3, 4, 6)], {"blocksize": 2, "mode": "CRD"}, 28),
    ("pad", "Pad", [f32(3, 4), i64(1, 0, 2, 3), np.array(5, np.float32)], {}, 13),
    ("pad", "Pad", [f32(3, 4), i64(0, -1, 2, 3)], {}, 13),
    ("pad", "Pad", [f32(3, 4), i64(2, 3, 1, 1)], {"mode": "reflect"}, 13),
    ("pad", "Pad", [f32(3, 4)], {"mode": "edge", "pads": [1, 2, 3, 4]}, 10),
    ("pad", "Pad", [f32(3, 4)], {"pads": [1, 2, 3, 4], "value": 2.5}, 10),
    ("trilu", "Trilu", [f32(3, 4, 4), i64(-1).reshape(())], {"upper": 0}, 14),
    ("trilu", "Trilu", [f32(3, 4)], {}, 14),
    ("cumsum", "CumSum", [i64(1, 2, 3, 4), np.array(-1)], {"reverse": 1, "exclusive": 1}, 14),
    ("gather", "Gather", [f32(3, 4, 5), i64(1, -1)], {"axis": 1}, 13),
    ("gather", "Gather", [f32(3, 4, 5), np.array(-2)], {"axis": 1}, 13),
    ("gather", "Gather", [f32(3, 4, 5), np.array(2)], {"axis": -1}, 13),
    ("gather", "Gather", [f32(3), i64(2)], {}, 13),
    ("gather_elements", "GatherElements", [f32(3, 4), i64(*range(-2, 2)).reshape(1, 4)], {"axis": 0}, 13),
    ("gather_nd", "GatherND", [f32(2, 3, 4), i64(0, 2, 1, 0).reshape(2, 2)], {}, 13),
    ("gather_nd", "GatherND", [f32(2, 3, 4), i64(2, 1).reshape(2, 1)], {"batch_dims": 1}, 13),
    (
        "scatter_elements",
        "ScatterElements",
        [f32(3, 4), i64(1, -1).reshape(2, 1), f32(2, 1)],
        {"axis": 1},
        18,
    ),
    (
        "scatter_elements",
        "ScatterElements",
        [f32(3, 4), i64(1, 1).reshape(2, 1), f32(2, 1)],
        {"reduction": "add"},
        18,
    ),
    ("scatter_nd", "ScatterND", [f32(3, 4), i64(2, 0).reshape(2, 1), f32(2, 4)], {"reduction": "max"}, 18),
    ("one_hot", "OneHot", [i64(0, 3, -1), np.array(4), np.array([0, 1], np.float32)], {}, 11),
    ("one_hot", "OneHot", [i64(0, 3, -1), i64(4), np.array([0, 1], np.float32)], {"axis": 0}, 11),
]


@pytest.mark.parametrize(("kernel", "op", "arrays", "attrs", "opset"), SINGLE)
@pytest.mark.parametrize("known", [True, False], ids=["const", "data"])
def test_against_onnxruntime(
    kernel: str, op: str, arrays: list[np.ndarray], attrs: dict[str, Any], opset: int, known: bool
) -> None:
    names = [f"x{i}" for i in range(len(arrays))]
    node = make_node(op, names, ["y"], name="n", **attrs)
    inputs = dict(zip(names, arrays, strict=True))
    must_be_known = {
        "slice": names[1:],
        "pad": names[1:2],
        "trilu": names[1:],
        "cumsum": names[1:],
        "tile": names[1:],
    }
    check(kernel, node, inputs, opset, names[1:] if known else must_be_known.get(kernel, ()))


def test_concat_and_split() -> None:
    names = ["a", "b", "c"]
    arrays = dict(zip(names, [f32(2, 3, 4), f32(2, 0, 4), f32(2, 5, 4)], strict=True))
    check("concat", make_node("Concat", names, ["y"], axis=-2), arrays, 13)
    x = {"x": f32(2, 7, 4), "s": i64(3, 0, 4)}
    check("split", make_node("Split", ["x", "s"], ["a", "b", "c"], axis=1), x, 13, ["s"])
    check("split", make_node("Split", ["x"], ["a", "b", "c"], axis=1, num_outputs=3), x, 18)


def test_constant_of_shape() -> None:
    node = NodeView(
        "ConstantOfShape",
        [Operand("s", 7, (2,))],
        [Operand("y", 6, (2, 3))],
        {"value": np.array([7], np.int32)},
    )
    (got,) = run("constant_of_shape", node, {"s": i64(2, 3)})
    np.testing.assert_array_equal(got, np.full((2, 3), 7, np.int32))


def test_symbolic_slice_counts_from_either_end() -> None:
    n = symbol("N")
    x = f32(9, 4)
    for start, want in [(2, x[2:]), (-3, x[-3:]), (20, x[20:]), (-20, x)]:
        length = symbol("M")
        node = NodeView(
            "Slice",
            [
                Operand("x", 1, (n, 4)),
                *(Operand(k, 7, (1,), i64(v)) for k, v in [("s", start), ("e", 2**62)]),
            ],
            [Operand("y", 1, (length, 4))],
            version=13,
        )
        (got,) = run("slice", node, {"x": x}, {"N": 9, "M": len(want)})
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("kernel", "op", "arrays", "attrs", "reason"),
    [
        ("transpose", "Transpose", [f32(5, 2)], {"perm": [0, 0]}, "permutation"),
        ("pad", "Pad", [f32(5), i64(1, 1)], {"mode": "mirror"}, "mode='mirror'"),
        ("concat", "Concat", [f32(5), f32(5)], {"axis": 3}, "outside rank 1"),
        ("gather", "Gather", [f32(5), f32(5)], {}, "no kernel 'gather' takes"),
    ],
)
def test_refusals_give_the_reason(
    kernel: str, op: str, arrays: list[np.ndarray], attrs: dict[str, Any], reason: str
) -> None:
    ins = [Operand(f"x{i}", 1 if a.dtype == np.float32 else 7, a.shape) for i, a in enumerate(arrays)]
    node = NodeView(op, ins, [Operand("y", 1, arrays[0].shape)], attrs, version=13)
    with pytest.raises(Unsupported, match=reason):
        run(kernel, node, {f"x{i}": a for i, a in enumerate(arrays)})
