"""aclnn<Op>GetWorkspaceSize and aclnn<Op> of a definition: a header, and a C++ source that holds the
operator's library. Both are C++11, as build files of projects compile them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ascend_ep.opbuild.ascendc.naming import snake_case
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.definition import Attribute, OpDef, TensorSpec
from ascend_ep.opdef.packages import MAGIC, SECTION

_ATTRIBUTES = {
    "int": ("int64_t", "i"),
    "float": ("double", "d"),
    "bool": ("bool", "b"),
    "string": ("const char *", "c"),
    "ints": ("const aclIntArray *", "I"),
    "floats": ("const aclFloatArray *", "F"),
    "bools": ("const aclBoolArray *", "B"),
}
_GIVEN = {"i": "asc_given_int", "b": "asc_given_int", "d": "asc_given_double"}
#: C++'s words, which tensors may be called.
_WORDS = frozenset({
    "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue", "default", "delete",
    "do", "double", "else", "enum", "explicit", "extern", "false", "final", "float", "for", "friend",
    "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "operator", "private",
    "protected", "public", "register", "return", "short", "signed", "sizeof", "static", "struct",
    "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union", "unsigned",
    "using", "virtual", "void", "volatile", "while",
})  # fmt: skip


@dataclass(frozen=True)
class _Argument:
    """type: of C, with the space before a name. kind: its letter in asc_operator.h, "?" behind it if NULL may
    be given. name: in the definition."""

    type: str
    kind: str
    name: str
    parameter: str


def header_name(op_type: str) -> str:
    """The header's file."""
    return f"aclnn_{snake_case(op_type)}.h"


def header_text(opdef: OpDef, by_value: Sequence[str] = ()) -> str:
    """The header. by_value: inputs whose values the host's functions read: arrays of numbers for aclnn."""
    name = f"ACLNN_{snake_case(opdef.op).upper()}_H_"
    size, run = _signatures(opdef, _arguments(opdef, by_value))
    export = '__attribute__((visibility("default")))'
    return f"""\
/* {header_name(opdef.op)} - operator {opdef.op} in two phases. Made of its definition. */
#ifndef {name}
#define {name}

#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {{
#endif

/* Says whether the operator takes these arguments, and makes what aclnn{opdef.op} runs. */
{export} {size};
/* Brings it to the stream. The executor is used up. */
{export} {run};

#ifdef __cplusplus
}}
#endif
#endif
"""


def source_text(opdef: OpDef, definition: Path, library: Path, by_value: Sequence[str] = ()) -> str:
    """The source. definition, library: files whose contents it includes when it is compiled."""
    arguments = _arguments(opdef, by_value)
    size, run = _signatures(opdef, arguments)
    symbol = f"asc_library_{snake_case(opdef.op)}"
    given = ", ".join(f"{_GIVEN.get(a.kind[0], 'asc_given_handle')}({a.parameter})" for a in arguments)
    names = ", ".join(json.dumps(a.name) for a in arguments)
    kinds = "".join(a.kind for a in arguments)
    counts = f"{len(opdef.inputs)}, {len(opdef.attributes)}, {len(opdef.outputs)}"
    places = ", ".join(map(str, _output_places(opdef)))
    magic = "".join(f"\\\\{b:03o}" for b in MAGIC)
    return f"""\
/* Operator {opdef.op} in two phases. Made of its definition. */
#include "{header_name(opdef.op)}"

#include "aclnn/asc_custom_library.h"

/* An operator, for whoever reads the library: magic, the sizes of what follows, JSON, library. */
__asm__(
    ".pushsection {SECTION},\\"a\\",%progbits\\n"
    ".balign 16\\n"
    ".ascii \\"{magic}\\"\\n"
    ".quad 2f - 1f, {symbol}_end - {symbol}\\n"
    "1: .incbin {_quoted(definition)}\\n"
    "2: .balign 16\\n"
    ".global {symbol}\\n.hidden {symbol}\\n"
    "{symbol}: .incbin {_quoted(library)}\\n"
    ".global {symbol}_end\\n.hidden {symbol}_end\\n"
    "{symbol}_end:\\n"
    ".popsection\\n");
extern "C" const unsigned char {symbol}[], {symbol}_end[];

static const uint32_t outputs[] = {{{places or 0}}};
static asc_custom_library library = {{"{opdef.op}", {counts}, outputs, {symbol}, {symbol}_end, nullptr}};
static const char *const names[] = {{{names or "nullptr"}}};
static const asc_operator row = {{"aclnn{opdef.op}", "{kinds}", names, asc_custom_library_check,
                                 asc_custom_library_run, &library}};

{size} {{
    const asc_given given[] = {{{given or "asc_given_int(0)"}}};
    return asc_operator_prepare(&row, given, workspaceSize, executor, __builtin_return_address(0));
}}

{run} {{
    (void)workspace, (void)workspaceSize; /* the library has its own */
    return asc_operator_launch(&row, executor, stream, __builtin_return_address(0));
}}
"""


def _signatures(opdef: OpDef, arguments: Sequence[_Argument]) -> tuple[str, str]:
    indent = ",\n" + " " * 8
    given = indent.join(a.type + a.parameter for a in arguments)
    size = (
        f"aclnnStatus aclnn{opdef.op}GetWorkspaceSize({given}{indent if given else ''}"
        f"uint64_t *workspaceSize{indent}aclOpExecutor **executor)"
    )
    run = (
        f"aclnnStatus aclnn{opdef.op}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,"
        f"{indent[1:]}aclrtStream stream)"
    )
    return size, run


def _arguments(opdef: OpDef, by_value: Sequence[str]) -> list[_Argument]:
    """Inputs, attributes, outputs."""
    written = _overwritten(opdef)
    inputs = [_input(t, t.name in by_value, t.name in written) for t in opdef.inputs]
    attributes = [_attribute(a) for a in opdef.attributes]
    outputs = [_output(t) for t in opdef.outputs if not t.overwrites]
    used: set[str] = {"workspaceSize", "executor"}
    named = []
    for type_text, kind, name, optional in (*inputs, *attributes, *outputs):
        parameter = _parameter(name, optional)
        while parameter in used:
            parameter += "Out"
        used.add(parameter)
        named.append(_Argument(type_text, kind, name, parameter))
    return named


def _output_places(opdef: OpDef) -> list[int]:
    """Which argument each output is: of those that are inputs, the input."""
    inputs = [t.name for t in opdef.inputs]
    at, places = len(inputs) + len(opdef.attributes), []
    for t in opdef.outputs:
        places.append(inputs.index(t.device_name) if t.overwrites else at)
        at += not t.overwrites
    return places


def _overwritten(opdef: OpDef) -> list[str]:
    """Inputs that are outputs too."""
    return [t.device_name for t in opdef.outputs if t.overwrites]


def _input(spec: TensorSpec, by_value: bool, written: bool) -> tuple[str, str, str, bool]:
    optional = spec.occurrence == "optional"
    if written and spec.occurrence != "variadic":
        return "aclTensor *", "R" + "?" * optional, spec.name, False
    if spec.occurrence == "variadic":
        return "const aclTensorList *", "L", spec.name, False
    if by_value:
        floats = dtypes.FLOAT32 in spec.types
        bools = spec.types == (dtypes.BOOL,)
        what, kind = ("Float", "F") if floats else ("Bool", "B") if bools else ("Int", "I")
        return f"const acl{what}Array *", kind + "?" * optional, spec.name, optional
    return "const aclTensor *", "T" + "?" * optional, spec.name, optional


def _attribute(attribute: Attribute) -> tuple[str, str, str, bool]:
    type_text, kind = _ATTRIBUTES[attribute.type]
    optional = not attribute.required
    space = "" if type_text.endswith("*") else " "
    mark = "?" if optional and type_text.endswith("*") else ""
    return type_text + space, kind + mark, attribute.name, optional


def _output(spec: TensorSpec) -> tuple[str, str, str, bool]:
    optional = spec.occurrence == "optional"
    if spec.occurrence == "variadic":
        return "const aclTensorList *", "M", spec.device_name, False
    return "const aclTensor *", "O" + "?" * optional, spec.device_name, optional


def _parameter(name: str, optional: bool) -> str:
    """my_input -> myInput, of an optional one myInputOptional."""
    first, *others = [part for part in re.split(r"_+", name) if part] or ["x"]
    text = first + "".join(part[:1].upper() + part[1:] for part in others) + "Optional" * optional
    return text + "Value" if text in _WORDS else text


def _quoted(path: Path) -> str:
    """A path within a string within a string."""
    return json.dumps(json.dumps(str(path)))[1:-1]
