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

from .builder import build_graph
from .distinct import with_distinct_axes
from .emit import NestText
from .graph import ELEMENTS, Axis, Graph, InputType, Node, NotGenerated, roots
from .nest import plan_nest
from .nest_values import address
from .schedule import Schedule
from .stages import RankStage, plan_stages

HEADERS = Path(__file__).resolve().parent.parent.parent / "include"

#: Names of the C library that compiled code may call, beside those that its text shows.
_TAKEN = frozenset(
    {"main", "memset", "memmove", "memcmp", "strlen", "strcmp", "malloc", "free", "posix_memalign"}
    | {"infer", "workspace", "compute", "described"}
)
#: Work per element from which operations are functions that are called, so that compiling takes seconds.
INLINED_COST = 800
#: More takes a compiler minutes.
MAX_STEPS = 1000
_INLINED = "#define FN static inline __attribute__((always_inline, unused))"
_CALLED = "#define FN static inline __attribute__((unused))"
_TOO_LARGE = "its intermediate values are too large"
#: Functions of generated code.
_GENERATED = re.compile(r"(pass|item|chunk|plan)\d+\w*|(aot|given|rank)_\w*|temps|place_temps")


@dataclass(frozen=True)
class Source:
    """A C file for one operator. op_type: what asc_get_custom_op knows it as. symbol: its aot function.
    output_dims: per output its dimensions, in the names of the inputs' or "1". pays: whether to expect it
    to be faster than interpreted steps. folds: whether it has reductions. looks_up: whether it has a function
    that AVX-512 looks up in tables."""

    text: str
    op_type: str
    symbol: str
    output_dims: tuple[tuple[str, ...], ...]
    optimize: int = 2
    pays: bool = True
    folds: bool = False
    looks_up: bool = False

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
    graph = with_distinct_axes(build_graph(program, names, inputs, output_types))
    if sum(n.op not in ("load", "const") for n in graph.nodes()) > MAX_STEPS:
        raise NotGenerated(f"it has more than {MAX_STEPS} steps, which takes a compiler minutes")
    text = _File(op_type, graph, schedule)
    return Source(
        _with_few_intrinsics("\n".join(text.lines()) + "\n"),
        op_type,
        text.symbol,
        _output_dims(graph),
        schedule.optimize,
        _pays(graph),
        any(n.is_fold or n.is_rank for n in graph.nodes()),
        any(n.op == "erf" for n in graph.nodes()),
    )


def _pays(graph: Graph) -> bool:
    """A fold, or several steps between memory and memory; tools/bench_formulas has the measurements."""
    steps = [n for n in graph.nodes() if n.op not in ("load", "const")]
    return len(steps) > 1 or any(n.is_fold or n.is_rank for n in steps)


def _output_dims(graph: Graph) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("1" if a is None else a.name for a in node.axes) for node, _ in graph.outputs)


def symbol_of(op_type: str) -> str:
    """The name of an operator's aot function: its own where that is a name that nothing else has."""
    name = re.sub(r"\W", "_", op_type, flags=re.ASCII)
    taken = _TAKEN | _words()
    clashes = _GENERATED.fullmatch(name) or name.startswith("asc_") or {name, name.removesuffix("f")} & taken
    return f"op_{name}" if clashes or not name[:1].isalpha() else name


@cache
def _words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", mathematics(True) + mathematics(False)))


@cache
def mathematics(wide: bool) -> str:
    """The text of formula_code.h with what it includes of ours, and of formula_rank.h."""
    return _code(wide) + "\n" + _ranking()


@cache
def _ranking() -> str:
    return (HEADERS / "kernels" / "formula_rank.h").read_text(encoding="utf-8")


@cache
def _code(wide: bool) -> str:
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


_IMMINTRIN = "#include <immintrin.h>"
_INTRINSICS = re.compile(r"\b(?:_mm\d*_\w+|_MM_\w+|__m\d\w+|__mmask\d+)\b")


def _with_few_intrinsics(text: str) -> str:
    """The text after intrinsics.h and without immintrin.h, where that has all it uses."""
    few = _few_intrinsics()
    if set(_INTRINSICS.findall(text)) - set(_INTRINSICS.findall(few)):
        return text
    return few + "\n" + text.replace(f"\n{_IMMINTRIN}\n", "\n")


@cache
def _few_intrinsics() -> str:
    text = (HEADERS / "kernels" / "intrinsics.h").read_text(encoding="utf-8")
    return text.replace(_IMMINTRIN, f"{_IMMINTRIN} /* all of them */").rstrip()


class _File:
    def __init__(self, op_type: str, graph: Graph, schedule: Schedule) -> None:
        self.op_type = op_type
        self.symbol = symbol_of(op_type)
        self.graph = graph
        self.sizes = self._sizes()
        plan = plan_stages(graph)
        self.temps = plan.temps
        self.stages = [
            self._rank(stage)
            if isinstance(stage, RankStage)
            else NestText(i, plan_nest(stage, schedule.keep), graph.wide, schedule, self._size)
            for i, stage in enumerate(plan.stages)
        ]

    def _sizes(self) -> dict[Axis, str]:
        found: dict[Axis, str] = {}
        for i, axes in enumerate(self.graph.input_axes):
            for d, axis in enumerate(axes):
                if axis is not None:
                    found.setdefault(axis, f"in[{i}].dims[{d}]")
        return found

    def _size(self, axis: Axis | None, call: str = "call") -> str:
        """The size of an axis in C; `call` is the expression that is the call."""
        if axis is None:
            return "1"
        sized = axis.sized()
        return str(sized.known) if sized.known is not None else f"{call}->{self.sizes[sized]}"

    def _elements(self, axes: Sequence[Axis]) -> str:
        return " * ".join(map(self._size, axes)) or "1"

    def lines(self) -> Iterator[str]:
        yield "/* Generated from a formula. */"
        yield '#include "ascend_rt.h"'
        code = _code(self.graph.wide)
        large = sum(n.cost for n in self.graph.nodes()) > INLINED_COST
        yield code.replace(_INLINED, _CALLED) if large else code
        if any(isinstance(stage, _RankText) for stage in self.stages):
            yield _ranking()
        yield from self._place_temps()
        for stage in self.stages:
            yield from stage.lines()
        yield from self._infer()
        yield from self._calls()
        yield from self._exports()

    def _place_temps(self) -> Iterator[str]:
        """Where each temporary is in the workspace."""
        yield f"typedef struct temps {{ uint64_t bytes, at[{max(1, len(self.temps))}]; }} temps;"
        yield "static int place_temps(const asc_custom_call *call, temps *t) {"
        yield "    (void)call, t->bytes = 0;"
        for i, (dtype, axes) in enumerate(self.temps):
            sizes = [self._size(a) for a in roots(axes)]
            dims = f"(const int64_t[]){{{', '.join(sizes) or '0'}}}, {len(sizes)}"
            size = f"sizeof(e_{ELEMENTS[dtype]})"
            yield f"    if (!add_temp(&t->bytes, &t->at[{i}], {dims}, {size})) return 0;"
        yield "    return 1;"
        yield "}"

    def _rank(self, stage: RankStage) -> _RankText:
        """A ranking in C: the fields of a rank_job."""
        memory = stage.operand.memory
        assert memory is not None, "it is a load"
        axes = roots(stage.operand.axes)
        at = axes.index(stage.axis) if stage.axis else len(axes)
        inner = self._elements(axes[at + 1 :])
        kind = ELEMENTS[memory.dtype]
        fields = {
            "call": "call",
            "x": address(memory, "call", "t"),
            "values": f"(S *){address(stage.values, 'call', 't')}" if stage.values else "NULL",
            "indices": f"(int64_t *){address(stage.indices, 'call', 't')}",
            "n": self._size(stage.axis),
            "inner": inner,
            "items": f"{self._elements(axes[:at])} * {inner}",
            "k": str(stage.ranking.k),
            "largest": str(int(stage.ranking.largest)),
            "is_s": str(int(kind == ("f64" if self.graph.wide else "f32"))),
            "base": "t->bytes",
            "line": f"rank_{kind}",
        }
        return _RankText(fields)

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
            kind = f"call->in[{i}].dtype != {given.dtype} || call->in[{i}].rank != {len(axes)}"
            must = f"input {i} must be {dtypes.name(given.dtype)} of rank {len(axes)}"
            yield f'    if (!({there}) || {kind}) return fail_call(call, "{must}");'
        for i, axes in enumerate(self.graph.input_axes):
            for d, axis in enumerate(axes):
                mine = f"call->in[{i}].dims[{d}]"
                first = self._size(axis)
                if first != mine:
                    problem = f"dimension {d} of input {i} does not fit"
                    yield f'    if ({mine} != {first}) return fail_call(call, "{problem}");'
        for node in self.graph.nodes():
            if node.is_rank:
                yield from self._ranks(node)
        if self.temps:
            yield "    temps t;"
            yield f'    if (!place_temps(call, &t)) return fail_call(call, "{_TOO_LARGE}");'
        for o, (node, dtype) in enumerate(self.graph.outputs):
            yield f"    call->out[{o}].dtype = {dtype};"
            yield f"    call->out[{o}].rank = {len(node.axes)};"
            for d, axis in enumerate(node.axes):
                yield f"    call->out[{o}].dims[{d}] = {self._size(axis)};"
        yield "    return 0;"
        yield "}"

    def _ranks(self, node: Node) -> Iterator[str]:
        """A ranking needs as many elements as it gives."""
        assert node.ranking is not None
        size = self._size(node.along[0] if node.along else None)
        if size != str(node.ranking.k):
            problem = f"the ranked axis has fewer than {node.ranking.k} elements"
            yield f'    if ({size} < {node.ranking.k}) return fail_call(call, "{problem}");'

    def _calls(self) -> Iterator[str]:
        yield "static uint64_t workspace(const asc_custom_call *call) {"
        yield "    uint64_t most = 0, bytes;"
        yield "    temps placed, *t = &placed;"
        yield "    if (!place_temps(call, t)) return UINT64_MAX;"
        for n, stage in enumerate(self.stages):
            job, needed = stage.job(n)
            yield f"    {job}"
            yield f"    bytes = {needed};"
            yield "    most = bytes > most ? bytes : most;"
        yield "    return most;"
        yield "}"
        yield "static int32_t compute(const asc_custom_call *call) {"
        yield "    temps placed, *t = &placed;"
        yield f'    if (!place_temps(call, t)) return fail_call(call, "{_TOO_LARGE}");'
        for n, stage in enumerate(self.stages):
            job, needed = stage.job(n)
            yield f"    {job}"
            yield f"    if ({needed} > call->workspace_bytes)"
            yield '        return fail_call(call, "the workspace is too small");'
            chunks = f"j{n}.items ? ceil_div(j{n}.items, j{n}.per_chunk) : 0"
            yield f"    run_chunks(call, {chunks}, {stage.chunk}, &j{n});"
        yield "    return 0;"
        yield "}"

    def _exports(self) -> Iterator[str]:
        """The tables of formula_abi.h, and its text."""
        given = [(i, t) for i, t in enumerate(self.graph.inputs) if t is not None]
        n_in, n_out = len(self.graph.inputs), len(self.graph.outputs)
        least = given[-1][0] + 1 if given else 0
        counts = f"{least}, {n_in}, {n_out}, 0"
        named = _quoted(self.op_type)
        yield "static const asc_custom_op described = {"
        yield f"    2, sizeof(asc_custom_op), {named}, {counts}, infer, workspace, compute}};"
        yield f'#define AOT_NAME "{self.symbol}"'
        yield f"#define N_IN {n_in}"
        yield f"#define N_OUT {n_out}"
        yield f"#define N_GIVEN {len(given)}"
        yield _table("int32_t given_slot", [str(i) for i, _ in given])
        yield _table("int32_t given_type", [str(t.dtype) for _, t in given])
        yield _table("int32_t given_rank", [str(len(t.dims)) for _, t in given])
        types = [t.dtype for _, t in given] + [dtype for _, dtype in self.graph.outputs]
        yield _table("char *const aot_types", [_quoted(dtypes.name(t)) for t in types])
        yield (HEADERS / "kernels" / "formula_abi.h").read_text(encoding="utf-8")


@dataclass(frozen=True)
class _RankText:
    """A ranking: its job's fields. Without anything to rank there are no items."""

    fields: dict[str, str]
    chunk: str = "rank_chunk"

    def lines(self) -> Iterator[str]:
        yield from ()

    def job(self, n: int) -> tuple[str, str]:
        given = ", ".join(f".{name} = {value}" for name, value in self.fields.items())
        empty = f" if (!j{n}.k || !j{n}.n) j{n}.items = 0;"
        return f"rank_job j{n} = {{{given}}};{empty}", f"plan_rank(&j{n})"


def _table(declaration: str, elements: list[str]) -> str:
    return f"static const {declaration}[] = {{{', '.join(elements) or '0'}}};"


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
