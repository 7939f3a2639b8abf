"""The C text of one nest, first part: the structs with what a call and an item fix, and values as expressions
on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from .graph import ELEMENTS, Axis, Memory, Node, reachable, roots
from .nest import Loop, Nest, Tensor, Write
from .schedule import Schedule

#: Where the vectors of a turn are.
AT = "at + u * LANES"
#: The size of an axis in C, given the expression that is the call.
Sizes = Callable[[Axis, str], str]


class NestValues:
    """Of nest number `n`. sizes: per axis its size in a call, in C."""

    def __init__(self, n: int, nest: Nest, wide: bool, schedule: Schedule, sizes: Sizes) -> None:
        self.n = n
        self.nest = nest
        self.wide = wide
        self.schedule = schedule
        self.sizes = sizes
        self.ids: dict[Node, int] = {}
        self.kept = nest.kept()
        self.rows = [node for node in self._row_nodes() if node.op not in ("const",)]

    # ---- structures ------------------------------------------------------------------------

    def _job(self) -> Iterator[str]:
        """n<i>: the size of a loop; s<i>: the size of a counted or averaged product."""
        yield f"typedef struct job{self.n} {{"
        yield "    const asc_custom_call *call;"
        yield "    const temps *temps;"
        yield "    int64_t items, per_chunk, parts, part, kept_bytes;"
        yield "    int64_t streamed; /* of STREAM_TURN items, how many store their outputs past the caches */"
        for loop in self._loops():
            yield f"    int64_t n{loop.index};"
        yield f"}} job{self.n};"

    def _frame(self) -> Iterator[str]:
        yield f"typedef struct frame{self.n} {{"
        yield f"    const job{self.n} *job;"
        yield "    int streams; /* this item stores its outputs past the caches */"
        for t in self.nest.tensors():
            yield f"    {pointer(t)}{t.name};"
        for node in self.kept:
            yield f"    S *k{self._id(node)};"
        for loop in self._loops():
            yield f"    int64_t c{loop.index};"
        for node in self.rows:
            yield f"    {type_of(node)} r{self._id(node)};"
        yield f"}} frame{self.n};"

    def _loops(self) -> list[Loop]:
        lanes = [self.nest.lanes] if self.nest.lanes else []
        return [*self.nest.outer, *self.nest.inner, *lanes]

    def _id(self, node: Node) -> int:
        return self.ids.setdefault(node, len(self.ids))

    def _row_nodes(self) -> list[Node]:
        """Values of an item that passes or its own outputs read."""
        everything = reachable(
            [
                *(r for p in self.nest.passes for r in p.roots()),
                *(w.node for w in self.nest.outputs),
            ]
        )
        return [n for n in everything if self.nest.is_row_value(n)]

    # ---- values ----------------------------------------------------------------------------

    def _statements(self, wanted: Iterable[Node], known: dict[Node, str], turn: bool) -> Iterator[str]:
        """Computes what isn't known, for each vector of a turn or once; known then has it."""
        for node in reachable(wanted, known):
            if node.op == "const":
                known[node] = self._constant(node)
                continue
            name = f"v{self._id(node)}"
            if turn:
                yield f"    {type_of(node)} {name}[TURN];"
                yield f"    EVERY {name}[u] = {self._value(node, known, AT)};"
                known[node] = f"{name}[u]"
            else:
                yield f"    const {type_of(node)} {name} = {self._value(node, known, 'at')};"
                known[node] = name

    def _constant(self, node: Node) -> str:
        if node.is_bool:
            return f"m_set({int(node.value)})"
        return f"v_set({literal_of(float(node.value), self.wide)})"

    def _value(self, node: Node, known: dict[Node, str], at: str) -> str:
        args = ", ".join(known[a] for a in node.args)
        if node.op == "load":
            return self._load(self.nest.loads[node], at)
        if node.op == "cast":
            return f"round_{ELEMENTS[int(node.value)]}({args})"
        if node.op == "number":
            return f"v_of_mask({args})"
        if node.op == "same":
            return args
        if node.op == "size":
            sizes = [self.sizes(a, "f->job->call") for a in roots(node.along)]
            return f"v_set((S)({' * '.join(sizes)}))"
        if node.op == "index":
            loop = next(q for q in self._loops() if roots(node.along)[0] in q.axes)
            return f"v_index({at}, 1)" if loop is self.nest.lanes else f"v_set((S)f->c{loop.index})"
        return f"op_{node.op}({args})"

    def _has_lanes(self, t: Tensor) -> bool:
        return self.nest.lanes is not None and self.nest.lanes in t.loops

    def _load(self, t: Tensor, at: str) -> str:
        kind = ELEMENTS[t.memory.dtype]
        return (
            f"load_{kind}(f->{t.name} + {at}, n, full)"
            if self._has_lanes(t)
            else f"splat_{kind}(f->{t.name})"
        )

    def _store(self, write: Write, known: dict[Node, str], at: str) -> str:
        node, t = write.node, write.tensor
        kind, value = ELEMENTS[t.memory.dtype], known[write.node]
        if kind == "b8" and not node.is_bool:
            value = f"op_ne({value}, v_set(0))"
        elif kind != "b8" and node.is_bool:
            value = f"v_of_mask({value})"
        where = f"{at}, " if self._has_lanes(t) else "0, "
        many = "n, full" if self._has_lanes(t) else "1, 0"
        return f"store_{kind}(f->{t.name} + {where}{value}, {many});"

    def _stride(self, t: Tensor, loop: Loop) -> str:
        after = t.loops[t.loops.index(loop) + 1 :]
        return " * ".join(f"j->n{q.index}" for q in after) or "1"

    def _total(self) -> str:
        """The length of the last axis."""
        lanes = self.nest.lanes
        return f"j->n{lanes.index}" if lanes else "1"


def address(memory: Memory, call: str, temps: str) -> str:
    """The memory's first byte, in C."""
    if memory.kind == "temp":
        return f"((char *){call}->workspace + {temps}->at[{memory.index}])"
    return f"{call}->{memory.kind}[{memory.index}].data"


def pointer(t: Tensor) -> str:
    return f"{'const ' if t.name.startswith('p') else ''}e_{ELEMENTS[t.memory.dtype]} *"


def type_of(node: Node) -> str:
    return "M" if node.is_bool else "V"


def literal_of(value: float, wide: bool) -> str:
    with np.errstate(over="ignore"):
        number = float(value) if wide else float(np.float32(value))
    if number != number:
        return "(S)NAN"
    if number in (float("inf"), float("-inf")):
        return "(S)INFINITY" if number > 0 else "(S)-INFINITY"
    return f"(S){number.hex()}"
