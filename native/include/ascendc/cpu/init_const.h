/* InitConstValue: one value all over blocks of L1, L0A or L0B. */
#pragma once

#include "cube_operand.h"

namespace AscendC {

/* repeatTimes runs of blockNum blocks, dstGap blocks between them. A block is 32 bytes in L1, 512 in L0A and L0B. */
template <typename T>
struct InitConstValueParams {
    InitConstValueParams() = default;
    InitConstValueParams(uint16_t repeats, uint16_t blocks, uint16_t gap, T value)
        : repeatTimes(repeats), blockNum(blocks), dstGap(gap), initValue(value) {}
    InitConstValueParams(uint16_t repeats, T value) : InitConstValueParams(repeats, 1, 0, value) {}
    uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0;
    T initValue = T(0);
};

template <typename T, typename U = T>
inline void InitConstValue(const LocalTensor<T> &to, const InitConstValueParams<U> &p,
                           asc_cpu::Where w = asc_cpu::Where::here()) {
    using namespace asc_cpu;
    const uint32_t block = to.space() == Space::L0A || to.space() == Space::L0B ? FRACTAL_BYTES : C0_BYTES;
    const uint64_t bytes = uint64_t(p.blockNum) * block, step = bytes + uint64_t(p.dstGap) * block;
    const Operand target = writes_bytes(to, {0, bytes, p.repeatTimes, int64_t(step)}, block);
    need_parameter(w, target.space != Space::UB, "InitConstValue", "Duplicate is what fills the unified buffer");
    uint8_t *const t = target.base;
    const T value = T(p.initValue);
    const uint32_t repeats = p.repeatTimes;
    issue(PIPE_MTE1, "InitConstValue", w, {target}, [=] {
        for (uint32_t i = 0; i < repeats; i++)
            for (uint64_t at = 0; at < bytes; at += sizeof(T)) std::memcpy(t + i * step + at, &value, sizeof value);
    });
}
template <typename T, typename U>
inline void Fill(const LocalTensor<T> &to, const InitConstValueParams<U> &p,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    InitConstValue(to, p, w);
}

}  // namespace AscendC
