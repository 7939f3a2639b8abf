"""The C text of one nest, second part: a function for each pass, and one for each part of an item.

A pass takes a turn of up to four vectors, one step of all of them after the other and their stores last: the
chains of four vectors hide latencies that fill the processor's queues with those of one. Rows with several
passes are taken in parts that overlap: the first pass over the next row comes before the last one over this
row, so that neither waits for the other's fold, and what those passes need is fetched while the ones between
them compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .graph import ELEMENTS, Node, reachable
from .nest import Pass
from .nest_values import AT, NestValues

#: The cost of a pass (an addition is 1) from which it takes longer than its memory does.
COMPUTE_BOUND = 8


class NestPasses(NestValues):
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
            yield f"    if (!f->streams) EVERY fetch_to_write(f->{write.tensor.name} + {AT});"
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
        """Down the last folded axis, a vector of kept elements at a time, in blocks of parts."""
        last = self.nest.inner[-1].index
        addresses = "".join(f", &a{i}" for i in range(len(ops)))
        yield f"        for (int64_t block = 0; block < j->n{last}; block += BLOCK) {{"
        for i, op in enumerate(ops):
            yield f"        V b{i} = start_{op}();"
        yield f"        int64_t block_end = smaller(block + BLOCK, j->n{last});"
        yield "        for (int64_t part = block; part < block_end; part += PART) {"
        yield "            int64_t end = smaller(part + PART, block_end);"
        for i, op in enumerate(ops):
            yield f"            V a{i} = start_{op}();"
        yield f"            for (f->c{last} = part; f->c{last} < end; f->c{last}++) {{"
        yield from moved
        yield f"                pass{self.n}_{number}(f, next, at, n, full, 1{addresses});"
        yield "            }"
        for i, op in enumerate(ops):
            yield f"            b{i} = fold_{op}(b{i}, a{i});"
        yield "        }"
        for i, op in enumerate(ops):
            yield f"        t{i} = fold_{op}(t{i}, b{i});"
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
            yield f"        if (f->streams && {aligned})"
            yield "            " + turns + call % ("i", "LANES", "2", turn)
            if len(self.nest.passes) == 1:  # what is read once comes from far away
                yield "        if (j->streamed)"
                yield "            " + turns + call % ("i", "LANES", "3", turn)
        yield "        " + turns + call % ("i", "LANES", "1", turn)
        yield "        for (; i + LANES <= end; i += LANES) " + call % ("i", "LANES", "1", "1")
        yield "        if (i < end) " + call % ("i", "end - i", "0", "1")
        for i, op in enumerate(ops):
            yield f"        t{i} = fold_{op}(t{i}, join_{op}(a{i}[0], a{i}[1], a{i}[2], a{i}[3]));"
        yield "        }"

    def _streamed(self, number: int) -> list[str]:
        """The outputs that a pass may store past the caches: those of one that only writes."""
        current = self.nest.passes[number]
        if current.folds or self.wide:
            return []
        tensors = [w.tensor for w in current.outputs if w.tensor.memory.kind == "out"]
        return [t.name for t in tensors if self._has_lanes(t) and ELEMENTS[t.memory.dtype] == "f32"]
