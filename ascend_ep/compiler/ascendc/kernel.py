"""The kernel file: a class whose methods are the passes, over tiles that the tiling data describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .emit import Instructions, row_member, scalar_text
from .passes import Plan, Registers
from .values import Value

_START = {"sum": "0.0f", "prod": "1.0f", "max": "FloatOfBits(0xFF800000u)", "min": "FloatOfBits(0x7F800000u)"}


@dataclass(frozen=True)
class Signature:
    """Names of a kernel: the function's, the class', the tensors' and of the float attributes it reads."""

    function: str
    type_name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def tiling_class(self) -> str:
        return f"{self.type_name}TilingData"


@dataclass(frozen=True)
class Uses:
    """Which buffers a plan needs."""

    work: bool
    scratch: bool
    small: bool

    @staticmethod
    def of(plan: Plan, small: bool) -> Uses:
        ops = {v.op for v in plan.values()}
        return Uses(any(op.startswith("fold_") for op in ops), "library" in ops, small)


def kernel_text(names: Signature, plan: Plan, uses: Uses) -> str:
    """op_kernel/<op>.cpp."""
    return "\n".join(_Kernel(names, plan, uses).lines()) + "\n"


class _Kernel:
    def __init__(self, names: Signature, plan: Plan, uses: Uses) -> None:
        self.names, self.plan, self.uses = names, plan, uses
        used = {v.text for v in plan.values() if v.op == "input"}
        self.inputs = tuple(n for n in names.inputs if n in used)
        self.row_outputs = dict(plan.row_outputs)

    def lines(self) -> Iterator[str]:
        names = self.names
        yield '#include "kernel_operator.h"'
        yield ""
        yield "using namespace AscendC;"
        yield ""
        yield "constexpr int32_t BUFFER_NUM = 2;"
        yield "constexpr uint32_t LANES = 64;  // float32 lanes of one repeat of the vector unit"
        yield ""
        yield from _HELPERS.strip("\n").split("\n")
        yield ""
        yield f"class Kernel{names.type_name} {{"
        yield "public:"
        yield f"    __aicore__ inline Kernel{names.type_name}() {{}}"
        yield ""
        yield from _indented(self._init())
        yield ""
        yield from _indented(self._process())
        yield ""
        yield "private:"
        yield from _indented(self._methods())
        yield ""
        yield from _indented(self._members())
        yield "};"
        yield ""
        arguments = ", ".join(f"GM_ADDR {n}" for n in (*names.inputs, *names.outputs, "workspace", "tiling"))
        yield f'extern "C" __global__ __aicore__ void {names.function}({arguments}) {{'
        yield "    GET_TILING_DATA(tilingData, tiling);"
        yield "    TPipe pipe;"
        yield f"    Kernel{names.type_name} op;"
        tensors = ", ".join((*names.inputs, *names.outputs))
        yield f"    op.Init({tensors}, tilingData, &pipe);"
        yield "    op.Process();"
        yield "}"

    # ---- set-up --------------------------------------------------------------------------------

    def _init(self) -> Iterator[str]:
        arguments = ", ".join(f"GM_ADDR {n}" for n in (*self.names.inputs, *self.names.outputs))
        yield "template <typename Tiling>"
        yield f"__aicore__ inline void Init({arguments}, const Tiling &tiling, TPipe *pipe) {{"
        yield "    rows_ = tiling.rows;"
        yield "    cols_ = tiling.cols;"
        yield "    tile_ = tiling.tileLength;"
        yield "    tilesPerRow_ = (cols_ + tile_ - 1) / tile_;"
        yield "    first_ = GetBlockIdx() * tiling.itemsPerCore;"
        yield "    last_ = first_ + tiling.itemsPerCore < tiling.items ? first_ + tiling.itemsPerCore : tiling.items;"
        yield "    for (uint32_t i = 0; i < MAX_DIMS; i++) {"
        yield "        dims_[i] = tiling.dims[i];"
        for n in self.inputs:
            yield f"        {n}Strides_[i] = tiling.{n}Strides[i];"
        yield "    }"
        for n in self.inputs:
            yield f"    {n}Step_ = tiling.{n}Step;"
        for n in self.names.attributes:
            yield f"    {n}_ = tiling.{n};"
        for n in (*self.inputs, *self.names.outputs):
            kind = f"DTYPE_{n.upper()}"
            yield f"    {n}Gm_.SetGlobalBuffer(reinterpret_cast<__gm__ {kind} *>({n}), tiling.{n}Size);"
        for n in self.inputs:
            yield f"    pipe->InitBuffer({n}Queue_, BUFFER_NUM, tile_ * sizeof(DTYPE_{n.upper()}));"
        for n in self.names.outputs:
            length = "LANES" if n in self.row_outputs else "tile_"
            yield f"    pipe->InitBuffer({n}Queue_, BUFFER_NUM, {length} * sizeof(DTYPE_{n.upper()}));"
        for n in self.inputs:
            yield f"    pipe->InitBuffer({n}TileBuf_, tile_ * sizeof(float));"
            yield f"    {n}Tile_ = {n}TileBuf_.Get<float>();"
        plan = self.plan
        for buffer, count, size in (
            ("vBuf_", plan.floats, "tile_ * sizeof(float)"),
            ("vMaskBuf_", plan.masks, "(tile_ / 8)"),
            ("rBuf_", max(plan.row_floats, 1), "LANES * sizeof(float)"),
            ("rMaskBuf_", plan.row_masks, "32"),
            ("workBuf_", self.uses.work, "(tile_ / 16 + LANES) * sizeof(float)"),
            ("foldBuf_", self.uses.work, "LANES * sizeof(float)"),
            ("scratchBuf_", self.uses.scratch, "tile_ * SCRATCH_BYTES"),
            ("halfBuf_", self.uses.small, "tile_ * sizeof(half)"),
        ):
            if count:
                yield f"    pipe->InitBuffer({buffer}, {count:d} * {size});"
        yield "}"

    def _members(self) -> Iterator[str]:
        yield "static constexpr uint32_t MAX_DIMS = 8;"
        if self.uses.scratch:
            yield "static constexpr uint32_t SCRATCH_BYTES = 32;  // of the high-level functions, per element"
        for n in (*self.inputs, *self.names.outputs):
            yield f"GlobalTensor<DTYPE_{n.upper()}> {n}Gm_;"
        for n in self.inputs:
            yield f"TQue<TPosition::VECIN, BUFFER_NUM> {n}Queue_;"
        for n in self.names.outputs:
            yield f"TQue<TPosition::VECOUT, BUFFER_NUM> {n}Queue_;"
        buffers = [f"{n}TileBuf_" for n in self.inputs] + ["rBuf_"]
        buffers += ["vBuf_"] * bool(self.plan.floats) + ["vMaskBuf_"] * bool(self.plan.masks)
        buffers += ["rMaskBuf_"] * bool(self.plan.row_masks)
        buffers += ["workBuf_", "foldBuf_"] * self.uses.work + ["scratchBuf_"] * self.uses.scratch
        buffers += ["halfBuf_"] * self.uses.small
        yield f"TBuf<TPosition::VECCALC> {', '.join(buffers)};"
        if self.inputs:
            yield f"LocalTensor<float> {', '.join(f'{n}Tile_' for n in self.inputs)};"
            yield f"uint64_t {', '.join(f'{n}Strides_[MAX_DIMS]' for n in self.inputs)};"
            yield f"uint32_t {', '.join(f'{n}Step_' for n in self.inputs)};"
        yield "uint64_t dims_[MAX_DIMS];"
        yield "uint64_t rows_, cols_, tilesPerRow_, first_, last_;"
        yield "uint32_t tile_;"
        floats = [f"{n}_" for n in self.names.attributes] + [row_member(v) for v in self._rows()]
        if floats:
            yield f"float {', '.join(floats)};"

    def _rows(self) -> list[Value]:
        return sorted(self.plan.exported, key=lambda v: v.number)

    # ---- the loops -----------------------------------------------------------------------------

    def _process(self) -> Iterator[str]:
        yield "__aicore__ inline void Process() {"
        if self.plan.sections[0].values:
            yield "    Section0();"
        if not self.plan.passes:
            yield "    for (uint64_t item = first_; item < last_; item++) {"
            yield "        uint64_t row = item / tilesPerRow_, col = item % tilesPerRow_ * tile_;"
            yield "        uint32_t n = Length(col);"
            yield "        CopyIn(row, col, n);"
            yield "        Take(n);"
            yield "        Finish(row, col, n);"
            yield "    }"
            yield "}"
            return
        yield "    for (uint64_t row = first_; row < last_; row++) {"
        yield "        if (tilesPerRow_ == 1) {"
        yield "            OneTile(row);"
        yield "        } else {"
        yield "            ManyTiles(row);"
        yield "        }"
        for name, _ in self.plan.row_outputs:
            yield f"        Write{name.capitalize()}(row);"
        yield "    }"
        yield "}"

    def _methods(self) -> Iterator[str]:
        yield from _LENGTH.strip("\n").split("\n")
        yield ""
        if self.plan.passes:
            yield from self._one_tile()
            yield ""
            yield from self._many_tiles()
            yield ""
        yield from self._copy_in()
        yield ""
        yield from self._take()
        for number, (folds, registers) in enumerate(self.plan.passes, 1):
            yield ""
            yield from self._pass(number, folds, registers)
        for level, section in enumerate(self.plan.sections):
            if section.values:
                yield ""
                yield from self._section(level, section)
        if self.plan.full_outputs:
            yield ""
            yield from self._finish()
        for name, value in self.plan.row_outputs:
            yield ""
            yield from self._write_row(name, value)

    def _starts(self, folds: Iterable[Value]) -> Iterator[str]:
        for f in folds:
            yield f"{row_member(f)} = {_START[f.op.removeprefix('fold_')]};"

    def _one_tile(self) -> Iterator[str]:
        """A row that fits a tile is read once."""
        yield "__aicore__ inline void OneTile(uint64_t row) {"
        yield "    uint32_t n = Length(0);"
        yield "    CopyIn(row, 0, n);"
        yield "    Take(n);"
        for number, (folds, _) in enumerate(self.plan.passes, 1):
            yield from _indented(self._starts(folds))
            yield f"    Pass{number}(0, n);"
            if self.plan.sections[number].values:
                yield f"    Section{number}();"
        if self.plan.full_outputs:
            yield "    Finish(row, 0, n);"
        yield "}"

    def _many_tiles(self) -> Iterator[str]:
        """A longer one is read by every pass."""
        yield "__aicore__ inline void ManyTiles(uint64_t row) {"
        for number, (folds, _) in enumerate(self.plan.passes, 1):
            yield from _indented(self._starts(folds))
            yield from _indented(self._tiles(f"Pass{number}(col, n);"))
            if self.plan.sections[number].values:
                yield f"    Section{number}();"
        if self.plan.full_outputs:
            yield from _indented(self._tiles("Finish(row, col, n);"))
        yield "}"

    def _tiles(self, body: str) -> Iterator[str]:
        yield "for (uint64_t col = 0; col < cols_; col += tile_) {"
        yield "    uint32_t n = Length(col);"
        yield "    CopyIn(row, col, n);"
        yield "    Take(n);"
        yield f"    {body}"
        yield "}"

    # ---- moving --------------------------------------------------------------------------------

    def _copy_in(self) -> Iterator[str]:
        yield "__aicore__ inline void CopyIn(uint64_t row, uint64_t col, uint32_t n) {"
        for n in self.inputs:
            yield f"    Read({n}Queue_, {n}Gm_, Offset(row, {n}Strides_) + col * {n}Step_, {n}Step_ == 0 ? 1 : n);"
        yield "}"
        yield ""
        yield from _READ.strip("\n").split("\n")

    def _take(self) -> Iterator[str]:
        yield "// The inputs of a tile as float32, the last lanes of its last repeat defined."
        yield "__aicore__ inline void Take(uint32_t n) {"
        for n in self.inputs:
            yield f"    TakeOne<DTYPE_{n.upper()}>({n}Queue_, {n}Tile_, {n}Step_, n);"
        yield "}"
        yield ""
        small = self.uses.small
        yield from (
            (_TAKE % (_WIDEN_SMALL if small else "", _NARROW_SMALL if small else "")).strip("\n").split("\n")
        )

    def _write_row(self, name: str, value: Value) -> Iterator[str]:
        yield f"__aicore__ inline void Write{name.capitalize()}(uint64_t row) {{"
        yield "    LocalTensor<float> r0 = rBuf_.Get<float>();"
        yield "    PipeBarrier<PIPE_V>();"
        yield f"    Duplicate(r0, {row_member(value)}, LANES);"
        yield "    PipeBarrier<PIPE_V>();"
        yield f"    Write({name}Queue_, {name}Gm_, r0, row, 1);"
        yield "}"

    # ---- computing -----------------------------------------------------------------------------

    def _opening(self, code: Instructions) -> Iterator[str]:
        yield "    const uint32_t lanes = (n + LANES - 1) / LANES * LANES;"
        yield from _indented(code.declarations("tile_"))
        yield "    PipeBarrier<PIPE_V>();"

    def _pass(self, number: int, folds: tuple[Value, ...], registers: Registers) -> Iterator[str]:
        yield f"__aicore__ inline void Pass{number}(uint64_t col, uint32_t n) {{"
        code = Instructions(registers, "lanes", "v")
        yield from self._opening(code)
        yield "    LocalTensor<float> folded = foldBuf_.Get<float>(), work = workBuf_.Get<float>();"
        for value in registers.values:
            yield from _indented(code.value(value))
            for fold in folds:
                if fold.args[0] is value:
                    yield from _indented(self._fold(code, fold))
        for fold in folds:
            if fold.args[0].op == "input":
                yield from _indented(self._fold(code, fold))
        yield from _indented(_unused(("col",)))
        yield "}"

    def _fold(self, code: Instructions, fold: Value) -> Iterator[str]:
        source, total = code.name(fold.args[0]), row_member(fold)
        op = fold.op.removeprefix("fold_")
        yield from code.settle()
        if op == "prod":
            yield f"{total} = {total} * Product({source}, n);"
            return
        extra = "" if op == "sum" else ", false"
        yield f"Reduce{op.capitalize()}<float>(folded, {source}, work, int32_t(n){extra});"
        if op == "sum":
            yield f"{total} = {total} + Scalar(folded);"
        else:
            yield f"{total} = {'Larger' if op == 'max' else 'Smaller'}({total}, Scalar(folded));"

    def _section(self, level: int, section: Registers) -> Iterator[str]:
        yield f"__aicore__ inline void Section{level}() {{"
        code = Instructions(section, "LANES", "r")
        yield from _indented(code.declarations("64"))
        yield "    PipeBarrier<PIPE_V>();"
        for value in section.values:
            if value.is_fold or (value.level < level and not value.is_mask):
                name = code.name(value)
                yield from _indented(code.guarded([name], f"Duplicate({name}, {row_member(value)}, LANES);"))
            else:
                yield from _indented(code.value(value))
        yield "    PipeBarrier<PIPE_V>();"
        for value in section.values:
            if value in self.plan.exported and value.level == level and not value.is_fold:
                yield f"    {row_member(value)} = Scalar({code.name(value)});"
        yield "}"

    def _finish(self) -> Iterator[str]:
        yield "__aicore__ inline void Finish(uint64_t row, uint64_t col, uint32_t n) {"
        code = Instructions(self.plan.last, "lanes", "v")
        yield from self._opening(code)
        written: set[str] = set()
        for value in self.plan.last.values:
            yield from _indented(code.value(value))
            for name, output in self.plan.full_outputs:
                if output is value:
                    written.add(name)
                    yield from _indented(self._write(code, name, value))
        for name, output in self.plan.full_outputs:
            if name not in written:
                yield from _indented(self._write(code, name, output))
        yield from _indented(_unused(("lanes",)))
        yield "}"

    def _write(self, code: Instructions, name: str, value: Value) -> Iterator[str]:
        yield from code.settle()
        yield f"Write({name}Queue_, {name}Gm_, {code.name(value)}, row * cols_ + col, n);"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"    {line}" if line else ""


def _unused(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield f"(void){name};"


_HELPERS = """
__aicore__ inline float FloatOfBits(uint32_t bits) {
    union {
        uint32_t bits;
        float value;
    } both = {bits};
    return both.value;
}

// NaN if either is.
__aicore__ inline float Larger(float a, float b) { return b > a || b != b ? b : a; }
__aicore__ inline float Smaller(float a, float b) { return b < a || b != b ? b : a; }

__aicore__ inline uint32_t RoundUp8(uint32_t n) { return (n + 7) / 8 * 8; }

// The first element, once the vector unit has written it.
__aicore__ inline float Scalar(const LocalTensor<float> &t) {
    event_t done = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(done);
    WaitFlag<HardEvent::V_S>(done);
    return t.GetValue(0);
}

// Of n elements; t is overwritten.
__aicore__ inline float Product(const LocalTensor<float> &t, uint32_t n) {
    float product = 1.0f;
    uint32_t whole = n / LANES * LANES;
    for (uint32_t width = whole; width > LANES;) {
        uint32_t half = (width / LANES + 1) / 2 * LANES;
        Mul(t, t, t[half], width - half);
        PipeBarrier<PIPE_V>();
        width = half;
    }
    float first = Scalar(t);
    for (uint32_t i = 0; i < (whole != 0 ? LANES : 0); i++) product = product * (i == 0 ? first : t.GetValue(i));
    for (uint32_t i = whole; i < n; i++) product = product * t.GetValue(i);
    return product;
}
"""

_LENGTH = """
__aicore__ inline uint32_t Length(uint64_t col) const {
    return cols_ - col < tile_ ? uint32_t(cols_ - col) : tile_;
}

// Where a row of a tensor with these strides begins.
__aicore__ inline uint64_t Offset(uint64_t row, const uint64_t *strides) const {
    uint64_t offset = 0;
    for (int32_t i = MAX_DIMS - 1; i >= 0; i--) {
        offset += row % dims_[i] * strides[i];
        row /= dims_[i];
    }
    return offset;
}
"""

_READ = """
template <typename Queue, typename T>
__aicore__ inline void Read(Queue &queue, const GlobalTensor<T> &from, uint64_t offset, uint32_t n) {
    LocalTensor<T> tile = queue.template AllocTensor<T>();
    constexpr uint32_t block = 32 / sizeof(T);
    DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
    DataCopyPadExtParams<T> pad{true, 0, static_cast<uint8_t>((block - n % block) % block), static_cast<T>(0)};
    DataCopyPad(tile, from[offset], copy, pad);
    queue.EnQue(tile);
}

template <typename Queue, typename T>
__aicore__ inline void Write(Queue &queue, const GlobalTensor<T> &to, const LocalTensor<float> &from, uint64_t offset,
                             uint32_t n) {
    LocalTensor<T> tile = queue.template AllocTensor<T>();
    Narrow(tile, from, RoundUp8(n));
    queue.EnQue(tile);
    LocalTensor<T> ready = queue.template DeQue<T>();
    DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
    DataCopyPad(to[offset], ready, copy);
    queue.FreeTensor(ready);
}
"""

_TAKE = """
template <typename T, typename Queue>
__aicore__ inline void TakeOne(Queue &queue, const LocalTensor<float> &to, uint32_t step, uint32_t n) {
    LocalTensor<T> tile = queue.template DeQue<T>();
    const uint32_t lanes = (n + LANES - 1) / LANES * LANES;
    const uint32_t read = step == 0 ? 8 : RoundUp8(n);
    PipeBarrier<PIPE_V>();
    Widen(to, tile, read);
    queue.FreeTensor(tile);
    PipeBarrier<PIPE_V>();
    if (step == 0) {
        float value = Scalar(to);
        Duplicate(to, value, lanes);
    } else if (read < lanes) {
        Duplicate(to[read], 0.0f, lanes - read);
    }
}

template <typename T>
__aicore__ inline void Widen(const LocalTensor<float> &to, const LocalTensor<T> &from, uint32_t n) {
    if constexpr (IsSameType<T, float>::value) {
        DataCopy(to, from, n);
%s    } else {
        Cast(to, from, RoundMode::CAST_NONE, n);
    }
}

template <typename T>
__aicore__ inline void Narrow(const LocalTensor<T> &to, const LocalTensor<float> &from, uint32_t n) {
    if constexpr (IsSameType<T, float>::value) {
        DataCopy(to, from, n);
%s    } else if constexpr (IsSameType<T, int32_t>::value) {
        Cast(to, from, RoundMode::CAST_TRUNC, n);
    } else {
        Cast(to, from, RoundMode::CAST_RINT, n);
    }
}
"""

_WIDEN_SMALL = """    } else if constexpr (sizeof(T) == 1) {
        LocalTensor<half> between = halfBuf_.Get<half>();
        PipeBarrier<PIPE_V>();
        Cast(between, from, RoundMode::CAST_NONE, n);
        PipeBarrier<PIPE_V>();
        Cast(to, between, RoundMode::CAST_NONE, n);
"""

_NARROW_SMALL = """    } else if constexpr (sizeof(T) == 1) {
        LocalTensor<half> between = halfBuf_.Get<half>();
        PipeBarrier<PIPE_V>();
        Cast(between, from, RoundMode::CAST_RINT, n);
        PipeBarrier<PIPE_V>();
        Cast(to, between, RoundMode::CAST_TRUNC, n);
"""

__all__ = ["Signature", "Uses", "kernel_text", "scalar_text"]
