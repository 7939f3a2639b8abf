/* Arithmetic on registers. What a mask leaves out becomes 0, or (MERGING) stays. Floats are computed in float. */
#pragma once

#include "move.h"

namespace AscendC::MicroAPI {

struct DefaultType {};
enum class RegLayout : uint8_t { ZERO, ONE, TWO, THREE, UNKNOWN };
enum class SatMode : int8_t { UNKNOWN = -1, NO_SAT, SAT };
struct CastTrait {
    RegLayout layoutMode = RegLayout::UNKNOWN;
    SatMode satMode = SatMode::UNKNOWN;
    MaskMergeMode mrgMode = MaskMergeMode::ZEROING;
    RoundMode roundMode = RoundMode::CAST_NONE;
};
constexpr CastTrait castTrait = {};
/* How it is a template's argument: by value where the language has that, as g++ fails on the address of a constant of a
 * template's function. */
#if __cplusplus >= 202002L
#define ASC_CAST_TRAIT CastTrait
#else
#define ASC_CAST_TRAIT const CastTrait &
#endif
enum class ReduceType : uint8_t { SUM, MAX, MIN };

}  // namespace AscendC::MicroAPI

namespace asc_cpu::registers {

using AscendC::MicroAPI::MaskMergeMode;

template <MaskMergeMode mode, typename T, typename F>
inline void each(RegTensor<T> &dst, const MaskReg &mask, F f) {
    for (uint32_t i = 0; i < RegTensor<T>::LANES; i++) {
        if (mask.has(i, sizeof(T)))
            dst.lane[i] = T(f(i));
        else if (mode == MaskMergeMode::ZEROING)
            dst.lane[i] = T(0);
    }
}

}  // namespace asc_cpu::registers

namespace AscendC::MicroAPI {

/* a, b, d: an element of each source and of the destination, in what T is computed in. */
#define ASC_REGISTERS1(name, ...)                                                                \
    template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E> \
    inline void name(RegTensor<E> &dst, const RegTensor<E> &src, const MaskReg &mask) {          \
        using C = asc_cpu::Compute<E>;                                                           \
        asc_cpu::registers::each<mode>(dst, mask, [&](uint32_t i) {                              \
            const C a = C(src.lane[i]);                                                          \
            return __VA_ARGS__;                                                                  \
        });                                                                                      \
    }
ASC_REGISTERS1(Abs, asc_cpu::size_of(a))
ASC_REGISTERS1(Neg, asc_cpu::negative(a))
ASC_REGISTERS1(Relu, asc_cpu::larger(a, C(0)))
ASC_REGISTERS1(Not, ~a)
ASC_REGISTERS1(Exp, std::exp(a))
ASC_REGISTERS1(Ln, std::log(a))
ASC_REGISTERS1(Log, std::log(a))
ASC_REGISTERS1(Log2, std::log2(a))
ASC_REGISTERS1(Log10, std::log10(a))
ASC_REGISTERS1(Sqrt, std::sqrt(a))
ASC_REGISTERS1(Rsqrt, C(1) / std::sqrt(a))
ASC_REGISTERS1(Reciprocal, C(1) / a)
#undef ASC_REGISTERS1

#define ASC_REGISTERS2(name, ...)                                                                                  \
    template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E>                   \
    inline void name(RegTensor<E> &dst, const RegTensor<E> &src0, const RegTensor<E> &src1, const MaskReg &mask) { \
        using C = asc_cpu::Compute<E>;                                                                             \
        asc_cpu::registers::each<mode>(dst, mask, [&](uint32_t i) {                                                \
            const C a = C(src0.lane[i]), b = C(src1.lane[i]), d = C(dst.lane[i]);                                  \
            (void)d;                                                                                               \
            return __VA_ARGS__;                                                                                    \
        });                                                                                                        \
    }
ASC_REGISTERS2(Add, asc_cpu::plus(a, b))
ASC_REGISTERS2(Sub, asc_cpu::minus(a, b))
ASC_REGISTERS2(Mul, asc_cpu::times(a, b))
ASC_REGISTERS2(Div, asc_cpu::over(a, b))
ASC_REGISTERS2(Max, asc_cpu::larger(a, b))
ASC_REGISTERS2(Min, asc_cpu::smaller(a, b))
ASC_REGISTERS2(And, a &b)
ASC_REGISTERS2(Or, a | b)
ASC_REGISTERS2(Xor, a ^ b)
ASC_REGISTERS2(ShiftLeft, asc_cpu::shifted_left(a, int64_t(b)))
ASC_REGISTERS2(ShiftRight, asc_cpu::shifted_right(a, int64_t(b), false))
ASC_REGISTERS2(MulAddDst, asc_cpu::plus(asc_cpu::times(a, b), d))
ASC_REGISTERS2(FusedMulDstAdd, asc_cpu::plus(asc_cpu::times(d, a), b))
#undef ASC_REGISTERS2

#define ASC_REGISTERS_SCALAR(name, ...)                                                                        \
    template <typename T = DefaultType, typename S = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, \
              typename E, typename N>                                                                          \
    inline void name(RegTensor<E> &dst, const RegTensor<E> &src, const N &scalar, const MaskReg &mask) {       \
        using C = asc_cpu::Compute<E>;                                                                         \
        const C b = C(E(scalar));                                                                              \
        asc_cpu::registers::each<mode>(dst, mask, [&](uint32_t i) {                                            \
            const C a = C(src.lane[i]);                                                                        \
            return __VA_ARGS__;                                                                                \
        });                                                                                                    \
    }
ASC_REGISTERS_SCALAR(Adds, asc_cpu::plus(a, b))
ASC_REGISTERS_SCALAR(Muls, asc_cpu::times(a, b))
ASC_REGISTERS_SCALAR(Maxs, asc_cpu::larger(a, b))
ASC_REGISTERS_SCALAR(Mins, asc_cpu::smaller(a, b))
ASC_REGISTERS_SCALAR(ShiftLefts, asc_cpu::shifted_left(a, int64_t(b)))
ASC_REGISTERS_SCALAR(ShiftRights, asc_cpu::shifted_right(a, int64_t(b), false))
ASC_REGISTERS_SCALAR(LeakyRelu, a >= C(0) ? a : asc_cpu::times(a, b))
#undef ASC_REGISTERS_SCALAR

template <typename T = DefaultType, typename E, typename N>
inline void Duplicate(RegTensor<E> &dst, const N &scalar) {
    for (E &x : dst.lane) x = E(scalar);
}
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E, typename N,
          typename = std::enable_if_t<std::is_convertible_v<N, E>>>
inline void Duplicate(RegTensor<E> &dst, const N &scalar, const MaskReg &mask) {
    asc_cpu::registers::each<mode>(dst, mask, [&](uint32_t) { return E(scalar); });
}
/* The first element of a register in all lanes. */
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E>
inline void Duplicate(RegTensor<E> &dst, const RegTensor<E> &src, const MaskReg &mask) {
    const E first = src.lane[0];
    asc_cpu::registers::each<mode>(dst, mask, [&](uint32_t) { return first; });
}
template <typename T = DefaultType, typename E, typename N>
inline void Arange(RegTensor<E> &dst, const N &first) {
    for (uint32_t i = 0; i < RegTensor<E>::LANES; i++) dst.lane[i] = E(E(first) + E(i));
}

template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, typename E>
inline void Compare(MaskReg &dst, const RegTensor<E> &src0, const RegTensor<E> &src1, const MaskReg &mask) {
    using C = asc_cpu::Compute<E>;
    MaskReg made;
    for (uint32_t i = 0; i < RegTensor<E>::LANES; i++)
        for (uint32_t b = 0; b < sizeof(E); b++)
            made.set(i * uint32_t(sizeof(E)) + b,
                     mask.has(i, sizeof(E)) && asc_cpu::compares(C(src0.lane[i]), C(src1.lane[i]), mode));
    dst = made;
}
template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, typename E, typename N>
inline void CompareScalar(MaskReg &dst, const RegTensor<E> &src, const N &scalar, const MaskReg &mask) {
    RegTensor<E> all;
    Duplicate(all, scalar);
    Compare<E, mode>(dst, src, all, mask);
}
template <typename T = DefaultType, CMPMODE mode = CMPMODE::EQ, typename E, typename N>
inline void Compares(MaskReg &dst, const RegTensor<E> &src, const N &scalar, const MaskReg &mask) {
    CompareScalar<T, mode>(dst, src, scalar, mask);
}
/* src0 where the mask has a lane, else src1. */
template <typename T = DefaultType, typename E>
inline void Select(RegTensor<E> &dst, const RegTensor<E> &src0, const RegTensor<E> &src1, const MaskReg &mask) {
    for (uint32_t i = 0; i < RegTensor<E>::LANES; i++)
        dst.lane[i] = mask.has(i, sizeof(E)) ? src0.lane[i] : src1.lane[i];
}

/* Of all lanes that the mask names: a sum in lane 0; a maximum or minimum there, and its place in lane 1. */
template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E>
inline void ReduceSum(RegTensor<E> &dst, const RegTensor<E> &src, const MaskReg &mask) {
    using C = asc_cpu::Compute<E>;
    C sum = C(0);
    for (uint32_t i = 0; i < RegTensor<E>::LANES; i++)
        if (mask.has(i, sizeof(E))) sum = asc_cpu::plus(sum, C(src.lane[i]));
    if (mode == MaskMergeMode::ZEROING) dst = {};
    dst.lane[0] = E(sum);
}
#define ASC_REGISTERS_BEST(name, sign)                                                                                \
    template <typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E>                      \
    inline void name(RegTensor<E> &dst, const RegTensor<E> &src, const MaskReg &mask) {                               \
        uint32_t best = RegTensor<E>::LANES;                                                                          \
        for (uint32_t i = 0; i < RegTensor<E>::LANES; i++)                                                            \
            if (mask.has(i, sizeof(E)) && (best == RegTensor<E>::LANES || src.lane[i] sign src.lane[best])) best = i; \
        const E value = best < RegTensor<E>::LANES ? src.lane[best] : E(0);                                           \
        if (mode == MaskMergeMode::ZEROING) dst = {};                                                                 \
        dst.lane[0] = value, dst.lane[1] = asc_cpu::index_as<E>(best % RegTensor<E>::LANES);                          \
    }
ASC_REGISTERS_BEST(ReduceMax, >)
ASC_REGISTERS_BEST(ReduceMin, <)
#undef ASC_REGISTERS_BEST
template <ReduceType type, typename T = DefaultType, MaskMergeMode mode = MaskMergeMode::ZEROING, typename E>
inline void Reduce(RegTensor<E> &dst, const RegTensor<E> &src, const MaskReg &mask) {
    if constexpr (type == ReduceType::SUM)
        ReduceSum<T, mode>(dst, src, mask);
    else if constexpr (type == ReduceType::MAX)
        ReduceMax<T, mode>(dst, src, mask);
    else
        ReduceMin<T, mode>(dst, src, mask);
}

/* An element in another type, with what is too large for it: the largest there is; without saturation the low bits of
 * an integer, and infinity. Of a floating number that is too large for an integer the documentation says nothing. */
template <typename D, typename S>
inline D cast_to(S x, SatMode saturation, RoundMode round) {
    constexpr bool to_integer = !asc_cpu::is_floating<D> && !std::is_same_v<D, int4b_t>;
    if constexpr (to_integer && std::is_integral_v<S>) {
        if (saturation == SatMode::NO_SAT) return D(x);
    } else if constexpr (to_integer) {
        const double whole = asc_cpu::rounded(double(x), round);
        if (saturation == SatMode::NO_SAT && !(whole >= asc_cpu::lowest_of<D> && whole <= asc_cpu::highest_of<D>))
            asc_cpu::fail_with("ErrorParam", "write SatMode::SAT, or let no value be too large",
                               "Cast: %g is too large for the integer, and SatMode::NO_SAT leaves it undefined", whole);
    } else if constexpr (asc_cpu::is_half_type<D>) {
        const D made = asc_cpu::to_type<D>(x, round);
        constexpr uint16_t infinity = std::is_same_v<D, half> ? 0x7C00 : 0x7F80;
        const uint16_t bits = asc_cpu::bits_as<uint16_t>(made);
        if (saturation == SatMode::SAT && (bits & 0x7FFF) == infinity) return asc_cpu::bits_as<D>(uint16_t(bits - 1));
        return made;
    }
    return asc_cpu::to_type<D>(x, round);
}

/* Between types of different size, the layout says which of the narrower lanes beside a wider one is meant. */
template <typename D, typename S, ASC_CAST_TRAIT trait = castTrait>
inline void Cast(RegTensor<D> &dst, const RegTensor<S> &src, const MaskReg &mask) {
    constexpr uint32_t ratio = uint32_t(sizeof(D) > sizeof(S) ? sizeof(D) / sizeof(S) : sizeof(S) / sizeof(D));
    constexpr uint32_t part = trait.layoutMode == RegLayout::UNKNOWN ? 0 : uint32_t(trait.layoutMode) % ratio;
    constexpr size_t wide = sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S);
    const RegTensor<S> from = src;
    if (trait.mrgMode == MaskMergeMode::ZEROING) dst = {};
    for (uint32_t i = 0; i < 256 / wide; i++) {
        if (!mask.has(i, wide)) continue;
        const uint32_t to = sizeof(D) < sizeof(S) ? i * ratio + part : i;
        const uint32_t at = sizeof(D) > sizeof(S) ? i * ratio + part : i;
        dst.lane[to] = cast_to<D>(asc_cpu::Compute<S>(from.lane[at]), trait.satMode, trait.roundMode);
    }
}
template <typename T, RoundMode round, MaskMergeMode mode = MaskMergeMode::ZEROING>
inline void Truncate(RegTensor<T> &dst, const RegTensor<T> &src, const MaskReg &mask) {
    asc_cpu::registers::each<mode>(dst, mask, [&](uint32_t i) { return asc_cpu::rounded(double(src.lane[i]), round); });
}

}  // namespace AscendC::MicroAPI
