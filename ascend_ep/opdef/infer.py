"""Element types and dims of an operator's outputs, from its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.broadcast import broadcast
from ascend_ep.opdef.definition import Formula, Library, OpDef, Source, TensorSpec
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
        return _libraries[-1](opdef, input_types, attributes, where)
    check_inputs(opdef, input_types, where)
    bound = bind_attributes(opdef, attributes, where)
    types = output_dtypes(opdef, [t and t[0] for t in input_types], where)
    environment = _environment(opdef, input_types, bound, values or {})
    return list(zip(types, _shapes(opdef, environment, where), strict=True))


def check_inputs(opdef: OpDef, input_types: Sequence[InputType], where: str = "") -> None:
    """Raises E41011 unless the number of inputs, and which are absent, fit the definition."""
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


def spec_of_input(opdef: OpDef, index: int) -> TensorSpec:
    """The specification of input `index`; the variadic one covers all from its place on."""
    return opdef.inputs[min(index, len(opdef.inputs) - 1)]


# ---- element types -------------------------------------------------------------------------------


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
            raise _refused(opdef, spec.name, dtype, spec.types, where)
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


def _refused(opdef: OpDef, name: str, dtype: int, allowed: Sequence[int], where: str) -> AscendError:
    reason = f"input [{name}] is {dtypes.name(dtype)}"
    names = ", ".join(dict.fromkeys(map(dtypes.name, allowed)))
    return AscendError("E41011", opdef.op, reason, where=where, details=[f"allowed: {names}"])


def _paired_dtypes(opdef: OpDef, inputs: Sequence[int | None], where: str) -> list[int]:
    """msopgen's columns name the types a device kernel is built for. A model in another compute float is
    served by casts there, so a column that differs only so fits too, and its floats become the model's."""
    given = [(spec_of_input(opdef, i), d) for i, d in enumerate(inputs) if d is not None]
    width = max((len(t.types) for t in (*opdef.inputs, *opdef.outputs)), default=1)
    for exact in (True, False):
        for column in range(width):
            pairs = [(_in_column(spec, column), dtype) for spec, dtype in given]
            if all(_serves(declared, dtype, exact) for declared, dtype in pairs):
                substitute = {d: t for d, t in pairs if d is not None and d != t}
                first = pairs[0][1] if pairs else dtypes.FLOAT32
                return [_column_output(o, column, substitute, first) for o in opdef.outputs]
    spec, dtype = next(
        ((s, d) for s, d in given if not any(_serves(t, d, False) for t in s.types or (None,))), given[0]
    )
    raise _refused(opdef, spec.name, dtype, spec.types, where)


def _in_column(spec: TensorSpec, column: int) -> int | None:
    return spec.types[column] if column < len(spec.types) else spec.types[0] if spec.types else None


def _serves(declared: int | None, dtype: int, exact: bool) -> bool:
    if declared is None or declared == dtype:
        return True
    return not exact and declared in dtypes.COMPUTE_FLOATS and dtype in dtypes.COMPUTE_FLOATS


def _column_output(spec: TensorSpec, column: int, substitute: Mapping[int, int], first: int) -> int:
    declared = _in_column(spec, column)
    return first if declared is None else substitute.get(declared, declared)


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
