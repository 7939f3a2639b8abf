"""Translation units of programs that run generated operators on this CPU."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_ep.element_types import ELEMENT_TYPES

from .generate import KernelSource
from .host import shared_host_text
from .kernel import shared_kernel_text
from .naming import Column

_C_TYPES = {n: row.c for n, row in ELEMENT_TYPES.items() if row.c}
#: The program around them, which is the same for all and compiled once.
PROGRAM = """#include "host/program.h"
int main(int n, char **arguments) { return asc_host::main_of_several(n, arguments); }
"""
# A kernel may have the name of a function of the C library: the headers come first.
_HEADERS = (
    '#include "kernel_operator.h"',
    '#include "host/launch.h"',
    '#include "host/parts.h"',
    "#include <algorithm>",
)
#: What host files include, for those without their #include lines.
_HOST_HEADERS = (
    "#include <initializer_list>",
    "#include <vector>",
    '#include "register/op_def_registry.h"',
    '#include "tiling/platform/platform_ascendc.h"',
)


def single_unit(source: KernelSource, types: Column) -> str:
    """The files of one operator as they are; op_host's #include of the tiling header is open."""
    lines = [*_HEADERS, *_macros(source, types), source.host, *_kernel(source, source.kernel, "")]
    return "\n".join([*lines, *_numbered([""])])


def joint_unit(operators: Sequence[tuple[KernelSource, Column]]) -> str:
    """Many operators, each in a namespace without its #include lines; what they have in common is there once."""
    lines = [*_HEADERS, *_HOST_HEADERS, "using namespace AscendC;", *shared_kernel_text()]
    shared = [*shared_kernel_text()]
    for space, text in shared_host_text():
        lines += [f"namespace {space} {{", text, "}"] if space else [text]
        shared.append(text)
    tiles: dict[str, str] = {}
    for source, _ in operators:
        if source.tiles not in tiles:
            tiles[source.tiles] = f"asc_tiles{len(tiles)}"
            lines += [f"namespace {tiles[source.tiles]} {{", source.tiles, "}"]
    spaces = [f"asc_operator{i}" for i in range(len(operators))]
    for space, (source, types) in zip(spaces, operators, strict=True):
        texts = []
        for text in (source.tiling, source.host, source.kernel):
            for part in (*shared, source.tiles):
                text = text.replace(part, "")
            texts.append("\n".join(t for t in text.split("\n") if not t.startswith("#include")))
        lines += [f"#undef {source.function.upper()}_TILING_H", f"namespace {space} {{"]
        lines += [f"namespace {n} {{ using namespace ::{n}; }}" for n in ("ops", "ge", "optiling")]
        lines += [f"using namespace {tiles[source.tiles]};", *_macros(source, types), *texts[:2]]
        lines += [*_kernel(source, texts[2], space), "}"]
    return "\n".join([*lines, *_numbered(spaces)])


def _macros(source: KernelSource, types: Column) -> list[str]:
    """What the tool chain defines when it compiles a kernel for one column of element types."""
    lines = []
    for n in (*source.inputs, *source.outputs):
        lines += [f"#undef DTYPE_{n.upper()}", f"#define DTYPE_{n.upper()} {_C_TYPES[types[n]]}"]
    return [*lines, "#undef ASC_TILING_STRUCT", f"#define ASC_TILING_STRUCT optiling::{source.op}TilingData"]


def _kernel(source: KernelSource, text: str, space: str) -> list[str]:
    """The kernel, and what the driver needs to know of the operator."""
    name = f"asc_kernel_{space}_{source.function}"
    kinds = [
        *(f"{{Spec::INPUT, {i}}}" for i in range(len(source.inputs))),
        *(f"{{Spec::OUTPUT, {i}}}" for i in range(len(source.outputs))),
        "{Spec::WORKSPACE, 0}",
        "{Spec::TILING, 0}",
    ]
    listed = [", ".join(f'"{n}"' for n in tensors) for tensors in (source.inputs, source.outputs)]
    counts = len(source.inputs), len(source.outputs)
    return [
        f"#define {source.function} {name}",
        text,
        f"#undef {source.function}",
        f"ASC_KERNEL_ROW(asc_row, {name})",
        "using Spec = ::asc_host::ArgumentSpec;",
        f"static const Spec asc_arguments[] = {{{', '.join(kinds)}}};",
        "static const ::asc_host::Column asc_columns[] = {{&asc_row, nullptr, 0, 0, false}};",
        f"static const char *const asc_inputs[] = {{{listed[0]}}};",
        f"static const char *const asc_outputs[] = {{{listed[1]}}};",
        f'static const ::asc_host::Parts asc_parts = {{"{source.op}", asc_columns, 1, asc_arguments, {len(kinds)}, '
        f"asc_inputs, {counts[0]}, asc_outputs, {counts[1]}}};",
        "static ::ops::OpDef &asc_op = *::ops::registered().back();",
    ]


def _numbered(spaces: Sequence[str]) -> list[str]:
    """What the program of the operators finds them by."""
    return [
        "asc_host::Numbered asc_host::numbered(size_t number) {",
        f"    const Parts *const parts[] = {{{', '.join(f'&{s}::asc_parts' for s in spaces)}}};",
        f"    ops::OpDef *const operators[] = {{{', '.join(f'&{s}::asc_op' for s in spaces)}}};",
        f"    return number < {len(spaces)} ? Numbered{{parts[number], operators[number]}} : Numbered{{}};",
        "}",
        "",
    ]
