"""Einsum lowered to products and sums, against onnxruntime or numpy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from lowered import run, view_of

from ascend_ep.compiler.lower.matmul_einsum import parse_equation
from ascend_ep.compiler.lowering import Unsupported
from ascend_ep.opdef.dims import symbol

rng = np.random.default_rng(0)
SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6, "f": 2, "i": 3, "j": 4, "k": 5, "l": 2}


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def einsum(equation: str, inputs: list[np.ndarray]) -> np.ndarray:
    names = [f"x{i}" for i in range(len(inputs))]
    node = onnx.helper.make_node("Einsum", names, ["y"], equation=equation)
    shape = np.einsum(equation, *inputs).shape
    feeds = dict(zip(names, inputs, strict=True))
    (y,) = run("einsum", view_of(node, feeds, {"y": (1, shape)}, 13), feeds)
    assert y is not None
    return y


EQUATIONS = [
    "ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,kj->ik", "ji,jk->ki", "ij,jk->i", "ij,ij->", "ij,ij->ij",
    "ij,kl->ijkl", "i,j->ij", "i,i->", "abcd,abed->abce", "abcd,aebd->abce", "abcd,cd->ab",
    "abcd,efcd->abef", "acbd,adbe->acbe", "abc,cd->abd", "abc,dc->dab", "abc,abd->bcd", "ij->ji", "ij->",
    "ij->j", "ij", "ba", "ij,j", "ab,bc,cd->ad", "ab,cb,ac->b", "ab,ab,ab->a", "ij,k->i", "abcde->ca",
    "ii->i", "ii", "ij,jj->i", "abc,bcd,de->ae",
]  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
def test_letters(equation: str) -> None:
    terms = equation.split("->")[0].split(",")
    sizes = dict.fromkeys(SIZES, 3) if any(len(set(t)) < len(t) for t in terms) else SIZES
    inputs = arrays(*(tuple(sizes[s] for s in t) for t in terms))
    np.testing.assert_allclose(einsum(equation, inputs), np.einsum(equation, *inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ij,...jk->...ik", [(2, 3, 4, 5), (2, 3, 5, 6)]),
        ("...ij,...jk->...ik", [(3, 4, 5), (2, 1, 5, 6)]),
        ("...ij,jk", [(2, 3, 4, 5), (5, 6)]), ("i...,j...->ij...", [(2, 4, 5), (3, 1, 5)]),
        ("...->...", [(2, 3)]),
        ("...i->i...", [(2, 3, 4)]), ("a...b,b->a...", [(2, 3, 4), (4,)]), ("...,...->...", [(2, 3), (3,)]),
        ("...i,...i", [(1, 4), (1, 4)]), ("ij,jk->ik", [(0, 3), (3, 2)]), ("ij,jk->ik", [(2, 0), (0, 3)]),
    ],
)  # fmt: skip
def test_ellipses_and_empty(equation: str, shapes: list[tuple[int, ...]]) -> None:
    inputs = arrays(*shapes)
    np.testing.assert_allclose(einsum(equation, inputs), np.einsum(equation, *inputs), rtol=1e-5, atol=1e-5)


def test_symbolic_dims() -> None:
    n, s = symbol("N"), symbol("S")
    q, k = arrays((2, 7, 3, 4), (2, 7, 3, 4))
    node = onnx.helper.make_node("Einsum", ["q", "k"], ["y"], equation="bqhd,bkhd->bhqk")
    dims = {"q": [n, s, 3, 4], "k": [n, s, 3, 4]}
    view = view_of(node, {"q": q, "k": k}, {"y": (1, [n, 3, s, s])}, 13, dims=dims)
    (y,) = run("einsum", view, {"q": q, "k": k}, {"N": 2, "S": 7})
    np.testing.assert_allclose(y, np.einsum("bqhd,bkhd->bhqk", q, k), rtol=1e-5, atol=1e-5)


def test_names_of_ellipsis_axes() -> None:
    assert parse_equation("i ... j, ...k -> ... k", [4, 2]) == (
        [("i", "1", "0", "j"), ("0", "k")],
        ("1", "0", "k"),
    )


@pytest.mark.parametrize("equation", ["ij,jk->ik", "i->ii", "i->j", "", "i1->i", "ijk->i", "i..->i"])
def test_impossible_equations_go_to_the_host(equation: str) -> None:
    with pytest.raises(Unsupported):
        parse_equation(equation, [1])
