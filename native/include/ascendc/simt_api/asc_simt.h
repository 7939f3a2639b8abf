/* simt_api/asc_simt.h: SIMT functions under the names of C. Our own implementation of public names. */
#pragma once

#include "../kernel_operator.h"

using dim3 = asc_cpu::simt::Dim3;
inline asc_cpu::simt::Index3 &threadIdx = asc_cpu::simt::the_thread;
inline asc_cpu::simt::Index3 &blockIdx = asc_cpu::simt::the_block;
inline dim3 &blockDim = asc_cpu::simt::the_threads;
inline dim3 &gridDim = asc_cpu::simt::the_grid;
constexpr int32_t warpSize = 32;

template <auto function, typename... Args>
inline void asc_vf_call(const asc_cpu::simt::Placed &threads, Args &&...args) {
    asc_cpu::simt::call<function>(threads, args...);
}
/* A function on registers, which takes all of the arguments. */
template <auto function, typename First, typename... Args,
          typename = std::enable_if_t<std::is_invocable_v<decltype(function), First, Args...>>>
inline void asc_vf_call(First &&first, Args &&...args) {
    AscendC::VF_CALL<function>(first, args...);
}
inline void asc_syncthreads(asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::Simt::ThreadBarrier(w);
}
inline void __syncthreads(asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::Simt::ThreadBarrier(w);
}
inline void asc_threadfence() {}
inline void asc_threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_block() {}

#define ASC_C_ATOMIC(c_name, other_name, name)                \
    template <typename T>                                     \
    inline T c_name(T *address, asc_cpu::Same<T> value) {     \
        return AscendC::Simt::name(address, value);           \
    }                                                         \
    template <typename T>                                     \
    inline T other_name(T *address, asc_cpu::Same<T> value) { \
        return AscendC::Simt::name(address, value);           \
    }
ASC_C_ATOMIC(asc_atomic_add, atomicAdd, AtomicAdd)
ASC_C_ATOMIC(asc_atomic_sub, atomicSub, AtomicSub)
ASC_C_ATOMIC(asc_atomic_exch, atomicExch, AtomicExch)
ASC_C_ATOMIC(asc_atomic_max, atomicMax, AtomicMax)
ASC_C_ATOMIC(asc_atomic_min, atomicMin, AtomicMin)
ASC_C_ATOMIC(asc_atomic_and, atomicAnd, AtomicAnd)
ASC_C_ATOMIC(asc_atomic_or, atomicOr, AtomicOr)
ASC_C_ATOMIC(asc_atomic_xor, atomicXor, AtomicXor)
ASC_C_ATOMIC(asc_atomic_inc, atomicInc, AtomicInc)
ASC_C_ATOMIC(asc_atomic_dec, atomicDec, AtomicDec)
#undef ASC_C_ATOMIC
template <typename T>
inline T asc_atomic_cas(T *address, asc_cpu::Same<T> expected, asc_cpu::Same<T> value) {
    return AscendC::Simt::AtomicCas(address, expected, value);
}
template <typename T>
inline T atomicCAS(T *address, asc_cpu::Same<T> expected, asc_cpu::Same<T> value) {
    return AscendC::Simt::AtomicCas(address, expected, value);
}

/* Loads and stores with a hint for caches, of which there is none. */
#define ASC_LOAD(name)                \
    template <typename T>             \
    inline T name(const T *address) { \
        return *address;              \
    }
#define ASC_STORE(name)                                    \
    template <typename T>                                  \
    inline void name(T *address, asc_cpu::Same<T> value) { \
        *address = value;                                  \
    }
ASC_LOAD(asc_ldca)
ASC_LOAD(asc_ldcg)
ASC_LOAD(asc_ldcs)
ASC_LOAD(asc_ldcv)
ASC_LOAD(__ldg)
enum class LD_L2CacheType : uint32_t { L2_CACHE_HINT_NORMAL_FV, L2_CACHE_HINT_NOTALLOC_CLEAN };
enum class ST_L2CacheType : uint32_t { L2_CACHE_HINT_NORMAL_FV, L2_CACHE_HINT_NOTALLOC_CLEAN };
enum L1CacheType : uint32_t { NON_CACHEABLE, CACHEABLE };
template <LD_L2CacheType, L1CacheType, typename T>
inline T __ldg(const T *address) {
    return *address;
}
template <ST_L2CacheType, L1CacheType, typename T>
inline void __stg(T *address, asc_cpu::Same<T> value) {
    *address = value;
}
ASC_STORE(asc_stcg)
ASC_STORE(asc_stcs)
ASC_STORE(asc_stwb)
ASC_STORE(asc_stwt)
ASC_STORE(__stg)
#undef ASC_LOAD
#undef ASC_STORE

inline int32_t __popc(uint32_t x) {
    return AscendC::Simt::Popc(x);
}
inline int32_t __popcll(uint64_t x) {
    return AscendC::Simt::Popc(x);
}
inline int32_t __clz(int32_t x) {
    return AscendC::Simt::Clz(x);
}
inline int32_t __ffs(int32_t x) {
    return AscendC::Simt::Ffs(x);
}
inline int32_t __clzll(int64_t x) {
    return AscendC::Simt::Clz(x);
}
inline int32_t __ffsll(int64_t x) {
    return AscendC::Simt::Ffs(x);
}
/* The higher half of a product. */
inline uint32_t __umulhi(uint32_t a, uint32_t b) {
    return uint32_t(uint64_t(a) * b >> 32);
}
inline int32_t __mulhi(int32_t a, int32_t b) {
    return int32_t(int64_t(a) * b >> 32);
}
inline uint64_t __umul64hi(uint64_t a, uint64_t b) {
    return uint64_t(AscendC::Simt::uint128_t(a) * b >> 64);
}
inline int64_t __mul64hi(int64_t a, int64_t b) {
    const uint64_t high = __umul64hi(uint64_t(a), uint64_t(b));
    return int64_t(high - (a < 0 ? uint64_t(b) : 0) - (b < 0 ? uint64_t(a) : 0));
}
inline float rsqrtf(float x) {
    return AscendC::Simt::Rsqrt(x);
}
inline float __expf(float x) {
    return std::exp(x);
}
inline float __logf(float x) {
    return std::log(x);
}
inline float __fdividef(float a, float b) {
    return a / b;
}
