"""A stage that finds the k best along an axis, one after another.

The next best is the best of those that come after the last one in the order: the value first, then the position;
NaN is larger than every number. One sweep finds its value, a second the first position that has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from .stage_text import StageText

#: tiles of float32 beside the operand's: of the last one found, the next, positions, and what is selected
TILES = 7
MASKS = 4


class TopKText(StageText):
    def summary(self) -> str:
        which = "largest" if self.stage.largest else "smallest"
        return f"{' and '.join(self.outputs)}: the {which} along an axis, the best first."

    def output_length(self, name: str) -> str:
        return "tile_"

    def buffers(self) -> Iterator[tuple[str, int, str]]:
        for name in _NAMES:
            yield f"{name}Buf_", 1, "tile_ * sizeof(float)"
        yield "maskBuf_", MASKS, "(tile_ / 8)"
        yield "workBuf_", 1, "(tile_ / 16 + LANES) * sizeof(float)"
        yield "foldBuf_", 1, "LANES * sizeof(float)"

    def state(self) -> Iterator[str]:
        yield f"LocalTensor<float> {', '.join(f'{n}_' for n in _NAMES)};"
        yield f"LocalTensor<uint8_t> {', '.join(f'mask{i}_' for i in range(MASKS))};"
        yield "uint64_t k_;"
        yield "bool resident_;"

    def setting(self) -> Iterator[str]:
        yield "k_ = stage.k;"
        yield "// A row in one tile stays there."
        yield "resident_ = foldsLast_ && cols_ <= tile_;"
        for name in _NAMES:
            yield f"{name}_ = {name}Buf_.Get<float>();"
        for i in range(MASKS):
            yield f"mask{i}_ = maskBuf_.Get<uint8_t>()[{i} * (tile_ / 8)];"

    def process(self) -> Iterator[str]:
        first, worst = ("NAN_BITS", "LEAST_BITS") if self.stage.largest else ("LEAST_BITS", "MOST_BITS")
        fold = "Max" if self.stage.largest else "Min"
        text = _PROCESS.replace("@FIRST@", first).replace("@WORST@", worst).replace("@FOLD@", fold)
        yield from text.replace("@SETTLE@", "" if self.stage.largest else _SETTLE).strip("\n").split("\n")

    def methods(self) -> Iterator[str]:
        yield from self.loading()
        yield ""
        (operand,) = self.stage.operands
        text = _SWEEP + (_LARGEST if self.stage.largest else _SMALLEST)
        yield from text.replace("@X@", f"{operand.name}Tile_").strip("\n").split("\n")
        yield ""
        yield from self._keep()

    def _keep(self) -> Iterator[str]:
        yield "// Writes result j, and makes it the last one found."
        yield "__aicore__ inline void Keep(uint64_t row, uint64_t j, uint64_t col, uint32_t width) {"
        yield "    uint64_t step = foldsLast_ ? steps_[1] : foldStrides_[2 * MAX_DIMS - 1];"
        yield "    uint64_t place = Along(row, dims_, strides_ + MAX_DIMS) + j * step + (foldsLast_ ? 0 : col);"
        yield "    uint32_t n = foldsLast_ ? 1 : width;"
        for tensor, tile in zip(self.stage.outputs, ("best_", "bestAt_"), strict=True):
            if tensor:
                yield f"    Write({tensor}Queue_, {tensor}Gm_, {tile}, place, n);"
        yield "    DataCopy(lastOne_, best_, RoundUpLanes(width));"
        yield "    DataCopy(lastAt_, bestAt_, RoundUpLanes(width));"
        yield "    PipeBarrier<PIPE_V>();"
        yield "}"


_NAMES = ("lastOne", "lastAt", "best", "bestAt", "nanAt", "at", "chosen")

_PROCESS = """
__aicore__ inline void Process() {
    constexpr uint32_t NAN_BITS = 0x7FC00000u, LEAST_BITS = 0xFF800000u, MOST_BITS = 0x7F800000u;
    (void)NAN_BITS;
    for (uint64_t item = first_; item < last_; item++) {
        uint64_t row = foldsLast_ ? item : item / tilesPerRow_;
        uint64_t col = foldsLast_ ? 0 : item % tilesPerRow_ * tile_;
        uint32_t width = Length(col), lanes = RoundUpLanes(width);
        if (k_ == 0 || width == 0) continue;
        PipeBarrier<PIPE_V>();
        Duplicate(lastOne_, FloatOfBits(@FIRST@), lanes);
        Duplicate(lastAt_, -1.0f, lanes);
        if (resident_) Fetch(row, 0, 0, width);
        for (uint64_t j = 0; j < k_; j++) {
            Duplicate(best_, FloatOfBits(@WORST@), lanes);
            Duplicate(bestAt_, FloatOfBits(MOST_BITS), lanes);
            Duplicate(nanAt_, FloatOfBits(MOST_BITS), lanes);
            PipeBarrier<PIPE_V>();
            Sweep(row, col, width, false);
            if (foldsLast_) {
                Reduce@FOLD@<float>(foldBuf_.Get<float>(), best_, workBuf_.Get<float>(), int32_t(width), false);
                Spread(best_, lanes);
            }
            Sweep(row, col, width, true);
            if (foldsLast_) {
                ReduceMin<float>(foldBuf_.Get<float>(), bestAt_, workBuf_.Get<float>(), int32_t(width), false);
                Spread(bestAt_, lanes);
            }
@SETTLE@            Keep(row, j, col, width);
        }
    }
}
"""

_SETTLE = """            if (foldsLast_) {
                ReduceMin<float>(foldBuf_.Get<float>(), nanAt_, workBuf_.Get<float>(), int32_t(width), false);
                Spread(nanAt_, lanes);
            }
            // No number is left: the next NaN.
            CompareScalar(mask0_, bestAt_, FloatOfBits(MOST_BITS), CMPMODE::EQ, lanes);
            Duplicate(chosen_, FloatOfBits(NAN_BITS), lanes);
            PipeBarrier<PIPE_V>();
            Select(best_, mask0_, chosen_, best_, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes);
            Select(bestAt_, mask0_, nanAt_, bestAt_, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes);
            PipeBarrier<PIPE_V>();
"""

_SWEEP = """
// The folded number in every lane.
__aicore__ inline void Spread(const LocalTensor<float> &to, uint32_t lanes) {
    float value = Scalar(foldBuf_.Get<float>());
    Duplicate(to, value, lanes);
    PipeBarrier<PIPE_V>();
}

__aicore__ inline void Fetch(uint64_t row, uint64_t segment, uint64_t col, uint32_t n) {
    Load(row, segment, col, n);
    if (foldsLast_) {
        ArithProgression(at_, float(col), 1.0f, int32_t(RoundUpLanes(n)));
    } else {
        Duplicate(at_, float(segment), RoundUpLanes(n));
    }
    PipeBarrier<PIPE_V>();
}

// Over what the item folds: the best value, or where it is.
__aicore__ inline void Sweep(uint64_t row, uint64_t col, uint32_t width, bool where) {
    const uint64_t end = foldsLast_ ? cols_ : 1;
    for (uint64_t segment = 0; segment < segments_; segment++) {
        for (uint64_t at = 0; at < end; at += tile_) {
            uint32_t n = foldsLast_ ? Length(at) : width;
            if (!resident_) Fetch(row, segment, foldsLast_ ? at : col, n);
            After(RoundUpLanes(n));
            if (where) {
                Where(n, RoundUpLanes(n));
            } else {
                Best(n, RoundUpLanes(n));
            }
        }
    }
}

__aicore__ inline void Both(const LocalTensor<uint8_t> &to, const LocalTensor<uint8_t> &other, uint32_t lanes) {
    PipeBarrier<PIPE_V>();
    And(to.ReinterpretCast<uint16_t>(), to.ReinterpretCast<uint16_t>(), other.ReinterpretCast<uint16_t>(), lanes / 16);
    PipeBarrier<PIPE_V>();
}

__aicore__ inline void Either(const LocalTensor<uint8_t> &to, const LocalTensor<uint8_t> &other, uint32_t lanes) {
    PipeBarrier<PIPE_V>();
    Or(to.ReinterpretCast<uint16_t>(), to.ReinterpretCast<uint16_t>(), other.ReinterpretCast<uint16_t>(), lanes / 16);
    PipeBarrier<PIPE_V>();
}

// Folds the marked of n elements into a tile, the others as `neutral`.
template <bool largest>
__aicore__ inline void Fold(const LocalTensor<float> &to, const LocalTensor<float> &from, float neutral, uint32_t n,
                            uint32_t lanes) {
    Select(chosen_, mask0_, from, neutral, SELMODE::VSEL_TENSOR_SCALAR_MODE, lanes);
    PipeBarrier<PIPE_V>();
    if constexpr (largest) {
        Max(to, to, chosen_, int32_t(n));
    } else {
        Min(to, to, chosen_, int32_t(n));
    }
    PipeBarrier<PIPE_V>();
}
"""

_LARGEST = """
// mask0: which come after the last one found.
__aicore__ inline void After(uint32_t lanes) {
    Compare(mask0_, @X@, lastOne_, CMPMODE::LT, lanes);
    Compare(mask1_, @X@, lastOne_, CMPMODE::EQ, lanes);
    Compare(mask2_, at_, lastAt_, CMPMODE::GT, lanes);
    Compare(mask3_, @X@, @X@, CMPMODE::EQ, lanes);
    Both(mask1_, mask2_, lanes);
    Either(mask0_, mask1_, lanes);
    Either(mask2_, mask3_, lanes);
    Compare(mask3_, lastOne_, lastOne_, CMPMODE::NE, lanes);
    Both(mask2_, mask3_, lanes);
    Either(mask0_, mask2_, lanes);
}

__aicore__ inline void Best(uint32_t n, uint32_t lanes) {
    Fold<true>(best_, @X@, FloatOfBits(0xFF800000u), n, lanes);
}

__aicore__ inline void Where(uint32_t n, uint32_t lanes) {
    Compare(mask1_, @X@, @X@, CMPMODE::NE, lanes);
    Compare(mask2_, best_, best_, CMPMODE::NE, lanes);
    Compare(mask3_, @X@, best_, CMPMODE::EQ, lanes);
    Both(mask1_, mask2_, lanes);
    Either(mask1_, mask3_, lanes);
    Both(mask0_, mask1_, lanes);
    Fold<false>(bestAt_, at_, FloatOfBits(0x7F800000u), n, lanes);
}
"""

_SMALLEST = """
// mask0: which numbers come after the last one found.
__aicore__ inline void After(uint32_t lanes) {
    Compare(mask0_, @X@, lastOne_, CMPMODE::GT, lanes);
    Compare(mask1_, @X@, lastOne_, CMPMODE::EQ, lanes);
    Compare(mask2_, at_, lastAt_, CMPMODE::GT, lanes);
    Both(mask1_, mask2_, lanes);
    Either(mask0_, mask1_, lanes);
}

__aicore__ inline void Best(uint32_t n, uint32_t lanes) {
    Fold<false>(best_, @X@, FloatOfBits(0x7F800000u), n, lanes);
}

__aicore__ inline void Where(uint32_t n, uint32_t lanes) {
    Compare(mask1_, @X@, best_, CMPMODE::EQ, lanes);
    Both(mask0_, mask1_, lanes);
    Fold<false>(bestAt_, at_, FloatOfBits(0x7F800000u), n, lanes);
    // NaN comes after every number.
    Compare(mask0_, @X@, @X@, CMPMODE::NE, lanes);
    Compare(mask1_, lastOne_, lastOne_, CMPMODE::EQ, lanes);
    Either(mask2_, mask1_, lanes);
    Both(mask0_, mask2_, lanes);
    Fold<false>(nanAt_, at_, FloatOfBits(0x7F800000u), n, lanes);
}
"""
