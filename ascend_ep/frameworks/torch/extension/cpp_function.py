"""An operator as C++ functions: one through PyTorch's dispatcher, and one that computes."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.extension.aten_program import SCALAR_TYPES, AtenProgram
from ascend_ep.frameworks.torch.schema import parameters, schema
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, OpDef, TensorSpec

#: Of an attribute: its C++ type, and how it is read back from what autograd keeps.
_ATTRIBUTES = {
    "int": ("int64_t", "toInt()"),
    "float": ("double", "toDouble()"),
    "bool": ("bool", "toBool()"),
    "string": ("std::string_view", "toStringRef()"),
    "ints": ("at::IntArrayRef", "toIntVector()"),
    "floats": ("at::ArrayRef<double>", "toDoubleVector()"),
    "bools": ("c10::List<bool>", "toBoolList()"),
    "strings": ("c10::List<std::string>", "to<c10::List<std::string>>()"),
}
_OPTIONAL = {
    "ints": ("at::OptionalIntArrayRef", "to<std::optional<std::vector<int64_t>>>()"),
    "floats": ("at::OptionalArrayRef<double>", "to<std::optional<std::vector<double>>>()"),
    "string": ("std::optional<std::string_view>", "to<std::optional<std::string>>()"),
}


@dataclass(frozen=True)
class Function:
    """An operator as C++ functions. inputs and outputs in the order of its schema."""

    opdef: OpDef
    name: str

    def __post_init__(self) -> None:
        if self.opdef.formula is None:
            raise AscendError("E43106", self.opdef.op, "it has no formula", where=self.opdef.origin)

    @property
    def schema(self) -> str:
        return self.name + schema(self.opdef)

    @property
    def result(self) -> str:
        count = len(self.opdef.outputs)
        return "at::Tensor" if count == 1 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"

    @property
    def program(self) -> AtenProgram:
        return AtenProgram(self.opdef)

    def arguments(self) -> list[tuple[str, str]]:
        """C++ types and names of the parameters."""
        names = self.program.names
        tensors = [(_tensor_type(t), names[t.name]) for t in self.opdef.inputs]
        return tensors + [(attribute_type(a), names[a.name]) for a in parameters(self.opdef)]

    @property
    def parameters(self) -> str:
        return ", ".join(f"{kind}{' ' * (not kind.endswith('&'))}{name}" for kind, name in self.arguments())

    @property
    def passed(self) -> str:
        return ", ".join(name for _, name in self.arguments())

    # ---- texts ---------------------------------------------------------------------------------

    def call(self) -> list[str]:
        """The function for C++ callers, through PyTorch's dispatcher."""
        types = ", ".join(kind for kind, _ in self.arguments())
        return [
            f"{self.result} {self.name}({self.parameters}) {{",
            "    static const auto op = c10::Dispatcher::singleton()",
            f'                               .findSchemaOrThrow(NAME_SPACE "::{self.name}", "")',
            f"                               .typed<{self.result}({types})>();",
            f"    return op.call({self.passed});",
            "}",
        ]

    def compute(self) -> list[str]:
        """The function that computes, for any device."""
        program, opdef = self.program, self.opdef
        lines = [f"{self.result} {self.name}_by_aten({self.parameters}) {{"]
        body = [*self._checks(program)]
        floats = [t for t in opdef.inputs if t.name in program.values]
        listed = ", ".join(program.names[t.name] for t in floats)
        body.append(f"const at::ScalarType compute = formula::compute_type({{{listed}}});")
        like = next((t for t in opdef.inputs if t.occurrence == "required"), None)
        if like is None:
            raise AscendError("E43106", opdef.op, "it has no input that is always given", where=opdef.origin)
        made = f"{program.names[like.name]}.options().dtype(compute)"
        body.append(f"[[maybe_unused]] const at::TensorOptions options = {made};")
        for spec in floats:
            mine, value = program.names[spec.name], program.values[spec.name]
            if spec.occurrence == "optional":
                body.append(
                    f"const at::Tensor {value} = {mine}.has_value() ? {mine}->to(compute) : at::Tensor();"
                )
            else:
                body.append(f"const at::Tensor {value} = {mine}.to(compute);")
        for attribute in parameters(opdef):
            if attribute.input:
                body += self._element(program, attribute)
        body += program.body(", ".join(self._type(program, o) for o in opdef.outputs))
        return [*lines, *("    " + line for line in body), "}"]

    def _element(self, program: AtenProgram, attribute: Attribute) -> list[str]:
        """An attribute that an input says where it is given."""
        mine, said = program.names[attribute.name], program.names[attribute.input]
        kind = {"int": "int64_t", "float": "double", "bool": "bool"}[attribute.type]
        reason = (
            f"{self.name}: the elements of {attribute.input} aren't known in a trace; give {attribute.name}"
        )
        return [
            f'TORCH_CHECK(!{said}.has_value() || !{said}->is_meta(), "{reason}");',
            f"if ({said}.has_value()) {mine} = {said}->item<{kind}>();",
        ]

    def _checks(self, program: AtenProgram) -> list[str]:
        """What the definition says of element types and attributes."""
        lines, first = [], dict[str, str]()
        for spec in self.opdef.inputs:
            mine = program.names[spec.name]
            allowed = [t for t in spec.types if t in SCALAR_TYPES]
            if allowed:
                wide = [dtypes.FLOAT64] * bool(set(allowed) & set(dtypes.FLOATS))  # the reference's
                listed = ", ".join(SCALAR_TYPES[t] for t in dict.fromkeys([*allowed, *wide]))
                lines.append(f'formula::check_type("{self.name}", "{spec.name}", {mine}, {{{listed}}});')
            if spec.variable in first:
                lines.append(f'formula::check_same("{self.name}", {first[spec.variable]}, {mine});')
            elif spec.variable and spec.occurrence == "required":
                first[spec.variable] = mine
        return lines + [self._allowed(program, a) for a in self.opdef.attributes if a.allowed]

    def _allowed(self, program: AtenProgram, attribute: Attribute) -> str:
        mine = program.names[attribute.name]
        absent = f"!{mine}.has_value() || " if attribute_type(attribute).startswith("std::optional") else ""
        value = mine + ".value()" * bool(absent)
        either = " || ".join(f"{value} == {json.dumps(v)}" for v in attribute.allowed)
        words = ", ".join(map(str, attribute.allowed))
        return f'TORCH_CHECK({absent}{either}, "{self.name}: {attribute.name} must be one of {words}");'

    def _type(self, program: AtenProgram, output: TensorSpec) -> str:
        """The element type of an output, in C++."""
        inputs = self.opdef.inputs
        same = [t for t in inputs if _of_one_type(t, output, self.opdef.paired)]
        for spec in sorted(same, key=lambda t: t.occurrence == "optional"):
            mine = program.names[spec.name]
            if spec.occurrence != "optional":
                return f"{mine}.scalar_type()"
            return f"{mine}.has_value() ? {mine}->scalar_type() : compute"
        if len(output.types) == 1 or (output.variable and output.types):
            kind = output.types[0]
            wide = f"compute == at::kDouble ? at::kDouble : {SCALAR_TYPES[kind]}"
            return wide if kind in dtypes.FLOATS else SCALAR_TYPES[kind]
        return f"{program.names[inputs[0].name]}.scalar_type()"


def _of_one_type(spec: TensorSpec, output: TensorSpec, paired: bool) -> bool:
    if paired:
        return bool(output.types) and spec.types == output.types
    return bool(output.variable) and spec.variable == output.variable


def _tensor_type(spec: TensorSpec) -> str:
    return "const std::optional<at::Tensor> &" if spec.occurrence == "optional" else "const at::Tensor &"


def attribute_type(attribute: Attribute) -> str:
    """Its C++ type as a parameter."""
    kind = _ATTRIBUTES[attribute.type][0]
    if attribute.required or attribute.default is not None:
        return kind
    return _OPTIONAL.get(attribute.type, (f"std::optional<{kind}>", ""))[0]


def kept_as(attribute: Attribute) -> str:
    """How autograd's memory of an attribute is read back: a method of c10::IValue."""
    if attribute.required or attribute.default is not None:
        return _ATTRIBUTES[attribute.type][1]
    kind = _ATTRIBUTES[attribute.type][0]
    return _OPTIONAL.get(attribute.type, ("", f"to<std::optional<{kind}>>()"))[1]
