/* Elementwise instructions of two tensors. */
#pragma once

#include "convert.h"

namespace AscendC {

#define ASC_BINARY(name, apply, D, T, types, ...)                                                                      \
    template <ASC_LIST types, bool isSetMask = true>                                                                   \
    inline void name(const LocalTensor<D> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,                \
                     const int32_t &count, asc_cpu::Where w = asc_cpu::Where::here()) {                                \
        asc_cpu::apply(#name, w, dst, src0, src1, asc_cpu::Lanes(count, #name, w), {}, __VA_ARGS__);                   \
    }                                                                                                                  \
    template <ASC_LIST types, bool isSetMask = true>                                                                   \
    inline void name(const LocalTensor<D> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, uint64_t mask, \
                     const uint8_t repeatTimes, const BinaryRepeatParams &repeatParams,                                \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                      \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, isSetMask && mask != MASK_PLACEHOLDER, repeatTimes,                           \
                                   asc_cpu::wider_bits<D, T>, #name);                                                  \
        asc_cpu::apply(#name, w, dst, src0, src1, lanes, repeatParams, __VA_ARGS__);                                   \
    }                                                                                                                  \
    template <ASC_LIST types, bool isSetMask = true>                                                                   \
    inline void name(const LocalTensor<D> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,                \
                     const uint64_t mask[], const uint8_t repeatTimes, const BinaryRepeatParams &repeatParams,         \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                      \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, isSetMask, repeatTimes, asc_cpu::wider_bits<D, T>, #name);                    \
        asc_cpu::apply(#name, w, dst, src0, src1, lanes, repeatParams, __VA_ARGS__);                                   \
    }
#define ASC_LIST(...) __VA_ARGS__
/* The (count) form again with no parameter behind, less special than the first: calls take that one, and pointers to
 * functions this. */
#define ASC_SAME(name, ...)                                                                                            \
    ASC_BINARY(name, binary, T, T, (typename T), [](auto a, auto b) { return __VA_ARGS__; })                           \
    template <typename T, bool isSetMask = true, typename U = T, typename V = T>                                       \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<V> &src1,                \
                     const int32_t &count) {                                                                           \
        name<T, isSetMask>(dst, src0, src1, count, asc_cpu::Where::nowhere());                                         \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true, typename U = T, typename V = T>                                       \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<V> &src1, uint64_t mask, \
                     const uint8_t repeatTimes, const BinaryRepeatParams &repeatParams) {                              \
        name<T, isSetMask>(dst, src0, src1, mask, repeatTimes, repeatParams, asc_cpu::Where::nowhere());               \
    }

ASC_SAME(Add, asc_cpu::plus(a, b))
ASC_SAME(Sub, asc_cpu::minus(a, b))
ASC_SAME(Mul, asc_cpu::times(a, b))
ASC_SAME(Div, asc_cpu::over(a, b))
ASC_SAME(Max, asc_cpu::larger(a, b))
ASC_SAME(Min, asc_cpu::smaller(a, b))
ASC_SAME(And, a &b)
ASC_SAME(Or, a | b)
ASC_SAME(AddRelu, asc_cpu::larger(asc_cpu::plus(a, b), decltype(a)(0)))
ASC_SAME(SubRelu, asc_cpu::larger(asc_cpu::minus(a, b), decltype(a)(0)))
ASC_SAME(Prelu, a >= 0 ? a : asc_cpu::times(a, b))
#undef ASC_SAME

/* dst = src0*src1 + dst; the product is not rounded. */
ASC_BINARY(MulAddDst, ternary, U, T, (typename U, typename T), [](auto d, auto a, auto b) {
    return asc_cpu::plus(d, decltype(d)(asc_cpu::times(decltype(d)(a), decltype(d)(b))));
})
/* dst = src0*dst + src1 */
ASC_BINARY(FusedMulAdd, ternary, T, T, (typename T),
           [](auto d, auto a, auto b) { return asc_cpu::plus(asc_cpu::times(a, d), b); })
ASC_BINARY(FusedMulAddRelu, ternary, T, T, (typename T), [](auto d, auto a, auto b) {
    return asc_cpu::larger(asc_cpu::plus(asc_cpu::times(a, d), b), decltype(a)(0));
})
/* dst = the float result as another type */
ASC_BINARY(MulCast, binary, U, T, (typename U, typename T),
           [](auto a, auto b) { return asc_cpu::to_type<U>(asc_cpu::times(a, b)); })
ASC_BINARY(AddReluCast, binary, U, T, (typename U, typename T),
           [](auto a, auto b) { return asc_cpu::to_type<U>(asc_cpu::larger(asc_cpu::plus(a, b), decltype(a)(0))); })
ASC_BINARY(SubReluCast, binary, U, T, (typename U, typename T),
           [](auto a, auto b) { return asc_cpu::to_type<U>(asc_cpu::larger(asc_cpu::minus(a, b), decltype(a)(0))); })

#define ASC_OPERATOR(sign, name)                                                                  \
    template <typename T>                                                                         \
    inline Expression<T> operator sign(const LocalTensor<T> &left, const LocalTensor<T> &right) { \
        return {[](const LocalTensor<T> &to, const LocalTensor<T> &x, const LocalTensor<T> &y) {  \
                    name(to, x, y, int32_t(to.GetSize()), asc_cpu::Where::nowhere());             \
                },                                                                                \
                left, right};                                                                     \
    }
ASC_OPERATOR(+, Add)
ASC_OPERATOR(-, Sub)
ASC_OPERATOR(*, Mul)
ASC_OPERATOR(/, Div)
ASC_OPERATOR(&, And)
ASC_OPERATOR(|, Or)
#undef ASC_OPERATOR

}  // namespace AscendC
