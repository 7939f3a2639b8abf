"""A move in C: loops over the elements of the result, each read from where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ascend_ep.element_types import numpy_dtype
from ascend_ep.opdef import dtypes
from ascend_ep.opdef.expression import Chunk, Concat, Slice, Take, Windows

from .axis_moves import limit_text
from .graph import ELEMENTS, Axes, Axis, NotGenerated
from .nest_values import address
from .stages import MoveStage

#: For sizes of parts.
LARGER = """\
static inline __attribute__((unused)) int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}"""
#: What every move of a file shares.
PRELUDE = """\
typedef struct move_job {
    const asc_custom_call *call;
    const temps *temps;
    int64_t items, per_chunk;
    int32_t outside; /* whether an index was */
} move_job;
static uint64_t plan_move(const asc_custom_call *call, const temps *t, move_job *j, int64_t items,
                          int64_t n) {
    j->call = call, j->temps = t, j->items = items, j->outside = 0;
    j->per_chunk = items_per_chunk(call, items, n / LANES + 1);
    return t->bytes;
}"""
Size = Callable[[Axis | None, str], str]


class MoveText:
    """Stage `n` of a file. size: of an axis, given the expression that is the call."""

    def __init__(self, n: int, stage: MoveStage, size: Size) -> None:
        self.n, self.stage, self.size = n, stage, size
        self.rank = len(stage.node.axes)

    @property
    def chunk(self) -> str:
        return f"move{self.n}"

    def job(self, n: int) -> tuple[str, str]:
        sizes = [self.size(a, "call") for a in self.stage.node.axes]
        items, last = " * ".join(sizes[:-1]) or "1", sizes[-1] if sizes else "1"
        return f"move_job j{n};", f"plan_move(call, t, &j{n}, {items}, {last})"

    def lines(self) -> Iterator[str]:
        axes = self.stage.node.axes
        sizes = [self.size(a, "j->call") for a in axes] or ["1"]
        kind, end = f"e_{ELEMENTS[self.stage.target.dtype]}", len(sizes) - 1
        yield f"static void move{self.n}(void *arg, int64_t chunk) {{"
        yield "    move_job *j = arg;"
        yield "    int64_t item = chunk * j->per_chunk, last = smaller(item + j->per_chunk, j->items);"
        for i, size in enumerate(sizes):
            yield f"    const int64_t n{i} = {size};"
        for i, operand in enumerate(self.stage.operands):
            assert operand.memory is not None, "it is a load"
            place = address(operand.memory, "j->call", "j->temps")
            yield f"    const e_{ELEMENTS[operand.memory.dtype]} *const x{i} = (const void *){place};"
        place = address(self.stage.target, "j->call", "j->temps")
        yield f"    {kind} *y = ({kind} *){place} + item * n{end};"
        yield f"    for (; item < last; item++, y += n{end}) {{"
        yield "        int64_t rest = item;"
        for i in reversed(range(end)):
            yield f"        const int64_t c{i} = rest % n{i};"
            yield f"        rest /= n{i};"
        yield "        (void)rest;"
        yield f"        for (int64_t c{end} = 0; c{end} < n{end}; c{end}++) y[c{end}] = {self.element()};"
        yield "    }"
        yield "}"

    # ---- where an element comes from -------------------------------------------------------------

    def element(self) -> str:
        node, move = self.stage.node, self.stage.node.move
        here = [f"c{i}" for i in range(self.rank)]
        if move is None:
            at = ["0" if p is None else here[p] for p in node.places]
            return f"x0[{self.index(0, at)}]"
        axis = getattr(move, "axis", -1)
        rank = len(self.stage.operands[0].axes)
        axis = axis % rank
        if isinstance(move, Concat):
            return self.joined(here, axis)
        if isinstance(move, Take):
            return self.taken(here, axis)
        if isinstance(move, Windows):
            return self.window(move, here, axis)
        if not isinstance(move, Slice | Chunk):
            raise NotGenerated(f"no code is generated for {type(move).__name__}")
        start = limit_text(move, 0, self.length(0, axis))
        step = move.step if isinstance(move, Slice) else 1
        here[axis] = f"({start} + {here[axis]} * {step})"
        return f"x0[{self.index(0, here)}]"

    def length(self, operand: int, axis: int) -> str:
        return f"({self.size(self.stage.operands[operand].axes[axis], 'j->call')})"

    def index(self, operand: int, at: Sequence[str]) -> str:
        """Of the element with these coordinates, row-major."""
        axes: Axes = self.stage.operands[operand].axes
        text = ""
        for i, (axis, place) in enumerate(zip(axes, at, strict=True)):
            if axis is not None:
                text = f"({text}) * {self.length(operand, i)} + {place}" if text else place
        return text or "0"

    def joined(self, here: list[str], axis: int) -> str:
        """Whichever operand the coordinate is in."""
        text, start = "", "0"
        ends = []
        for i in range(len(self.stage.operands)):
            at = [*here[:axis], f"({here[axis]} - ({start}))", *here[axis + 1 :]]
            ends.append((f"x{i}[{self.index(i, at)}]", f"{start} + {self.length(i, axis)}"))
            start = ends[-1][1]
        for value, end in reversed(ends):
            text = f"({here[axis]} < {end} ? {value} : {text})" if text else value
        return text

    def taken(self, here: list[str], axis: int) -> str:
        count = len(self.stage.operands[1].axes)
        where = f"(int64_t)x1[{self.index(1, here[axis : axis + count])}]"
        length = self.length(0, axis)
        self.check_type()
        at = [*here[:axis], f"taken({where}, {length}, &j->outside)", *here[axis + count :]]
        if self.stage.operands[0].axes[axis] is None:
            return f"x0[{self.index(0, at)} + taken({where}, 1, &j->outside)]"
        return f"x0[{self.index(0, at)}]"

    def check_type(self) -> None:
        memory = self.stage.operands[1].memory
        if memory is None or memory.dtype in (dtypes.FLOAT16, dtypes.BFLOAT16):
            raise NotGenerated("indices of a half type are too coarse")

    def window(self, move: Windows, here: list[str], axis: int) -> str:
        place = f"({here[axis]} * {move.stride} + {here[-1]} * {move.dilation} - {move.before})"
        value = f"x0[{self.index(0, [*here[:axis], place, *here[axis + 1 : -1]])}]"
        if not move.before and not move.after:
            return value
        return f"({place} >= 0 && {place} < {self.length(0, axis)} ? {value} : {self.constant(move.fill)})"

    def constant(self, value: float) -> str:
        """A number as an element of the target's type."""
        dtype = self.stage.target.dtype
        if dtype in (dtypes.FLOAT16, dtypes.BFLOAT16):
            bits = np.array(value).astype(numpy_dtype(dtype)).view(np.uint16)
            return f"(e_{ELEMENTS[dtype]}){int(bits)}"
        if value in (float("inf"), float("-inf")):
            return "INFINITY" if value > 0 else "-INFINITY"
        return value.hex()


TAKEN = """\
static inline __attribute__((unused)) int64_t taken(int64_t at, int64_t length, int32_t *outside) {
    at = at < 0 ? at + length : at;
    if (at >= 0 && at < length) return at;
    *outside = 1;
    return 0;
}"""
