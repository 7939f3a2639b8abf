"""The C file of one operator: the functions of asc_custom_op (ascend_rt.h) around the loops of its stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ascend_ep.opdef import dtypes
from ascend_ep.opdef.installed import GENERATED

from .emit import NestText
from .graph import ELEMENTS, Axis, Derived, Graph, Node, roots
from .header_text import code, ranking
from .move_text import LARGER, PRELUDE, TAKEN, MoveText
from .nest import plan_nest
from .nest_values import address
from .schedule import Schedule
from .stages import MoveStage, RankStage, Stage, plan_stages

#: Work per element from which operations are functions that are called, so that compiling takes seconds.
INLINED_COST = 800
_INLINED = "#define FN static inline __attribute__((always_inline, unused))"
_CALLED = "#define FN static inline __attribute__((unused))"
_TOO_LARGE = "its intermediate values are too large"


class SourceText:
    """The lines of the file, in the order in which C wants them."""

    def __init__(self, op_type: str, symbol: str, graph: Graph, schedule: Schedule) -> None:
        self.op_type = op_type
        self.symbol = symbol
        self.graph = graph
        self.sizes = self._sizes()
        plan = plan_stages(graph)
        self.temps = plan.temps
        self.stages = [self._stage(i, stage, schedule) for i, stage in enumerate(plan.stages)]

    def _stage(self, i: int, stage: Stage, schedule: Schedule) -> _RankText | MoveText | NestText:
        if isinstance(stage, RankStage):
            return self._rank(stage)
        if isinstance(stage, MoveStage):
            return MoveText(i, stage, self._size)
        return NestText(i, plan_nest(stage, schedule.keep), self.graph.wide, schedule, self._size)

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
        if sized.known is not None:
            return str(sized.known)
        if sized in self.sizes:
            return f"{call}->{self.sizes[sized]}"
        return self._derived(sized.derived[0], call)

    def _derived(self, derived: Derived, call: str) -> str:
        return derived.text.format(*(self._size(a, call) for a in derived.axes))

    def _elements(self, axes: Sequence[Axis]) -> str:
        return " * ".join(map(self._size, axes)) or "1"

    def lines(self) -> Iterator[str]:
        yield GENERATED.decode()
        yield '#include "ascend_rt.h"'
        mathematics = code(self.graph.wide)
        large = sum(n.cost for n in self.graph.nodes()) > INLINED_COST
        yield mathematics.replace(_INLINED, _CALLED) if large else mathematics
        if any(isinstance(stage, _RankText) for stage in self.stages):
            yield ranking()
        moves = any(isinstance(stage, MoveText) for stage in self.stages)
        if moves:
            yield LARGER
        yield from self._place_temps()
        if moves:
            yield PRELUDE
            yield TAKEN
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
                    problem = f"dimension {d - len(axes)} of input {i} does not fit{self._expected(axis)}"
                    yield f'    if ({mine} != {first}) return fail_call(call, "{problem}");'
        for node in self.graph.nodes():
            if node.is_rank:
                yield from self._ranks(node)
        yield from self._agree()
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

    def _expected(self, axis: Axis | None) -> str:
        """What the size of an input's dimension must be, for a refusal: dimensions count from the last."""
        sized = None if axis is None else axis.sized()
        if sized is None or sized.known is not None:
            return f": it must be {1 if sized is None else sized.known}"
        for i, axes in enumerate(self.graph.input_axes):
            for d, other in enumerate(axes):
                if self.sizes.get(sized) == f"in[{i}].dims[{d}]" and other is not None:
                    return f": it must be as long as dimension {d - len(axes)} of input {i}"
        return ""

    def _ranks(self, node: Node) -> Iterator[str]:
        """A ranking needs as many elements as it gives."""
        assert node.ranking is not None
        size = self._size(node.along[0] if node.along else None)
        if size != str(node.ranking.k):
            problem = f"the ranked axis has fewer than {node.ranking.k} elements"
            yield f'    if ({size} < {node.ranking.k}) return fail_call(call, "{problem}");'

    def _agree(self) -> Iterator[str]:
        """Axes that a move gives are long enough, and as long as those they are used with."""
        found = {a.root(): None for n in self.graph.nodes() for a in n.axes if a is not None}
        for axis in found:
            for derived in axis.derived:
                if derived.least:
                    source = self._size(derived.axes[0])
                    problem = f"an axis has fewer than {derived.least} elements"
                    yield f'    if ({source} < {derived.least}) return fail_call(call, "{problem}");'
                mine, other = self._derived(derived, "call"), self._size(axis)
                if mine != other:
                    yield f'    if ({mine} != {other}) return fail_call(call, "a part has another size");'

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
            if isinstance(stage, MoveText):
                yield f'    if (j{n}.outside) return fail_call(call, "an index is outside of its axis");'
        yield "    return 0;"
        yield "}"

    def _exports(self) -> Iterator[str]:
        """The operator: a library's only one, with its schedule as ASC_SCHEDULE, which is no part of the text
        since searches tell schedules apart by it; or as ASC_PART a part of a library (assembly.py)."""
        given = [i for i, t in enumerate(self.graph.inputs) if t is not None]
        least = given[-1] + 1 if given else 0
        counts = f"{least}, {len(self.graph.inputs)}, {len(self.graph.outputs)}, 0"
        named = quoted(self.op_type)
        value = f"{{2, sizeof(asc_custom_op), {named}, {counts}, infer, workspace, compute}};"
        yield "#ifdef ASC_PART"
        yield 'extern const asc_custom_op ASC_PART __attribute__((visibility("hidden")));'
        yield f"const asc_custom_op ASC_PART = {value}"
        yield "#else"
        yield f"static const asc_custom_op described = {value}"
        yield "ASC_API const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);"
        yield "const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {"
        yield "    return version >= 2 && strcmp(op_type, described.op_type) == 0 ? &described : NULL;"
        yield "}"
        yield from schedule_export("ASC_SCHEDULE")
        yield "#endif"


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


def schedule_export(text: str) -> Iterator[str]:
    """What ascend_rt.h lets a library say of its loops. `text`: an expression of C."""
    yield "ASC_API extern const char asc_op_schedule[];"
    yield f"const char asc_op_schedule[] = {text};"


def table(declaration: str, elements: list[str], brackets: str = "[]") -> str:
    """A constant array in C; one without elements has a 0."""
    return f"static const {declaration}{brackets} = {{{', '.join(elements) or '0'}}};"


def quoted(text: str) -> str:
    """A C string literal of any text."""
    plain = {ord(c) for c in " _-.:/,"}
    parts = [
        chr(b) if chr(b).isascii() and (chr(b).isalnum() or b in plain) else f"\\{b:03o}"
        for b in text.encode("utf-8", "replace")
    ]
    return '"' + "".join(parts) + '"'
