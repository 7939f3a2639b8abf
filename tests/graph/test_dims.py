"""Dimension expressions: canonical form, and constraint with Python's integers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.opdef.dim_text import parse_dim
from ascend_ep.opdef.dim_tree import Node, tree
from ascend_ep.opdef.dims import (
    OPERATIONS,
    Dim,
    DimTooComplex,
    bounds,
    evaluate,
    max_,
    min_,
    product,
    static,
    substitute,
    symbol,
)

N, M, S = symbol("N"), symbol("M"), symbol("S")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (2 * N - N, N),
        ((N * 4) // 4, N),
        (N - N, 0),
        ((N + M) * (N - M), N * N - M * M),
        ((N * S * 768) // (N * 768), S),
        ((N * (S + M) * 768) // (N * (S + M)), 768),
        ((N + 4) // 4, N // 4 + 1),
        ((2 * N) // 4, N // 2),
        ((N // 2) // 3, N // 6),
        ((2 * N + 1) // 2, N),
        ((6 * N + 3) % 3, 0),
        ((2 * N) % 4, 2 * (N % 2)),
        (max_(N, 0), N),
        (max_(N + 1, N), N + 1),
        (min_(N, 2**31 - 1), N),
        (min_(N, max_(N, M)), min_(max_(M, N), N)),
        (max_(max_(N, M), S), max_(N, max_(S, M))),
        (max_(N, 3 - N - 3), N),
        ((N * S) // (N * M), S // M),
    ],
)
def test_equal_values_are_equal_structures(left: Dim, right: Dim) -> None:
    assert left == right
    assert hash(left) == hash(right)


def test_different_values_stay_different() -> None:
    assert N != M
    assert N // 2 * 2 != N
    assert max_(N, 1) != N
    assert min_(N, M) != max_(N, M)
    assert static(N) is None
    assert static(N - N + 7) == 7


def test_truth_of_a_symbol_is_refused() -> None:
    with pytest.raises(TypeError):
        bool(N)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("N", N),
        ("N+1", N + 1),
        ("past+seq", symbol("past") + symbol("seq")),
        ("floor(N/2)", N // 2),
        ("floor(N/2 )+ 1", N // 2 + 1),
        ("ceil(N/2)", -(-N // 2)),
        ("2*s0 - 1", 2 * symbol("s0") - 1),
        ("Max(1, N)", max_(1, N)),
        ("-1 + N", N - 1),
        ("batch size", symbol("batch size")),
        ("N/2", symbol("N/2")),
        ("a[0]", symbol("a[0]")),
        ("", symbol("")),
        ("N//0", symbol("N//0")),
        ("2N", symbol("2N")),
        ("unk__0", symbol("unk__0")),
        ("(" * 300, symbol("(" * 300)),
        ("f(N)", symbol("f(N)")),
        ("17", 17),
    ],
)
def test_dim_param_text(text: str, expected: Dim) -> None:
    assert parse_dim(text) == expected


def test_growth_is_bounded() -> None:
    value: Dim = (N + M) * (N + M) * (N + M) * (N + M)
    value = value * value * (S + 1)
    with pytest.raises(DimTooComplex):
        value * value
    with pytest.raises(DimTooComplex):
        product([2**40, 2**40])
    with pytest.raises(DimTooComplex):
        N * 2**62 * 4
    text = "*".join(["(a+b+c+d)"] * 50)
    assert parse_dim(text) == symbol(text)


leaves = st.one_of(
    st.integers(-7, 7).map(lambda v: Node("const", value=v)),
    st.sampled_from("NMS").map(lambda s: Node("symbol", value=s)),
)
nodes = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda op, a, b: Node(op, (a, b)), st.sampled_from(sorted(OPERATIONS)), inner, inner
    ),
    max_leaves=12,
)


def build(node: Node) -> Dim:
    if node.op == "const":
        return int(node.value)
    return symbol(str(node.value)) if node.op == "symbol" else OPERATIONS[node.op](*map(build, node.args))


def value_of(node: Node, env: dict[str, int]) -> int:
    if node.op == "const":
        return int(node.value)
    if node.op == "symbol":
        return env[str(node.value)]
    a, b = (value_of(n, env) for n in node.args)
    return {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "floordiv": lambda: a // b,
        "mod": lambda: a % b, "max": lambda: max(a, b), "min": lambda: min(a, b),
    }[node.op]()  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(nodes, st.fixed_dictionaries({k: st.integers(0, 9) for k in "NMS"}))
def test_simplification_keeps_the_value(node: Node, env: dict[str, int]) -> None:
    """Against plain integers: the expression, its tree, its bounds, its text and partial substitution."""
    try:
        expected = value_of(node, env)
        dim = build(node)
    except (ZeroDivisionError, DimTooComplex):
        return
    assert evaluate(dim, env) == expected
    assert value_of(tree(dim), env) == expected
    low, high = bounds(dim)
    assert low is None or low <= expected
    assert high is None or expected <= high
    assert parse_dim(str(dim)) == dim
    try:
        partial = substitute(dim, {"N": env["N"], "M": symbol("S")})
    except ZeroDivisionError:
        return
    same = {**env, "M": env["S"]}
    try:
        assert evaluate(partial, same) == value_of(node, same)
    except ZeroDivisionError:
        return
