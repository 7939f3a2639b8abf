"""Sizes that models compute: random chains of any length, and facts about sizes that point at each other.

Whatever a model computes, inference ends in little time, raises nothing of its own, and what it says of a
size is what the size is.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import onnx
import pytest

from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import Facts
from ascend_ep.graph.load import load_model
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef.dim_tree import tree
from ascend_ep.opdef.dims import (
    Dim,
    DimExpr,
    DimTooComplex,
    bounds,
    evaluate,
    max_,
    substitute,
    symbol,
    symbols,
)
from ascend_ep.opdef.polynomial import MAX_SIZE

HEAD = '<ir_version: 10, opset_import: ["": 17]>'
#: What a session of ours, called from a program of its own, may use of Python's stack.
FRAMES = 500
SIZES = ({"A": 1, "B": 1}, {"A": 2, "B": 7}, {"A": 5, "B": 3}, {"A": 640, "B": 481})
LARGEST = 2**40


@contextmanager
def little_stack() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def facts_of(text: str) -> Facts:
    model = load_model(onnx.parser.parse_model(f"{HEAD} {text}"))
    with little_stack():
        return infer_facts(model)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


#: ONNX's operators of two sizes, and what each gives
TWO: dict[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": truncated,
    "Mod": lambda a, b: a % b,
    "Min": min,
    "Max": max,
}


class Chain:
    """A model of sizes, computed from those of its input, and what each of them is for each of SIZES."""

    def __init__(self, seed: int, length: int) -> None:
        self.draw = random.Random(seed)
        self.lines = ["s = Shape(x)", "a = Gather(s, zero)", "b = Slice(s, one, two, zero, one)"]
        self.weights = ["int64[1] zero = {0}", "int64[1] one = {1}", "int64[1] two = {2}"]
        self.known = {"a": [s["A"] for s in SIZES], "b": [s["B"] for s in SIZES]}
        for i in range(length):
            self.add(f"v{i}")

    def add(self, name: str) -> None:
        last = list(self.known)[-1] if self.draw.random() < 0.7 else self.draw.choice(list(self.known))
        op = self.draw.choice(list(TWO))
        other = self.constant() if self.draw.random() < 0.5 else self.draw.choice(list(self.known))
        if op in ("Div", "Mod"):
            self.lines.append(f"{name}d = Max({other}, one)")
            self.known[f"{name}d"] = [max(v, 1) for v in self.known[other]]
            other = f"{name}d"
        results = [TWO[op](a, b) for a, b in zip(self.known[last], self.known[other], strict=True)]
        if all(abs(r) < LARGEST for r in results):
            self.lines.append(f"{name} = {op}({last}, {other})")
            self.known[name] = results

    def constant(self) -> str:
        name = f"c{len(self.weights)}"
        value = self.draw.choice([0, 1, 1, 2, 3, 4, 8, 16, 255, 256, 1000000000])
        self.weights.append(f"int64[1] {name} = {{{value}}}")
        self.known = {name: [value] * len(SIZES), **self.known}
        return name

    def text(self) -> str:
        every = ", ".join(self.known)
        return (
            f"g (float[A,B] x) => (all) <{', '.join(self.weights)}> "
            f"{{ {' '.join(self.lines)} all = Concat<axis=0>({every}) }}"
        )


@pytest.mark.parametrize("length", [3, 10, 40, 400])
@pytest.mark.parametrize("seed", range(8))
def test_sizes_are_what_they_are_said_to_be(seed: int, length: int) -> None:
    chain = Chain(1000 * length + seed, length)
    facts = facts_of(chain.text())
    said = {v.name: facts[v].shape_value for v in facts}
    assert sum(said[name] is not None for name in chain.known) > 2
    for name, results in chain.known.items():
        for dim in said[name] or ():
            assert [evaluate(dim, s) for s in SIZES] == results, name


def test_a_long_chain_of_any_one_operator() -> None:
    """Each step is one more level, or twice as many terms, unless the form of dims absorbs it."""
    for op in TWO:
        for operands in ("v{0}, c", "c, v{0}", "v{0}, w{0}"):
            twice = "w{0} = Div(v{0}, c) "
            steps = [
                f"{twice if 'w' in operands else ''}v{{1}} = {op}({operands})".format(i, i + 1)
                for i in range(150)
            ]
            facts = facts_of(
                f"g (float[A,B] x) => (v150) <int64[2] c = {{3, 5}}> {{ v0 = Shape(x) {' '.join(steps)} }}"
            )
            assert "v150" in {v.name for v in facts}


def entangled(seed: int) -> str:
    """Tensors whose axes the nodes relate in many ways, most of them impossible for most sizes."""
    draw = random.Random(seed)
    tensors = [f"x{i}" for i in range(3)]
    lines = []
    for i in range(draw.choice([5, 20, 60])):
        a, b = draw.choice(tensors), draw.choice(tensors)
        step = draw.choice(
            [
                f"t{i} = Add({a}, {b})",
                f"t{i} = Mul({a}, {b})",
                f"t{i} = Concat<axis=0>({a}, {b})",
                f"t{i} = Transpose<perm=[1, 0]>({a})",
                f"t{i} = MatMul({a}, {b})",
                f"t{i} = Reshape({a}, {draw.choice(['r0', 'r1', 'r2', 'r3'])})",
                f"s{i} = Shape({b}) t{i} = Reshape({a}, s{i})",
                f"s{i} = Shape({b}) t{i} = Expand({a}, s{i})",
                f"s{i} = Shape({b}) n{i} = Gather(s{i}, zero) m{i} = Concat<axis=0>(n{i}, minus) "
                f"t{i} = Reshape({a}, m{i})",
            ]
        )
        lines.append(step)
        tensors.append(f"t{i}")
    declared = draw.choice(["", "float[A,C] "])
    inputs = "float[A,B] x0, float[C,D] x1, float[E,B] x2"
    weights = (
        "int64[1] zero = {0}, int64[1] minus = {-1}, int64[2] r0 = {-1, 4}, int64[2] r1 = {2, -1}, "
        "int64[2] r2 = {0, -1}, int64[2] r3 = {-1, 1}"
    )
    return f"g ({inputs}) => ({declared}{tensors[-1]}) <{weights}> {{ {' '.join(lines)} }}"


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_entangled_axes_end_in_constraints_or_in_an_error_that_names_the_node(first: int) -> None:
    found, refused = 0, []
    for seed in range(first, first + 20):
        try:
            facts_of(entangled(seed)).constraints.found()
            found += 1
        except AscendError as error:
            refused.append(str(error))
    assert found
    assert refused
    assert all(" node " in sentence for sentence in refused)


@pytest.mark.parametrize(
    "nodes",
    [
        "m = Min(n, million) s = Concat<axis=0>(minus, k) u = Concat<axis=0>(m, k) y = Reshape(x, s) "
        "t = Reshape(y, u)",
        "d = Div(n, sixteen) e = Mul(d, k) s = Concat<axis=0>(minus, k) u = Concat<axis=0>(e, k) "
        "y = Reshape(x, s) t = Reshape(y, u)",
        "m = Max(n, sixteen) s = Concat<axis=0>(m, minus) u = Concat<axis=0>(m, k) y = Reshape(x, s) "
        "z = Reshape(y, u) v = Concat<axis=0>(minus, m) w = Reshape(z, v) t = Concat<axis=0>(w, x)",
    ],
)
def test_a_quotient_that_is_made_of_itself(nodes: str) -> None:
    """What is divided and multiplied by the same again leads back to the fact that it came from."""
    weights = "int64[1] million = {1000000}, int64[1] sixteen = {16}, int64[1] minus = {-1}"
    sizes = "n = Shape<start=0, end=1>(x) k = Shape<start=1, end=2>(x)"
    assert facts_of(f"g (float[N,K] x) => (t) <{weights}> {{ {sizes} {nodes} }}").constraints.found()


def nested(levels: int) -> Iterator[Dim]:
    """Dims of more and more levels, up to the bound."""
    dim: Dim = symbol("A")
    for i in range(levels):
        dim = max_((dim + symbol("B")) // (i + 3), 7 - dim)
        yield dim


def test_dims_as_deep_as_they_get_are_read_with_little_stack() -> None:
    made: list[Dim] = []
    with pytest.raises(DimTooComplex):
        made.extend(nested(1000))
    readers: Sequence[Callable[[DimExpr], object]] = (
        str, bounds, tree, lambda d: symbols([d]), lambda d: evaluate(d, SIZES[1]),
        lambda d: substitute(d, {"A": symbol("C") + 0}), lambda d: d - d,
    )  # fmt: skip
    assert len(made) > 5
    deepest = made[-1]
    assert isinstance(deepest, DimExpr)
    assert deepest.size <= MAX_SIZE
    with little_stack():
        for read in readers:
            read(deepest)
