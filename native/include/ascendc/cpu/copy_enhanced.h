/* DataCopy with a computation on the way: from L0C to the unified buffer, which older chips have. */
#pragma once

#include "copy.h"
#include "cube_operand.h"
#include "fixpipe_values.h"

/* What a copy that only fills does: this path has none. */
enum pad_t { PAD_NONE = 0, PAD_MODE1, PAD_MODE2, PAD_MODE3, PAD_MODE4, PAD_MODE5, PAD_MODE6, PAD_MODE7, PAD_MODE8 };

namespace AscendC {

enum class BlockMode : uint8_t {
    BLOCK_MODE_NORMAL,
    BLOCK_MODE_MATRIX,
    BLOCK_MODE_VECTOR,
    BLOCK_MODE_SMALL_CHANNEL,
    BLOCK_MODE_DEPTHWISE
};
/* MATRIX: DataCopyParams count fractals of 16 x 16 elements; VECTOR: the first row of each fractal, 16 elements. */
struct DataCopyEnhancedParams {
    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    int padMode = 0;
    uint64_t padValue = 0;
    DataCopyEnhancedParams() = default;
    DataCopyEnhancedParams(BlockMode mode, DeqScale scale, uint64_t value, uint8_t store, bool relu, int pad,
                           uint64_t pad_value)
        : blockMode(mode),
          deqScale(scale),
          deqValue(value),
          sidStoreMode(store),
          isRelu(relu),
          padMode(pad),
          padValue(pad_value) {}
};

}  // namespace AscendC

namespace asc_cpu {

/* Chips with this path have no pipe of Fixpipe: what queues of L0C make it wait for, the vector pipe waits for. */
class JoinedPipes {
   public:
    JoinedPipes() {
        if constexpr (CHECKED) core().learn(index_of(PIPE_V), core().before(index_of(PIPE_FIX)));
    }
    ~JoinedPipes() {
        if constexpr (CHECKED) core().learn(index_of(PIPE_FIX), core().after(index_of(PIPE_V)));
    }
    JoinedPipes(const JoinedPipes &) = delete;
};

/* blockCount runs of blockLen units; a unit is `taken` elements of a fractal of 256. */
template <typename T, typename Sum>
inline void copy_from_l0c(const AscendC::LocalTensor<T> &to, const AscendC::LocalTensor<Sum> &from,
                          const AscendC::DataCopyParams &p, const AscendC::DataCopyEnhancedParams &e, Where w) {
    need_parameter(w,
                   e.deqScale == AscendC::DeqScale::DEQ_NONE || e.deqScale == AscendC::DeqScale::DEQ ||
                       e.deqScale == AscendC::DeqScale::DEQ16,
                   "DataCopy", "deqScale is DEQ_NONE, DEQ or DEQ16");
    constexpr uint64_t fractal = 256;
    const uint64_t taken = e.blockMode == AscendC::BlockMode::BLOCK_MODE_VECTOR ? 16 : fractal;
    const uint64_t from_step = (uint64_t(p.blockLen) + p.srcStride) * fractal;
    const uint64_t to_step = p.blockLen * taken + p.dstStride * (C0_BYTES / sizeof(T));
    const uint64_t length = p.blockLen;
    const Operand target =
        writes_bytes(to, {0, length * taken * sizeof(T), p.blockCount, int64_t(to_step * sizeof(T))});
    const Operand source =
        reads_bytes(from, {0, length * fractal * sizeof(Sum), p.blockCount, int64_t(from_step * sizeof(Sum))});
    T *const t = reinterpret_cast<T *>(target.base);
    const Sum *const s = reinterpret_cast<const Sum *>(source.base);
    const QuantMode_t mode = e.deqScale == AscendC::DeqScale::DEQ_NONE ? NoQuant : DEQF16;
    const QuantFactor factor = mode == NoQuant ? QuantFactor() : QuantFactor(e.deqValue);
    const uint32_t count = p.blockCount;
    const bool relu = e.isRelu;
    mark_joined_code<T>();
    const JoinedPipes joined;
    issue(PIPE_V, "DataCopy", w, {target, source}, [=] {
        for (uint64_t run = 0; run < count; run++)
            for (uint64_t i = 0; i < length; i++)
                for (uint64_t k = 0; k < taken; k++)
                    t[run * to_step + i * taken + k] =
                        quantised<T>(s[run * from_step + i * fractal + k], mode, factor, relu);
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T, typename U>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const DataCopyParams &p,
                     const DataCopyEnhancedParams &enhanced, asc_cpu::Where w = asc_cpu::Where::here()) {
    if (src.space() == asc_cpu::Space::L0C) return asc_cpu::copy_from_l0c(dst, src, p, enhanced, w);
    asc_cpu::need_parameter(w, enhanced.blockMode == BlockMode::BLOCK_MODE_NORMAL, "DataCopy",
                            "fractals are copied from L0C only");
    DataCopy(dst, src.template ReinterpretCast<T>(), p, w);
}
template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &p,
                     const DataCopyEnhancedParams &, asc_cpu::Where w = asc_cpu::Where::here()) {
    DataCopy(dst, src, p, w);
}
template <typename T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                     const DataCopyEnhancedParams &, asc_cpu::Where w = asc_cpu::Where::here()) {
    DataCopy(dst, src, p, w);
}

/* Of a bias of 16-bit elements in L1, into the bias table as float. */
inline void DataCopy(const LocalTensor<float> &dst, const LocalTensor<half> &src, const DataCopyParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::need_parameter(w, dst.space() == asc_cpu::Space::BT, "DataCopy",
                            "half becomes float in the bias table only");
    const uint32_t count = p.blockCount, n = p.blockLen * 64u / 2;
    const int64_t from_step = p.blockLen * 64 + p.srcStride * 32, to_step = p.blockLen * 128 + p.dstStride * 64;
    const asc_cpu::Operand target = asc_cpu::writes_bytes(dst, {0, n * uint64_t(4), count, to_step});
    const asc_cpu::Operand source = asc_cpu::reads_bytes(src, {0, n * uint64_t(2), count, from_step});
    uint8_t *const t = target.base;
    const uint8_t *const s = source.base;
    asc_cpu::issue(PIPE_MTE1, "DataCopy", w, {target, source}, [=] {
        for (uint32_t run = 0; run < count; run++)
            for (uint32_t i = 0; i < n; i++) {
                const float value = asc_cpu::operand_at<half, float>(s + run * from_step, i, asc_cpu::Hf32::Off);
                std::memcpy(t + run * to_step + i * sizeof value, &value, sizeof value);
            }
    });
}

}  // namespace AscendC
