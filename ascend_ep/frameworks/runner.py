"""One operator on arrays: through the runtime, or in float64 through its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from ascend_ep.compiler.convert import convert
from ascend_ep.compiler.convert_options import ConvertOptions
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef, TensorSpec
from ascend_ep.opdef.dims import Dim, static
from ascend_ep.opdef.infer import infer
from ascend_ep.opdef.reference import evaluate
from ascend_ep.opdef.registry import Registry
from ascend_ep.runtime.element_types import numpy_dtype
from ascend_ep.runtime.session import InferenceSession

Array = npt.NDArray[Any]
#: Element type and shape of an input; None: absent.
Kind = tuple[int, tuple[int, ...]] | None
#: The domain that nodes of a definition without one are given.
DOMAIN = "ai.ascend"


def run(opdef: OpDef, inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> list[Array]:
    """The outputs. A float64 input makes it the reference, in float64; else the runtime computes.

    Raises AscendError for what the definition doesn't allow.
    """
    kinds = tuple(None if a is None else (_number(a), a.shape) for a in inputs)
    described = output_kinds(opdef, kinds, attributes)
    if is_wide(kinds):
        results = evaluate(opdef, inputs, attributes)
        return [np.asarray(y, numpy_dtype(t)) for y, (t, _) in zip(results, described, strict=True)]
    frozen = tuple((n, tuple(v) if isinstance(v, list) else v) for n, v in sorted(attributes.items()))
    session = _session(opdef, kinds, frozen)
    return session.run(None, {f"x{i}": a for i, a in enumerate(inputs) if a is not None})


def is_wide(kinds: Sequence[Kind]) -> bool:
    """Whether the reference computes."""
    return any(k is not None and k[0] == dtypes.FLOAT64 for k in kinds)


def output_kinds(
    opdef: OpDef, kinds: Sequence[Kind], attributes: Mapping[str, Any]
) -> list[tuple[int, tuple[int, ...]]]:
    """Element type and shape of every output. Raises AscendError E41011 or E41012."""
    wide = is_wide(kinds)
    allowed = [_narrowed(k, s) if wide else k for k, s in zip(kinds, _specs(opdef, len(kinds)), strict=True)]
    result = []
    for dtype, dims in infer(opdef, allowed, attributes):
        number = dtypes.FLOAT64 if wide and dtype in dtypes.FLOATS else dtype
        result.append((number, tuple(_size(d) for d in dims or ())))
    return result


def _specs(opdef: OpDef, count: int) -> list[TensorSpec]:
    return [opdef.inputs[min(i, len(opdef.inputs) - 1)] for i in range(count)]


def _narrowed(kind: Kind, spec: TensorSpec) -> Kind:
    """The reference takes float64 wherever the definition allows a float."""
    if kind is None or kind[0] != dtypes.FLOAT64 or dtypes.FLOAT64 in spec.types or not spec.types:
        return kind
    return dtypes.FLOAT32, kind[1]


def _size(dim: Dim) -> int:
    size = static(dim)
    assert size is not None, "of known inputs every size is known"
    return size


def _number(array: Array) -> int:
    known = (*dtypes.NUMPY, dtypes.BFLOAT16)
    return next(n for n in known if numpy_dtype(n) == array.dtype)


@lru_cache(maxsize=128)
def _session(
    opdef: OpDef, kinds: tuple[Kind, ...], attributes: tuple[tuple[str, Any], ...]
) -> InferenceSession:
    """A model of this one operator."""
    given = dict(attributes)
    info = onnx.helper.make_tensor_value_info
    inputs = [info(f"x{i}", *k) for i, k in enumerate(kinds) if k is not None]
    outputs = [info(f"y{i}", *k) for i, k in enumerate(output_kinds(opdef, kinds, given))]
    names = ["" if k is None else f"x{i}" for i, k in enumerate(kinds)]
    domain = DOMAIN if opdef.domain is None else opdef.domain
    node = onnx.helper.make_node(opdef.op, names, [o.name for o in outputs], domain=domain, **given)
    opsets = [onnx.helper.make_opsetid("", 22), onnx.helper.make_opsetid(domain, opdef.since_version or 1)]
    graph = onnx.helper.make_graph([node], opdef.op, inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=opsets[: 1 + bool(domain)], ir_version=10)
    options = ConvertOptions(registry=Registry(definitions=[opdef]), sample_seed=None)
    return InferenceSession(convert(model, options).to_bytes())
