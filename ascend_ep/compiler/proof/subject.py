"""What is proven: an operator for given attributes, at a shape, in one element type or another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ascend_ep.compiler.codegen.builder import is_wide
from ascend_ep.compiler.codegen.generate import InputType, Source, generate_c
from ascend_ep.compiler.codegen.schedule import Schedule
from ascend_ep.compiler.codegen.session import TensorSpec
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.declared_types import output_dtypes
from ascend_ep.opdef.definition import AttributeValue, OpDef
from ascend_ep.opdef.expression import Program
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.specialize import specialize

#: The element types that a proof covers when the definition allows them.
PROVEN_TYPES = (dtypes.FLOAT32, dtypes.FLOAT16, dtypes.BFLOAT16)


@dataclass(frozen=True)
class Subject:
    """An operator whose definition is a formula. inputs: element type and dims of each, None when absent."""

    opdef: OpDef
    inputs: tuple[TensorSpec | None, ...]
    attributes: Mapping[str, AttributeValue]
    schedule: Schedule = field(default_factory=Schedule)

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

    def with_type(self, dtype: int) -> Subject:
        """The same with another element type for every input of the first one's type."""
        changed = [
            t if t is None or t.dtype != self.dtype else TensorSpec(dtype, t.dims) for t in self.inputs
        ]
        return replace(self, inputs=tuple(changed))

    def variants(self) -> list[Subject]:
        """One for each element type to prove; the subject's own first."""
        others = [t for t in PROVEN_TYPES if t != self.dtype and self.dtype in PROVEN_TYPES]
        allowed = [
            t
            for t in others
            if all(
                not s.types or t in s.types for s, i in zip(self.opdef.inputs, self.inputs, strict=False) if i
            )
        ]
        return [self, *map(self.with_type, allowed)]


#: Gives the C of a subject; tests plant wrong kernels here.
Generate = Callable[[Subject], Source]


def generate(subject: Subject) -> Source:
    """The C of a subject, for any sizes. Raises NotGenerated."""
    types = [None if t is None else InputType(t.dtype, tuple(map(str, t.dims))) for t in subject.inputs]
    return generate_c(
        subject.opdef.op, subject.program, subject.names, types, subject.output_types, subject.schedule
    )
