"""Layer (a): what can be seen without running: expression, shapes, types, the library's symbols, the chip."""

from __future__ import annotations

import re

import numpy as np

from ascend_ep.cann.soc import Soc
from ascend_ep.codegen.builder import build_graph
from ascend_ep.codegen.c_source import InputType, Source, dims_of_outputs
from ascend_ep.codegen.compiled_library import CompiledLibrary
from ascend_ep.codegen.symbols import foreign_calls
from ascend_ep.element_types import numpy_dtype
from ascend_ep.errors import AscendError
from ascend_ep.opbuild.proof.subject import Subject
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.elf_file import ElfFile
from ascend_ep.opdef.expression import (
    REDUCTIONS,
    Apply,
    Constant,
    Expression,
    Index,
    Input,
    Local,
    Reduce,
    children,
    walk,
)
from ascend_ep.opdef.operations import OPERATIONS
from ascend_ep.opdef.output_types import infer
from ascend_ep.opdef.proof_report import Check

ALLOWED_HEADERS = frozenset(
    {
        "ascend_rt.h",
        "stddef.h",
        "stdint.h",
        "stdlib.h",
        "string.h",
        "math.h",
        "immintrin.h",
        "arm_neon.h",
        "float.h",
    }
)
#: One vector instruction of the chips handles so many bytes; every buffer holds at least these.
VECTOR_BYTES = 256
MAX_NODES = 10_000


def check_statically(subject: Subject, source: Source, library: CompiledLibrary, soc: Soc) -> list[Check]:
    """All static checks of one element type."""
    return [
        _expression(subject),
        _shapes(subject),
        _types(subject),
        _headers(source),
        _symbols(source, library),
        _unified_buffer(subject, soc),
    ]


def _expression(subject: Subject) -> Check:
    """The specialised program has known operations only, and names nothing that isn't there."""
    known = set(subject.given)
    wrong = []
    nodes = 0
    program = subject.program
    for name, value in (*program.lets, *program.outputs):
        for node in walk(value):
            nodes += 1
            wrong += (
                [f"unknown operation {node.op}"]
                if isinstance(node, Apply) and node.op not in OPERATIONS
                else []
            )
            wrong += (
                [f"unknown reduction {node.op}"]
                if isinstance(node, Reduce) and node.op not in REDUCTIONS
                else []
            )
            if isinstance(node, Input | Local) and node.name not in known:
                wrong.append(f"unknown name {node.name}")
        known.add(name)
    if nodes > MAX_NODES:
        wrong.append(f"{nodes} nodes are more than {MAX_NODES}")
    return Check(
        "static", "expression", not wrong, "; ".join(wrong) or f"{nodes} nodes, all of the expression form"
    )


def _shapes(subject: Subject) -> Check:
    """The definition's shape inference and that of generated code agree at the built shape."""
    given = [None if t is None else (t.dtype, t.dims) for t in subject.inputs]
    try:
        wanted = [
            tuple(dims) if dims is not None else None
            for _, dims in infer(subject.opdef, given, subject.attributes)
        ]
    except AscendError as error:
        return Check("static", "shapes", False, error.text)
    types = [None if t is None else InputType(t.dtype, tuple(map(str, t.dims))) for t in subject.inputs]
    graph = build_graph(subject.program, subject.names, types, subject.output_types)
    made = [tuple(map(int, dims)) for dims in dims_of_outputs(graph)]
    text = ", ".join(map(str, map(list, made)))
    if wanted != made:
        return Check("static", "shapes", False, f"the library gives {text}, the definition {wanted}")
    return Check("static", "shapes", True, f"outputs {text}")


def _types(subject: Subject) -> Check:
    taken = ", ".join(f"{n} {dtypes.name(t.dtype)}" for n, t in subject.given.items())
    try:
        given = ", ".join(map(dtypes.name, subject.output_types))
    except AscendError as error:
        return Check("static", "types", False, error.text)
    return Check("static", "types", True, f"{taken} -> {given}")


def _headers(source: Source) -> Check:
    included = set(re.findall(r'^\s*#\s*include\s*[<"]([^>"]*)[>"]', source.text, re.MULTILINE))
    foreign = included - ALLOWED_HEADERS
    assembly = re.findall(r"\b(?:asm|__asm__)\s+(?:volatile|goto)|\bsyscall\b", source.text)
    wrong = [f"it includes {name}" for name in sorted(foreign)] + [f"it has {a}" for a in assembly]
    return Check(
        "static", "source", not wrong, "; ".join(wrong) or f"includes {', '.join(sorted(included))} only"
    )


def _symbols(source: Source, library: CompiledLibrary) -> Check:
    """The library calls nothing but the whitelist, and exports what its two interfaces need."""
    try:
        file = ElfFile(library.path.read_bytes())
        foreign, imports, exports = foreign_calls(file), file.imports(), file.exports()
    except (OSError, ValueError) as error:
        return Check("static", "symbols", False, str(error))
    wrong = [f"it calls {name}" for name in foreign]
    wrong += [f"it lacks {n}" for n in sorted({"asc_get_custom_op", source.symbol} - exports)]
    return Check(
        "static",
        "symbols",
        not wrong,
        "; ".join(wrong) or f"calls {', '.join(sorted(imports)) or 'nothing'}",
    )


def _unified_buffer(subject: Subject, soc: Soc) -> Check:
    """A tile of every operand, twice (one is moved while the other is computed), and of every intermediate
    value alive beside it must fit; a tile is whole blocks of the chip and at least one vector instruction."""
    program = subject.program
    widest = 8 if subject.wide else 4
    moved = [np.dtype(numpy_dtype(t.dtype)).itemsize for t in subject.given.values()]
    moved += [np.dtype(numpy_dtype(t)).itemsize for t in subject.output_types]
    alive = len(program.lets) + max(
        (_registers(value) for _, value in (*program.lets, *program.outputs)), default=1
    )
    per_element = 2 * sum(moved) + alive * widest
    quantum = VECTOR_BYTES // min([*moved, widest])
    tile = soc.ub // per_element // quantum * quantum
    narrow = min([*moved, widest])
    text = (
        f"{soc.name}: {len(moved)} operands twice and {alive} others, {per_element} B an element;"
        f" tiles of {tile} elements, {tile * narrow // soc.block} blocks of {soc.block} B,"
        f" {tile * per_element} of {soc.ub} B"
    )
    if tile < quantum:
        return Check("static", "unified buffer", False, f"{text}: not one vector of {VECTOR_BYTES} B fits")
    aligned = tile * narrow % soc.block == 0
    rows = sorted(
        {
            t.dims[-1] * np.dtype(numpy_dtype(t.dtype)).itemsize % soc.block
            for t in subject.given.values()
            if t.dims
        }
    )
    tails = (
        "rows are whole blocks"
        if rows in ([], [0])
        else f"rows end {', '.join(str(r) for r in rows if r)} B into a block (padded)"
    )
    return Check("static", "unified buffer", aligned, f"{text}; {tails}")


def _registers(node: Expression) -> int:
    """Values alive at once while a tree is evaluated, the larger operand first (Sethi and Ullman 1970)."""
    if isinstance(node, Constant | Input | Local | Index):
        return 1
    needs = sorted((_registers(child) for child in children(node)), reverse=True)
    return max([1, *(need + i for i, need in enumerate(needs))])
