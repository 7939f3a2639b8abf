/* DropOut: elements that a mask keeps, divided by the probability of keeping one; the others become 0. */
#pragma once

#include "rows.h"

namespace AscendC {

/* firstAxis rows of srcLastAxis elements; a row of the mask has maskLastAxis bytes. */
struct DropOutShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};

constexpr uint32_t DROPOUT_MODE_BYTE_MISALIGN = 1, DROPOUT_MODE_BYTE_ALIGN = 2, DROPOUT_MODE_BIT_ALIGN = 3,
                   DROPOUT_MODE_BIT_MISALIGN = 4;

/* dropOutMode: 1 and 2 a byte of the mask for each element, 3 and 4 a bit; 0 tells by the length of its rows. */
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
inline void DropOut(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &mask,
                    const float keepProb, const DropOutShapeInfo &info, asc_cpu::Where w = asc_cpu::Where::here()) {
    const bool bits = dropOutMode >= 3 || (dropOutMode == 0 && info.maskLastAxis < info.srcLastAxis);
    const uint64_t columns = info.srcLastAxis, row = info.maskLastAxis, size = uint64_t(info.firstAxis) * columns;
    T *const y = dst.data();
    const T *const x = src.data();
    const uint8_t *const m = mask.data();
    asc_cpu::issue(PIPE_V, "DropOut", w, {dst.writes(size), src.reads(size), mask.reads(info.firstAxis * row)}, [=] {
        for (uint64_t i = 0; i < size; i++) {
            const uint8_t *const line = m + i / columns * row;
            const uint64_t at = i % columns;
            const bool keep = bits ? line[at / 8] >> at % 8 & 1 : line[at] != 0;
            y[i] = T(keep ? double(x[i]) / double(keepProb) : 0.0);
        }
    });
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
inline void DropOut(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &mask,
                    const LocalTensor<uint8_t> &scratch, const float keepProb, const DropOutShapeInfo &info,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    DropOut<T, isInitBitMode, dropOutMode>(dst, src, mask, keepProb, info, w);
}

}  // namespace AscendC
