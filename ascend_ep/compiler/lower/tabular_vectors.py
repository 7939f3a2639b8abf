"""SVMRegressor and SVMClassifier of ai.onnx.ml: products with values of a kernel, votes of pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program, power
from ascend_ep.compiler.lower.matmul import emit_matmul
from ascend_ep.compiler.lower.tabular_linear import rows_in_float32
from ascend_ep.compiler.lowering import NodeView, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import FLOAT32, INT64
from ascend_ep.opdef.dims import static


def _floats(node: NodeView, name: str) -> NDArray[np.float32]:
    return np.asarray(node.attr(name, ()), np.float32)


def _product(
    b: PlanBuilder, x: Ref, matrix: NDArray[np.float32], bias: NDArray[np.float32], out: Ref
) -> None:
    """out = x @ matrix + bias, the matrix being [columns, results]."""
    panels = b.constant(np.ascontiguousarray(matrix), "panel32")
    emit_matmul(b, (x, panels), out, bias=b.constant(bias) if bias.any() else None)


def _kernel_values(node: NodeView, b: PlanBuilder, x: Ref, vectors: NDArray[np.float32]) -> Ref:
    """The kernel of each row with each of the vectors [vectors, columns]."""
    gamma, coef0, degree = (*_floats(node, "kernel_params"), 0.0, 0.0, 3.0)[:3]
    kind = node.attr("kernel_type", "LINEAR")
    columns = np.ascontiguousarray(vectors.T)
    made = b.temp(FLOAT32, [x.dims[0], len(vectors)])
    if kind == "RBF":
        b.emit("squared_distances", [x, b.constant(columns)], [made])
    else:
        _product(b, x, columns, np.zeros(1, np.float32), made)
    if kind == "LINEAR":
        return made
    program = Program()
    v = program.input(made, FLOAT32)
    match kind:
        case "RBF":
            result = program.call("exp", v * float(-gamma))
        case "POLY":
            result = power(program, v * float(gamma) + float(coef0), program.const(float(degree)))
        case "SIGMOID":
            result = program.call("tanh", v * float(gamma) + float(coef0))
        case _:
            raise Unsupported(f"its kernel_type {kind} is unknown")
    program.output(result, FLOAT32)
    values = b.temp(FLOAT32, made.dims)
    emit_program(b, program, [values])
    return values


def _support_vectors(node: NodeView, x: Ref, count: int) -> NDArray[np.float32]:
    found, columns = _floats(node, "support_vectors"), static(x.dims[1])
    if columns is None or found.size != count * columns:
        raise Unsupported(f"it has {found.size} numbers for {count} support vectors of {x.dims[1]} columns")
    return found.reshape(count, columns)


@lowers("svm_regressor")
def lower_svm_regressor(node: NodeView, b: PlanBuilder) -> None:
    """One class: 1 where the sum is above 0, else -1."""
    if node.attr("post_transform", "NONE") != "NONE":
        raise Unsupported("its post_transform has no native form")
    x = rows_in_float32(node, b)
    supports = int(node.attr("n_supports", 0))
    weights, rho = _floats(node, "coefficients"), _floats(node, "rho")
    values = _kernel_values(node, b, x, _support_vectors(node, x, supports)) if supports else x
    if static(values.dims[1]) != weights.size or rho.size != 1:
        raise Unsupported(
            f"it has {weights.size} coefficients and {rho.size} offsets for {values.dims[1]} values"
        )
    out = b.out(needed(node.outputs, 0))
    one_class = bool(node.attr("one_class", 0))
    sums = b.temp(FLOAT32, out.dims) if one_class else out
    _product(b, values, weights.reshape(-1, 1), rho, sums)
    if one_class:
        program = Program()
        above = program.call("gt", program.input(sums, FLOAT32), 0.0)
        program.output(program.select(above, program.const(1.0), program.const(-1.0)), FLOAT32)
        emit_program(b, program, [out])


@lowers("svm_classifier")
def lower_svm_classifier(node: NodeView, b: PlanBuilder) -> None:
    """Of several classes, or of two with probabilities; what onnxruntime does of two without is its own."""
    labels = [int(n) for n in node.attr("classlabels_ints", ())]
    counts = [int(n) for n in node.attr("vectors_per_class", ())]
    slopes, offsets = _floats(node, "prob_a"), _floats(node, "prob_b")
    if node.attr("classlabels_strings", ()):
        raise Unsupported("its labels are strings")
    if node.attr("post_transform", "NONE") != "NONE" or len(labels) < 2 or len(counts) != len(labels):
        raise Unsupported("it has a post_transform, or no support vectors for each class")
    if len(labels) == 2 and not slopes.size:
        raise Unsupported("it has two classes without probabilities")
    x = rows_in_float32(node, b)
    pairs = list(combinations(range(len(labels)), 2))
    vectors, rho = _support_vectors(node, x, sum(counts)), _floats(node, "rho")
    if rho.size != len(pairs) or slopes.size not in (0, len(pairs)) or offsets.size != slopes.size:
        raise Unsupported(f"it has {rho.size} offsets for {len(pairs)} pairs of classes")
    weights = _pair_weights(_floats(node, "coefficients"), counts, pairs)
    values = _kernel_values(node, b, x, vectors)
    sums = b.temp(FLOAT32, [x.dims[0], len(pairs)])
    _product(b, values, weights, rho, sums)
    chosen, scores = operand(node.outputs, 0), operand(node.outputs, 1)
    width = len(labels) if slopes.size else len(pairs)
    outs = [
        b.temp(FLOAT32, [x.dims[0], width]) if scores is None else b.out(scores),
        b.temp(INT64, [x.dims[0]]) if chosen is None else b.out(chosen),
    ]
    coupling = [b.constant(slopes), b.constant(offsets)] if slopes.size else []
    b.emit("pair_votes", [sums, b.constant(np.array(labels, np.int64)), *coupling], outs)


def _pair_weights(
    given: NDArray[np.float32], counts: list[int], pairs: list[tuple[int, int]]
) -> NDArray[np.float32]:
    """What each support vector counts for each pair of classes, [vectors, pairs]. `given` has a row for each
    other class of a vector's own."""
    total = sum(counts)
    if given.size != (len(counts) - 1) * total:
        raise Unsupported(f"it has {given.size} coefficients for {total} support vectors")
    rows = given.reshape(len(counts) - 1, total)
    ends = np.cumsum([0, *counts])
    weights = np.zeros((total, len(pairs)), np.float32)
    for number, (i, j) in enumerate(pairs):
        weights[ends[i] : ends[i + 1], number] = rows[j - 1, ends[i] : ends[i + 1]]
        weights[ends[j] : ends[j + 1], number] = rows[i, ends[j] : ends[j + 1]]
    return weights
