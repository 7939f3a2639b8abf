"""The C++ source of an extension: the operator, its gradient, and their registration with PyTorch."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from ascend_ep.errors import AscendError
from ascend_ep.frameworks.torch.extension.cpp_autograd import AutogradClass
from ascend_ep.frameworks.torch.extension.cpp_function import Function
from ascend_ep.frameworks.torch.schema import function_name, gives_a_list, parameters, takes_a_list
from ascend_ep.opdef.definition import Attribute, OpDef
from ascend_ep.opdef.derivative import Flat, differentiate

MOST_COLUMNS = 118
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_BREAK = re.compile(r"(?<=,) | (?=[-+*/?:] |&& |\|\| )")


def functions_of(opdef: OpDef) -> tuple[Function, Function | None]:
    """The operator and its gradient, which takes the gradients of outputs first; None where it is 0.

    Raises AscendError E43106 for operators without a formula, E42006 for those whose gradient isn't known,
    E41011 for variadic ones.
    """
    name = function_name(opdef.op)
    if takes_a_list(opdef) or gives_a_list(opdef):
        reason = "an extension has a number of tensors"
        raise AscendError("E41011", opdef.op, reason, where=opdef.origin)
    forward = Function(opdef, name)
    try:
        gradient = differentiate(opdef)
    except Flat:
        return forward, None
    given = [t.name for t in opdef.inputs]
    ordered = sorted(gradient.inputs, key=lambda t: t.name in given)
    return forward, Function(replace(gradient, inputs=tuple(ordered)), f"{name}_backward")


def source_text(opdef: OpDef, namespace: str) -> str:
    """The whole file."""
    forward, backward = functions_of(opdef)
    functions = [forward] if backward is None else [forward, backward]
    autograd = None if backward is None else AutogradClass(forward, backward)
    doc = textwrap.wrap(" ".join(opdef.doc.split()).replace("*/", "* /"), 100)
    lines = [
        f"/* {opdef.op} for PyTorch, as torch.ops.{namespace}.{forward.name}.",
        *(f" * {line}" for line in doc),
        " */",
    ]
    lines += [
        "#include <torch/extension.h>",
        "",
        '#include "aten_formula.h"',
        "",
        f'#define NAME_SPACE "{namespace}"',
        "",
    ]
    lines += [f"namespace {namespace} {{", ""]
    for function in functions:
        lines += [*function.call(), "", *function.compute(), ""]
    if autograd is not None:
        lines += [*autograd.lines(), "", *autograd.kernel(), ""]
    lines += [f"}} // namespace {namespace}", "", f"TORCH_LIBRARY_FRAGMENT({namespace}, m) {{"]
    lines += [f"    m.def({json.dumps(f.schema)}, {{at::Tag::pt2_compliant_tag}});" for f in functions]
    lines += ["}", "", f"TORCH_LIBRARY_IMPL({namespace}, CompositeExplicitAutograd, m) {{"]
    lines += [f'    m.impl("{f.name}", &{namespace}::{f.name}_by_aten);' for f in functions]
    lines += ["}", "", f"TORCH_LIBRARY_IMPL({namespace}, Autograd, m) {{"]
    if autograd is None:
        lines.append(f'    m.impl("{forward.name}", torch::autograd::autogradNotImplementedFallback());')
    else:
        assert backward is not None, "it has a gradient"
        lines.append(f'    m.impl("{forward.name}", &{namespace}::{forward.name}_recorded);')
        lines.append(
            f'    m.impl("{backward.name}", &{namespace}::{backward.name}_by_aten); // its steps are recorded'
        )
    lines += ["}", "", "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    lines += _bindings(functions, namespace)
    if autograd is not None:
        lines += _apply(autograd, namespace)
    return "\n".join(part for line in [*lines, "}", ""] for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """A line of C++ in lines of at most MOST_COLUMNS, broken behind commas and before operators."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    found: list[str] = []
    if line.lstrip().startswith(("*", "/*", "m.def(")):
        return [line]
    while len(line) > MOST_COLUMNS:
        spaces = [m.start() for m in _BREAK.finditer(_TEXT.sub(lambda m: "x" * len(m[0]), line))]
        spaces = [at for at in spaces if at > len(indent)]
        if not spaces:
            break
        at = max((at for at in spaces if at <= MOST_COLUMNS), default=spaces[0])
        found.append(line[:at])
        line = indent + line[at + 1 :]
    return [*found, line]


def _bindings(functions: Sequence[Function], namespace: str) -> list[str]:
    lines = []
    for function in functions:
        arguments = "".join(f", {a}" for a in _python_arguments(function))
        lines.append(f'    m.def("{function.name}", &{namespace}::{function.name}{arguments});')
    return lines


def _apply(autograd: AutogradClass, namespace: str) -> list[str]:
    name, forward = autograd.name, autograd.forward
    arguments = "".join(f", {a}" for a in _python_arguments(forward))
    return [
        f'    py::class_<{namespace}::{name}>(m, "{name}")',
        f'        .def_static("apply", &{namespace}::{forward.name}_recorded{arguments});',
    ]


def _python_arguments(function: Function) -> list[str]:
    """What pybind11 is told of the parameters."""
    opdef = function.opdef
    found = []
    optional = True
    for spec in reversed(opdef.inputs):
        optional = (
            optional and spec.occurrence == "optional" and not any(a.required for a in opdef.attributes)
        )
        found.append(f'py::arg("{spec.name}")' + " = py::none()" * optional)
    found.reverse()
    for attribute in parameters(opdef):
        found.append(
            f'py::arg("{attribute.name}")' + ("" if attribute.required else f" = {_default(attribute)}")
        )
    return found


def _default(attribute: Attribute) -> str:
    value = attribute.default
    if value is None:
        return "py::none()"
    if isinstance(value, tuple):
        kind = {"ints": "std::vector<int64_t>", "floats": "std::vector<double>", "bools": "std::vector<bool>"}
        listed = ", ".join(json.dumps(v) for v in value)
        return f"{kind.get(attribute.type, 'std::vector<std::string>')}{{{listed}}}"
    text = json.dumps(value)
    return (
        f"int64_t({text})"
        if attribute.type == "int"
        else f"double({text})"
        if attribute.type == "float"
        else text
    )
