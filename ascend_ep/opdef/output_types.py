"""Element types and dims of an operator's outputs, from its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.declared_types import column_of, output_dtypes, served_types
from ascend_ep.opdef.definition import Formula, Library, OpDef, Source
from ascend_ep.opdef.dims import Dim
from ascend_ep.opdef.formula_shape import formula_shapes
from ascend_ep.opdef.shape_rule import Environment, Inapplicable, Shape, Unknown, evaluate_rule
from ascend_ep.opdef.shape_rule_text import parse_rule

InputType = tuple[int, Sequence[Dim] | None] | None
OutputType = tuple[int, Shape | None]

#: Asks a library for its outputs: definition, input types, attributes, where -> as `infer`.
LibraryInference = Callable[[OpDef, Sequence[InputType], Mapping[str, Any], str], list[OutputType]]
_libraries: list[LibraryInference] = []


def set_library_inference(function: LibraryInference) -> None:
    """Sets who answers for operators of shared libraries: only the compile side can call into one."""
    _libraries[:] = [function]


def infer(
    opdef: OpDef,
    input_types: Sequence[InputType],
    attributes: Mapping[str, Any],
    values: Mapping[int, Sequence[Dim]] | None = None,
    where: str = "",
) -> list[OutputType]:
    """(dtype, dims) of every output; dims None when they can't be known at conversion.

    `input_types`: (dtype, dims or None) for each input, None for an absent one. `values`: elements of small
    integer inputs that are known, by position. Raises E41011 when the node doesn't fit the definition and
    E41012 when the shape rule can't hold.
    """
    if isinstance(opdef.semantics, Library | Source) and _libraries:
        return _of_library(opdef, input_types, attributes, where)
    check_inputs(opdef, input_types, where)
    bound = bind_attributes(opdef, attributes, where)
    types = output_dtypes(opdef, [t and t[0] for t in input_types], where)
    environment = _environment(opdef, input_types, bound, values or {})
    return list(zip(types, _shapes(opdef, environment, where), strict=True))


def _of_library(
    opdef: OpDef, input_types: Sequence[InputType], attributes: Mapping[str, Any], where: str
) -> list[OutputType]:
    """What the library says for the types that its definition declares, in the model's types."""
    given = [t and t[0] for t in input_types]
    if opdef.inputs:
        check_inputs(opdef, input_types, where)
        output_dtypes(opdef, given, where)
    column = column_of(opdef, given) if opdef.paired else None
    if column is None:
        return _libraries[-1](opdef, input_types, attributes, where)
    pairs = zip(column.inputs, input_types, strict=True)
    made = _libraries[-1](opdef, [t and (kind or t[0], t[1]) for kind, t in pairs], attributes, where)
    served = served_types(column, given)
    return [(served.get(dtype, dtype), dims) for dtype, dims in made]


def check_inputs(opdef: OpDef, input_types: Sequence[InputType], where: str = "") -> None:
    """Raises E41011 unless the number of inputs, which are absent, and required shapes fit the definition."""
    count = len(input_types)
    most = opdef.max_inputs
    if count < opdef.min_inputs or (most is not None and count > most):
        allowed = (
            f"{opdef.min_inputs}"
            if most == opdef.min_inputs
            else f"{opdef.min_inputs} to {most or 'any number'}"
        )
        raise AscendError("E41011", opdef.op, f"it takes {allowed} inputs, not {count}", where=where)
    for spec, given in zip(opdef.inputs, input_types, strict=False):
        if given is None and spec.occurrence == "required":
            raise AscendError("E41011", opdef.op, f"input [{spec.name}] is required", where=where)
        dims = None if given is None else given[1]
        if spec.required_shape is not None and dims is not None:
            _check_shape(opdef, spec.name, dims, spec.required_shape, where)


def _check_shape(opdef: OpDef, name: str, dims: Sequence[Dim], required: Sequence[int], where: str) -> None:
    fits = len(dims) == len(required) and all(r in (-1, d) for d, r in zip(dims, required, strict=True))
    if not fits:
        wanted = ", ".join("?" if r == -1 else str(r) for r in required)
        reason = f"input [{name}] must have the shape [{wanted}], not {_text(tuple(dims))}"
        raise AscendError("E41011", opdef.op, reason, where=where)


# ---- dims ----------------------------------------------------------------------------------------


def _environment(
    opdef: OpDef,
    input_types: Sequence[InputType],
    bound: Mapping[str, Any],
    values: Mapping[int, Sequence[Dim]],
) -> Environment:
    shapes: dict[str, Shape | None] = {}
    for spec, given in zip(opdef.inputs, input_types, strict=False):
        if given is not None:
            shapes[spec.name] = None if given[1] is None else tuple(given[1])
    named = {opdef.inputs[i].name: tuple(v) for i, v in values.items() if i < len(opdef.inputs)}
    return Environment(shapes, bound, named, frozenset(shapes))


def rule_names(opdef: OpDef) -> tuple[frozenset[str], frozenset[str]]:
    """What a shape rule of the definition may name: inputs, and attributes of integers."""
    integers = (a.name for a in opdef.attributes if a.type in ("int", "ints", "bool"))
    return frozenset(t.name for t in opdef.inputs), frozenset(integers)


def _shapes(opdef: OpDef, environment: Environment, where: str) -> list[Shape | None]:
    derived: list[Shape | None] | None = None
    shapes: list[Shape | None] = []
    for index, output in enumerate(opdef.outputs):
        rule = opdef.shape.get(output.name)
        try:
            if rule is not None:
                shapes.append(evaluate_rule(parse_rule(rule, *rule_names(opdef), opdef.origin), environment))
                continue
            if derived is None:
                derived = _derived(opdef, environment)
            shapes.append(derived[index])
        except Unknown:
            shapes.append(None)
        except Inapplicable as error:
            known = [f"{n}: {_text(s)}" for n, s in environment.shapes.items()]
            details = [f"rule: {rule or 'of the formula'}", *known]
            raise AscendError("E41012", output.name, opdef.op, error, where=where, details=details) from None
    return shapes


def _derived(opdef: OpDef, environment: Environment) -> list[Shape | None]:
    """Without a shape rule: what the formula gives, else the broadcast of all inputs."""
    if isinstance(opdef.semantics, Formula):
        return list(formula_shapes(opdef, environment))
    if any(s is None for s in environment.shapes.values()):
        raise Unknown
    try:
        shape = broadcast(*(s for s in environment.shapes.values() if s is not None))
    except ValueError as error:
        raise Inapplicable(str(error)) from None
    return [shape] * len(opdef.outputs)


def _text(shape: Shape | None) -> str:
    return "unknown" if shape is None else "[" + ", ".join(map(str, shape)) + "]"
