"""Which element types a definition declares, and how an operator's inputs fit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import OpDef, TensorSpec


def spec_of_input(opdef: OpDef, index: int) -> TensorSpec:
    """The specification of input `index`; the variadic one covers all from its place on."""
    return opdef.inputs[min(index, len(opdef.inputs) - 1)]


def output_dtypes(opdef: OpDef, inputs: Sequence[int | None], where: str = "") -> list[int]:
    """The element type of every output. Raises E41011 when the inputs' types aren't allowed."""
    if opdef.paired:
        return _paired_dtypes(opdef, inputs, where)
    variables: dict[str, tuple[int, str]] = {}
    for index, dtype in enumerate(inputs):
        if dtype is None:
            continue
        spec = spec_of_input(opdef, index)
        if spec.types and dtype not in spec.types:
            raise refused_type(opdef, spec, dtype, where)
        if spec.variable:
            bound, name = variables.setdefault(spec.variable, (dtype, spec.name))
            if bound != dtype:
                reason = (
                    f"inputs [{name}] and [{spec.name}] must have one element type, "
                    f"not {dtypes.name(bound)} and {dtypes.name(dtype)}"
                )
                raise AscendError("E41011", opdef.op, reason, where=where)
    first = next((d for d in inputs if d is not None), dtypes.FLOAT32)
    return [
        variables[o.variable][0]
        if o.variable in variables
        else o.types[0]
        if len(o.types) == 1 or (o.variable and o.types)
        else first
        for o in opdef.outputs
    ]


def refused_type(opdef: OpDef, spec: TensorSpec, dtype: int, where: str = "") -> AscendError:
    """E41011 for an input of a type that its specification doesn't allow."""
    reason = f"input [{spec.name}] is {dtypes.name(dtype)}"
    names = ", ".join(dict.fromkeys(map(dtypes.name, spec.types)))
    return AscendError("E41011", opdef.op, reason, where=where, details=[f"allowed: {names}"])


@dataclass(frozen=True)
class Column:
    """One of msopgen's columns: the element types that a device kernel is built for, None: as the model's.

    inputs: of each input that a node gives (None also for an absent one); outputs: of the definition's.
    """

    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]


def column_of(opdef: OpDef, inputs: Sequence[int | None]) -> Column | None:
    """The column that serves a node whose inputs have these types (None: absent), or None.

    One of exactly these types is first. A device serves a model in another compute float by casts, so a
    column that differs only so serves too; then one that rounds the fewest of the inputs.
    """
    specs = [spec_of_input(opdef, i) for i in range(len(inputs))]
    found: list[tuple[tuple[int, int], Column]] = []
    for index in range(max((len(t.types) for t in (*opdef.inputs, *opdef.outputs)), default=1)):
        types = tuple(None if d is None else _in_column(s, index) for s, d in zip(specs, inputs, strict=True))
        changed = [(d, t) for d, t in zip(inputs, types, strict=True) if None not in (d, t) and d != t]
        if all(d in dtypes.COMPUTE_FLOATS and t in dtypes.COMPUTE_FLOATS for d, t in changed):
            narrower = sum(t != dtypes.FLOAT32 for _, t in changed)
            column = Column(types, tuple(_in_column(o, index) for o in opdef.outputs))
            found.append(((narrower, len(changed)), column))
    return min(found, key=lambda one: one[0])[1] if found else None


def served_types(column: Column, inputs: Sequence[int | None]) -> dict[int, int]:
    """The column's float types that the model has others for: what its outputs become in the model."""
    pairs = zip(column.inputs, inputs, strict=True)
    return {t: d for t, d in reversed([*pairs]) if t is not None and d is not None and t != d}


def _paired_dtypes(opdef: OpDef, inputs: Sequence[int | None], where: str) -> list[int]:
    """The outputs of the column that serves the inputs, in the model's types."""
    column = column_of(opdef, inputs)
    if column is None:
        given = [(spec_of_input(opdef, i), d) for i, d in enumerate(inputs) if d is not None]
        spec, dtype = next(((s, d) for s, d in given if not _may_be(d, s.types)), given[0])
        raise refused_type(opdef, spec, dtype, where)
    served = served_types(column, inputs)
    first = next((d for d in inputs if d is not None), dtypes.FLOAT32)
    return [first if t is None else served.get(t, t) for t in column.outputs]


def _in_column(spec: TensorSpec, column: int) -> int | None:
    return spec.types[column] if column < len(spec.types) else spec.types[0] if spec.types else None


def _may_be(dtype: int, types: Sequence[int]) -> bool:
    floats = dtype in dtypes.COMPUTE_FLOATS and any(t in dtypes.COMPUTE_FLOATS for t in types)
    return not types or dtype in types or floats
