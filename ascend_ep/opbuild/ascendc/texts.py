"""C++ text that every generated kernel has: scalar helpers, and tiles that come and go as float32."""

from __future__ import annotations

HELPERS = """
constexpr int32_t BUFFER_NUM = 2;
constexpr uint32_t LANES = 64;  // float32 lanes of one repeat of the vector unit

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
__aicore__ inline uint32_t RoundUpLanes(uint32_t n) { return (n + LANES - 1) / LANES * LANES; }

// The first element, once the vector unit has written it.
__aicore__ inline float Scalar(const LocalTensor<float> &t) {
    event_t done = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(done);
    WaitFlag<HardEvent::V_S>(done);
    return t.GetValue(0);
}
"""

PRODUCT = """
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

TILES = """
// Where the tiles of a stage lie, and how they come and go as float32.
class Tiles {
protected:
    static constexpr uint32_t MAX_DIMS = 8;
    static constexpr uint32_t OPERANDS = @OPERANDS@;  // that a stage has, at most

    template <typename Stage>
    __aicore__ inline void Arrange(const Stage &stage) {
        rows_ = stage.rows;
        cols_ = stage.cols;
        segments_ = stage.segments;
        foldsLast_ = stage.foldsLast;
        tile_ = stage.tileLength;
        tilesPerRow_ = stage.tilesPerRow;
        first_ = GetBlockIdx() * stage.itemsPerCore;
        last_ = first_ + stage.itemsPerCore < stage.items ? first_ + stage.itemsPerCore : stage.items;
        for (uint32_t i = 0; i < MAX_DIMS; i++) {
            dims_[i] = stage.dims[i];
            foldDims_[i] = stage.foldDims[i];
        }
        for (uint32_t i = 0; i < OPERANDS; i++) steps_[i] = stage.steps[i];
        for (uint32_t i = 0; i < OPERANDS * MAX_DIMS; i++) {
            strides_[i] = stage.strides[i];
            foldStrides_[i] = stage.foldStrides[i];
        }
    }

    __aicore__ inline uint32_t Length(uint64_t col) const {
        return cols_ - col < tile_ ? uint32_t(cols_ - col) : tile_;
    }

    // The offset of number `at` of what these dimensions count.
    __aicore__ inline uint64_t Along(uint64_t at, const uint64_t *dims, const uint64_t *strides) const {
        uint64_t offset = 0;
        for (int32_t i = MAX_DIMS - 1; i >= 0; i--) {
            offset += at % dims[i] * strides[i];
            at /= dims[i];
        }
        return offset;
    }

    // Where a tile of operand i begins: a row, of what is folded a segment, a column.
    __aicore__ inline uint64_t Place(uint32_t i, uint64_t row, uint64_t segment, uint64_t col) const {
        uint64_t offset = Along(row, dims_, strides_ + i * MAX_DIMS) + col * steps_[i];
        return segments_ > 1 ? offset + Along(segment, foldDims_, foldStrides_ + i * MAX_DIMS) : offset;
    }

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
    __aicore__ inline void Write(Queue &queue, const GlobalTensor<T> &to, const LocalTensor<float> &from,
                                 uint64_t offset, uint32_t n) {
        LocalTensor<T> tile = queue.template AllocTensor<T>();
        Narrow(tile, from, RoundUp8(n));
        queue.EnQue(tile);
        LocalTensor<T> ready = queue.template DeQue<T>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(n * sizeof(T)), 0, 0, 0};
        DataCopyPad(to[offset], ready, copy);
        queue.FreeTensor(ready);
    }

    // A tile of an operand that moves by `step`, the last lanes of its last repeat defined.
    template <typename T, typename Queue>
    __aicore__ inline void TakeOne(Queue &queue, const LocalTensor<float> &to, uint32_t step, uint32_t n) {
        LocalTensor<T> tile = queue.template DeQue<T>();
        const uint32_t lanes = RoundUpLanes(n);
        constexpr uint32_t unit = sizeof(T) == 8 ? 4 : 8;
        const uint32_t read = step == 0 ? unit : (n + unit - 1) / unit * unit;
        const uint32_t clear = read / 8 * 8;
        PipeBarrier<PIPE_V>();
        if (step != 0 && clear < lanes) {
            Duplicate(to[clear], 0.0f, lanes - clear);
            PipeBarrier<PIPE_V>();
        }
        Widen(to, tile, read);
        queue.FreeTensor(tile);
        PipeBarrier<PIPE_V>();
        if (step == 0) {
            float value = Scalar(to);
            Duplicate(to, value, lanes);
        }
@UNWRAP@    }

    template <typename T>
    __aicore__ inline void Widen(const LocalTensor<float> &to, const LocalTensor<T> &from, uint32_t n) {
        if constexpr (IsSameType<T, float>::value) {
            DataCopy(to, from, n);
@WIDEN@        } else {
            Cast(to, from, RoundMode::CAST_NONE, n);
        }
    }

    template <typename T>
    __aicore__ inline void Narrow(const LocalTensor<T> &to, const LocalTensor<float> &from, uint32_t n) {
        if constexpr (IsSameType<T, float>::value) {
            DataCopy(to, from, n);
@NARROW@        } else {
            Cast(to, from, RoundMode::CAST_RINT, n);
        }
    }

    uint64_t dims_[MAX_DIMS], foldDims_[MAX_DIMS];
    uint64_t strides_[OPERANDS * MAX_DIMS], foldStrides_[OPERANDS * MAX_DIMS];
    uint64_t rows_, cols_, segments_, tilesPerRow_, first_, last_;
    uint32_t steps_[OPERANDS], tile_, foldsLast_;
@HALF@};
"""

HALF = """    TBuf<TPosition::VECCALC> halfBuf_;
"""

WRAPPED = """    TBuf<TPosition::VECCALC> wrappedBuf_, wrappedMaskBuf_;
"""

SIGNED = """
// The vector unit converts signed integers: of an unsigned one the upper half are the negative numbers of that type.
template <typename T>
struct SignedOf {
    using type = T;
    static constexpr float range = 0.0f;
};
template <>
struct SignedOf<uint16_t> {
    using type = int16_t;
    static constexpr float range = 65536.0f;
};
template <>
struct SignedOf<uint32_t> {
    using type = int32_t;
    static constexpr float range = 4294967296.0f;
};
template <>
struct SignedOf<uint64_t> {
    using type = int64_t;
    static constexpr float range = 18446744073709551616.0f;
};
"""

UNWRAP = """        if constexpr (SignedOf<T>::range > 0.0f) {
            LocalTensor<float> larger = wrappedBuf_.Get<float>();
            LocalTensor<uint8_t> negative = wrappedMaskBuf_.Get<uint8_t>();
            PipeBarrier<PIPE_V>();
            CompareScalar(negative, to, 0.0f, CMPMODE::LT, lanes);
            Adds(larger, to, SignedOf<T>::range, lanes);
            PipeBarrier<PIPE_V>();
            Select(to, negative, larger, to, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes);
        }
"""

WIDEN_WRAPPED = """        } else if constexpr (SignedOf<T>::range > 0.0f) {
            Cast(to, from.template ReinterpretCast<typename SignedOf<T>::type>(),
                 sizeof(T) == 8 ? RoundMode::CAST_RINT : RoundMode::CAST_NONE, n);
"""

NARROW_WRAPPED = """        } else if constexpr (SignedOf<T>::range > 0.0f) {
            LocalTensor<float> wrapped = wrappedBuf_.Get<float>();
            LocalTensor<uint8_t> upper = wrappedMaskBuf_.Get<uint8_t>();
            const uint32_t lanes = RoundUpLanes(n);
            PipeBarrier<PIPE_V>();
            CompareScalar(upper, from, SignedOf<T>::range / 2.0f, CMPMODE::GE, lanes);
            Adds(wrapped, from, -SignedOf<T>::range, lanes);
            PipeBarrier<PIPE_V>();
            Mins(wrapped, wrapped, -1.0f, lanes);
            PipeBarrier<PIPE_V>();
            Select(wrapped, upper, wrapped, from, SELMODE::VSEL_TENSOR_TENSOR_MODE, lanes);
            PipeBarrier<PIPE_V>();
            Cast(to.template ReinterpretCast<typename SignedOf<T>::type>(), wrapped, RoundMode::CAST_TRUNC, n);
"""

WIDEN_SMALL = """        } else if constexpr (sizeof(T) == 1) {
            LocalTensor<half> between = halfBuf_.Get<half>();
            PipeBarrier<PIPE_V>();
            Cast(between, from, RoundMode::CAST_NONE, n);
            PipeBarrier<PIPE_V>();
            Cast(to, between, RoundMode::CAST_NONE, n);
"""

WIDEN_LONG = """        } else if constexpr (sizeof(T) == 8) {
            Cast(to, from, RoundMode::CAST_RINT, n);
"""

NARROW_SMALL = """        } else if constexpr (sizeof(T) == 1) {
            LocalTensor<half> between = halfBuf_.Get<half>();
            PipeBarrier<PIPE_V>();
            Cast(between, from, RoundMode::CAST_RINT, n);
            PipeBarrier<PIPE_V>();
            Cast(to, between, RoundMode::CAST_TRUNC, n);
"""

NARROW_WHOLE = """        } else if constexpr (IsSameType<T, int16_t>::value || IsSameType<T, int32_t>::value ||
                             IsSameType<T, int64_t>::value) {
            Cast(to, from, RoundMode::CAST_TRUNC, n);
"""

POSITIONS = """
    // Positions from `begin` on, or where step is 0 that one.
    __aicore__ inline void Positions(const LocalTensor<float> &to, uint64_t begin, uint32_t step, uint32_t n) {
        PipeBarrier<PIPE_V>();
        if (step == 0) {
            Duplicate(to, float(begin), RoundUpLanes(n));
        } else {
            ArithProgression(to, float(begin), 1.0f, int32_t(RoundUpLanes(n)));
        }
    }
"""


def tiles_text(operands: int, small: bool, whole: bool, long: bool, unsigned: bool, positions: bool) -> str:
    """The class Tiles. small: types of one byte occur; whole: integers of more; long: of eight; unsigned: of more
    than one byte without a sign."""
    text = TILES.replace("@OPERANDS@", str(operands)).replace("@UNWRAP@", UNWRAP * unsigned)
    text = text.replace("@WIDEN@", WIDEN_SMALL * small + WIDEN_WRAPPED * unsigned + WIDEN_LONG * long)
    text = text.replace("@NARROW@", NARROW_SMALL * small + NARROW_WRAPPED * unsigned + NARROW_WHOLE * whole)
    text = text.replace("@HALF@", HALF * small + WRAPPED * unsigned)
    widen = "\n    template <typename T>\n    __aicore__ inline void Widen"
    text = text.replace(widen, f"{POSITIONS * positions}{widen}")
    return (SIGNED * unsigned + text).strip("\n")
