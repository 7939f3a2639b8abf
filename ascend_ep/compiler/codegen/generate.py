"""generate_c: a specialised program as one C file that is a custom-operator library (ascend_rt.h) and a
MindSpore aot library.

The file includes nothing of ours but ascend_rt.h: the vector mathematics of the kernels is part of its text.
Nothing in it comes from the user but the operator's name, as a checked identifier.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Program

from .emit import NestText
from .graph import ELEMENTS, Axis, Graph, InputType, NotGenerated, build_graph
from .nest import plan_nests
from .schedule import Schedule

HEADERS = Path(__file__).resolve().parent.parent.parent / "include"

#: MindSpore's names of element types.
_AOT_NAMES = {
    dtypes.FLOAT32: "float32", dtypes.FLOAT64: "float64", dtypes.FLOAT16: "float16", dtypes.BFLOAT16: "bfloat16",
    dtypes.INT8: "int8", dtypes.UINT8: "uint8", dtypes.INT16: "int16", dtypes.UINT16: "uint16",
    dtypes.INT32: "int32", dtypes.UINT32: "uint32", dtypes.INT64: "int64", dtypes.UINT64: "uint64",
    dtypes.BOOL: "bool",
}  # fmt: skip
#: Names of the C library that compiled code may call, beside those that its text shows.
_TAKEN = frozenset({"main", "memset", "memmove", "memcmp", "strlen", "strcmp", "malloc", "free", "posix_memalign"})


@dataclass(frozen=True)
class Source:
    """A C file for one operator. op_type: what asc_get_custom_op knows it as. symbol: its aot function.
    output_dims: per output its dimensions, in the names of the inputs' or "1". pays: whether to expect it
    to be faster than interpreted steps. folds: whether it has reductions."""

    text: str
    op_type: str
    symbol: str
    output_dims: tuple[tuple[str, ...], ...]
    optimize: int = 2
    pays: bool = True
    folds: bool = False

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def generate_c(
    op_type: str,
    program: Program,
    names: Sequence[str],
    inputs: Sequence[InputType | None],
    output_types: Sequence[int],
    schedule: Schedule | None = None,
) -> Source:
    """C for a specialised program (opdef/specialize.py).

    names: the definition's inputs, in order; inputs: what each is, None for one that isn't given. The library
    takes exactly these element types and this broadcast pattern, and any sizes. Raises NotGenerated.
    """
    schedule = schedule or Schedule()
    graph = build_graph(program, names, inputs, output_types)
    text = _File(op_type, graph, schedule)
    return Source(
        "\n".join(text.lines()) + "\n",
        op_type,
        text.symbol,
        _output_dims(graph),
        schedule.optimize,
        _pays(graph), any(n.is_fold for n in graph.nodes()),
    )


def _pays(graph: Graph) -> bool:
    """A fold, or several steps between memory and memory; tools/bench_formulas has the measurements."""
    steps = [n for n in graph.nodes() if n.op not in ("input", "const")]
    return len(steps) > 2 or any(n.is_fold for n in steps)


def _output_dims(graph: Graph) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("1" if a is None else a.name for a in node.axes) for node, _ in graph.outputs)


def symbol_of(op_type: str) -> str:
    """The name of an operator's aot function: its own where that is a name that nothing else has."""
    name = re.sub(r"\W", "_", op_type, flags=re.ASCII)
    shown = re.findall(r"\w+", mathematics(True) + mathematics(False))
    if not name[:1].isalpha() or name.startswith("asc_") or {name, name.removesuffix("f")} & (_TAKEN | set(shown)):
        name = f"op_{name}"
    return name


@cache
def mathematics(wide: bool) -> str:
    """The text of formula_code.h with what it includes of ours."""
    seen: set[str] = set()
    lines: list[str] = [f"#define ASC_WIDE {int(wide)}"]

    def add(name: str) -> None:
        for line in (HEADERS / "kernels" / name).read_text(encoding="utf-8").splitlines():
            included = re.fullmatch(r'#include "(\w+\.h)"', line)
            if included is None:
                lines.append(line)
            elif included[1] not in seen and included[1] != "kernel.h":
                seen.add(included[1])
                add(included[1])

    add("formula_code.h")
    return "\n".join(lines)


class _File:
    def __init__(self, op_type: str, graph: Graph, schedule: Schedule) -> None:
        self.op_type = op_type
        self.symbol = symbol_of(op_type)
        self.graph = graph
        self.schedule = schedule
        self.sizes = self._sizes()
        self.nests = [
            NestText(i, nest, graph, schedule, self.sizes)
            for i, nest in enumerate(plan_nests(graph, schedule.keep))
        ]

    def _sizes(self) -> dict[Axis, str]:
        found: dict[Axis, str] = {}
        for i, axes in enumerate(self.graph.input_axes):
            for d, axis in enumerate(axes):
                if axis is not None:
                    found.setdefault(axis.root(), f"in[{i}].dims[{d}]")
        return found

    def lines(self) -> Iterator[str]:
        yield "/* Generated from a formula. */"
        yield '#include "ascend_rt.h"'
        yield mathematics(self.graph.wide)
        for nest in self.nests:
            yield from nest.lines()
        yield from self._infer()
        yield from self._calls()
        yield from self._exports()
        yield from self._aot()

    # ---- the ABI of ascend_rt.h ------------------------------------------------------------

    def _infer(self) -> Iterator[str]:
        yield "static int32_t infer(asc_custom_call *call) {"
        yield f"    if (call->n_in > {len(self.graph.inputs)} || call->n_out != {len(self.graph.outputs)})"
        yield '        return fail_call(call, "it was compiled for another number of inputs or outputs");'
        for i, (given, axes) in enumerate(zip(self.graph.inputs, self.graph.input_axes, strict=True)):
            there = f"call->n_in > {i} && call->in[{i}].dtype != ASC_UNDEFINED"
            if given is None:
                yield f'    if ({there}) return fail_call(call, "input {i} must be absent");'
                continue
            yield f"    if (!({there}) || call->in[{i}].dtype != {given.dtype} || call->in[{i}].rank != {len(axes)})"
            yield f'        return fail_call(call, "input {i} must be {dtypes.name(given.dtype)} of rank {len(axes)}");'
        for i, axes in enumerate(self.graph.input_axes):
            for d, axis in enumerate(axes):
                mine = f"call->in[{i}].dims[{d}]"
                first = self._size(axis)
                if first != mine:
                    yield f'    if ({mine} != {first}) return fail_call(call, "dimension {d} of input {i} does not fit");'
        for o, (node, dtype) in enumerate(self.graph.outputs):
            yield f"    call->out[{o}].dtype = {dtype};"
            yield f"    call->out[{o}].rank = {len(node.axes)};"
            for d, axis in enumerate(node.axes):
                yield f"    call->out[{o}].dims[{d}] = {self._size(axis)};"
        yield "    return 0;"
        yield "}"

    def _size(self, axis: Axis | None) -> str:
        return "1" if axis is None else f"call->{self.sizes[axis.root()]}"

    def _calls(self) -> Iterator[str]:
        yield "static uint64_t workspace(const asc_custom_call *call) {"
        yield "    uint64_t most = 0, bytes;"
        for nest in self.nests:
            yield f"    job{nest.n} j{nest.n};"
            yield f"    bytes = plan{nest.n}(call, &j{nest.n});"
            yield "    most = bytes > most ? bytes : most;"
        yield "    return most;"
        yield "}"
        yield "static int32_t compute(const asc_custom_call *call) {"
        for nest in self.nests:
            yield f"    job{nest.n} j{nest.n};"
            yield f'    if (plan{nest.n}(call, &j{nest.n}) > call->workspace_bytes) return fail_call(call, "the workspace is too small");'
            yield f"    run_chunks(call, j{nest.n}.items ? ceil_div(j{nest.n}.items, j{nest.n}.per_chunk) : 0, chunk{nest.n}, &j{nest.n});"
        yield "    return 0;"
        yield "}"

    def _exports(self) -> Iterator[str]:
        count, least = len(self.graph.inputs), self._least_inputs()
        yield "static const asc_custom_op operator = {"
        yield f"    2, sizeof(asc_custom_op), {_quoted(self.op_type)}, {least}, {count}, {len(self.graph.outputs)}, 0, infer, workspace, compute}};"
        yield "ASC_API const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);"
        yield "const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {"
        yield "    return version >= 2 && strcmp(op_type, operator.op_type) == 0 ? &operator : NULL;"
        yield "}"

    def _least_inputs(self) -> int:
        given = [i for i, t in enumerate(self.graph.inputs) if t is not None]
        return given[-1] + 1 if given else 0

    # ---- MindSpore's aot ABI -----------------------------------------------------------------

    def _aot(self) -> Iterator[str]:
        """int Name(nparam, params, ndims, shapes, dtypes, stream, extra): inputs, then outputs. NameInferShape
        returns what in C++ is a std::vector<int64_t>: three pointers, through memory of the caller's."""
        given = [(i, t) for i, t in enumerate(self.graph.inputs) if t is not None]
        n_in, n_out = len(given), len(self.graph.outputs)
        name = self.symbol
        yield "#include <stdlib.h>"
        yield "static int aot_shapes(asc_custom_call *call, asc_tensor *in, int *ndims, int64_t **shapes) {"
        for k, (i, t) in enumerate(given):
            yield f"    if (ndims[{k}] != {len(t.dims)}) return 1;"
            yield f"    in[{i}].dtype = {t.dtype}, in[{i}].rank = {len(t.dims)};"
            yield f"    for (int d = 0; d < {len(t.dims)}; d++) in[{i}].dims[d] = shapes[{k}][d];"
        yield "    return infer(call);"
        yield "}"
        yield f'ASC_API int aot_call(int, void **, int *, int64_t **, const char **, void *, void *) __asm__("{name}");'
        yield f"int aot_call(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes, void *stream, void *extra) {{"
        yield f"    static const char *const types[] = {{{', '.join(_quoted(_AOT_NAMES[t]) for t in self._aot_types())}}};"
        yield f"    asc_tensor in[{len(self.graph.inputs) or 1}] = {{0}}, out[{n_out}] = {{0}};"
        yield f"    asc_custom_call call = {{.in = in, .out = out, .n_in = {len(self.graph.inputs)}, .n_out = {n_out}, .threads = 1}};"
        yield "    (void)stream, (void)extra;"
        yield f"    if (nparam != {n_in + n_out}) return 1;"
        yield f"    for (int i = 0; i < {n_in + n_out}; i++)"
        yield '        if (strcmp(dtypes[i], types[i]) != 0 && !(strcmp(types[i], "float32") == 0 && strcmp(dtypes[i], "float") == 0) &&'
        yield '            !(strcmp(types[i], "int32") == 0 && strcmp(dtypes[i], "int") == 0)) return 2;'
        yield "    if (aot_shapes(&call, in, ndims, shapes) != 0) return 3;"
        yield f"    for (int o = 0; o < {n_out}; o++) {{"
        yield f"        if (ndims[{n_in} + o] != out[o].rank) return 3;"
        yield "        for (int d = 0; d < out[o].rank; d++)"
        yield f"            if (shapes[{n_in} + o][d] != out[o].dims[d]) return 3;"
        yield f"        out[o].data = params[{n_in} + o];"
        yield "    }"
        for k, (i, _) in enumerate(given):
            yield f"    in[{i}].data = params[{k}];"
        yield "    call.workspace_bytes = workspace(&call);"
        yield "    if (call.workspace_bytes && posix_memalign(&call.workspace, 64, call.workspace_bytes) != 0) return 4;"
        yield "    int failed = compute(&call);"
        yield "    free(call.workspace);"
        yield "    return failed;"
        yield "}"
        yield "typedef struct vector_of_int64 { int64_t *first, *last, *end; } vector_of_int64;"
        yield f'ASC_API vector_of_int64 aot_infer(int *, int64_t **, void *) __asm__("{name}InferShape");'
        yield f"vector_of_int64 aot_infer(int *ndims, int64_t **shapes, void *extra) {{"
        yield f"    asc_tensor in[{len(self.graph.inputs) or 1}] = {{0}}, out[{n_out}] = {{0}};"
        yield f"    asc_custom_call call = {{.in = in, .out = out, .n_in = {len(self.graph.inputs)}, .n_out = {n_out}}};"
        yield "    vector_of_int64 v = {0};"
        yield "    (void)extra;"
        yield "    if (aot_shapes(&call, in, ndims, shapes) != 0 || !out[0].rank) return v;"
        yield "    v.first = malloc((size_t)out[0].rank * sizeof *v.first);"
        yield "    if (!v.first) return v;"
        yield "    for (int d = 0; d < out[0].rank; d++) v.first[d] = out[0].dims[d];"
        yield "    v.last = v.end = v.first + out[0].rank;"
        yield "    return v;"
        yield "}"

    def _aot_types(self) -> list[int]:
        return [t.dtype for t in self.graph.inputs if t is not None] + [
            dtype for _, dtype in self.graph.outputs
        ]


def _quoted(text: str) -> str:
    """A C string literal of any text."""
    plain = {ord(c) for c in " _-.:/,"}
    parts = [
        chr(b) if chr(b).isascii() and (chr(b).isalnum() or b in plain) else f"\\{b:03o}"
        for b in text.encode("utf-8", "replace")
    ]
    return '"' + "".join(parts) + '"'


__all__ = [
    "ELEMENTS",
    "InputType",
    "NotGenerated",
    "Schedule",
    "Source",
    "generate_c",
    "mathematics",
    "symbol_of",
]
