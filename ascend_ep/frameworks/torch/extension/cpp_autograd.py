"""The C++ class by which autograd records an operator: its backward pass is the gradient's operator."""

from __future__ import annotations

from ascend_ep.frameworks.torch.extension.cpp_function import Function, attribute_type, kept_as
from ascend_ep.frameworks.torch.schema import parameters
from ascend_ep.opdef.definition import Attribute
from ascend_ep.opdef.derivative import is_float


class AutogradClass:
    """The class that records the operator for autograd, and calls the gradient's operator."""

    def __init__(self, forward: Function, backward: Function) -> None:
        self.forward, self.backward = forward, backward
        self.name = class_name(forward.name)

    def lines(self) -> list[str]:
        """The class."""
        single = len(self.forward.opdef.outputs) == 1
        kind = "at::Tensor" if single else "torch::autograd::variable_list"
        return [
            f"class {self.name} : public torch::autograd::Function<{self.name}> {{",
            "  public:",
            f"    static {kind} forward(torch::autograd::AutogradContext *ctx, {self.forward.parameters}) {{",
            *("        " + line for line in self._forward(single)),
            "    }",
            "",
            "    static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx,",
            "                                                   torch::autograd::variable_list grads) {",
            *("        " + line for line in self._backward()),
            "    }",
            "};",
        ]

    def _forward(self, single: bool) -> list[str]:
        opdef, names = self.forward.opdef, self.forward.program.names
        saved = [
            f"{names[t.name]}.value_or(at::Tensor())" if t.occurrence == "optional" else names[t.name]
            for t in opdef.inputs
        ]
        lines = [
            "const at::AutoDispatchBelowADInplaceOrView below;",
            f"ctx->save_for_backward({{{', '.join(saved)}}});",
        ]
        for attribute in parameters(opdef):
            mine = names[attribute.name]
            lines.append(f'ctx->saved_data["{attribute.name}"] = {_stored(attribute, mine)};')
        call = f"{self.forward.name}({self.forward.passed})"
        if single:
            return [*lines, f"return {call};"]
        outputs = [f"std::get<{i}>(made)" for i in range(len(opdef.outputs))]
        whole = [y for y, t in zip(outputs, opdef.outputs, strict=True) if not is_float(t)]
        lines.append(f"const auto made = {call};")
        if whole:
            lines.append(f"ctx->mark_non_differentiable({{{', '.join(whole)}}});")
        return [*lines, f"return {{{', '.join(outputs)}}};"]

    def _backward(self) -> list[str]:
        forward, backward = self.forward.opdef, self.backward.opdef
        places = {t.name: i for i, t in enumerate(forward.inputs)}
        seeds = iter(i for i, t in enumerate(forward.outputs) if is_float(t))
        passed = []
        for spec in backward.inputs:
            if spec.name not in places:
                passed.append(f"grads[{next(seeds)}]")
                continue
            place = f"saved[{places[spec.name]}]"
            optional = spec.occurrence == "optional"
            passed.append(
                f"{place}.defined() ? std::optional<at::Tensor>({place}) : std::nullopt"
                if optional
                else place
            )
        lines = ["const torch::autograd::variable_list saved = ctx->get_saved_variables();"]
        for attribute in parameters(backward):
            held = self.backward.program.names[attribute.name]
            lines.append(f'const auto {held} = ctx->saved_data["{attribute.name}"].{kept_as(attribute)};')
            passed.append(held)
        count = len(backward.outputs)
        lines.append(f"const auto made = {self.backward.name}({', '.join(passed)});")
        results = iter(["made"] if count == 1 else [f"std::get<{i}>(made)" for i in range(count)])
        returned = []
        for i, spec in enumerate(forward.inputs):
            grad = next(results) if is_float(spec) else "at::Tensor()"
            optional = spec.occurrence == "optional" and is_float(spec)
            returned.append(f"saved[{i}].defined() ? {grad} : at::Tensor()" if optional else grad)
        returned += ["at::Tensor()"] * len(parameters(forward))
        return [*lines, f"return {{{', '.join(returned)}}};"]

    def kernel(self) -> list[str]:
        """What the Autograd key runs."""
        forward = self.forward
        apply = f"{self.name}::apply({forward.passed})"
        lines = [f"{forward.result} {forward.name}_recorded({forward.parameters}) {{"]
        if len(forward.opdef.outputs) == 1:
            return [*lines, f"    return {apply};", "}"]
        made = ", ".join(f"made[{i}]" for i in range(len(forward.opdef.outputs)))
        return [*lines, f"    const auto made = {apply};", f"    return {{{made}}};", "}"]


def _stored(attribute: Attribute, name: str) -> str:
    """A parameter as a value that outlives the call."""
    kind = attribute_type(attribute)
    if "ArrayRef" in kind:
        held = f"{name}.value().vec()" if "Optional" in kind else f"{name}.vec()"
        return f"{name}.has_value() ? c10::IValue({held}) : c10::IValue()" if "Optional" in kind else held
    if "string_view" in kind:
        if kind.startswith("std::optional"):
            return f"{name}.has_value() ? c10::IValue(std::string(*{name})) : c10::IValue()"
        return f"std::string({name})"
    return name


def class_name(function: str) -> str:
    """gelu_custom is GeluCustomFunction."""
    return "".join(word.capitalize() for word in function.split("_")) + "Function"
