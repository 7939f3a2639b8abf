"""Shape and type rules, on numbers and on symbols."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import Dim, symbol
from ascend_ep.opdef.loader import parse_definitions
from ascend_ep.opdef.output_types import infer
from ascend_ep.opdef.registry import Registry

N, S = symbol("N"), symbol("S")


def operator(rule: str, inputs: Sequence[str] = ("x", "y")) -> OpDef:
    tensors = [{"name": name, "param_type": "optional"} for name in inputs]
    attributes = [
        {"name": "k", "type": "int", "default": 7},
        {"name": "axis", "type": "int", "default": -1},
        {"name": "axes", "type": "ints", "default": [0, 2]},
    ]
    entry = {
        "op": "A",
        "inputs": tensors,
        "outputs": [{"name": "o"}],
        "attributes": attributes,
        "kernel": "a",
    }
    return parse_definitions(json.dumps({**entry, "shape": rule}))[0]


def dims(rule: str, *shapes: Sequence[Dim] | None, **attributes: object) -> tuple[Dim, ...] | None:
    types = [None if s is None else (1, s) for s in shapes]
    return infer(operator(rule), types, attributes)[0][1]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("x", (N, 4, S)),
        ("x.shape", (N, 4, S)),
        ("[*x.shape[:-1], k]", (N, 4, 7)),
        ("x.with_dim(axis, k)", (N, 4, 7)),
        ("x.with_dim(0, x.shape[0] * 2)", (N * 2, 4, S)),
        ("x.without_dim(axes[0])", (4, S)),
        ("x.insert_dim(-1, 1)", (N, 4, S, 1)),
        ("x.insert_dim(0, k)", (7, N, 4, S)),
        ("[prod(x), rank(x), len(axes)]", (N * 4 * S, 3, 2)),
        ("[(x.shape[1] + 2 * k - 3) // 2 + 1, -(-x.shape[1] // 3), x.shape[1] % 3]", (8, 2, 1)),
        ("[max(x.shape[1], k), min(x.shape[1], k, 2)]", (7, 2)),
        ("x.shape[1:] + [k]", (4, S, 7)),
        ("x if given(x) else y", (N, 4, S)),
        ("x if given(y) else [k]", (7,)),
        ("x if rank(x) == 3 and not given(y) else [k]", (N, 4, S)),
        ("[1] if x.shape[0] == x.shape[0] else [2]", (1,)),
        ("[]", ()),
    ],
)
def test_rules_on_symbols(rule: str, expected: tuple[Dim, ...]) -> None:
    assert dims(rule, (N, 4, S)) == expected


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ((2, 3), (3,), (2, 3)),
        ((2, 1), (3,), (2, 3)),
        ((), (5,), (5,)),
        ((N, 1), (S,), (N, S)),
        ((N,), (N,), (N,)),
        ((N,), (8,), (8,)),
        ((0,), (1,), (0,)),
    ],
)
def test_broadcast(x: Sequence[Dim], y: Sequence[Dim], expected: tuple[Dim, ...]) -> None:
    assert dims("broadcast(x, y)", x, y) == expected


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("broadcast(x, y)", "don't broadcast"),
        ("x.with_dim(5, 1)", "axis 5 is outside"),
        ("x.shape[-4]", "outside"),
        ("[x.shape[1] - 9]", "the dimension -5"),
        ("[k // (k - 7)]", "divides by zero"),
        ("k", "one dimension, not a list"),
        ("[x]", "a list of dims stands where one dimension must"),
        ("[*k]", "a dimension stands where a list"),
        ("x.shape[::2]", "no step"),
        ("x == k", "compares a list with a dimension"),
    ],
)
def test_inapplicable_rules_say_why_and_show_the_shapes(rule: str, words: str) -> None:
    with pytest.raises(AscendError) as caught:
        dims(rule, (2, 4, 3), (2, 4, 5))
    assert caught.value.code == "E41012"
    assert words in caught.value.text
    assert "x: [2, 4, 3]" in caught.value.details


@pytest.mark.parametrize("rule", ["x", "[x.shape[0]]", "[k] if x.shape[0] == 1 else x"])
def test_unknown_shapes_give_unknown_shapes(rule: str) -> None:
    assert infer(operator(rule), [(1, None)], {})[0] == (1, None)


def test_conditions_on_symbols_are_unknown() -> None:
    assert dims("[1] if x.shape[0] == 1 else [2]", (N,)) is None
    assert dims("[1] if x.shape[0] < 3 else [2]", (N,)) is None


def test_elements_of_inputs() -> None:
    opdef = operator("[value(y), *values(x)]")
    types = [(7, (2,)), (7, (1,))]
    assert infer(opdef, types, {}, {0: (N, 3), 1: (S,)})[0][1] == (S, N, 3)
    assert infer(opdef, types, {})[0][1] is None


@pytest.mark.parametrize(
    "rule",
    [
        "__import__('os')",
        "x.__class__",
        "x.shape.__len__()",
        "(lambda: x)()",
        "[d for d in x]",
        "f'{x}'",
        "'x'",
        "1.5",
        "2**99",
        "[10**9]",
        "99999999999",
        "x.with_dim(0)",
        "x.with_dim(axis=0, d=1)",
        "broadcast(*x)",
        "broadcast()",
        "given(1)",
        "y.z",
        "unknown",
        "x.shape[0](1)",
        "x if y",
        "x; y",
        "x := 1",
        "await x",
        "1 < 2 < 3",
        "(" * 900,
        "-" * 1999 + "1",
        "[" * 90 + "]" * 90,
        "x+" * 900 + "x",
        "x" * 3000,
        "\0",
    ],
    ids=lambda r: r[:20],
)
def test_everything_else_is_refused_when_the_definition_is_read(rule: str) -> None:
    with pytest.raises(AscendError, match="E4200"):
        operator(rule)


WORDS = [*"xyk.[]()*+-%,:01", "axis", "shape", "//", "if", "else", "given", "value", "max", "with_dim"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS)))
def test_any_rule_is_refused_or_gives_dims(words: list[str]) -> None:
    with contextlib.suppress(AscendError):
        result = infer(operator(" ".join(words)), [(1, (2, N)), (1, (3,))], {})[0][1]
        assert result is None or isinstance(result, tuple)


def builtin(op: str) -> OpDef:
    found = Registry().resolve("any", op, 1)
    assert found is not None
    return found.opdef


def test_builtin_operators() -> None:
    assert infer(builtin("Swish"), [(10, (N, 4))], {}) == [(10, (N, 4))]
    assert infer(builtin("TopK"), [(1, (N, S))], {"k": 5}) == [(1, (N, 5)), (7, (N, 5))]
    assert infer(builtin("TopK"), [(1, (N, S)), (7, (1,))], {"axis": 0}, {1: (3,)})[1] == (7, (3, S))
    assert infer(builtin("SwiGLU"), [(16, (N, 10))], {}) == [(16, (N, 5))]
    assert infer(builtin("SwiGLU"), [(1, (N, 10)), (1, (N, 10))], {}) == [(1, (N, 10))]
    rope = [(1, (N, 4, S, 64)), (1, (100, 32)), (1, (100, 32)), (7, (N, S))]
    assert infer(builtin("RoPE"), rope, {}) == [(1, (N, 4, S, 64))]


@pytest.mark.parametrize(
    ("inputs", "attributes", "words"),
    [
        ([(11, (4,))], {}, "input [x] is float64"),
        ([], {}, "takes 1 inputs, not 0"),
        ([(1, (4,)), (1, (4,))], {}, "takes 1 inputs, not 2"),
        ([None], {}, "input [x] is required"),
        ([(1, (4,))], {"scal": 1.0}, "Did you mean [scale]?"),
        ([(1, (4,))], {"scale": "big"}, "must be of type float"),
    ],
)
def test_nodes_that_do_not_fit(inputs: list[object], attributes: dict[str, object], words: str) -> None:
    with pytest.raises(AscendError) as caught:
        infer(builtin("Swish"), inputs, attributes)  # type: ignore[arg-type]
    assert caught.value.code == "E41011"
    assert words in str(caught.value)


def test_one_type_variable_is_one_type() -> None:
    with pytest.raises(AscendError, match=r"\[gate\] and \[up\] must have one element type"):
        infer(builtin("SwiGLU"), [(1, (4,)), (10, (4,))], {})


def test_without_a_rule_the_formula_gives_the_shape() -> None:
    text = """{"op": "A", "inputs": [{"name": "x"}, {"name": "b", "param_type": "optional"}],
      "outputs": [{"name": "rows"}, {"name": "centred"}, {"name": "n"}],
      "attr": [{"name": "axis", "type": "int"}],
      "formula": ["m = mean(x, axis=axis)", "rows = sum(x, axis=[0, -1], keepdims=false)",
                  "centred = x - m + b if given(b) else x - m", "n = size(x) + index(x, axis=0)"]}"""
    (opdef,) = parse_definitions(text)
    shapes = [s for _, s in infer(opdef, [(1, (N, 4, S)), (1, (2, 1, 1, 1))], {"axis": 1})]
    assert shapes == [(4,), (2, N, 4, S), (N, 1, 1)]
    assert infer(opdef, [(1, (N, 4, S))], {"axis": 1})[1][1] == (N, 4, S)
    with pytest.raises(AscendError, match=r"E41012.*\[axis\] is not given"):
        infer(opdef, [(1, (N, 4, S))], {})
