"""Scatters and gathers with repeated indices take whole slices, no others do; results stay onnxruntime's."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fused_kernels import fused_kernels

rng = np.random.default_rng(0)


def kernels(
    body: str, x: tuple[int, ...], indices: np.ndarray, repeated: tuple[int, ...], free: bool
) -> list[str]:
    """Of a model of x, indices i and updates u, whose shape is `s`; `free`: first sizes are."""
    sizes, first = {"x": x, "i": indices.shape, "u": repeated}, {"x": "m", "i": "n", "u": "n"}
    names = {n: ",".join([first[n] if free else str(s[0]), *map(str, s[1:])]) for n, s in sizes.items()}
    types = f"float[{names['x']}] x, int64[{names['i']}] i, float[{names['u']}] u"
    source = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 18]> g ({types}) => (float[] y) {{ s = Shape(u) {body} }}'
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    values = {"x": rng.standard_normal(x), "u": rng.standard_normal(repeated)}
    feeds = {n: v.astype(np.float32) for n, v in values.items()} | {"i": indices}
    return fused_kernels(source, feeds, codegen="auto", atol=1e-6)


GATHER = "e = Expand(i, s) g = GatherElements<axis=1>(x, e) y = Add(g, u)"
ADD = 'e = Expand(i, s) y = ScatterElements<axis=0, reduction="add">(x, e, u)'


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_a_scatter_along_rows(reduction: str, free: bool) -> None:
    indices = np.array([[3], [0], [-1], [3], [6]])
    if reduction == "none":
        indices = np.array([[3], [0], [-1], [2], [5]])  # duplicates have no defined result
    found = kernels(ADD.replace("add", reduction), (7, 33), indices, (5, 33), free)
    assert "scatter_nd" in found
    assert "scatter_elements" not in found


def test_a_scatter_of_slices_and_of_no_rows() -> None:
    assert "scatter_nd" in kernels(ADD, (4, 3, 5), np.array([[[3]], [[0]]]), (2, 3, 5), False)
    assert "scatter_nd" in kernels(ADD, (4, 3), np.zeros((0, 1), np.int64), (0, 3), True)


@pytest.mark.parametrize("free", [False, True])
def test_gathers(free: bool) -> None:
    batched = np.array([[[3], [0], [-4]], [[1], [1], [2]]])
    assert "gather_nd" in kernels(GATHER, (2, 4, 33), batched, (2, 3, 33), False)
    first = GATHER.replace("axis=1", "axis=0")
    found = kernels(first, (4, 33), np.array([[3], [0], [-4], [2], [2]]), (5, 33), free)
    assert "gather_elements" not in found


@pytest.mark.parametrize(
    ("body", "x", "indices", "repeated"),
    [
        (ADD, (7, 34), [[3], [0]], (2, 33)),  # not whole rows
        (ADD, (3, 4), [[2, 0, 1, 1]], (3, 4)),  # repeated along the axis itself
        (ADD.replace("axis=0", "axis=1"), (3, 4), [[2], [0], [1]], (3, 4)),
        (GATHER, (3, 4, 2), [[[2]], [[0]]], (2, 3, 2)),
    ],
)  # fmt: skip
def test_others_stay(body: str, x: tuple[int, ...], indices: list, repeated: tuple[int, ...]) -> None:
    found = kernels(body, x, np.array(indices), repeated, False)
    assert {"scatter_elements", "gather_elements"} & set(found)


def test_an_index_outside_is_still_an_error() -> None:
    with pytest.raises(Exception, match="7"):
        kernels(ADD, (7, 33), np.array([[7]]), (1, 33), False)
