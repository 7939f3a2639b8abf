"""Preprocessing of tables in ai.onnx.ml: scaling, imputing, encoding, choosing columns."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from ascend_ep.compiler.lower.arguments import needed
from ascend_ep.compiler.lower.elementwise import Program, emit_program, input_value
from ascend_ep.compiler.lower.indexing import not_from_the_end
from ascend_ep.compiler.lower.tabular_linear import rows_in_float32
from ascend_ep.compiler.lowering import NodeView, Operand, PlanBuilder, Ref, Unsupported, lowers
from ascend_ep.element_types import FLOAT32, FLOAT64, INT32, INT64
from ascend_ep.opdef.dims import product, static
from ascend_ep.plan.kernel_params import CONCAT, GATHER, LP_NORM, REDUCE, choices
from ascend_ep.plan.tile_program import Value

REDUCTIONS = choices("asc_reduce")


def _columns(node: NodeView, name: str, dtype: int) -> NDArray[np.generic] | None:
    """An attribute that is a number for all columns, or one for each, in an element type; None: absent."""
    given = np.asarray(node.attr(name, ()), np.float32)
    last = static(needed(node.inputs, 0).dims[-1]) if needed(node.inputs, 0).rank else None
    if given.size not in (0, 1, last):
        raise Unsupported(f"its {name} has {given.size} elements, the table {last} columns")
    return given.astype(ir.DataType(dtype).numpy()) if given.size else None


def _column_value(program: Program, b: PlanBuilder, array: NDArray[np.generic], dtype: int) -> Value:
    if array.size == 1:
        return program.const(array.item(), dtype)
    return program.input(b.constant(array, dtype=dtype), dtype)


def _numeric(node: NodeView) -> Operand:
    source = needed(node.inputs, 0)
    if source.dtype not in (FLOAT32, FLOAT64, INT32, INT64):
        raise Unsupported("its input holds no numbers of 32 or 64 bits")
    return source


@lowers("scaler")
def lower_scaler(node: NodeView, b: PlanBuilder) -> None:
    """(x - offset) * scale: in float64 of float64, else in float32."""
    source = _numeric(node)
    dtype = FLOAT64 if source.dtype == FLOAT64 else FLOAT32
    offset, scale = (_columns(node, name, dtype) for name in ("offset", "scale"))
    program = Program()
    x = program.cast(input_value(program, b, source), dtype)
    if offset is not None:
        x = x - _column_value(program, b, offset, dtype)
    if scale is not None:
        x = x * _column_value(program, b, scale, dtype)
    program.output(program.cast(x, FLOAT32), FLOAT32)
    emit_program(b, program, [b.out(needed(node.outputs, 0))])


@lowers("imputer")
def lower_imputer(node: NodeView, b: PlanBuilder) -> None:
    """The column's value wherever the replaced one is, which may be NaN."""
    source = _numeric(node)
    whole = source.dtype in (INT32, INT64)
    kind = "int64" if whole else "float"
    values = node.attr(f"imputed_value_{kind}s", ())
    replaced = node.attr(f"replaced_value_{kind}", 0)
    array = np.asarray(values, np.int64 if whole else np.float32).astype(ir.DataType(source.dtype).numpy())
    if array.size not in (1, static(source.dims[-1])):
        raise Unsupported(f"it has {array.size} values for {source.dims[-1]} columns")
    program = Program()
    x = input_value(program, b, source)
    missing = program.isnan(x) if replaced != replaced else program.call("eq", x, replaced)
    program.output(program.select(missing, _column_value(program, b, array, source.dtype), x), source.dtype)
    emit_program(b, program, [b.out(needed(node.outputs, 0))])


@lowers("binarizer")
def lower_binarizer(node: NodeView, b: PlanBuilder) -> None:
    source = _numeric(node)
    program = Program()
    x = input_value(program, b, source)
    threshold = float(node.attr("threshold", 0.0))
    if source.dtype in (INT32, INT64):
        threshold = float(np.floor(threshold))
    above = program.call("gt", x, program.const(threshold, source.dtype))
    program.output(
        program.select(above, program.const(1, source.dtype), program.const(0, source.dtype)), source.dtype
    )
    emit_program(b, program, [b.out(needed(node.outputs, 0))])


@lowers("normalizer")
def lower_normalizer(node: NodeView, b: PlanBuilder) -> None:
    """Each row by its norm; a row of zeros stays."""
    _numeric(node)
    x = rows_in_float32(node, b)
    result = needed(node.outputs, 0)
    flat = result.dims != x.dims
    target = b.temp(FLOAT32, x.dims) if flat else b.out(result)
    _emit_normalized(node, b, x, target)
    if flat:
        b.bind(result, b.view(target, result.dims))


def _emit_normalized(node: NodeView, b: PlanBuilder, x: Ref, target: Ref) -> None:
    norm = node.attr("norm", "MAX")
    if norm in ("L1", "L2"):
        b.emit("lp_norm", [x], [target], LP_NORM.pack(axis=1, order=int(norm[1])))
        return
    largest, numbers = b.temp(FLOAT32, [x.dims[0], 1]), b.temp(FLOAT32, x.dims)
    program = Program()
    value = program.input(x, FLOAT32)
    program.output(program.select(program.isnan(value), -float("inf"), value), FLOAT32)
    emit_program(b, program, [numbers])  # as onnxruntime has it: the largest of those that are numbers
    b.emit("reduce", [numbers], [largest], REDUCE.pack([1], op=REDUCTIONS["max"]))
    program = Program()
    value, most = program.input(x, FLOAT32), program.input(largest, FLOAT32)
    program.output(program.select(program.call("eq", most, 0.0), value, value / most), FLOAT32)
    emit_program(b, program, [target])


@lowers("one_hot_encoder")
def lower_one_hot_encoder(node: NodeView, b: PlanBuilder) -> None:
    """A new last axis: 1 where the element, cut to an integer, is that category."""
    source = _numeric(node)
    categories = np.asarray(node.attr("cats_int64s", ()), np.int64)
    if not categories.size or not node.attr("zeros", 1):
        raise Unsupported("its categories are strings, or it refuses others as it runs")
    program = Program()
    x = b.view(b.contiguous(b.ref(source)), [*source.dims, 1])
    element = program.cast(program.input(x, source.dtype), INT64)
    same = program.call("eq", element, program.input(b.constant(categories), INT64))
    program.output(program.select(same, program.const(1.0), program.const(0.0)), FLOAT32)
    emit_program(b, program, [b.out(needed(node.outputs, 0))])


@lowers("array_feature_extractor")
def lower_array_feature_extractor(node: NodeView, b: PlanBuilder) -> None:
    """The columns with these numbers, in their order; a vector is one row."""
    source, places = needed(node.inputs, 0), needed(node.inputs, 1)
    if source.dtype == ir.DataType.STRING:
        raise Unsupported("its elements are strings")
    if source.rank == 0:
        raise Unsupported("its input is a scalar")
    x = b.contiguous(b.ref(source))
    count = product(places.dims)
    indices = b.view(b.contiguous(b.ref(places)), [count])
    if places.const is None or (places.const < 0).any():
        indices = not_from_the_end(b, indices, count)
    x = x if source.rank > 1 else b.view(x, [1, *source.dims])
    b.emit("gather", [x, indices], [b.out(needed(node.outputs, 0))], GATHER.pack(axis=len(x.dims) - 1))


@lowers("feature_vectorizer")
def lower_feature_vectorizer(node: NodeView, b: PlanBuilder) -> None:
    """The tables side by side, in float32; each has as many columns as the attribute says."""
    widths = [int(d) for d in node.attr("inputdimensions", ())]
    inputs = [needed(node.inputs, i) for i in range(len(node.inputs))]
    if len(widths) != len(inputs) or any(
        o.rank != 2 or static(o.dims[1]) != width for o, width in zip(inputs, widths, strict=True)
    ):
        raise Unsupported("its tables have other columns than its inputdimensions")
    parts = [b.cast(b.ref(o), FLOAT32) for o in inputs]
    b.emit("concat", parts, [b.out(needed(node.outputs, 0))], CONCAT.pack(axis=1))
