/* Element types and qualifiers of Ascend C.
 *
 * Address space and function qualifiers mean nothing on a CPU, where every space is ordinary memory. half is _Float16
 * where the compiler has it, else a class that rounds in the same way; bfloat16_t is a class. Both widen to float by
 * themselves and are made from any number, rounding to nearest even.
 */
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

/* A kernel that is compiled for both kinds of core is found by its visibility, and called by its symbol. */
#ifndef ASC_CORES_JOINED
#define __global__
#elif defined(__clang__)
#define __global__ __attribute__((visibility("protected"), noinline))
#else
#define __global__ __attribute__((visibility("protected"), noipa))
#endif
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#define __aicore__
#define __BLOCK_LOCAL__ thread_local
#define __WORKGROUP_LOCAL__ thread_local
#define __host_aicore__
#define __vector__
#define __cube__
#define __mix__(...)
#define __simd_callee__
#define __simd_vf__
#define __simt_callee__
#define __SIMT_DEVICE_FUNCTIONS_DECL__
#define __simt_vf__
#define __launch_bounds__(...)
#ifndef LAUNCH_BOUND
#define LAUNCH_BOUND(...)
#endif
#define __local_mem__
#define __gm__
#define __ubuf__
#define __ub__
#ifndef __aarch64__ /* whose compilers have a type of this name */
#define __fp16 half
#endif
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __ssbuf__
#define __biasbuf__
#define __sync_alias__
#define __sync_noalias__
#define __sync_out__
#define __sync_in__
#define __in_pipe__(...)
#define __out_pipe__(...)
#define __inout_pipe__(...)
#define __check_sync_alias__
#define __kfc_workspace__
#define GM_ADDR uint8_t *

/* The generation that kernels ask for: of Ascend910B. */
#ifndef __CCE_AICORE__
#define __CCE_AICORE__ 220
#endif
#ifndef __NPU_ARCH__
#define __NPU_ARCH__ 2201
#endif

namespace asc_cpu {

template <typename To, typename From>
constexpr To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same number of bytes");
    return __builtin_bit_cast(To, from);
}

constexpr uint16_t bfloat16_bits(float value) {
    const uint32_t word = bits_as<uint32_t>(value);
    if ((word & 0x7FFFFFFF) > 0x7F800000) return uint16_t(word >> 16 | 0x40);
    return uint16_t((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}
constexpr float bfloat16_value(uint16_t bits) {
    return bits_as<float>(uint32_t(bits) << 16);
}

/* IEEE binary16 in software, for compilers without _Float16. */
constexpr uint16_t half_bits(float value) {
    const uint32_t word = bits_as<uint32_t>(value), sign = word >> 16 & 0x8000, size = word & 0x7FFFFFFF;
    if (size > 0x7F800000) return uint16_t(sign | 0x7E00);
    if (size >= 0x477FF000) return uint16_t(sign | 0x7C00);
    if (size >= 0x38800000) {
        const uint32_t moved = size - 0x38000000;
        return uint16_t(sign | (moved + 0xFFF + (moved >> 13 & 1)) >> 13);
    }
    if (size < 0x33000000) return uint16_t(sign);
    const uint32_t shift = 126 - (size >> 23), whole = (size & 0x7FFFFF) | 0x800000, half = 1u << (shift - 1);
    const uint32_t kept = whole >> shift, rest = whole & ((1u << shift) - 1);
    return uint16_t(sign | (kept + (rest > half || (rest == half && (kept & 1)))));
}
constexpr float half_value(uint16_t bits) {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3FF;
    if (exponent == 31) return bits_as<float>(sign | 0x7F800000 | fraction << 13);
    if (exponent) return bits_as<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float size = float(fraction) * 0x1p-24f;
    return sign ? -size : size;
}

}  // namespace asc_cpu

struct bfloat16_t {
    uint16_t bits = 0;
    constexpr bfloat16_t() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    constexpr bfloat16_t(T value) : bits(asc_cpu::bfloat16_bits(float(value))) {}
#ifdef __FLT16_MANT_DIG__
    constexpr bfloat16_t(_Float16 value) : bits(asc_cpu::bfloat16_bits(float(value))) {}
#endif
    constexpr operator float() const { return asc_cpu::bfloat16_value(bits); }
    bfloat16_t &operator+=(float other) { return *this = bfloat16_t(float(*this) + other); }
    bfloat16_t &operator-=(float other) { return *this = bfloat16_t(float(*this) - other); }
    bfloat16_t &operator*=(float other) { return *this = bfloat16_t(float(*this) * other); }
    bfloat16_t &operator/=(float other) { return *this = bfloat16_t(float(*this) / other); }
};

#ifdef __FLT16_MANT_DIG__
using half = _Float16;
#else
struct half {
    uint16_t bits = 0;
    constexpr half() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    constexpr half(T value) : bits(asc_cpu::half_bits(float(value))) {}
    constexpr half(bfloat16_t value) : bits(asc_cpu::half_bits(float(value))) {}
    constexpr operator float() const { return asc_cpu::half_value(bits); }
    half &operator+=(float other) { return *this = half(float(*this) + other); }
    half &operator-=(float other) { return *this = half(float(*this) - other); }
    half &operator*=(float other) { return *this = half(float(*this) * other); }
    half &operator/=(float other) { return *this = half(float(*this) / other); }
};
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wliteral-suffix"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wuser-defined-literals"
#endif
/* 0.5h, as the documents write. */
constexpr half operator""h(long double value) {
    return half(float(value));
}
constexpr half operator""h(unsigned long long value) {
    return half(float(value));
}
#pragma GCC diagnostic pop

using float32_t = float;
using float16_t = half;
using float64_t = double;

namespace AscendC {
/* Half a byte: tensors of it hold two to the byte, the lower bits first. Alone it takes a byte. */
struct int4b_t {
    int8_t value = 0;
    constexpr int4b_t() = default;
    constexpr int4b_t(int number) : value(int8_t(number)) {}
    constexpr operator int() const { return value; }
};
using int4x2_t = uint8_t;
}  // namespace AscendC
using AscendC::int4b_t;

namespace asc_cpu {

template <typename T>
constexpr bool is_half_type = std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>;
/* Whether T is a floating type of the device, half types included. */
template <typename T>
constexpr bool is_floating = is_half_type<T> || std::is_floating_point_v<T>;
template <typename T>
constexpr uint32_t bits_of = std::is_same_v<T, int4b_t> ? 4 : uint32_t(sizeof(T) * 8);
/* Bytes that n elements take. */
template <typename T>
constexpr uint64_t bytes_of(uint64_t n) {
    return n * bits_of<T> / 8;
}
/* The type a computation on T is done in: float for half types, which round after each instruction. */
template <typename T>
using Compute = std::conditional_t<is_half_type<T>, float, T>;
/* T where T is known from another argument: std::type_identity_t, which C++17 has not. */
template <typename T>
struct Identity {
    using Type = T;
};
template <typename T>
using Same = typename Identity<T>::Type;

}  // namespace asc_cpu
