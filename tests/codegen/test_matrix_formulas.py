"""Matrix products in formulas: the reference, our kernels and generated C against NumPy in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

import ascend_ep
from ascend_ep.cli.op import main
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
from ascend_ep.opdef.derivative import differentiate
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.output_types import infer
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.specialize import specialize

RNG = np.random.default_rng(5)
ATTENTION = "Attention(Q, K, V) = softmax(QKᵀ/√d)V, where d = size(Q)"


def subject_of(text: str, shapes: list[tuple[int, ...]], dtype: int = dtypes.FLOAT32) -> Subject:
    opdef = describe(text).opdef
    return Subject(opdef, tuple(TensorSpec(dtype, s) for s in shapes), {})


def interpreted(text: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    subject = subject_of(text, [a.shape for a in arrays])
    return run_interpreted(subject, Case(tuple(arrays), "test"))


#: Products of a and b, by the shapes of both: batch dimensions, vectors, odd sizes, sizes of 1.
SHAPES = [
    ((3, 4), (4, 5)),
    ((2, 3, 7), (7, 5)),
    ((7, 3), (2, 1, 3, 5)),
    ((2, 1, 3, 4), (5, 4, 6)),
    ((4,), (4, 5)),
    ((2, 3, 4), (4,)),
    ((6,), (6,)),
    ((1, 1), (1, 1)),
    ((3, 1), (1, 5)),
    ((17, 33), (33, 65)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_the_shapes_of_products_are_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = RNG.normal(size=a), RNG.normal(size=b)
    expected = np.matmul(x, y)
    opdef = describe("F(a, b) = a @ b").opdef
    (got,) = evaluate(opdef, [x, y])
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    assert infer(opdef, [(1, a), (1, b)], {})[0][1] == expected.shape
    (found,) = interpreted("F(a, b) = a @ b", [x.astype(np.float32), y.astype(np.float32)])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("a", "b"), [((3, 4), (5, 6)), ((), (3,)), ((2, 3, 4), (3, 4, 5))])
def test_shapes_that_have_no_product(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    opdef = describe("F(a, b) = a @ b").opdef
    with pytest.raises(AscendError, match="E41012"):
        infer(opdef, [(1, a), (1, b)], {})
    with pytest.raises(AscendError, match="E42005"):
        evaluate(opdef, [np.ones(a), np.ones(b)])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_formulas_of_products_in_our_kernels(data: st.DataObject) -> None:
    """Chains of products, transpositions and elementwise parts over [b, m, k], [n, k] and [n]."""
    m, k, n = (data.draw(st.integers(1, 9)) for _ in "mkn")
    value, shape = data.draw(st.sampled_from([("x", (m, k)), ("tanh(x)", (m, k)), ("x*2 - 1", (m, k))]))
    text, columns = value, shape[1]
    for _ in range(data.draw(st.integers(1, 3))):
        step = data.draw(st.sampled_from(["w", "own", "transposed"]))
        if step == "w" and columns == k:
            text, columns = f"({text}) @ w^T", n
        elif step == "own":
            text, columns = f"({text}) @ ({text})^T", m
        else:
            text, columns = f"({text})^T @ ({text})/9", columns
            m = columns
        text = data.draw(st.sampled_from([text, f"relu({text})", f"({text}) - max({text})"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    arrays = [rng.normal(size=(2, *shape)).astype(np.float32), rng.normal(size=(n, k)).astype(np.float32)]
    full = f"F(x, w) = {text} + 0·Σ(w, axis=all)"
    (expected,) = evaluate(describe(full).opdef, [a.astype(np.float64) for a in arrays])
    (found,) = interpreted(full, arrays)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * (1 + np.abs(expected).max(initial=0)))


MANY = """\
plain = matmul(x, y)
left = matmul(transpose(x), x)
right = matmul(y, transpose(y))
row = matmul(r, y)
column = matmul(x, r)
number = matmul(r, r)
batch = matmul(z, y)
scaled = max(matmul(exp(x - 1), y) + 1, 0)/sum(y, axis=-2)
twice = matmul(matmul(x, y), transpose(y))"""


@pytest.mark.usefixtures("compiler")
def test_generated_code() -> None:
    """One library of many products, at sizes around the lengths of vectors."""
    inputs = {"x": ("M", "K"), "y": ("K", "N"), "r": ("K",), "z": ("B", "2", "K")}
    names = [line.partition(" =")[0] for line in MANY.split("\n")]
    from ascend_ep.opdef.formula import parse_formula
    from ascend_ep.opdef.formula_nodes import Names

    parsed = parse_formula(MANY, Names(dict.fromkeys(inputs, "number"), {}, tuple(names)))
    program = specialize(parsed, {}, list(inputs))
    kinds = [InputType(dtypes.FLOAT32, dims) for dims in inputs.values()]
    source = generate_c("Many", program, list(inputs), kinds, [dtypes.FLOAT32] * len(names))
    assert not source.pays  # a conversion calls our kernels
    library = compile_library(source)
    for m, k, n in [(3, 5, 7), (17, 33, 65), (1, 1, 1), (2, 16, 100), (5, 0, 3), (64, 64, 64)]:
        sizes = {"M": m, "K": k, "N": n, "B": 3, "2": 2}
        arrays = {
            name: RNG.normal(size=[sizes[d] for d in dims]).astype(np.float32)
            for name, dims in inputs.items()
        }
        x, y, r, z = (a.astype(np.float64) for a in arrays.values())
        with np.errstate(all="ignore"):
            expected = [
                x @ y, x.T @ x, y @ y.T, r @ y, x @ r, r @ r, z @ y,
                np.maximum(np.exp(x - 1) @ y + 1, 0) / y.sum(-2, keepdims=True), x @ y @ y.T,
            ]  # fmt: skip
        found = run_library(library.path, "Many", list(arrays.values()), len(names))
        for name, got, want in zip(names, found, expected, strict=True):
            assert got.shape == want.shape, name
            size = np.abs(want).max(initial=0) if name != "scaled" else np.nanmax(np.abs(want), initial=1)
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * size, err_msg=name)


def test_two_transposed_matrices() -> None:
    """No one set of loops walks both along their rows: one of them is moved first."""
    program = formula_program(describe("F(x, y) = x^T @ y^T").opdef)
    kinds = [InputType(dtypes.FLOAT32, ("M", "K")), InputType(dtypes.FLOAT32, ("N", "M"))]
    assert generate_c("F", program, ["x", "y"], kinds, [dtypes.FLOAT32]).output_dims == (("K", "N"),)
    x, y = (RNG.normal(size=s).astype(np.float32) for s in [(4, 3), (5, 4)])
    np.testing.assert_allclose(interpreted("F(x, y) = x^T @ y^T", [x, y])[0], x.T @ y.T, rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("F(x, w, b) = tanh(x @ w + b)", [(2, 3, 4), (4, 5), (5,)]),
        (ATTENTION, [(2, 3, 4), (2, 5, 4), (2, 5, 6)]),
        ("F(x) = x @ x^T", [(2, 3, 4)]),
        ("F(x, y) = Σ(x^T @ y)", [(4, 3), (2, 4, 5)]),
    ],
)
def test_gradients(text: str, shapes: list[tuple[int, ...]]) -> None:
    """Against differences of the reference."""
    opdef = describe(text).opdef
    gradient = differentiate(opdef)
    arrays = [RNG.normal(size=s) for s in shapes]
    (y,) = evaluate(opdef, arrays)
    seed = RNG.normal(size=y.shape)
    found = evaluate(gradient, [*arrays, seed])
    for i, array in enumerate(arrays):
        for _ in range(4):
            at = tuple(RNG.integers(0, d) for d in array.shape)
            changed = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in arrays]
                moved[i][at] += step
                changed.append(float(np.sum(evaluate(opdef, moved)[0] * seed)))
            assert found[i][at] == pytest.approx((changed[0] - changed[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.usefixtures("compiler")
def test_from_a_prompt_to_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Attention in one line: built, proven, converted and run."""
    flags = ["--input_shape", "[2,5,8];[2,7,8];[2,7,3]", "--search", "0", "--ascend_c", "0"]
    assert main(["build", "--prompt", ATTENTION, *flags, "--output", str(tmp_path)], {}) == 0
    said = capsys.readouterr().out
    assert "proven: right in bfloat16, beside float64: " in said
    dims = {"q": ["b", 5, 8], "k": ["b", 7, 8], "v": ["b", 7, 3]}
    values = [helper.make_tensor_value_info(n, 1, d) for n, d in dims.items()]
    made = helper.make_tensor_value_info("y", 1, ["b", 5, 3])
    graph = helper.make_graph([helper.make_node("Attention", list(dims), ["y"])], "g", values, [made])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    converted(tmp_path)
    session = ascend_ep.InferenceSession(str(tmp_path / "m.om"))
    for batch in (1, 3):
        feeds: dict[str, Any] = {
            n: RNG.normal(size=(batch, *d[1:])).astype(np.float32) for n, d in dims.items()
        }
        q, k, v = (a.astype(np.float64) for a in feeds.values())
        scores = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(8))
        (y,) = session.run(None, feeds)
        np.testing.assert_allclose(y, scores / scores.sum(-1, keepdims=True) @ v, rtol=1e-5, atol=1e-6)


def converted(folder: Path) -> None:
    from ascend_ep.cli.atc import main as atc

    flags = ["--framework=5", "--soc_version=Ascend910B3", f"--custom_op_info={folder / 'attention.json'}"]
    precision = ["--precision_mode=must_keep_origin_dtype", "--input_shape=q:-1,5,8;k:-1,7,8;v:-1,7,3"]
    assert atc([f"--model={folder / 'm.onnx'}", f"--output={folder / 'm'}", *flags, *precision]) == 0
