"""What an operator is: its interface, and where its semantics come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Occurrence = Literal["required", "optional", "variadic"]
AttributeType = Literal["int", "float", "bool", "string", "ints", "floats", "bools", "strings"]
AttributeValue = (
    int | float | bool | str | tuple[int, ...] | tuple[float, ...] | tuple[bool, ...] | tuple[str, ...]
)


#: What a kernel's parameter of an overwritten input ends with.
IN_PLACE = "_ref"


@dataclass(frozen=True)
class TensorSpec:
    """One input or output. A variadic one is the last and stands for one or more tensors.

    `types` are the element types allowed (ONNX numbers; empty: any). Tensors with the same `variable`
    have one element type; of an output it is that variable's, or the single one of `types`. `overwrites`: an
    output that is an input's memory on the device, where it has the input's name; here it is <input>_ref.
    `required_shape`: the only shape that an input may have; -1 is any size, None any shape.
    """

    name: str
    types: tuple[int, ...] = ()
    variable: str = ""
    occurrence: Occurrence = "required"
    formats: tuple[str, ...] = ()
    dynamic_shape: bool = True
    overwrites: bool = False
    required_shape: tuple[int, ...] | None = None
    doc: str = ""

    @property
    def device_name(self) -> str:
        """The name in the registration of the operator."""
        return self.name.removesuffix(IN_PLACE) if self.overwrites else self.name


@dataclass(frozen=True)
class Attribute:
    """One attribute. `default` None means none: it is absent unless the node gives it. `input`: the optional
    input whose only element is the value instead, where it is given."""

    name: str
    type: AttributeType
    default: AttributeValue | None = None
    required: bool = False
    allowed: tuple[AttributeValue, ...] = ()
    doc: str = ""
    input: str = ""


@dataclass(frozen=True)
class Formula:
    """Semantics as text of the expression language; `formula.formula_program(opdef)` reads it."""

    text: str


@dataclass(frozen=True)
class Kernel:
    """Semantics by a lowering of this name onto native kernels. `formula`: what they compute, where the
    expression language can say it; else empty."""

    name: str
    formula: str = ""


@dataclass(frozen=True)
class Source:
    """Semantics by a C or C++ file that is a Library when compiled (absolute path, contained in the
    definition's folder)."""

    path: Path


@dataclass(frozen=True)
class Library:
    """Semantics by a shared library that exports `asc_get_custom_op` of ascend_rt.h."""

    path: Path


Semantics = Formula | Kernel | Source | Library


@dataclass(frozen=True)
class OpDef:
    """An operator definition. `domain` None matches any domain, `since_version` None any opset.

    `standard`: the file names no inputs and outputs because onnx.defs knows the operator.
    `counts`: number of inputs and outputs of a short form, whose tensors have synthesized names.
    `paired`: types[i] of all tensors belong together (msopgen's columns) instead of being free sets.
    `shape` maps an output's name to the text of its shape rule; an absent one means: broadcast of the inputs.
    `remarks`: what it says that changes nothing, for whoever uses it.
    `kernel_name` is the Ascend C function the real toolchain builds; it says nothing about semantics here.
    """

    op: str
    domain: str | None = None
    since_version: int | None = None
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    shape: Mapping[str, str] = field(default_factory=dict, hash=False)
    semantics: Semantics | None = None
    standard: bool = False
    counts: tuple[int, int] | None = None
    paired: bool = False
    kernel_name: str = ""
    need_check_supported: bool = False
    doc: str = ""
    origin: str = field(default="", compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)

    @property
    def full_name(self) -> str:
        """`domain::Op`, or the bare type when any domain matches."""
        return self.op if self.domain is None else f"{self.domain or 'ai.onnx'}::{self.op}"

    @property
    def formula(self) -> str | None:
        """What it computes as text of the expression language, whether a kernel does it or not."""
        if isinstance(self.semantics, Formula):
            return self.semantics.text
        return (self.semantics.formula or None) if isinstance(self.semantics, Kernel) else None

    @property
    def file(self) -> Path:
        """The file it was read from: its origin without the line."""
        path, _, line = self.origin.rpartition(":")
        return Path(path if path and line.isdecimal() else self.origin)

    @property
    def min_inputs(self) -> int:
        """Number of inputs up to the last one that must be given."""
        needed = [i + 1 for i, spec in enumerate(self.inputs) if spec.occurrence != "optional"]
        return max(needed, default=0)

    @property
    def max_inputs(self) -> int | None:
        """Number of inputs at most; None when the last one is variadic."""
        return None if self.inputs and self.inputs[-1].occurrence == "variadic" else len(self.inputs)

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of this name, or None."""
        return next((a for a in self.attributes if a.name == name), None)

    def matches(self, domain: str, op_type: str, version: int) -> bool:
        """Whether a node of this domain, type and opset version is this operator."""
        return (
            self.op == op_type
            and (self.domain is None or self.domain == canonical_domain(domain))
            and (self.since_version is None or self.since_version <= version)
        )


#: The domain of nodes that fusion and AIPP make. A function there only repeats what its definition says.
OWN_DOMAIN = "ascend_ep"


def canonical_domain(domain: str) -> str:
    """ONNX's two spellings of the default domain are one."""
    return "" if domain == "ai.onnx" else domain


#: Operators of ONNX's domain that onnxruntime has in older operator sets, too; and the first of ONNX's sets
#: that has them, with the meaning that they have there.
EARLY = {"LayerNormalization": 17, "ThresholdedRelu": 10}

#: onnxruntime's own in ONNX's domain, up to the operator set that has another form of them, or none.
LEGACY = {"MeanVarianceNormalization": 9} | dict.fromkeys(
    (
        "Affine", "Crop", "DynamicSlice", "GRUUnit", "GivenTensorFill", "ImageScaler", "ParametricSoftplus",
        "Scale", "ScaledTanh",
    ),
    10,
)  # fmt: skip


def version_in_force(domain: str, op_type: str, version: int) -> int:
    """The operator set that says what a node means, of a model that imports `version` of its domain."""
    return max(version, EARLY.get(op_type, 0)) if canonical_domain(domain) == "" else version


def is_legacy(domain: str, op_type: str, version: int) -> bool:
    """Whether onnxruntime alone has the operator at this version."""
    return canonical_domain(domain) == "" and version < LEGACY.get(op_type, 0)
