"""What the axes of inputs have to do with each other, as the nodes tell, and sizes that satisfy it."""

from __future__ import annotations

import onnx
import pytest

from ascend_ep.graph.load import load_model
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.constraints import Constraint, OrOne, agreeing_sizes
from ascend_ep.opdef.dim_text import parse_dim

#: equal; the left may be 1; either may be
SIGNS = {OrOne.NONE: "=", OrOne.LEFT: "into", OrOne.EITHER: "beside"}


def constraints(inputs: str, nodes: str, weights: str) -> list[str]:
    text = f'<ir_version: 10, opset_import: ["": 17]> g ({inputs}) => (y) <{weights}> {{ {nodes} }}'
    facts = infer_facts(load_model(onnx.parser.parse_model(text)))
    return [f"{a.left} {SIGNS[a.or_one]} {a.right}" for a in facts.constraints.found()]


def constraint(text: str) -> Constraint:
    or_one = next(o for o, sign in SIGNS.items() if f" {sign} " in text)
    left, _, right = text.partition(f" {SIGNS[or_one]} ")
    return Constraint(parse_dim(left), parse_dim(right), or_one)


SCORES = """k = Concat<axis=1>(past, new) kt = Transpose<perm=[0, 2, 1]>(k) s = MatMul(q, kt) m = Add(s, mask)
 w = Softmax(m) y = MatMul(w, k)"""
CACHED = "float[B,P,8] past, float[B,S,8] new, float[B,S,8] q, float[M,T] mask"


@pytest.mark.parametrize(
    ("inputs", "nodes", "found"),
    [
        ("float[N,K] a, float[L,M] b", "y = MatMul(a, b)", ["L = K"]),
        ("float[N,K] a, float[64,M] b", "y = MatMul(a, b)", ["K = 64"]),
        ("float[A,P] a, float[B,P] b", "y = Concat<axis=1>(a, b)", ["B = A"]),
        ("float[A,P] a, float[A,Q] b, float[A,T] c",
         "d = Concat<axis=1>(a, b) y = Concat<axis=0>(c, d)", ["T = P+Q"]),
        ("float[N] a, float[M] b", "y = Add(a, b)", ["M beside N"]),
        ("float[N] a, float[M] b, float[L] c", "d = Add(a, b) y = Add(d, c)",
         ["M beside N", "L beside N", "L beside M"]),
        ("float[N] a, float[M] b", "c = Concat<axis=0>(a, a) y = Add(b, c)", ["2*N beside M"]),
        ("float[N] a, float[3] b", "y = Add(a, b)", ["N into 3"]),
        (CACHED, SCORES, ["T into P+S", "M beside S"]),
        ("float[N,16] a", "y = Reshape(a, shape)", ["N = 16"]),
        ("bool c, float[N] a, float[M] b", "y = If(c) <then_branch = t () => (z) { z = MatMul(a, b) }, "
         "else_branch = e () => (z) { z = ReduceSum<keepdims=0>(a) }>", []),  # which may never run
    ],
)  # fmt: skip
def test_found(inputs: str, nodes: str, found: list[str]) -> None:
    assert constraints(inputs, nodes, "int64[2] shape = {4, 64}") == found


def test_inputs_keep_the_names_that_they_declare() -> None:
    text = """<ir_version: 10, opset_import: ["": 17]> g (float[N,K] a, float[L,M] b) => (float[N,M] y) {
        y = MatMul(a, b) }"""
    facts = infer_facts(load_model(onnx.parser.parse_model(text)))
    value = next(v for v in facts if v.name == "b")
    assert [str(d) for d in facts[value].dims or ()] == ["K", "M"]
    assert [str(d) for d in facts.boundary_dims(value) or ()] == ["L", "M"]


@pytest.mark.parametrize(
    ("known", "fixed", "expected"),
    [
        (["T into P+S"], {}, {"T": 4, "P": 2, "S": 2}),
        (["T into P+S"], {"T": 9}, {"T": 9, "P": 7, "S": 2}),
        (["T into P+S"], {"P": 5, "S": 1}, {"T": 6, "P": 5, "S": 1}),
        (["min(T, P+S) into P+S"], {}, {"T": 4, "P": 2, "S": 2}),
        (["H*W = 196"], {}, {"H": 14, "W": 14}),
        (["N = 16"], {}, {"N": 16}),
        (["N = M", "M = L"], {"L": 5}, {"N": 5, "M": 5, "L": 5}),
        (["P beside Q"], {"P": 3}, {"P": 3, "Q": 3}),
        (["P beside Q", "P beside R", "Q beside R"], {"R": 3}, {"P": 3, "Q": 3, "R": 3}),
        (["M beside 2*N"], {"M": 1}, {"M": 1, "N": 2}),
        (["M beside N", "N = 2*M"], {}, {"M": 1, "N": 2}),  # can't be equal
        (["T = P+S"], {"T": 3, "P": 3, "S": 3}, {"T": 3, "P": 3, "S": 3}),  # nothing fits: what was given
    ],
)
def test_sizes(known: list[str], fixed: dict[str, int], expected: dict[str, int]) -> None:
    assert agreeing_sizes(expected, fixed, [constraint(k) for k in known], {}, 2) == expected


def test_sizes_stay_in_their_ranges() -> None:
    known = [constraint("T = P+S")]
    assert agreeing_sizes("TPS", {}, known, {"T": (8, 8), "S": (1, 1)}, 2) == {"T": 8, "P": 7, "S": 1}
