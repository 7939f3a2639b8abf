"""LinearRegressor and LinearClassifier of ai.onnx.ml: a product, and for classes its largest column."""

from __future__ import annotations

import numpy as np

from ascend_ep.compiler.lower.arguments import needed, operand
from ascend_ep.compiler.lower.elementwise import Program, emit_program
from ascend_ep.compiler.lower.matmul import emit_matmul, right_operand
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import FLOAT32, INT64
from ascend_ep.opdef.dims import static
from ascend_ep.plan.kernel_params import ARG_REDUCE, GATHER, SOFTMAX


def rows_in_float32(node: NodeView, b: PlanBuilder) -> Ref:
    """The table as [rows, columns]; a vector is one row."""
    source = needed(node.inputs, 0)
    if source.rank not in (1, 2):
        raise Unsupported(f"its input has {source.rank} dims")
    x = b.cast(b.contiguous(b.ref(source)), FLOAT32)
    return x if source.rank == 2 else b.view(x, [1, source.dims[0]])


def _product(node: NodeView, b: PlanBuilder, results: int, out: Ref | None) -> Ref:
    """x @ coefficients + intercepts, into `out` or a temporary."""
    x = rows_in_float32(node, b)
    columns = static(x.dims[1])
    weights = np.asarray(node.attr("coefficients", ()), np.float32)
    bias = np.asarray(node.attr("intercepts", ()), np.float32)
    if columns is None or weights.size != results * columns or bias.size not in (0, results):
        raise Unsupported(
            f"it has {weights.size} coefficients and {bias.size} intercepts for {results} results"
        )
    name = f"{needed([o for o in node.outputs if o], 0).name}/coefficients"
    panels, trans = right_operand(
        b, Operand(name, FLOAT32, (results, columns), weights.reshape(results, columns)), True
    )
    made = b.temp(FLOAT32, [x.dims[0], results]) if out is None else out
    emit_matmul(b, (x, panels), made, bias=b.constant(bias) if bias.any() else None, transposed=(0, trans))
    return made


@lowers("linear_regressor")
def lower_linear_regressor(node: NodeView, b: PlanBuilder) -> None:
    if node.attr("post_transform", "NONE") != "NONE":
        raise Unsupported("its post_transform has no native form")
    _product(node, b, int(node.attr("targets", 1)), b.out(needed(node.outputs, 0)))


@lowers("linear_classifier")
def lower_linear_classifier(node: NodeView, b: PlanBuilder) -> None:
    """The label is that of the largest score before the transform."""
    labels = [int(n) for n in node.attr("classlabels_ints", ())]
    classes = len(node.attr("intercepts", ()))
    post = node.attr("post_transform", "NONE")
    if node.attr("classlabels_strings", ()):
        raise Unsupported("its labels are strings")
    if classes < 2 or len(labels) != classes:
        raise Unsupported(f"it has {len(labels)} labels for {classes} scores")
    if post not in ("NONE", "LOGISTIC", "SOFTMAX"):
        raise Unsupported(f"its post_transform {post} has no native form")
    chosen, scores = operand(node.outputs, 0), operand(node.outputs, 1)
    target = None if scores is None else b.out(scores)
    sums = _product(node, b, classes, target if post == "NONE" else None)
    if chosen is not None:
        emit_label(b, sums, labels, b.out(chosen))
    if target is None or post == "NONE":
        return
    if post == "SOFTMAX":
        b.emit("softmax", [sums], [target], SOFTMAX.pack(axis=1, axes=1))
        return
    program = Program()
    program.output(program.call("sigmoid", program.input(sums, FLOAT32)), FLOAT32)
    emit_program(b, program, [target])


def emit_label(b: PlanBuilder, sums: Ref, labels: list[int], out: Ref) -> None:
    """The label of the first of the largest sums of each row."""
    places = out if labels == list(range(len(labels))) else b.temp(INT64, out.dims)
    b.emit("argmax", [sums], [places], ARG_REDUCE.pack(axis=1, last=0))
    if places is not out:
        b.emit("gather", [b.constant(np.array(labels, np.int64)), places], [out], GATHER.pack(axis=0))
