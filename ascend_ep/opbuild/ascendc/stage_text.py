"""The class of one stage of a kernel: set-up, loading its operands, and what its rows' numbers need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .emit import Instructions, row_member
from .passes import Plan, Registers
from .stages import Operand, Stage
from .values import Value


@dataclass(frozen=True)
class Integers:
    """Which integer types occur: of one byte, with a sign of more, of eight; without a sign of more than one."""

    small: bool
    whole: bool
    long: bool
    unsigned: bool

    @property
    def bytes(self) -> int:
        """Of the unified buffer, for each element of a tile, that conversions take."""
        return 2 * self.small + 5 * self.unsigned


@dataclass(frozen=True)
class Uses:
    """Which buffers a plan needs."""

    work: bool
    scratch: bool

    @staticmethod
    def of(plan: Plan) -> Uses:
        ops = {v.op for v in plan.values()}
        return Uses(any(op.startswith("fold_") for op in ops), "library" in ops)


class StageText:
    """Lines of the class of a stage. `types`: the C++ element type of each tensor; `numbers`: the tiling data's
    members that are scalars of the stage. `tiling_numbers`: member -> its place in the tiling data."""

    def __init__(
        self,
        name: str,
        stage: Stage,
        types: Mapping[str, str],
        tiling_numbers: Mapping[str, str],
        integers: Integers,
    ) -> None:
        self.name, self.stage, self.types = name, stage, types
        self.plan = stage.plan
        self.uses, self.integers = Uses.of(self.plan), integers
        texts = [v.text for v in self.plan.values() if v.op == "scalar"]
        self.numbers = {m: p for m, p in tiling_numbers.items() if any(m in t for t in texts)}
        self.tensors = [t for t in dict.fromkeys([*(o.tensor for o in stage.operands), *stage.outputs]) if t]
        self.outputs = [t for t in stage.outputs if t]

    def lines(self) -> Iterator[str]:
        yield f"// {self.summary()}"
        yield f"class {self.name} : Tiles {{"
        yield "public:"
        yield f"    __aicore__ inline {self.name}() {{}}"
        yield ""
        yield from indented(self._init())
        yield ""
        yield from indented(self.process())
        yield ""
        yield "private:"
        yield from indented(self.methods())
        yield ""
        yield from indented(self._members())
        yield "};"

    # ---- what the kinds of stages have of their own ------------------------------------------------

    def summary(self) -> str:
        raise NotImplementedError

    def process(self) -> Iterator[str]:
        raise NotImplementedError

    def methods(self) -> Iterator[str]:
        raise NotImplementedError

    def buffers(self) -> Iterator[tuple[str, int, str]]:
        """Name, count and bytes of each."""
        plan = self.plan
        yield "vBuf_", plan.floats, "tile_ * sizeof(float)"
        yield "vMaskBuf_", plan.masks, "(tile_ / 8)"
        yield "rBuf_", max(plan.row_floats, 1), "LANES * sizeof(float)"
        yield "rMaskBuf_", plan.row_masks, "32"
        yield "workBuf_", int(self.uses.work), "(tile_ / 16 + LANES) * sizeof(float)"
        yield "foldBuf_", int(self.uses.work), "LANES * sizeof(float)"
        yield "scratchBuf_", int(self.uses.scratch), "tile_ * SCRATCH_BYTES"

    def output_length(self, name: str) -> str:
        """Elements of a part of an output's queue."""
        raise NotImplementedError

    def state(self) -> Iterator[str]:
        """Members beyond those of every stage."""
        return iter(())

    def setting(self) -> Iterator[str]:
        """Lines of Init beyond those of every stage."""
        return iter(())

    # ---- set-up --------------------------------------------------------------------------------

    def arguments(self) -> list[str]:
        return self.tensors

    def _init(self) -> Iterator[str]:
        yield "template <typename Tiling, typename Stage>"
        addresses = "".join(f", GM_ADDR {t}" for t in self.tensors)
        yield f"__aicore__ inline void Init(const Tiling &tiling, const Stage &stage, TPipe *pipe{addresses}) {{"
        yield "    Arrange(stage);"
        for member, place in self.numbers.items():
            yield f"    {member} = tiling.{place};"
        for t in self.tensors:
            yield f"    {t}Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ {self.types[t]} *>({t}), tiling.{t}Size);"
        for o in self.stage.operands:
            if o.tensor:
                yield f"    pipe->InitBuffer({o.name}Queue_, BUFFER_NUM, tile_ * sizeof({self.types[o.tensor]}));"
            yield f"    pipe->InitBuffer({o.name}TileBuf_, tile_ * sizeof(float));"
            yield f"    {o.name}Tile_ = {o.name}TileBuf_.Get<float>();"
        for t in self.outputs:
            yield f"    pipe->InitBuffer({t}Queue_, BUFFER_NUM, {self.output_length(t)} * sizeof({self.types[t]}));"
        for buffer, count, size in self.buffers():
            if count:
                yield f"    pipe->InitBuffer({buffer}, {f'{count} * ' if count > 1 else ''}{size});"
        if self.integers.small:
            yield "    pipe->InitBuffer(halfBuf_, tile_ * sizeof(half));"
        if self.integers.unsigned:
            yield "    pipe->InitBuffer(wrappedBuf_, tile_ * sizeof(float));"
            yield "    pipe->InitBuffer(wrappedMaskBuf_, tile_ / 8);"
        yield from indented(self.setting())
        yield "    (void)tiling;"
        yield "}"

    def _members(self) -> Iterator[str]:
        if self.uses.scratch:
            yield "static constexpr uint32_t SCRATCH_BYTES = 32;  // of the high-level functions, per element"
        for t in self.tensors:
            yield f"GlobalTensor<{self.types[t]}> {t}Gm_;"
        for o in self.stage.operands:
            if o.tensor:
                yield f"TQue<TPosition::VECIN, BUFFER_NUM> {o.name}Queue_;"
        for t in self.outputs:
            yield f"TQue<TPosition::VECOUT, BUFFER_NUM> {t}Queue_;"
        buffers = [f"{o.name}TileBuf_" for o in self.stage.operands] + [b for b, n, _ in self.buffers() if n]
        yield f"TBuf<TPosition::VECCALC> {', '.join(buffers)};"
        if self.stage.operands:
            yield f"LocalTensor<float> {', '.join(f'{o.name}Tile_' for o in self.stage.operands)};"
        floats = [*self.numbers, *(row_member(v) for v in self._rows())]
        if floats:
            yield f"float {', '.join(floats)};"
        yield from self.state()

    def _rows(self) -> list[Value]:
        return sorted(self.plan.exported, key=lambda v: v.number)

    # ---- operands ------------------------------------------------------------------------------

    def loading(self) -> Iterator[str]:
        yield "__aicore__ inline void Load(uint64_t row, uint64_t segment, uint64_t col, uint32_t n) {"
        for i, o in enumerate(self.stage.operands):
            if o.tensor:
                place = f"Place({i}, row, segment, col)"
                yield f"    Read({o.name}Queue_, {o.tensor}Gm_, {place}, steps_[{i}] == 0 ? 1 : n);"
        for i, o in enumerate(self.stage.operands):
            yield f"    {self._taking(i, o)}"
        yield "}"

    def _taking(self, i: int, o: Operand) -> str:
        if o.tensor:
            return f"TakeOne<{self.types[o.tensor]}>({o.name}Queue_, {o.name}Tile_, steps_[{i}], n);"
        return f"Positions({o.name}Tile_, Place({i}, row, segment, col), steps_[{i}], n);"

    # ---- numbers of rows -----------------------------------------------------------------------

    def opening(self, code: Instructions) -> Iterator[str]:
        yield "    const uint32_t lanes = RoundUpLanes(n);"
        yield from indented(code.declarations("tile_"))
        yield "    PipeBarrier<PIPE_V>();"

    def section(self, level: int, section: Registers) -> Iterator[str]:
        yield f"__aicore__ inline void Section{level}() {{"
        code = Instructions(section, "LANES", "r")
        yield from indented(code.declarations("64"))
        yield "    PipeBarrier<PIPE_V>();"
        for value in section.values:
            if value.is_fold or (value.level < level and not value.is_mask):
                name = code.name(value)
                yield from indented(code.guarded([name], f"Duplicate({name}, {row_member(value)}, LANES);"))
            else:
                yield from indented(code.value(value))
        yield "    PipeBarrier<PIPE_V>();"
        for value in section.values:
            if value in self.plan.exported and value.level == level and not value.is_fold:
                yield f"    {row_member(value)} = Scalar({code.name(value)});"
        yield "}"


def indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""


def voided(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield f"(void){name};"
