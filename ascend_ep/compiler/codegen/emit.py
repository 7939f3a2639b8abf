"""The C text of one nest: a struct with what a call fixes, a function for each pass, one for each part of an
item, one for a chunk of items.

A pass takes a turn of up to four vectors, one step of all of them after the other and their stores last: the
chains of four vectors hide latencies that fill the processor's queues with those of one. Rows with several
passes are taken in parts that overlap: the first pass over the next row comes before the last one over this
row, so that neither waits for the other's fold, and what those passes need is fetched while the ones between
them compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from .graph import ELEMENTS, Axis, Memory, Node, reachable, roots
from .nest import Loop, Nest, Pass, Tensor, Write, item_cost
from .schedule import Schedule

#: Where the vectors of a turn are.
AT = "at + u * LANES"
#: The cost of a pass (an addition is 1) from which it takes longer than its memory does.
COMPUTE_BOUND = 8
#: The size of an axis in C, given the expression that is the call.
Sizes = Callable[[Axis, str], str]


class NestText:
    """The text of nest number `n`. sizes: per axis its size in a call, in C. temps: how many temporaries
    there are."""

    def __init__(self, n: int, nest: Nest, wide: bool, schedule: Schedule, sizes: Sizes) -> None:
        self.n = n
        self.nest = nest
        self.wide = wide
        self.schedule = schedule
        self.sizes = sizes
        self.ids: dict[Node, int] = {}
        self.kept = nest.kept()
        self.rows = [node for node in self._row_nodes() if node.op not in ("const",)]

    @property
    def chunk(self) -> str:
        return f"chunk{self.n}"

    def job(self, n: int) -> tuple[str, str]:
        """The declaration of job j<n> in C, and the bytes of workspace that its plan says it needs."""
        return f"job{self.n} j{n};", f"plan{self.n}(call, t, &j{n})"

    def lines(self) -> Iterator[str]:
        yield from self._job()
        yield from self._frame()
        for number, current in enumerate(self.nest.passes):
            yield from self._pass(number, current)
        yield from self._item()
        yield from self._chunk()
        yield from self._plan()

    # ---- structures ------------------------------------------------------------------------

    def _job(self) -> Iterator[str]:
        """n<i>: the size of a loop; s<i>: the size of a counted or averaged product."""
        yield f"typedef struct job{self.n} {{"
        yield "    const asc_custom_call *call;"
        yield "    const temps *temps;"
        yield "    int64_t items, per_chunk, parts, part, kept_bytes;"
        yield "    int streams; /* outputs are stored past the caches */"
        for loop in self._loops():
            yield f"    int64_t n{loop.index};"
        yield f"}} job{self.n};"

    def _frame(self) -> Iterator[str]:
        yield f"typedef struct frame{self.n} {{"
        yield f"    const job{self.n} *job;"
        for t in self.nest.tensors():
            yield f"    {_pointer(t)}{t.name};"
        for node in self.kept:
            yield f"    S *k{self._id(node)};"
        for loop in self._loops():
            yield f"    int64_t c{loop.index};"
        for node in self.rows:
            yield f"    {_type(node)} r{self._id(node)};"
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
                yield f"    {_type(node)} {name}[TURN];"
                yield f"    EVERY {name}[u] = {self._value(node, known, AT)};"
                known[node] = f"{name}[u]"
            else:
                yield f"    const {_type(node)} {name} = {self._value(node, known, 'at')};"
                known[node] = name

    def _constant(self, node: Node) -> str:
        if node.is_bool:
            return f"m_set({int(node.value)})"
        return f"v_set({_literal(float(node.value), self.wide)})"

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

    # ---- passes ----------------------------------------------------------------------------

    def _pass(self, number: int, current: Pass) -> Iterator[str]:
        """A turn of a pass, `many` vectors: folds into a<i>, writes outputs and what is kept. `next` is the
        frame of the next item."""
        folds = "".join(f", V *a{i}" for i in range(len(current.folds)))
        frames = f"const frame{self.n} *f, const frame{self.n} *next"
        yield f"FN void pass{self.n}_{number}({frames}, int64_t at, int64_t n, int full, int many{folds}) {{"
        known = {node: f"f->r{self._id(node)}" for node in self.rows}
        place = "0" if self.nest.strips else AT
        for node in current.found:
            name = f"v{self._id(node)}"
            yield f"    V {name}[TURN];"
            yield f"    EVERY memcpy(&{name}[u], f->k{self._id(node)} + {place}, sizeof(V));"
            known[node] = f"{name}[u]"
        yield from self._statements([*current.roots(), *current.kept], known, True)
        yield from self._fetches(number)
        for node in current.kept:
            yield f"    EVERY memcpy(f->k{self._id(node)} + {place}, &{known[node]}, sizeof(V));"
        for i, fold in enumerate(current.folds):
            value, op = known[fold.args[0]], fold.op.removeprefix("fold_")
            if not self.nest.strips:
                value = f"full ? {value} : v_select(m_first(n), {value}, start_{op}())"
            yield f"    EVERY a{i}[u] = fold_{op}(a{i}[u], {value});"
        for write in current.outputs:
            yield f"    EVERY {self._store(write, known, AT)}"
        yield "    (void)f, (void)next, (void)at, (void)n, (void)full;"
        yield "}"

    def _fetches(self, number: int) -> Iterator[str]:
        """Lines that the last pass writes, and those that the first one reads for the next item."""
        if not self._fetching or number != len(self.nest.passes) - 2:
            return
        for write in self.nest.passes[-1].outputs:
            yield f"    EVERY fetch_to_write(f->{write.tensor.name} + {AT});"
        for t in self.nest.tensors():
            if t.name.startswith("p") and self._has_lanes(t) and len(t.loops) > 1:
                yield f"    EVERY fetch(next->{t.name} + {AT});"

    @property
    def _fetching(self) -> bool:
        """Whether the pass before the last computes so long that memory can be fetched behind it. A row whose
        passes are all cheap waits for memory anyway, and is better stored past the caches."""
        passes = self.nest.passes
        if not self._overlapping or len(passes) < 3:
            return False
        steps = (n for n in reachable(passes[-2].roots()) if not self.nest.is_row_value(n))
        return sum(n.cost for n in steps if not n.is_fold) >= COMPUTE_BOUND

    # ---- one item --------------------------------------------------------------------------

    @property
    def _overlapping(self) -> bool:
        """Whether items are rows whose passes may overlap those of the next row."""
        nest = self.nest
        rows = not nest.segments and not nest.strips and not nest.inner
        return rows and len(nest.passes) > 1 and not nest.passes[0].kept

    def _parts(self) -> list[list[int]]:
        """The numbers of the passes of each part of an item."""
        numbers = list(range(len(self.nest.passes)))
        return [numbers[:1], numbers[1:-1], numbers[-1:]] if self._overlapping else [numbers]

    def _item(self) -> Iterator[str]:
        nest, parts = self.nest, self._parts()
        for part, numbers in enumerate(parts):
            frames = f"frame{self.n} *f, const frame{self.n} *next"
            yield f"FN void item{self.n}_{part}({frames}, int64_t at, int64_t n, int full) {{"
            yield f"    const job{self.n} *j = f->job;"
            known = {node: f"f->r{self._id(node)}" for node in self._made_before(numbers)}
            if part == 0:
                yield from self._row_values([r for r in self.rows if r.level == 0], known)
            for number in numbers:
                current = nest.passes[number]
                yield from self._run_pass(number, current)
                known |= {fold: f"f->r{self._id(fold)}" for fold in current.folds}
                yield from self._row_values(self._rows_after(current), known)
            for write in nest.outputs if part == len(parts) - 1 else ():
                node = write.node
                value = self._constant(node) if node.op == "const" else f"f->r{self._id(node)}"
                yield f"    {self._store(write, known | {node: value}, 'at')}"
            yield "    (void)j, (void)next, (void)at, (void)n, (void)full;"
            yield "}"

    def _rows_after(self, current: Pass) -> list[Node]:
        """The values of an item that the folds of a pass complete."""
        level = current.folds[0].level if current.folds else -1
        return [r for r in self.rows if r.level == level and not r.is_fold]

    def _made_before(self, numbers: Sequence[int]) -> list[Node]:
        """The values of an item that the passes before these make."""
        if not numbers or numbers[0] == 0:
            return []
        earlier = self.nest.passes[: numbers[0]]
        after = [r for p in earlier for r in (*p.folds, *self._rows_after(p))]
        return [*(r for r in self.rows if r.level == 0), *after]

    def _row_values(self, nodes: Sequence[Node], known: dict[Node, str]) -> Iterator[str]:
        for node in reachable(nodes, known):
            yield from self._statements([node], known, False)
        for node in nodes:
            if known[node] != f"f->r{self._id(node)}":
                yield f"    f->r{self._id(node)} = {known[node]};"

    def _run_pass(self, number: int, current: Pass) -> Iterator[str]:
        nest, folds = self.nest, current.folds
        ops = [f.op.removeprefix("fold_") for f in folds]
        yield "    {"
        for i, op in enumerate(ops):
            yield f"        V t{i} = start_{op}();"
        moved = self._moved()
        if nest.inner:
            yield f"        const frame{self.n} home = *f;"
        for loop in nest.inner[:-1] if nest.strips else nest.inner:
            c = f"f->c{loop.index}"
            yield f"        for ({c} = 0; {c} < j->n{loop.index}; {c}++) {{"
        if nest.strips:
            yield from self._strip_loop(number, ops, moved)
        else:
            yield from moved
            yield from self._row_loop(number, ops)
        yield "        " + "}" * (len(nest.inner) - (1 if nest.strips else 0))
        if nest.inner:
            for name in (*(t.name for t in nest.tensors()), *(f"k{self._id(k)}" for k in self.kept)):
                yield f"        f->{name} = home.{name};"
        for i, (op, fold) in enumerate(zip(ops, folds, strict=True)):
            total = f"t{i}" if nest.strips else f"lanes_{op}(t{i})"
            yield f"        f->r{self._id(fold)} = {total};"
        yield "    }"

    def _moved(self) -> list[str]:
        """The pointers of an element of the inner loops."""
        found = []
        for t in self.nest.tensors():
            steps = [f"f->c{q.index} * {self._stride(t, q)}" for q in t.loops if q in self.nest.inner]
            if steps:
                found.append(f"        f->{t.name} = home.{t.name} + {' + '.join(steps)};")
        if self.nest.inner:
            flat = ""
            for q in self.nest.inner:
                flat = f"({flat} * j->n{q.index} + f->c{q.index})" if flat else f"f->c{q.index}"
            for node in self.kept:
                width = "LANES" if self.nest.strips else "j->part"
                found.append(f"        f->k{self._id(node)} = home.k{self._id(node)} + {flat} * {width};")
        return found

    def _strip_loop(self, number: int, ops: list[str], moved: list[str]) -> Iterator[str]:
        """Down the last folded axis, a vector of kept elements at a time, in blocks."""
        last = self.nest.inner[-1].index
        addresses = "".join(f", &a{i}" for i in range(len(ops)))
        yield f"        for (int64_t block = 0; block < j->n{last}; block += BLOCK) {{"
        yield f"            int64_t end = smaller(block + BLOCK, j->n{last});"
        for i, op in enumerate(ops):
            yield f"            V a{i} = start_{op}();"
        yield f"            for (f->c{last} = block; f->c{last} < end; f->c{last}++) {{"
        yield from moved
        yield f"                pass{self.n}_{number}(f, next, at, n, full, 1{addresses});"
        yield "            }"
        for i, op in enumerate(ops):
            yield f"            t{i} = fold_{op}(t{i}, a{i});"
        yield "        }"

    def _row_loop(self, number: int, ops: list[str]) -> Iterator[str]:
        """Along a row: blocks with four partial folds, or without folds one run."""
        folds = "".join(f", a{i}" for i in range(len(ops)))
        call = f"pass{self.n}_{number}(f, next, %s, %s, %s, %s{folds});"
        turn = 4 if ops else self.schedule.unroll
        if ops:
            yield "        for (int64_t block = 0; block < n; block += BLOCK) {"
            yield "        int64_t i = at + block, end = at + smaller(block + BLOCK, n);"
        else:
            yield "        {"
            yield "        int64_t i = at, end = at + n;"
        for i, op in enumerate(ops):
            yield f"        V a{i}[TURN] = {{{', '.join([f'start_{op}()'] * turn)}}};"
        turns = f"for (; i + {turn} * LANES <= end; i += {turn} * LANES) "
        streamed = self._streamed(number)
        if streamed:
            aligned = " && ".join(f"is_aligned(f->{name} + at)" for name in streamed)
            yield f"        if (j->streams && {aligned})"
            yield "            " + turns + call % ("i", "LANES", "2", turn)
        yield "        " + turns + call % ("i", "LANES", "1", turn)
        yield "        for (; i + LANES <= end; i += LANES) " + call % ("i", "LANES", "1", "1")
        yield "        if (i < end) " + call % ("i", "end - i", "0", "1")
        for i, op in enumerate(ops):
            yield f"        t{i} = fold_{op}(t{i}, join_{op}(a{i}[0], a{i}[1], a{i}[2], a{i}[3]));"
        yield "        }"

    def _streamed(self, number: int) -> list[str]:
        """The outputs that a pass may store past the caches: those of one that only writes."""
        current = self.nest.passes[number]
        if current.folds or self.wide or self._fetching:
            return []
        tensors = [w.tensor for w in current.outputs if w.tensor.memory.kind == "out"]
        return [t.name for t in tensors if self._has_lanes(t) and ELEMENTS[t.memory.dtype] == "f32"]

    def _stride(self, t: Tensor, loop: Loop) -> str:
        after = t.loops[t.loops.index(loop) + 1 :]
        return " * ".join(f"j->n{q.index}" for q in after) or "1"

    # ---- chunks ----------------------------------------------------------------------------

    def _chunk(self) -> Iterator[str]:
        yield from self._place()
        yield f"static void chunk{self.n}(void *arg, int64_t chunk) {{"
        yield f"    const job{self.n} *j = arg;"
        yield "    int64_t item = chunk * j->per_chunk, last = smaller(item + j->per_chunk, j->items);"
        yield from self._overlapping_items() if self._overlapping else self._items()
        if any(self._streamed(i) for i in range(len(self.nest.passes))):
            yield "    if (j->streams) finish_streams();"
        yield "}"

    def _place(self) -> Iterator[str]:
        """Points a frame at an item."""
        nest = self.nest
        yield f"FN void place{self.n}(frame{self.n} *f, const job{self.n} *j, int64_t chunk, int64_t item) {{"
        yield "    int64_t rest = item / j->parts;"
        yield "    f->job = j;"
        for loop in reversed(nest.outer):
            yield f"    f->c{loop.index} = rest % j->n{loop.index}, rest /= j->n{loop.index};"
        for t in nest.tensors():
            base = f"({_pointer(t)}){address(t.memory, 'j->call', 'j->temps')}"
            steps = [f" + f->c{q.index} * {self._stride(t, q)}" for q in t.loops if q in nest.outer]
            yield f"    f->{t.name} = {base}{''.join(steps)};"
        for i, node in enumerate(self.kept):
            yield (
                f"    f->k{self._id(node)} = (S *)((char *)j->call->workspace + j->temps->bytes + "
                f"(chunk * {len(self.kept)} + {i}) * j->kept_bytes);"
            )
        yield "    (void)rest, (void)chunk;"
        yield "}"

    def _items(self) -> Iterator[str]:
        yield "    for (; item < last; item++) {"
        yield f"        frame{self.n} f;"
        yield f"        place{self.n}(&f, j, chunk, item);"
        yield "        int64_t at = item % j->parts * j->part;"
        yield f"        int64_t n = smaller(j->part, {self._total()} - at);"
        if self.nest.strips:
            yield "        if (n == LANES)"
            yield f"            item{self.n}_0(&f, &f, at, LANES, 1);"
            yield "        else"
        yield f"        item{self.n}_0(&f, &f, at, n, 0);"
        yield "    }"

    def _overlapping_items(self) -> Iterator[str]:
        n, row = self.n, f"0, {self._total()}, 0"
        yield f"    frame{n} frames[2];"
        yield f"    place{n}(&frames[item & 1], j, chunk, item);"
        yield f"    item{n}_0(&frames[item & 1], &frames[item & 1], {row});"
        yield "    for (; item < last; item++) {"
        yield f"        frame{n} *f = &frames[item & 1], *next = item + 1 < last ? &frames[~item & 1] : f;"
        yield f"        if (next != f) place{n}(next, j, chunk, item + 1);"
        yield f"        item{n}_1(f, next, {row});"
        yield f"        if (next != f) item{n}_0(next, next, {row});"
        yield f"        item{n}_2(f, next, {row});"
        yield "    }"

    def _total(self) -> str:
        """The length of the last axis."""
        lanes = self.nest.lanes
        return f"j->n{lanes.index}" if lanes else "1"

    def _plan(self) -> Iterator[str]:
        """Fills a job; returns the bytes of workspace it needs."""
        nest = self.nest
        yield f"static uint64_t plan{self.n}(const asc_custom_call *call, const temps *t, job{self.n} *j) {{"
        yield "    j->call = call, j->temps = t;"
        for loop in self._loops():
            yield f"    j->n{loop.index} = {' * '.join(self.sizes(a, 'call') for a in loop.axes)};"
        lanes = self._total()
        part = (
            "LANES"
            if nest.strips
            else str(self.schedule.tile)
            if nest.segments
            else f"({lanes} > 0 ? {lanes} : 1)"
        )
        yield f"    j->part = {part};"
        empty_row = "1" if not nest.segments and not nest.strips else f"ceil_div({lanes}, j->part)"
        yield f"    j->parts = {empty_row};"
        yield "    j->items = " + " * ".join(["j->parts", *(f"j->n{q.index}" for q in nest.outer)]) + ";"
        width = " * ".join(["j->part", *(f"j->n{q.index}" for q in nest.inner)])
        span = f"smaller(j->part, {lanes})" if nest.segments else width
        cost = f"{span} * {item_cost(nest)} / LANES"
        yield f"    j->per_chunk = items_per_chunk(call, j->items, {cost});"
        yield f"    j->kept_bytes = ({width} + LANES) * (int64_t)sizeof(S) / 64 * 64 + 64;"
        sizes = [
            " * ".join(
                [f"(int64_t)sizeof(e_{ELEMENTS[t.memory.dtype]})", *(f"j->n{q.index}" for q in t.loops)]
            )
            for t in nest.tensors()
        ]
        yield f"    j->streams = {' + '.join(sizes)} >= {self.schedule.stream};"
        kept = len(self.kept)
        slices = f"ceil_div(j->items, j->per_chunk) * {kept} * j->kept_bytes"
        yield f"    return t->bytes + (uint64_t)({slices if kept else 0});"
        yield "}"


def address(memory: Memory, call: str, temps: str) -> str:
    """The memory's first byte, in C."""
    if memory.kind == "temp":
        return f"((char *){call}->workspace + {temps}->at[{memory.index}])"
    return f"{call}->{memory.kind}[{memory.index}].data"


def _pointer(t: Tensor) -> str:
    return f"{'const ' if t.name.startswith('p') else ''}e_{ELEMENTS[t.memory.dtype]} *"


def _type(node: Node) -> str:
    return "M" if node.is_bool else "V"


def _literal(value: float, wide: bool) -> str:
    with np.errstate(over="ignore"):
        number = float(value) if wide else float(np.float32(value))
    if number != number:
        return "(S)NAN"
    if number in (float("inf"), float("-inf")):
        return "(S)INFINITY" if number > 0 else "(S)-INFINITY"
    return f"(S){number.hex()}"
