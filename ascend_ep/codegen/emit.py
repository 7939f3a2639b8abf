"""The C text of one nest, last part: a function for a chunk of items, and one that plans a call."""

from __future__ import annotations

from collections.abc import Iterator

from .graph import ELEMENTS
from .nest import Tensor, item_cost
from .nest_passes import NestPasses
from .nest_values import address, pointer


class NestText(NestPasses):
    """All of it."""

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

    # ---- chunks ----------------------------------------------------------------------------

    def _chunk(self) -> Iterator[str]:
        yield from self._place()
        yield f"static void chunk{self.n}(void *arg, int64_t chunk) {{"
        yield f"    const job{self.n} *j = arg;"
        yield "    int64_t item = chunk * j->per_chunk, last = smaller(item + j->per_chunk, j->items);"
        yield from self._overlapping_items() if self._overlapping else self._items()
        if any(self._streamed(i) for i in range(len(self.nest.passes))):
            yield "    if (j->streamed) finish_streams();"
        yield "}"

    def _place(self) -> Iterator[str]:
        """Points a frame at an item."""
        nest = self.nest
        yield f"FN void place{self.n}(frame{self.n} *f, const job{self.n} *j, int64_t chunk, int64_t item) {{"
        yield "    int64_t rest = item / j->parts;"
        yield "    f->job = j;"
        yield "    f->streams = is_streamed(item, j->streamed);"
        for loop in reversed(nest.outer):
            yield f"    f->c{loop.index} = rest % j->n{loop.index}, rest /= j->n{loop.index};"
        for t in nest.tensors():
            base = f"({pointer(t)}){address(t.memory, 'j->call', 'j->temps')}"
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

    def _streamed_items(self) -> str:
        """How many of the items store past the caches: all rows that wait for memory in all of their passes,
        since they would wait longer for the lines that they write."""
        nest, cached = self.nest, self.schedule.cached
        total = " + ".join(self._bytes(t) for t in nest.tensors()) or "0"
        if len(nest.passes) > 1 and not self._fetching:
            return f"{total} > {cached} ? STREAM_TURN : 0"
        names = {name for number in range(len(nest.passes)) for name in self._streamed(number)}
        written = " + ".join(self._bytes(t) for t in nest.tensors() if t.name in names) or "0"
        return f"streamed_items({total}, {written}, {cached})"

    @staticmethod
    def _bytes(t: Tensor) -> str:
        """Of all of a tensor that a call touches."""
        element = f"(int64_t)sizeof(e_{ELEMENTS[t.memory.dtype]})"
        return " * ".join([element, *(f"j->n{q.index}" for q in t.loops)])

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
        yield f"    j->streamed = {self._streamed_items()};"
        kept = len(self.kept)
        slices = f"ceil_div(j->items, j->per_chunk) * {kept} * j->kept_bytes"
        yield f"    return t->bytes + (uint64_t)({slices if kept else 0});"
        yield "}"
