"""tbe/impl/<op>.py: an expression in calls of the tensor DSL."""

from __future__ import annotations

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.errors import AscendError
from ascend_ep.opdef.definition import Attribute
from ascend_ep.opdef.formula import formula_program

from .sources import Operator
from .tbe_calls import Calls, body
from .tbe_functions import functions


def tbe_text(operator: Operator) -> str:
    """The file. Without an expression, compute is to be written. Raises E43106 for an expression that the DSL
    can't say."""
    opdef = operator.opdef
    helpers: list[str] = []
    if opdef.formula is not None:
        try:
            calls = Calls(opdef, formula_program(opdef))
        except NotGenerated as reason:
            raise AscendError("E43106", opdef.op, reason, fix="Generate it with -lan cpp.") from None
        helpers = list(functions(calls.helpers))
        lines = list(body(calls))
    else:
        lines = ['raise NotImplementedError("the definition has no formula")']
    names = [s.name for s in opdef.inputs]
    outputs = [s.name for s in opdef.outputs]
    attributes = [a.name for a in opdef.attributes]
    defaults = [
        f"{a.name}{'' if a.required else f'={_default(a)!r}'}"
        for a in sorted(opdef.attributes, key=lambda a: not a.required)
    ]
    imports = ["import tbe.dsl as dsl", "from tbe import tvm", "from tbe.common.utils import shape_util"]
    if "math." in "\n".join(lines):
        imports = ["import math", "", *imports]
    text = [
        f'"""{opdef.op} in the tensor DSL."""',
        "",
        *imports,
        *("\n\n" + helper for helper in helpers),
        "",
        "",
        f"def {operator.function}_compute({', '.join([*names, *attributes])}):",
        '    """The outputs\' tensors, in the types of the inputs."""',
        *("    " + line for line in lines),
        "",
        "",
        f'def {operator.function}({", ".join([*names, *outputs, *defaults])}, kernel_name="{operator.function}"):',
        '    """Builds the kernel for the shapes and types of these descriptions."""',
        "    tensors = [",
        *(f'        tvm.placeholder({n}["shape"], name="{n}", dtype={n}["dtype"].lower()),' for n in names),
        "    ]",
        f"    results = {operator.function}_compute(*tensors{''.join(', ' + a for a in attributes)})",
        "    with tvm.target.cce():",
        "        schedule = dsl.auto_schedule(results)",
        '    dsl.build(schedule, {"name": kernel_name, "tensor_list": [*tensors, *results]})',
    ]
    return "\n".join(text) + "\n"


def _default(attribute: Attribute) -> object:
    value = attribute.default
    return list(value) if isinstance(value, tuple) else value
