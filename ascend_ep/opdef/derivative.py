"""The gradient of an operator that a formula defines, as an operator of its own.

SwishGrad of Swish(x) -> y has the inputs x and grad_y, and the output grad_x: the sum over the elements of y
of grad_y times the derivative of y by each element of x. Conventions where there is no derivative: 0 at steps
(floor, round, sign, comparisons, whole-number casts) and at the bend of |x|; max and min of two values follow
the second where they are equal; those of an axis share among equal elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ascend_ep.errors import AscendError
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.adjoint import Adjoints
from ascend_ep.opdef.decisions import assumed, conditions, with_decisions_in_place
from ascend_ep.opdef.definition import Formula, OpDef, TensorSpec
from ascend_ep.opdef.expression import Constant, Expression, Given, Input, Program, SumTo
from ascend_ep.opdef.expression_text import program_text
from ascend_ep.opdef.formula import CONSTANTS, formula_program
from ascend_ep.opdef.formula_nodes import FUNCTIONS
from ascend_ep.opdef.simplify import Values
from ascend_ep.opdef.value_shapes import Shape, ValueShapes

#: Decisions of attributes and optional inputs that a gradient distinguishes at most.
MAX_DECISIONS = 4


class Flat(AscendError):
    """E42006 of an operator whose slopes are 0 wherever it has any; others have some that nothing knows."""


@lru_cache(maxsize=256)
def differentiate(opdef: OpDef) -> OpDef:
    """The definition of `<Op>Grad`. Raises E42006 when there is no gradient, as `Flat` where it is 0."""
    if opdef.formula is None:
        raise AscendError("E42006", opdef.full_name, "it has no formula", where=opdef.origin)
    program = with_decisions_in_place(formula_program(opdef))
    taken = {t.name for t in opdef.inputs} | {a.name for a in opdef.attributes}
    seeds = {o.name: _free_name(f"grad_{o.name}", taken) for o in opdef.outputs if is_float(o)}
    wanted = [t for t in opdef.inputs if is_float(t)]
    reader = _Gradients(opdef, seeds, [t.name for t in wanted])
    found = reader.of(program, MAX_DECISIONS)
    if all(leaf is None for leaf in found.values()):
        raise Flat("E42006", opdef.full_name, "no output depends smoothly on an input", where=opdef.origin)
    names = {t.name: _free_name(f"grad_{t.name}", taken | set(seeds.values())) for t in wanted}
    outputs = {names[n]: reader.zero(n) if leaf is None else leaf for n, leaf in found.items()}
    reserved = {*taken, *seeds.values(), *FUNCTIONS, *CONSTANTS}
    gradient = reader.values.program(outputs, reserved)
    result = OpDef(
        op=f"{opdef.op}Grad",
        domain=opdef.domain,
        since_version=opdef.since_version,
        inputs=(
            *opdef.inputs,
            *(TensorSpec(seeds[o.name], o.types, o.variable) for o in opdef.outputs if o.name in seeds),
        ),
        outputs=tuple(TensorSpec(names[t.name], t.types, t.variable) for t in wanted),
        attributes=opdef.attributes,
        shape={names[t.name]: t.name for t in wanted if t.occurrence == "required"},
        semantics=Formula(program_text(gradient)),
        doc=f"Gradient of {opdef.op}.",
        origin=opdef.origin,
    )
    try:
        formula_program(result)
    except AscendError as error:
        if error.code != "E42004":
            raise
        raise AscendError("E42006", opdef.full_name, "its formula is too long", where=opdef.origin) from None
    return result


def is_float(spec: TensorSpec) -> bool:
    """Whether an input or output may have a gradient: gradients are of these, in their order."""
    return not spec.types or any(t in dtypes.FLOATS for t in spec.types)


def _free_name(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name


class _Gradients:
    """Gradients of the inputs `wanted`, by the inputs that `seeds` names for the outputs."""

    def __init__(self, opdef: OpDef, seeds: Mapping[str, str], wanted: list[str]) -> None:
        self.opdef = opdef
        self.seeds = seeds
        self.wanted = wanted
        self.values = Values()
        self.shapes = ValueShapes(self.values.definitions)
        self.optional = {t.name for t in opdef.inputs if t.occurrence == "optional"}

    def of(self, program: Program, decisions: int) -> dict[str, Expression | None]:
        """The gradients as leaves; None: it is zero everywhere."""
        condition = next(conditions(program), None)
        if condition is None:
            return self.without_decisions(program)
        if not decisions:
            reason = f"its attributes decide more than {MAX_DECISIONS} times"
            raise AscendError("E42006", self.opdef.full_name, reason, where=self.opdef.origin)
        yes, no = (self.of(assumed(program, condition, truth), decisions - 1) for truth in (True, False))
        leaf = self.values.add(condition, {})
        return {n: self.chosen(leaf, n, yes[n], no[n]) for n in self.wanted}

    def chosen(
        self, condition: Expression, name: str, yes: Expression | None, no: Expression | None
    ) -> Expression | None:
        if yes == no:
            return yes
        a, b = (self.zero(name) if leaf is None else leaf for leaf in (yes, no))
        return self.values.apply("select", condition, a, b)

    def zero(self, name: str) -> Expression:
        """No gradient; of an input that is absent, a single 0."""
        zero = Constant(0.0)
        zeros = self.values.add(SumTo(zero, Input(name)))
        return self.values.apply("select", Given(name), zeros, zero) if name in self.optional else zeros

    def without_decisions(self, program: Program) -> dict[str, Expression | None]:
        outputs = self.values.include(program)
        for name, leaf in outputs.items():
            self.know_shape(name, self.shapes.of(leaf))
        seeds = [(leaf, Input(self.seeds[name])) for name, leaf in outputs.items() if name in self.seeds]
        try:
            return Adjoints(self.values, self.shapes, self.wanted).gradients(seeds)
        except NotImplementedError as error:
            raise AscendError("E42006", self.opdef.full_name, error, where=self.opdef.origin) from None

    def know_shape(self, output: str, shape: Shape) -> None:
        """The gradient of an output has its shape; a shape rule that names an input says more."""
        rule = self.opdef.shape.get(output, "").strip()
        if rule in {t.name for t in self.opdef.inputs}:
            self.shapes.covers(rule, shape | {rule})
        if output in self.seeds:
            self.shapes.declare(self.seeds[output], shape)
