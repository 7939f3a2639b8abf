/* State of a core that instructions depend on: vector masks, atomic copies, the caches of scalar accesses. */
#pragma once

#include "events.h"
#include "params.h"

namespace asc_cpu {
inline void set_atomic(Atomic what, Where w) {
    core().atomic = what;
    core().atomic_from = w;
}
}  // namespace asc_cpu

namespace AscendC {

inline void SetMaskCount() {
    asc_cpu::core().mask.counter = true;
}
inline void SetMaskNorm() {
    asc_cpu::core().mask.counter = false;
}
/* Of instructions that are given no mask of their own: bits, or in counter mode the number of elements. */
template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(const uint64_t high, const uint64_t low) {
    asc_cpu::VectorMask &mask = asc_cpu::core().mask;
    mask.bits[0] = low, mask.bits[1] = high;
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
inline void SetVectorMask(int32_t length) {
    asc_cpu::VectorMask &mask = asc_cpu::core().mask;
    if (mode == MaskMode::COUNTER || mask.counter) {
        mask.bits[0] = uint64_t(length), mask.bits[1] = 0;
        return;
    }
    mask.bits[0] = length >= 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1;
    mask.bits[1] = length <= 64 ? 0 : length >= 128 ? ~uint64_t(0) : (uint64_t(1) << (length - 64)) - 1;
}
inline void ResetMask() {
    asc_cpu::core().mask.bits[0] = asc_cpu::core().mask.bits[1] = ~uint64_t(0);
}

/* The first `length` elements of a repeat, or bits, as the mask of instructions that are given none. */
struct AscendCUtils {
    template <typename T>
    static void SetMask(int32_t length) {
        SetVectorMask<T>(length);
    }
    template <typename T>
    static void SetMask(uint64_t high, uint64_t low) {
        SetVectorMask<T>(high, low);
    }
    static void ResetMask() { AscendC::ResetMask(); }
    static constexpr int32_t GetBitSize(int32_t bytes) { return bytes * ONE_BYTE_BIT_SIZE; }
    /* Elements in a block of 32 bytes. */
    static constexpr int32_t GetC0Count(int32_t bytes) { return bytes ? DEFAULT_C0_SIZE / bytes : 0; }
    static constexpr int32_t GetC0Size() { return DEFAULT_C0_SIZE; }
    /* Values that overflow become infinity, whatever it says. */
    static void SetOverflow(uint64_t) {}
};

/* What copies to global memory do from here on. */
template <typename T>
inline void SetAtomicAdd(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_atomic(asc_cpu::Atomic::Add, w);
}
template <typename T>
inline void SetAtomicMax(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_atomic(asc_cpu::Atomic::Max, w);
}
template <typename T>
inline void SetAtomicMin(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_atomic(asc_cpu::Atomic::Min, w);
}
template <typename T>
inline void SetAtomicType() {}
inline void SetAtomicNone() {
    asc_cpu::core().atomic = asc_cpu::Atomic::None;
}
inline void DisableDmaAtomic() {
    SetAtomicNone();
}
enum class AtomicDtype : uint8_t {
    ATOMIC_NONE,
    ATOMIC_F32,
    ATOMIC_F16,
    ATOMIC_S16,
    ATOMIC_S32,
    ATOMIC_S8,
    ATOMIC_BF16
};
enum class AtomicOp : uint8_t { ATOMIC_SUM };
template <AtomicDtype type, AtomicOp op>
inline void SetStoreAtomicConfig(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::set_atomic(type == AtomicDtype::ATOMIC_NONE ? asc_cpu::Atomic::None : asc_cpu::Atomic::Add, w);
}

enum class CacheLine : uint8_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint8_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

/* Scalar accesses go to memory here, without a cache: their lines are always clean. */
template <typename T, CacheLine line, DcciDst to = DcciDst::CACHELINE_ALL>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &) {}
template <typename T, CacheLine line, DcciDst to = DcciDst::CACHELINE_ALL>
inline void DataCacheCleanAndInvalid(const LocalTensor<T> &) {}
template <typename T>
inline void DataCachePreload(const GlobalTensor<T> &, int64_t) {}
inline void ICachePreLoad(const int64_t) {}
#define PRELOAD(length) AscendC::ICachePreLoad(length)
#define icache_preload(length) AscendC::ICachePreLoad(length)
inline int64_t GetICachePreloadStatus() {
    return 0;
}

/* Control bits of the vector unit; of them only the saturation of casts would change a result. */
inline void SetCastOverflowMode(uint32_t) {}
template <int8_t begin, int8_t end>
inline void SetCtrlSpr(int64_t value) {
    constexpr uint64_t bits = (~0ull >> (63 - (end - begin))) << begin;
    uint64_t &all = asc_cpu::core().control_bits;
    all = (all & ~bits) | (uint64_t(value) << begin & bits);
}
template <int8_t begin, int8_t end>
inline int64_t GetCtrlSpr() {
    return int64_t(asc_cpu::core().control_bits >> begin & (~0ull >> (63 - (end - begin))));
}
template <int8_t begin, int8_t end>
inline void ResetCtrlSpr() {
    SetCtrlSpr<begin, end>(0);
}

/* One number added to global memory by the scalar unit. */
template <typename T>
inline T AtomicAdd(__gm__ T *address, asc_cpu::Same<T> value, asc_cpu::Where w = asc_cpu::Where::here()) {
    GlobalTensor<T> one;
    one.SetGlobalBuffer(address, 1);
    const T before = one.GetValue(0, w);
    one.SetValue(0, T(before + value), w);
    return before;
}

}  // namespace AscendC

enum class cache_line_t : uint8_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
using asc_cpu_cache_line = cache_line_t;
constexpr auto SINGLE_CACHE_LINE = cache_line_t::SINGLE_CACHE_LINE;
constexpr auto ENTIRE_DATA_CACHE = cache_line_t::ENTIRE_DATA_CACHE;
enum class dcci_dst_t : uint8_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
constexpr auto CACHELINE_ALL = dcci_dst_t::CACHELINE_ALL;
constexpr auto CACHELINE_OUT = dcci_dst_t::CACHELINE_OUT;
template <typename Line>
inline void dcci(const void *, Line, dcci_dst_t = CACHELINE_ALL) {}
enum class mem_dsb_t : uint8_t { DSB_ALL, DSB_DDR, DSB_UB, DSB_SEQ };
inline void dsb(mem_dsb_t, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::barrier(PIPE_ALL, w);
}
