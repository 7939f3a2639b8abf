"""Shapes of operators that create tensors from attributes, shapes and ranges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from ascend_ep.element_types import BOOL
from ascend_ep.graph.facts import INT_TYPES, TRACKED_TYPES, Array, Fact
from ascend_ep.graph.shapes.rule import Call, UnknownShape, infers, tracked
from ascend_ep.opdef.dims import Dim, bounds, floordiv, max_, product


@infers("Constant")
def infer_constant(call: Call) -> Fact:
    tensor = constant_tensor(call.node)
    if tensor is None:
        raise UnknownShape
    return Fact(int(tensor.dtype), tuple(tensor.shape.numpy()), tensor=tensor)


def constant_tensor(node: ir.Node) -> ir.TensorProtocol | None:
    """The value of a Constant node; None for a sparse or missing one."""
    for name, attribute in node.attributes.items():
        if attribute.is_ref():
            return None
        if name == "value":
            tensor: ir.TensorProtocol = attribute.as_tensor()
            return tensor
        if name in ("value_int", "value_ints"):
            return ir.tensor(np.array(attribute.value, dtype=np.int64))
        if name in ("value_float", "value_floats"):
            return ir.tensor(np.array(attribute.value, dtype=np.float32))
        if name == "value_string":
            return ir.StringTensor([attribute.as_string().encode()], shape=ir.Shape([]))
        if name == "value_strings":
            texts = [t.encode() for t in attribute.as_strings()]
            return ir.StringTensor(texts, shape=ir.Shape([len(texts)]))
    return None


@infers("Shape")
def infer_shape(call: Call) -> Fact:
    if call.fact(0).dims is None:
        return Fact(7, [call.fresh(0, 0)])
    dims = call.dims(0)
    rank = len(dims)
    start, end = int(call.attr("start", 0)), int(call.attr("end", rank))
    picked = dims[slice(*slice(start, end).indices(rank))]
    return Fact(7, [len(picked)], picked)


@infers("Size")
def infer_size(call: Call) -> Fact:
    dims = call.fact(0).dims
    return Fact(7, (), None if dims is None else [product(dims)])


@infers("OptionalHasElement")
def infer_optional_has_element(call: Call) -> Fact:
    return Fact(BOOL, ())


@infers("ConstantOfShape")
def infer_constant_of_shape(call: Call) -> Fact:
    value = call.attr("value")
    dtype = 1 if value is None else int(ir.DataType.from_numpy(value.dtype))
    return _filled(call, dtype, value, 0)


def _filled(call: Call, dtype: int, value: Array | None, index: int) -> Fact:
    shape = call.fact(index)
    if shape.shape_value is None:
        return Fact(dtype, call.fresh_dims(0, call.count(index)))
    dims = shape.shape_value
    if any(isinstance(d, int) and d < 0 for d in dims):
        call.fail(f"shape {[str(d) for d in dims]} has a negative dimension")
    count = product(dims)
    if (
        dtype in TRACKED_TYPES
        and isinstance(count, int)
        and count <= 1024
        and all(isinstance(d, int) for d in dims)
    ):
        element = 0 if value is None else int(value.reshape(-1)[0])
        return Fact(dtype, dims, [element] * count)
    return Fact(dtype, dims)


@infers("Range")
def infer_range(call: Call) -> Fact:
    if call.dtype(0) not in INT_TYPES:
        ends = [call.const(i) for i in range(3)]
        if any(e is None for e in ends):
            return Fact(dims=[call.fresh(0, 0)])
        start, limit, delta = (float(e.reshape(-1)[0]) for e in ends if e is not None)
        if not delta or not np.isfinite([start, limit, delta]).all():
            call.fail("delta is 0 or a bound is not finite")
        return Fact(dims=[max(int(np.ceil((limit - start) / delta)), 0)])
    values = [call.fact(i).shape_value for i in range(3)]
    if any(not v for v in values):
        return Fact(dims=[call.fresh(0, 0)])
    first, last, step = (v[0] for v in values if v)
    if step == 0:
        call.fail("delta is 0")
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        sequence = range(first, last, step)
        return tracked(np.array(sequence)) if len(sequence) <= 1024 else Fact(dims=[len(sequence)])  # type: ignore[return-value]
    least, most = bounds(step)
    if least is not None and least > 0:
        return Fact(dims=[max_(floordiv(last - first + step - 1, step), 0)])
    if most is not None and most < 0:
        return Fact(dims=[max_(floordiv(first - last - step - 1, step * -1), 0)])
    return Fact(dims=[call.fresh(0, 0)])


@infers("RandomNormal", "RandomUniform")
def infer_random(call: Call) -> Fact:
    shape: Sequence[Dim] = call.attr("shape", ())
    return Fact(int(call.attr("dtype", 1)), shape)


@infers("Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike")
def infer_like(call: Call) -> Fact:
    rank = 2 if call.node.op_type == "EyeLike" else None
    return Fact(int(call.attr("dtype", call.dtype(0))), call.dims(0, rank))
