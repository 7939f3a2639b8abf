"""Element types and shapes of one operator's outputs, from what is known of its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir

from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.graph.facts import INT_TYPES, Fact
from ascend_ep.graph.shape_inference import infer_facts
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.declared_types import output_dtypes, spec_of_input
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.dims import Dim, product, static, symbol
from ascend_ep.opdef.output_types import check_inputs, infer

#: The domain that nodes of a definition without one are given.
DOMAIN = "ai.ascend"
#: The opset of ONNX's own operators; of those that are younger, their own.
OPSET = 22
#: That of the domain ai.onnx.ml.
ML_OPSET = 5
#: More elements than this no operand has that says sizes, counts or axes.
MOST_VALUES = 64
#: More outputs a call hasn't.
MOST_OUTPUTS = 4096


@dataclass(frozen=True)
class Operand:
    """One tensor that an operator is given. content: its bytes, where they are known and few; the dims of
    such a tensor are numbers."""

    dtype: int
    dims: tuple[Dim, ...]
    content: bytes | None = None

    @classmethod
    def of(cls, array: npt.NDArray[Any], op: str) -> Operand:
        """Of an array. Raises AscendError E41011 for an element type that no operator has."""
        known = (*dtypes.NUMPY, dtypes.BFLOAT16)
        dtype = next((n for n in known if numpy_dtype(n) == array.dtype), None)
        if dtype is None:
            raise AscendError("E41011", op, f"no operator takes tensors of {array.dtype}")
        few = array.ndim <= 1 and array.size <= MOST_VALUES
        return cls(dtype, array.shape, array.tobytes() if few else None)

    @property
    def array(self) -> npt.NDArray[Any] | None:
        """The elements, where they are known."""
        if self.content is None:
            return None
        return np.frombuffer(self.content, numpy_dtype(self.dtype)).reshape(self.sizes)

    @property
    def sizes(self) -> list[int]:
        """The dims, which are numbers where the elements are known."""
        return [d for d in self.dims if isinstance(d, int)]

    @property
    def alone(self) -> Operand:
        """The same without its elements."""
        return Operand(self.dtype, self.dims)

    def elements(self, name: str) -> list[Dim] | None:
        """The elements of integers, as symbols where they aren't known; None of other tensors."""
        count = static(product(self.dims))
        if self.dtype not in INT_TYPES or len(self.dims) > 1 or count is None or count > MOST_VALUES:
            return None
        if (known := self.array) is not None:
            return [int(v) for v in known.reshape(-1)]
        return [symbol(f"{name}_{i}") for i in range(count)]


Operands = tuple[Operand | None, ...]
Named = tuple[tuple[str, Any], ...]
#: Element type and dims of an output; a dim that unknown elements decide is an expression of symbols.
Output = tuple[int, tuple[Dim, ...]]


def with_its_outputs(opdef: OpDef, operands: Operands, attributes: Mapping[str, Any]) -> OpDef:
    """The definition with as many outputs as a call has: Split's number of parts.

    Raises AscendError E41011 where nothing says how many, or more than MOST_OUTPUTS.
    """
    if not (opdef.outputs and opdef.outputs[-1].occurrence == "variadic"):
        return opdef
    count = attributes.get("num_outputs")
    if count is None and len(operands) > 1 and (sizes := operands[1]) is not None and sizes.dims:
        count = static(sizes.dims[0])
    if not count or count < 1:
        raise AscendError("E41011", opdef.op, "nothing says how many outputs it has")
    if count > MOST_OUTPUTS:
        raise AscendError("E41011", opdef.op, f"{count} outputs are more than {MOST_OUTPUTS}")
    last = opdef.outputs[-1]
    several = tuple(replace(last, name=f"{last.name}_{i}", occurrence="required") for i in range(count))
    return replace(opdef, outputs=(*opdef.outputs[:-1], *several))


def is_wide(opdef: OpDef, operands: Operands) -> bool:
    """Whether the reference computes: custom operators in float64."""
    return not opdef.standard and any(o is not None and o.dtype == dtypes.FLOAT64 for o in operands)


@lru_cache(maxsize=512)
def depends_on_elements(opdef: OpDef, operands: Operands, attributes: Named) -> bool:
    """Whether the elements of inputs decide the shapes of outputs, for operands whose elements aren't given.
    What is refused counts as such: with its elements the reason is known."""
    try:
        kinds = output_kinds(opdef, operands, dict(attributes))
    except AscendError:
        return True
    return any(static(d) is None for _, dims in kinds for d in dims)


def output_kinds(opdef: OpDef, operands: Operands, attributes: Mapping[str, Any]) -> list[Output]:
    """Element type and dims of every output.

    Raises AscendError E41011 or E41012, E19014 for standard operators; E41011 for an output whose number of
    dims the elements decide.
    """
    found: Sequence[tuple[int, Sequence[Dim] | None]]
    if opdef.standard:
        found = _of_standard(opdef, operands, named(attributes))
    else:
        found = _of_definition(opdef, operands, attributes)
    for dtype, dims in found:
        if dims is None or not dtype:
            raise AscendError("E41011", opdef.op, "the elements of an input decide the number of dimensions")
    return [(dtype, tuple(dims or ())) for dtype, dims in found]


def _of_definition(
    opdef: OpDef, operands: Operands, attributes: Mapping[str, Any]
) -> Sequence[tuple[int, Sequence[Dim] | None]]:
    wide = is_wide(opdef, operands)
    kinds = [
        None if o is None else (_narrowed(opdef, i, o.dtype) if wide else o.dtype, o.dims)
        for i, o in enumerate(operands)
    ]
    values = {i: e for i, o in enumerate(operands) if o and (e := o.elements(f"v{i}")) is not None}
    return [
        (dtypes.FLOAT64 if wide and dtype in dtypes.FLOATS else dtype, dims)
        for dtype, dims in infer(opdef, kinds, attributes, values)
    ]


def _narrowed(opdef: OpDef, index: int, dtype: int) -> int:
    """The reference takes float64 wherever the definition allows a float."""
    types = spec_of_input(opdef, index).types
    return dtypes.FLOAT32 if dtype == dtypes.FLOAT64 and types and dtype not in types else dtype


@lru_cache(maxsize=512)
def _of_standard(
    opdef: OpDef, operands: Operands, attributes: Named
) -> list[tuple[int, Sequence[Dim] | None]]:
    check_types(opdef, operands)
    model = ir.from_proto(one_operator(opdef, operands, dict(attributes), {}))
    given = {}
    for i, operand in enumerate(operands):
        if operand is not None:
            array, name = operand.array, f"x{i}"
            tensor = None if array is None else ir.tensor(array, ir.DataType(operand.dtype), name)
            given[name] = Fact(operand.dtype, operand.dims, operand.elements(f"v{i}"), tensor)
    facts = infer_facts(model, None, given)
    return [(facts[v].dtype, facts[v].dims) for v in model.graph.outputs]


def check_types(opdef: OpDef, operands: Operands) -> None:
    """Raises AscendError E41011 unless the number and the element types of operands are the definition's."""
    check_inputs(opdef, [None if o is None else (o.dtype, o.dims) for o in operands])
    wide = is_wide(opdef, operands)
    kinds = [None if o is None else o.dtype for o in operands]
    output_dtypes(opdef, [_narrowed(opdef, i, d) if wide and d else d for i, d in enumerate(kinds)])


def one_operator(
    opdef: OpDef, operands: Operands, attributes: Mapping[str, Any], fixed: Mapping[int, Operand]
) -> onnx.ModelProto:
    """A model of one node with inputs x0, x1, ... and outputs y0, y1, ...; fixed ones are initializers."""
    info = onnx.helper.make_tensor_value_info
    names = ["" if o is None else f"x{i}" for i, o in enumerate(operands)]
    inputs = [
        info(f"x{i}", o.dtype, [static(d) for d in o.dims])
        for i, o in enumerate(operands)
        if o is not None and i not in fixed
    ]
    constants = [
        onnx.helper.make_tensor(f"x{i}", o.dtype, o.sizes, o.content or b"", raw=True)
        for i, o in fixed.items()
    ]
    outputs = [onnx.ValueInfoProto(name=f"y{i}") for i in range(len(opdef.outputs))]
    domain = domain_of(opdef)
    node = onnx.helper.make_node(opdef.op, names, [o.name for o in outputs], domain=domain, **attributes)
    own = opdef.since_version or 1
    newest = OPSET if domain else max(OPSET, own)
    opsets = [onnx.helper.make_opsetid("", newest), onnx.helper.make_opsetid(domain, own)]
    graph = onnx.helper.make_graph([node], opdef.op, inputs, outputs, constants)
    return onnx.helper.make_model(graph, opset_imports=opsets[: 1 + bool(domain)], ir_version=10)


def domain_of(opdef: OpDef) -> str:
    """The domain of an operator's nodes."""
    return DOMAIN if opdef.domain is None else opdef.domain


def named(attributes: Mapping[str, Any]) -> Named:
    """Attributes as what caches go by."""
    items = sorted(attributes.items())
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in items)
