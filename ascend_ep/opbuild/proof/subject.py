"""What is proven: an operator for given attributes, at a shape, in one element type or another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from ascend_ep.codegen.assembly import Assembly, assemble
from ascend_ep.codegen.builder import is_wide
from ascend_ep.codegen.c_source import InputType, Source, generate_c
from ascend_ep.codegen.leading import Form, leading_form
from ascend_ep.codegen.library_session import TensorSpec
from ascend_ep.codegen.schedule import Schedule
from ascend_ep.errors import AscendError
from ascend_ep.frontends.interface import ELEMENT_TYPES, INDEX_TYPES
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.declared_types import output_dtypes, spec_of_input
from ascend_ep.opdef.definition import AttributeValue, OpDef
from ascend_ep.opdef.expression import Program
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.specialize import specialize

#: The element types that are built and proven beside one of them when the definition allows them.
PROVEN_TYPES = (ELEMENT_TYPES, INDEX_TYPES)


@dataclass(frozen=True)
class Subject:
    """An operator whose definition is a formula. inputs: element type and dims of each, None when absent."""

    opdef: OpDef
    inputs: tuple[TensorSpec | None, ...]
    attributes: Mapping[str, AttributeValue]
    schedule: Schedule = field(default_factory=Schedule)

    @property
    def for_every_shape(self) -> OpDef:
        """The definition without the shapes that it requires: the code is the formula's, for every shape."""
        inputs = tuple(replace(spec, required_shape=None) for spec in self.opdef.inputs)
        return replace(self.opdef, inputs=inputs)

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.opdef.inputs]

    @property
    def given(self) -> dict[str, TensorSpec]:
        """The inputs that are there, by name."""
        return {n: t for n, t in zip(self.names, self.inputs, strict=False) if t is not None}

    @property
    def dtype(self) -> int:
        """The element type of the first input."""
        return next((t.dtype for t in self.inputs if t is not None), dtypes.FLOAT32)

    @property
    def program(self) -> Program:
        """The formula for these attributes and inputs. Raises AscendError E42xxx and E41011."""
        bound = bind_attributes(self.opdef, self.attributes)
        return specialize(formula_program(self.opdef), bound, self.given)

    @property
    def output_types(self) -> list[int]:
        """Raises AscendError E41011 when the definition doesn't take the inputs' types."""
        return output_dtypes(self.opdef, [None if t is None else t.dtype for t in self.inputs])

    @property
    def wide(self) -> bool:
        """Whether the arithmetic is in float64, as code generation has it."""
        return is_wide(self.program, [t.dtype for t in self.inputs if t is not None])

    @property
    def form(self) -> Form:
        """The tensors that its code takes. Raises NotGenerated."""
        types = [None if t is None else InputType(t.dtype, tuple(map(str, t.dims))) for t in self.inputs]
        return leading_form(self.program, self.names, types, self.output_types)

    @property
    def label(self) -> str:
        """The element types that tell it from its variants, as in names of files: float32-int64."""
        return "-".join(dtypes.name(types[0]) for types in self._chosen().values()) or "float32"

    def variants(self) -> list[Subject]:
        """One for each combination of element types that the definition and the proof know; its own first."""
        chosen = self._chosen()
        found = [self]
        for types in product(*chosen.values()):
            kinds = dict(zip(chosen, types, strict=True))
            inputs = tuple(
                None if t is None else TensorSpec(kinds[self._variable(i)], t.dims)
                for i, t in enumerate(self.inputs)
            )
            other = replace(self, inputs=inputs)
            if inputs != self.inputs and other.is_allowed:
                found.append(other)
        return found

    @property
    def is_allowed(self) -> bool:
        """Whether the definition takes the inputs' types."""
        try:
            return bool(self.output_types)
        except AscendError:
            return False

    def _variable(self, i: int) -> str:
        """What stands for the type of an input: inputs of one variable have one type."""
        return spec_of_input(self.opdef, i).variable or f"input {i}"

    def _chosen(self) -> dict[str, list[int]]:
        """Per variable the types to build for, the inputs' own first."""
        found: dict[str, list[int]] = {}
        for i, given in enumerate(self.inputs):
            if given is not None and self._variable(i) not in found:
                allowed = spec_of_input(self.opdef, i).types
                family = next((f for f in PROVEN_TYPES if given.dtype in f), ())
                others = [t for t in family if t != given.dtype and (not allowed or t in allowed)]
                found[self._variable(i)] = [given.dtype, *others]
        return found


def subject_of(opdef: OpDef, about: Mapping[str, Any]) -> Subject:
    """What a stored proof is about. Raises E43105 for a malformed one."""
    try:
        given = {
            n: TensorSpec(dtypes.NUMBERS[t], tuple(map(int, d))) for n, (t, d) in about["inputs"].items()
        }
        parts = dict(p.split("=", 1) for p in str(about["schedule"]).split())
        schedule = Schedule(**{k: int(v) for k, v in parts.items()})
        return Subject(
            opdef, tuple(given.get(t.name) for t in opdef.inputs), dict(about["attributes"]), schedule
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AscendError("E43105", opdef.op, f"the stored proof is malformed ({error})") from None


#: Gives the C of a subject; tests plant wrong kernels here.
Generate = Callable[[Subject], Source]


def generate(subject: Subject) -> Source:
    """The C of a subject, for any sizes of its form. Raises NotGenerated."""
    return generate_c(
        subject.opdef.op,
        subject.program,
        subject.names,
        subject.form.types(),
        subject.output_types,
        subject.schedule,
    )


def assembly_of(parts: Sequence[tuple[Subject, Source]], rebuild: str = "") -> Assembly:
    """The library of an operator for several combinations of element types. `rebuild`: see assemble."""
    first = parts[0][0]
    could_be = [{t.dtype} if t else set() for t in first.inputs]
    for i, given in enumerate(first.inputs):
        if given is not None:
            could_be[i] |= set(next((f for f in PROVEN_TYPES if given.dtype in f), ()))
    kinds = [(s, [None if t is None else t.dtype for t in v.inputs], v.output_types) for v, s in parts]
    return assemble(first.form, first.names, kinds, could_be, rebuild)
