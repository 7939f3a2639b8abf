/* Functions of the scalar unit, and numbers that a kernel asks for. */
#pragma once

#include "debug.h"

namespace AscendC {

/* How many bits of a number are `value`. */
template <int value>
inline int64_t ScalarGetCountOfValue(uint64_t number) {
    const int64_t ones = __builtin_popcountll(number);
    return value == 1 ? ones : 64 - ones;
}
inline int64_t ScalarCountLeadingZero(uint64_t number) {
    return number ? __builtin_clzll(number) : 64;
}
/* Bits below the sign that equal it. */
inline int64_t ScalarCountBitsCntSameAsSignBit(int64_t number) {
    return __builtin_clrsbll(number);
}
inline int64_t CountBitsCntSameAsSignBit(int64_t number) {
    return ScalarCountBitsCntSameAsSignBit(number);
}
/* The place of the lowest bit that is `value`, or -1. */
template <int value>
inline int64_t ScalarGetSFFValue(uint64_t number) {
    const uint64_t bits = value == 1 ? number : ~number;
    return bits ? __builtin_ctzll(bits) : -1;
}
template <int value>
inline int64_t GetSFFValue(uint64_t number) {
    return ScalarGetSFFValue<value>(number);
}
inline constexpr uint32_t GetDataBlockSizeInBytes() {
    return 32;
}
inline constexpr uint32_t GetUBSizeInBytes() {
    return TOTAL_UB_SIZE;
}
inline constexpr uint32_t GetVecLen() {
    return 256;
}
inline int64_t GetProgramCounter() {
    return 0;
}
inline int16_t GetArchVersion() {
    return 220;
}
/* a, rounded up to a multiple of b. */
template <typename T>
inline constexpr T Align(T a, asc_cpu::Same<T> b) {
    return b == 0 ? T(0) : T((a + b - 1) / b * b);
}
template <typename T>
inline constexpr T AlignUp(T a, asc_cpu::Same<T> b) {
    return b == 0 ? 0 : T((a + b - 1) / b * b);
}
/* Of numbers; those of tensors are vector instructions. */
template <typename T, typename U, typename = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U>>>
inline constexpr std::common_type_t<T, U> Min(T a, U b) {
    return a < b ? a : b;
}
template <typename T, typename U, typename = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<U>>>
inline constexpr std::common_type_t<T, U> Max(T a, U b) {
    return a > b ? a : b;
}
inline constexpr uint32_t DivCeil(uint32_t a, uint32_t b) {
    return (a + b - 1) / b;
}
inline constexpr uint32_t CeilDivision(int32_t a, int32_t b) {
    return uint32_t(b == 0 ? a : (a + b - 1) / b);
}

}  // namespace AscendC

/* The compiler's own, to which any others of these names are preferred: no call has what follows. */
template <typename A, typename B, typename... Never, typename = std::enable_if_t<sizeof...(Never) == 0>>
constexpr std::common_type_t<A, B> min(A a, B b, Never...) {
    using C = std::common_type_t<A, B>;
    return C(b) < C(a) ? C(b) : C(a);
}
template <typename A, typename B, typename... Never, typename = std::enable_if_t<sizeof...(Never) == 0>>
constexpr std::common_type_t<A, B> max(A a, B b, Never...) {
    using C = std::common_type_t<A, B>;
    return C(a) < C(b) ? C(b) : C(a);
}
inline int64_t get_block_idx() {
    return AscendC::GetBlockIdx();
}
inline int64_t get_block_num() {
    return AscendC::GetBlockNum();
}
inline int64_t get_subblockid() {
    return AscendC::GetSubBlockIdx();
}
inline int64_t get_subblockdim() {
    return AscendC::GetSubBlockNum();
}
inline int64_t get_coreid() {
    return asc_cpu::core().number;
}
/* A number with one bit cleared, or set. */
inline constexpr uint64_t sbitset0(uint64_t number, uint64_t bit) {
    return number & ~(uint64_t(1) << (bit & 63));
}
inline constexpr uint64_t sbitset1(uint64_t number, uint64_t bit) {
    return number | uint64_t(1) << (bit & 63);
}
/* An address of the unified buffer. */
inline uint64_t get_imm(uint64_t offset) {
    return reinterpret_cast<uint64_t>(asc_cpu::core().in(asc_cpu::Space::UB).data() + offset);
}
inline int64_t GET_BLOCK_IDX() {
    return AscendC::GetBlockIdx();
}
inline int64_t GET_BLOCK_NUM() {
    return AscendC::GetBlockNum();
}
inline void __sync_all(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    asc_cpu::blocks().sync();
}
/* block_idx and block_num, which older kernels write as variables. */
struct asc_cpu_block_idx {
    operator int64_t() const { return AscendC::GetBlockIdx(); }
};
struct asc_cpu_block_num {
    operator int64_t() const { return AscendC::GetBlockNum(); }
};
constexpr asc_cpu_block_idx block_idx{};
constexpr asc_cpu_block_num block_num{};
