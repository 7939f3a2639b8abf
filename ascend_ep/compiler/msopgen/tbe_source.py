"""tbe/impl/<op>.py: an expression in calls of the tensor DSL, on tensors broadcast to one shape."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from ascend_ep.compiler.ascendc.generate import open_attributes, placeholder, with_scalars
from ascend_ep.compiler.ascendc.instructions import select_instructions
from ascend_ep.compiler.ascendc.values import Value, reachable
from ascend_ep.compiler.codegen.generate import NotGenerated
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.definition import Attribute, Formula
from ascend_ep.opdef.formula import formula_program
from ascend_ep.opdef.specialize import specialize

from .sources import Operator

_TWO = {"add": "vadd", "sub": "vsub", "mul": "vmul", "div": "vdiv", "max": "vmax", "min": "vmin"}
_ONE = {"exp": "vexp", "abs": "vabs", "sqrt": "vsqrt", "ln": "vlog"}
_ROUNDINGS = {"CAST_FLOOR": "floor", "CAST_CEIL": "ceil", "CAST_RINT": "round", "CAST_TRUNC": "trunc"}
_HELD = {"half": "float16"}


def tbe_text(operator: Operator) -> str:
    """The file; without an expression, or with operations the DSL lacks, compute raises what is missing."""
    opdef = operator.opdef
    try:
        body = list(_compute(operator))
    except NotGenerated as error:
        body = [f"raise NotImplementedError({str(error)!r})"]
    names = [s.name for s in opdef.inputs]
    outputs = [s.name for s in opdef.outputs]
    attributes = [a.name for a in opdef.attributes]
    defaults = [
        f"{a.name}{'' if a.required else f'={_default(a)!r}'}"
        for a in sorted(opdef.attributes, key=lambda a: not a.required)
    ]
    lines = [
        f'"""{opdef.op} in the tensor DSL."""',
        "",
        "import tbe.dsl as dsl",
        "from tbe import tvm",
        "from tbe.common.utils import shape_util",
        "",
        "",
        f"def {operator.function}_compute({', '.join([*names, *attributes])}):",
        '    """The outputs\' tensors, in the types of the inputs."""',
        *("    " + line for line in body),
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
    return "\n".join(lines) + "\n"


def _compute(operator: Operator) -> Iterator[str]:
    opdef = operator.opdef
    if not isinstance(opdef.semantics, Formula):
        raise NotGenerated("the definition has no formula")
    whole = formula_program(opdef)
    open_ = open_attributes(opdef, whole)
    program = specialize(
        with_scalars(whole, open_), bind_attributes(opdef, {}), [s.name for s in opdef.inputs]
    )
    selected = select_instructions(program, {placeholder(n): n for n in open_})
    axes = list(range(-max(selected.folded_axes, 1), 0))
    names = [s.name for s in opdef.inputs]
    yield f"dtype = {names[0]}.dtype"
    yield f"shape = shape_util.shape_to_list({names[0]}.shape)"
    for other in names[1:]:
        yield f"_, _, shape = shape_util.broadcast_shapes(shape, shape_util.shape_to_list({other}.shape))"
    for n in names:
        yield f'{n} = dsl.broadcast(dsl.cast_to({n}, "float32"), shape)'
    for value in reachable(v for _, v in selected.outputs):
        if value.op not in ("input", "scalar"):
            yield f"v{value.number} = {_call(value, axes)}"
    results = ", ".join(f"dsl.cast_to({_name(v)}, dtype)" for _, v in selected.outputs)
    yield f"return [{results}]"


def _name(value: Value) -> str:
    if value.op == "input":
        return value.text
    return _scalar(value.text) if value.op == "scalar" else f"v{value.number}"


def _call(v: Value, axes: list[int]) -> str:
    args = [_name(a) for a in v.args]
    filled = [
        f"dsl.broadcast({_typed(a, n)}, shape)" if a.op == "scalar" else n
        for a, n in zip(v.args, args, strict=True)
    ]
    if v.op in _TWO:
        return f"dsl.{_TWO[v.op]}({', '.join(filled)})"
    if v.op in _ONE:
        return f"dsl.{_ONE[v.op]}({filled[0]})"
    if v.op in ("fill", "row_ref"):
        return f"dsl.broadcast({_typed(v.args[0], args[0])}, shape)"
    if v.op == "compare":
        return f'dsl.vcmp({filled[0]}, {filled[1]}, "{v.text.lower()}", "bool")'
    if v.op == "select":
        return f"dsl.vsel({args[0]}, {filled[1]}, {filled[2]})"
    if v.op in ("and", "or"):
        return f'dsl.vlogic({args[0]}, {args[1]}, "logic_{v.op}")'
    if v.op == "not":
        return f'dsl.vlogic({args[0]}, operation="logic_not")'
    if v.op == "round":
        return f'dsl.cast_to(dsl.{_ROUNDINGS[v.text]}({args[0]}), "float32")'
    if v.op == "narrow" and v.text in _HELD:
        return f'dsl.cast_to({args[0]}, "{_HELD[v.text]}")'
    if v.op == "widen" and v.text in _HELD:
        return f'dsl.cast_to({args[0]}, "float32")'
    if v.is_fold:
        return f"dsl.reduce_{v.op.removeprefix('fold_')}({args[0]}, axis={axes}, keepdims={not v.dropped})"
    raise NotGenerated(f"the tensor DSL has no {v.text or v.op}")


def _typed(value: Value, name: str) -> str:
    return f'tvm.const({name}, "float32")' if value.op == "scalar" else name


def _scalar(text: str) -> str:
    """C++ text of a scalar as Python's."""
    bits = re.sub(r"FloatOfBits\(0x([0-9A-F]{8})u\)", _special, text)
    plain = re.sub(r"(\d[\d.]*(?:e[+-]?\d+)?)f\b", r"\1", bits)
    return plain.replace("float(cols_)", "float(shape[-1])")


def _special(match: re.Match[str]) -> str:
    (value,) = struct.unpack(">f", bytes.fromhex(match[1]))
    return f'float("{value}")'


def _default(attribute: Attribute) -> object:
    value = attribute.default
    return list(value) if isinstance(value, tuple) else value
