"""Names of tensors and attributes that can stand in C++ text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ascend_ep.codegen.c_source import NotGenerated
from ascend_ep.opdef.definition import OpDef
from ascend_ep.opdef.expression import (
    AttributeRef,
    Expression,
    Given,
    Input,
    Program,
    children,
    with_children,
)

_RESERVED_TEXT = """
alignas alignof and and_eq asm attributes auto bitand bitor bool break case catch char chip class col cols compl
concept const consteval constexpr constinit const_cast context continue co_await co_return co_yield decltype
default delete dims do double dynamic_cast elements else enum explicit export extern false first float fold for
friend goto held if inline int items k lanes last long mutable n namespace new noexcept not not_eq nullptr op
operator or or_eq pipe platform private protected public register reinterpret_cast requires return row rows s
segment segments short signed sizeof stage static static_assert static_cast steps strides struct switch template
this thread_local throw tile tiling tilingData true try typedef typeid typename union unsigned using virtual void
volatile wchar_t while width workspace xor xor_eq
"""
#: of C++, and of what every kernel and its tiling data have
RESERVED = frozenset(_RESERVED_TEXT.split())
#: of what a kernel makes itself
_OWN = re.compile(r"(held|view|places|count|stage|total|mask|v|r|row|s|rBuf|Kernel)\d*", re.IGNORECASE)


def identifiers(opdef: OpDef) -> dict[str, str]:
    """Each name of the definition -> that of its parameter or member. Raises NotGenerated for what the tool
    chain, which makes macros of tensors' names, can't name."""
    tensors = [s.name for s in (*opdef.inputs, *opdef.outputs)]
    for name in tensors:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise NotGenerated(f"{name} is no name that a C++ parameter can have")
    if len({n.upper() for n in tensors}) < len(tensors):
        raise NotGenerated("two tensors have names that differ in case only")
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys((*tensors, *(a.name for a in opdef.attributes))):
        bare = re.sub(r"\W", "", name, flags=re.ASCII).strip("_") or "tensor"
        safe = bare if re.match(r"[A-Za-z]", bare) else f"t{bare}"
        if safe in RESERVED or _OWN.fullmatch(safe):
            safe += "Value"
        while safe.lower() in taken:
            safe += "X"
        taken.add(safe.lower())
        found[name] = safe
    return found


def renamed_definition(opdef: OpDef, names: Mapping[str, str]) -> OpDef:
    return replace(
        opdef,
        inputs=tuple(replace(s, name=names[s.name]) for s in opdef.inputs),
        outputs=tuple(replace(s, name=names[s.name]) for s in opdef.outputs),
        attributes=tuple(replace(a, name=names[a.name]) for a in opdef.attributes),
    )


def renamed_program(program: Program, names: Mapping[str, str]) -> Program:
    def changed(node: Expression) -> Expression:
        if isinstance(node, Input | Given | AttributeRef):
            return replace(node, name=names.get(node.name, node.name))
        below = children(node)
        node = with_children(node, [changed(c) for c in below]) if below else node
        references: dict[str, Any] = {
            f.name: replace(value, name=names.get(value.name, value.name))
            for f in fields(node)
            if f.name not in ("arg", "like") and isinstance(value := getattr(node, f.name), AttributeRef)
        }
        return replace(node, **references) if references else node

    lets = tuple((n, changed(v)) for n, v in program.lets)
    return Program(lets, tuple((names[n], changed(v)) for n, v in program.outputs))
