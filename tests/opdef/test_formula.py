"""The formula language: precedence, kinds, limits, carets; parsing what was printed gives it back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import (
    REDUCTIONS,
    Apply,
    AttributeRef,
    Cast,
    Constant,
    Expression,
    Given,
    Index,
    Input,
    Kind,
    Program,
    Reduce,
    SumTo,
    TopK,
    Unsqueeze,
)
from ascend_ep.opdef.expression_text import program_text, to_text
from ascend_ep.opdef.formula import MAX_DEPTH, parse_formula
from ascend_ep.opdef.formula_nodes import MAX_HEIGHT, Names
from ascend_ep.opdef.operations import OPERATIONS

NAMES = Names(
    inputs={"x": "number", "w": "number", "m": "bool", "b": "number"},
    attributes={"alpha": "float", "flag": "bool", "mode": "string", "axis": "int", "axes": "ints"},
    outputs=("y",),
    optional=frozenset({"b"}),
)


def text(formula: str) -> str:
    return program_text(parse_formula(formula, NAMES))


@pytest.mark.parametrize(
    ("formula", "printed"),
    [
        ("x * sigmoid(x)", "y = x*sigmoid(x)"),
        ("x * σ(x)", "y = x*sigmoid(x)"),
        (
            "0.5*x*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3)))",
            "y = 0.5*x*(1 + tanh(sqrt(2/pi)*(x + 0.044715*x^3)))",
        ),
        ("-x^2", "y = -x^2"),
        ("(-x)^2", "y = (-x)^2"),
        ("2^-x", "y = 2^-x"),
        ("x^w^2", "y = x^w^2"),
        ("(x^w)^2", "y = (x^w)^2"),
        ("x ** 2 − 1", "y = x^2 - 1"),
        ("x - (w - 1) - 2", "y = x - (w - 1) - 2"),
        ("x / w * 2 // 3 % 4", "y = x/w*2//3 % 4"),
        ("x / (w * 2)", "y = x/(w*2)"),
        ("--x", "y = --x"),
        ("x if x > 0 else alpha * x", "y = where(x > 0, x, alpha*x)"),
        ("x > 0 ? x : w > 0 ? 1 : 2", "y = where(x > 0, x, where(w > 0, 1, 2))"),
        ("where(x > 0 && w < 1 || !m, x, w)", "y = where(x > 0 and w < 1 or not m, x, w)"),
        ("where(not (m or m) and m, x, w)", "y = where(not (m or m) and m, x, w)"),
        ("x * m", "y = x*where(m, 1, 0)"),
        ("x if w else 0", "y = where(w != 0, x, 0)"),
        ("(m if x > 0 else flag) * 1", "t0 = x > 0\ny = where(t0 and m or not t0 and flag, 1, 0)*1"),
        ('x if mode == "fast" else w', 'y = where(mode == "fast", x, w)'),
        ("x + b if given(b) else x", "y = where(given(b), x + b, x)"),
        ("max(x, w, 0)", "y = max(max(x, w), 0)"),
        ("x - max(x)", "y = x - max(x, axis=-1)"),
        ("mean(x, axis=[0, -1], keepdims=false)", "y = mean(x, axis=[0, -1], keepdims=false)"),
        ("sum(x, axis=axes) + var(x, axis=axis)", "y = sum(x, axis=axes) + var(x, axis=axis)"),
        ("index(x, axis=0) < size(x)", "y = index(x, axis=0) < size(x, axis=-1)"),
        ("float16(x) + int32(w)", "y = float16(x) + int32(w)"),
        ("clip(x/6 + 0.5, 0, 1)", "y = min(max(x/6 + 0.5, 0), 1)"),
        ("relu(x)", "y = max(x, 0)"),
        ("x + inf + e", "y = x + inf + e"),
        ("ln(x)", "y = log(x)"),
        ("a = x*2\nb2 = a + 1; y = a*b2 # done", "a = x*2\nb2 = a + 1\ny = a*b2"),
        ("\n\n y = x \n", "y = x"),
    ],
)
def test_reading(formula: str, printed: str) -> None:
    assert text(formula) == printed
    assert text(printed) == printed


def test_a_function_of_a_computed_argument_computes_it_once() -> None:
    assert text("silu(x + 1)") == "t0 = x + 1\ny = t0*sigmoid(t0)"
    assert text("silu(x)") == "y = x*sigmoid(x)"
    assert text("softmax(x + w, axis=axis)").split("\n") == [
        "t0 = x + w",
        "t1 = exp(t0 - max(t0, axis=axis))",
        "y = t1/sum(t1, axis=axis)",
    ]


def test_several_outputs() -> None:
    names = Names({"x": "number"}, {}, ("mean_", "rstd", "y"))
    program = parse_formula("mean_ = mean(x)\nrstd = 1/sqrt(var(x) + 1e-5)\ny = (x - mean_)*rstd", names)
    assert [name for name, _ in program.outputs] == ["mean_", "rstd", "y"]
    assert [name for name, _ in program.lets] == ["mean_", "rstd"]
    assert parse_formula(program_text(program), names) == program


@pytest.mark.parametrize(
    ("formula", "code", "words", "column"),
    [
        ("(x + 1", "E42001", "expected ) instead of the end", 6),
        ("x +", "E42001", "expected a value", 3),
        ("x & w", "E42001", "no sign '&'", 2),
        ("x w", "E42001", "unexpected w", 2),
        ("1.5x", "E42001", "1.5x is no number", 0),
        ("x > 1 > 2", "E42001", "can't be chained", 6),
        ("1e999", "E42001", "no finite double", 0),
        ("max(x, axis=0.5)", "E42001", "small integer", 12),
        ("sum(axis=0, x)", "E42001", "come before", 12),
        ("sum(x, axis=0, axis=1)", "E42001", "once", 15),
        ("xx + 1", "E42002", "Unknown name [xx]. Did you mean [x]?", 0),
        ("x + sigmoyd(x)", "E42002", "Did you mean [sigmoid]?", 4),
        ("exp(x, w)", "E42003", "exp takes 1 arguments, not 2", 0),
        ("mean(x, w)", "E42003", "mean takes 1 arguments, not 2", 0),
        ("var()", "E42003", "var takes 1 arguments, not 0", 0),
        ("exp(x, axis=0)", "E42003", "takes no axis=", 0),
        ("mode + 1", "E42003", "a text can only be compared", 5),
        ('mode < "a"', "E42003", "by == or !=", 5),
        ('"a"', "E42003", "a text is no tensor", 0),
        ("axes + 1", "E42003", "only stand after axis=", 0),
        ("sum(x, axis=alpha)", "E42003", "axis= takes an integer", 12),
        ("given(x)", "E42003", "optional input", 6),
        ("x = 1", "E42003", "x is an input", 0),
        ("exp = x", "E42003", "exp is a function", 0),
        ("z = x; z = w", "E42003", "assigned already", 7),
        ("x; w", "E42003", "needs a name", 3),
        ("z = x", "E42003", "output y is not assigned", 5),
        ("", "E42003", "output y is not assigned", 0),
        ("y = q\nx", "E42002", "[q]", 4),
    ],
)
def test_mistakes_are_shown_at_their_column(formula: str, code: str, words: str, column: int) -> None:
    with pytest.raises(AscendError) as caught:
        parse_formula(formula, NAMES, "op.json:3")
    error = caught.value
    assert error.code == code
    assert words in error.text
    assert error.where == "op.json:3"
    assert error.details[1] == " " * column + "^"


def test_the_caret_is_below_its_line_in_long_text() -> None:
    with pytest.raises(AscendError) as caught:
        parse_formula("z = x\ny = " + "x + " * 50 + "oops", NAMES)
    line, caret = caught.value.details
    assert line[caret.index("^") :].startswith("oops")


@pytest.mark.parametrize(
    "formula",
    [
        "(" * 5000,
        "-" * 5000 + "x",
        "not " * 4000 + "m",
        "x^" * 5000 + "x",
        "x ? " * 3000 + "x",
        "x if x else " * 1000 + "x",
        "exp(" * 3000 + "x",
        "x+" * (MAX_HEIGHT + 1) + "x",
        "x" * 30_000,
        "silu(" * (MAX_DEPTH + 1) + "x" + ")" * (MAX_DEPTH + 1),
        "; ".join(f"a{i} = x + x*x" for i in range(2000)) + "; x",
    ],
    ids=lambda f: f[:12],
)
def test_limits(formula: str) -> None:
    with pytest.raises(AscendError, match="E42004"):
        parse_formula(formula, NAMES)


def test_nested_choices_of_truth_values_do_not_grow_exponentially() -> None:
    program = parse_formula("(m if " * 40 + "m" + " else flag)" * 40 + " * x", NAMES)
    assert sum(1 for _ in program.expressions()) < 1000


def test_assignments_keep_large_formulas_small() -> None:
    lines = ["a0 = x"] + [f"a{i + 1} = a{i} + a{i}" for i in range(500)] + ["y = a500"]
    program = parse_formula("\n".join(lines), NAMES)
    assert sum(1 for _ in program.expressions()) < 2000


ELEMENTWISE_NUMBERS = [name for name, op in OPERATIONS.items() if op.gives == "number"]
ELEMENTWISE_TRUTHS = [name for name, op in OPERATIONS.items() if op.gives == "bool"]
LEAVES: dict[Kind, st.SearchStrategy[Expression]] = {
    "number": st.sampled_from([Input("x"), Input("w"), AttributeRef("alpha")])
    | (st.floats(min_value=0) | st.just(math.nan)).map(Constant),
    "bool": st.sampled_from([Input("m"), AttributeRef("flag"), Given("b"), Constant(True), Constant(False)])
    | st.sampled_from(["eq", "ne"]).map(lambda op: Apply(op, (AttributeRef("mode"), Constant("fast")))),
    "text": st.nothing(),
}
AXES = st.lists(st.integers(-9, 9), min_size=1, max_size=3).map(tuple) | st.just(AttributeRef("axes"))

LARGEST = st.booleans() | st.just(AttributeRef("flag"))
NUMBER_REDUCTIONS = [n for n, r in REDUCTIONS.items() if r.gives == "number" and not n.startswith("arg")]


def trees(kind: Kind, depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return LEAVES[kind]
    names = ELEMENTWISE_NUMBERS if kind == "number" else ELEMENTWISE_TRUTHS
    smaller = {k: st.deferred(lambda k=k: trees(k, depth - 1)) for k in ("number", "bool")}

    def apply(name: str) -> st.SearchStrategy[Expression]:
        return st.tuples(*(smaller[k] for k in OPERATIONS[name].takes)).map(lambda args: Apply(name, args))

    options = [LEAVES[kind], st.sampled_from(names).flatmap(apply)]
    if kind == "number":
        number = smaller["number"]
        axis = st.integers(-9, 9) | st.just(AttributeRef("axis"))
        options += [
            st.builds(
                Reduce, st.sampled_from(NUMBER_REDUCTIONS), number, AXES | st.just("all"), st.booleans()
            ),
            st.builds(
                Reduce, st.sampled_from(["argmax", "argmin"]), number, axis.map(one_axis), st.booleans()
            ),
            st.builds(
                TopK, number, st.integers(0, 9) | st.just(AttributeRef("axis")), axis, LARGEST, st.booleans()
            ),
            st.builds(Unsqueeze, number, AXES),
            st.builds(SumTo, number, number),
            st.builds(Cast, st.sampled_from(sorted(dtypes.NAMES)), number),
            st.builds(Index, number, axis, st.booleans()),
        ]
    else:
        truths = st.builds(Reduce, st.sampled_from(["any", "all"]), smaller["bool"], AXES, st.booleans())
        options.append(truths)
    return st.one_of(options)


def one_axis(axis: int | AttributeRef) -> tuple[int, ...] | AttributeRef:
    return (axis,) if isinstance(axis, int) else axis


@settings(max_examples=400, deadline=None)
@given(trees("number", 4))
def test_printing_then_parsing_is_the_identity(tree: Expression) -> None:
    printed = to_text(tree)
    assert parse_formula(printed, NAMES) == Program((), (("y", tree),)), printed


@settings(max_examples=400, deadline=None)
@given(st.text(alphabet="xwm 0123456789.e+-*/^%()<>=!?:,;\n\"'&|[]σ_#", max_size=40))
def test_any_text_is_a_program_or_an_error(formula: str) -> None:
    try:
        program = parse_formula(formula, NAMES)
    except AscendError:
        return
    assert parse_formula(program_text(program), NAMES) == program
