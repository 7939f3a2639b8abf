"""Slices, chunks, windows, concatenation and gathers in formulas: NumPy, our kernels, generated C agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from ascend_ep.codegen.c_source import InputType, generate_c
from ascend_ep.codegen.compiled_library import compile_library
from ascend_ep.codegen.library_call import run_library
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.errors import AscendError
from ascend_ep.frontends.description import describe
from ascend_ep.opbuild.proof.harness import Case
from ascend_ep.opbuild.proof.interpreted import run_interpreted
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Formula
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import formula_program, parse_formula
from ascend_ep.opdef.formula_nodes import Names
from ascend_ep.opdef.reference import evaluate, evaluate_program
from ascend_ep.opdef.specialize import specialize

RNG = np.random.default_rng(3)
X = RNG.normal(size=(6, 8))
Numbers = np.ndarray

MOVES: dict[str, Callable[[Numbers], Numbers]] = {
    "slice(x, 1, -2)*2": lambda x: x[:, 1:-2] * 2,
    "slice(x, -3, inf, axis=0)": lambda x: x[-3:],
    "slice(x, 1, inf, 3)": lambda x: x[:, 1::3],
    "chunk(x, 2, 0)*sigmoid(chunk(x, 2, 1))": lambda x: x[:, :4] / (1 + np.exp(-x[:, 4:])),
    "chunk(x, 3, 2)": lambda x: x[:, 6:],
    "concat(x, x*2, axis=0)": lambda x: np.concatenate([x, x * 2], 0),
    "concat(x, chunk(x, 2, 0), x)": lambda x: np.concatenate([x, x[:, :4], x], 1),
    "max(windows(x, 3, 2), keepdims=false)": lambda x: sliding_window_view(x, 3, 1)[:, ::2].max(-1),
    "sum(windows(x, 3, 1, 1, 1, 1), keepdims=false)": lambda x: sliding_window_view(
        np.pad(x, ((0, 0), (1, 1))), 3, 1
    ).sum(-1),
    "max(windows(x, 2, 2, 2, 1, 2, -inf), keepdims=false)": lambda x: np.maximum(
        *(np.pad(x, ((0, 0), (1, 2)), constant_values=-np.inf)[:, s : s + 9 : 2] for s in (0, 2))
    ),
    "take(x, argmax(x, axis=0, keepdims=false), axis=0)": lambda x: x[x.argmax(0)],
    "transpose(x) + 1": lambda x: x.T + 1,
    "matmul(transpose(x), transpose(slice(x, 0, 6)))": lambda x: x.T @ x[:, :6].T,
}


@pytest.mark.parametrize("text", MOVES)
def test_the_reference_and_our_kernels(text: str) -> None:
    opdef = describe(f"F(x) = {text}").opdef
    expected = MOVES[text](X)
    (got,) = evaluate(opdef, [X])
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    subject = Subject(opdef, (TensorSpec(dtypes.FLOAT32, X.shape),), {})
    (found,) = run_interpreted(subject, Case((X.astype(np.float32),), "test"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert isinstance(opdef.semantics, Formula)
    assert program_text(formula_program(opdef)) == opdef.semantics.text


@pytest.mark.usefixtures("compiler")
def test_generated_code() -> None:
    """One library of all moves, for any sizes that fit, and for indices."""
    names = [f"y{i}" for i in range(len(MOVES) + 1)]
    lines = [f"{n} = {text}" for n, text in zip(names, [*MOVES, "take(x, ids, axis=0)"], strict=True)]
    inputs = {"x": ("6", "8"), "ids": ("3", "2")}
    parsed = parse_formula("\n".join(lines), Names(dict.fromkeys(inputs, "number"), {}, tuple(names)))
    program = specialize(parsed, {}, list(inputs))
    kinds = [InputType(dtypes.FLOAT32, inputs["x"]), InputType(dtypes.INT64, inputs["ids"])]
    source = generate_c("Moves", program, list(inputs), kinds, [dtypes.FLOAT32] * len(names))
    library = compile_library(source)
    x, ids = X.astype(np.float32), RNG.integers(-6, 6, (3, 2))
    found = run_library(library.path, "Moves", [x, ids], len(names))
    wanted = evaluate_program(program, {"x": x.astype(float), "ids": ids.astype(float)}, {})
    for name, got, want in zip(names, found, wanted, strict=True):
        assert got.shape == want.shape, name
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=name)
    with pytest.raises(AscendError, match="an index is outside"):
        run_library(library.path, "Moves", [x, ids + 9], len(names))


@pytest.mark.parametrize(
    ("text", "shape", "code"),
    [
        ("windows(x, 9)", (6, 8), "E42005"),
        ("concat(x, transpose(x))", (6, 8), "E42005"),
        ("take(x, 9*x, axis=0)", (6, 8), "E42005"),
        ("slice(x, 0, 2, 0)", (6, 8), "E42003"),
        ("chunk(x, 2, 2)", (6, 8), "E42003"),
        ("windows(x, 0)", (6, 8), "E42003"),
    ],
)
def test_what_does_not_fit(text: str, shape: tuple[int, ...], code: str) -> None:
    with pytest.raises(AscendError, match=code):
        evaluate(describe(f"F(x) = {text}").opdef, [np.full(shape, 7.0)])
