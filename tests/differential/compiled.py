"""Generated C, many operators to a translation unit: what the compiler reads for each of them is long.

The text of every operator is the generator's, but for the names of its file scope, which get a prefix, for
its exports, which one table replaces, and for its functions, which are compiled apart instead of inlined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from programs import Array, Operator

from ascend_ep.codegen.c_source import InputType, NotGenerated, Schedule, Source, generate_c, mathematics
from ascend_ep.codegen.compiled_library import CompiledLibrary, compile_library
from ascend_ep.codegen.header_text import HEADERS
from ascend_ep.codegen.library_call import run_library
from ascend_ep.opdef.attributes import bind_attributes
from ascend_ep.opdef.specialize import specialize

#: Operators of a translation unit.
TOGETHER = 20
_DEFINED = re.compile(r"^(?:FN|static|typedef struct)\b[^;={(]*?\b(\w+)(?= ?[\[({=])", re.MULTILINE)
_FORCED = "#define FN static inline __attribute__((always_inline, unused))"
_APART = "#define FN static __attribute__((noinline, unused))"
#: Passes of the compiler that take a third of its time, and make nothing but speed.
_QUICK = '#pragma GCC optimize("no-tree-loop-optimize,no-ivopts,no-tree-ccp,no-tree-dominator-opts")'
_TABLE = """
static const asc_custom_op *const all[] = {%s};
ASC_API const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);
const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (version >= 2 && strcmp(op_type, all[i]->op_type) == 0) return all[i];
    return NULL;
}
"""


def source_of(operator: Operator) -> Source:
    """The C of an operator. Raises NotGenerated."""
    program = specialize(
        operator.program, bind_attributes(operator.opdef, operator.given), operator.given_inputs
    )
    types = [
        None if dims is None else InputType(t, dims)
        for dims, t in zip(operator.shapes, operator.types, strict=True)
    ]
    names = [spec.name for spec in operator.opdef.inputs]
    outputs = [spec.types[0] for spec in operator.opdef.outputs]
    return generate_c(operator.opdef.op, program, names, types, outputs, Schedule(unroll=1, optimize=1))


def generated(operators: Sequence[Operator]) -> tuple[dict[str, Source], dict[str, str]]:
    """By name the sources, and the reasons of those that have none."""
    sources: dict[str, Source] = {}
    reasons: dict[str, str] = {}
    for operator in operators:
        try:
            sources[operator.opdef.op] = source_of(operator)
        except NotGenerated as reason:
            reasons[operator.opdef.op] = str(reason)
    return sources, reasons


def compile_all(sources: Sequence[Source], levels: Sequence[str]) -> dict[tuple[str, str], CompiledLibrary]:
    """By operator and ISA level the library that has it."""
    jobs = []
    for wide in (False, True):
        mine = [s for s in sources if f"#define ASC_WIDE {int(wide)}" in s.text]
        parts = [mine[i : i + TOGETHER] for i in range(0, len(mine), TOGETHER)]
        jobs += [(part, wide, level) for part in parts for level in levels]

    def make(job: tuple[list[Source], bool, str]) -> CompiledLibrary:
        return compile_library(_together(job[0], job[1]), job[2])

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(make, jobs))
    return {
        (s.op_type, level): library
        for (some, _, level), library in zip(jobs, made, strict=True)
        for s in some
    }


def run(library: CompiledLibrary, operator: Operator, inputs: Sequence[Array | None]) -> list[Array]:
    return run_library(library.path, operator.opdef.op, inputs, len(operator.opdef.outputs))


def _without_exports(body: str) -> str:
    """The operator as a constant of its file."""
    stages, _, exports = body.partition("#ifdef ASC_PART\n")
    described, there, _ = exports.partition("#else\n")[2].partition("ASC_API ")
    assert there
    return stages + described


def _together(sources: Sequence[Source], wide: bool) -> Source:
    ranking = (HEADERS / "kernels" / "formula_rank.h").read_text(encoding="utf-8")
    last = mathematics(wide).removesuffix(ranking).rstrip()[-400:]
    (head,) = {s.text.partition(last)[0] for s in sources}
    bodies, tables = [], []
    for i, source in enumerate(sources):
        body = _without_exports(source.text.partition(last)[2].replace(ranking, ""))
        mine = "|".join(set(_DEFINED.findall(body)))
        bodies.append(re.sub(rf"(?<!call->)\b({mine})\b", rf"op{i}_\1", body))
        tables.append(f"&op{i}_described")
    assert _FORCED in head
    text = "\n".join(
        [_QUICK, head.replace(_FORCED, _APART) + last, ranking, *bodies, _TABLE % ", ".join(tables)]
    )
    return replace(sources[0], text=text, op_type="", symbol="")
