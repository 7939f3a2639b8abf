/* The vector unit: elementwise arithmetic, casts, masks, reductions. Operands start at blocks of 32 bytes. */
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "copy.h"

namespace AscendC {

enum class RoundMode : uint8_t { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };

/* T where T is known from another argument: std::type_identity_t, which C++17 has not. */
template <typename T>
using Same = typename std::enable_if<true, T>::type;

/* The type a computation on T is done in; integers wrap in their own. */
template <typename T>
using Compute = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>, float, T>;

template <typename T, typename F>
inline void map1(const LocalTensor<T> &to, const LocalTensor<T> &from, int32_t n, F f) {
    to.aligned("ErrorWrite4");
    from.aligned("ErrorRead4");
    const T *x = from.read(0, uint64_t(n));
    T *y = to.write(0, uint64_t(n));
    for (int32_t i = 0; i < n; i++) y[i] = T(f(Compute<T>(x[i])));
}
template <typename T, typename F>
inline void map2(const LocalTensor<T> &to, const LocalTensor<T> &left, const LocalTensor<T> &right, int32_t n, F f) {
    to.aligned("ErrorWrite4");
    left.aligned("ErrorRead4");
    right.aligned("ErrorRead4");
    const T *a = left.read(0, uint64_t(n)), *b = right.read(0, uint64_t(n));
    T *y = to.write(0, uint64_t(n));
    for (int32_t i = 0; i < n; i++) y[i] = T(f(Compute<T>(a[i]), Compute<T>(b[i])));
}

template <typename C>
inline C larger(C a, C b) {
    return a != a || a > b ? a : b;
}
template <typename C>
inline C smaller(C a, C b) {
    return a != a || a < b ? a : b;
}

#define ASC_BINARY(name, value)                                                                                     \
    template <typename T>                                                                                           \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const int32_t &n) { \
        map2(d, x, y, n, [](auto a, auto b) { return value; });                                                     \
    }
ASC_BINARY(Add, a + b)
ASC_BINARY(Sub, a - b)
ASC_BINARY(Mul, a *b)
ASC_BINARY(Div, a / b)
ASC_BINARY(Max, larger(a, b))
ASC_BINARY(Min, smaller(a, b))
ASC_BINARY(And, a &b)
ASC_BINARY(Or, a | b)
#undef ASC_BINARY

#define ASC_UNARY(name, value)                                                             \
    template <typename T>                                                                  \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const int32_t &n) { \
        map1(d, x, n, [](auto a) { return value; });                                       \
    }
ASC_UNARY(Exp, std::exp(a))
ASC_UNARY(Ln, std::log(a))
ASC_UNARY(Abs, std::abs(a))
ASC_UNARY(Sqrt, std::sqrt(a))
ASC_UNARY(Rsqrt, 1.0f / std::sqrt(a))
ASC_UNARY(Reciprocal, 1.0f / a)
ASC_UNARY(Relu, larger(a, decltype(a)(0)))
ASC_UNARY(Not, ~a)
#undef ASC_UNARY

#define ASC_SCALAR(name, value)                                                                       \
    template <typename T>                                                                             \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, Same<T> s, const int32_t &n) { \
        const Compute<T> b = Compute<T>(s);                                                           \
        map1(d, x, n, [b](auto a) { return value; });                                                 \
    }
ASC_SCALAR(Adds, a + b)
ASC_SCALAR(Muls, a *b)
ASC_SCALAR(Maxs, larger(a, b))
ASC_SCALAR(Mins, smaller(a, b))
ASC_SCALAR(LeakyRelu, a >= 0 ? a : a * b)
#undef ASC_SCALAR

template <typename T>
inline void Duplicate(const LocalTensor<T> &to, Same<T> value, const int32_t &n) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Duplicate has types of two and four bytes");
    to.aligned("ErrorWrite4");
    T *y = to.write(0, uint64_t(n));
    for (int32_t i = 0; i < n; i++) y[i] = value;
}

template <typename T>
inline void ArithProgression(const LocalTensor<T> &to, Same<T> first, Same<T> step, int32_t n) {
    to.aligned("ErrorWrite4");
    T *y = to.write(0, uint64_t(n));
    for (int32_t i = 0; i < n; i++) y[i] = T(float(first) + float(step) * float(i));
}

inline float rounded(float x, RoundMode mode) {
    switch (mode) {
        case RoundMode::CAST_FLOOR: return std::floor(x);
        case RoundMode::CAST_CEIL: return std::ceil(x);
        case RoundMode::CAST_ROUND: return std::round(x);
        case RoundMode::CAST_TRUNC: return std::trunc(x);
        default: return std::nearbyint(x);
    }
}

/* The casts of the vector unit. */
template <typename U, typename T>
constexpr bool castable() {
    using std::is_same_v;
    if (is_same_v<T, float>)
        return is_same_v<U, float> || is_same_v<U, half> || is_same_v<U, bfloat16_t> || is_same_v<U, int16_t> ||
               is_same_v<U, int32_t> || is_same_v<U, int64_t>;
    if (is_same_v<T, half>)
        return is_same_v<U, float> || is_same_v<U, int32_t> || is_same_v<U, int16_t> || is_same_v<U, int8_t> ||
               is_same_v<U, uint8_t>;
    if (is_same_v<T, bfloat16_t>) return is_same_v<U, float> || is_same_v<U, int32_t>;
    if (is_same_v<T, int8_t> || is_same_v<T, uint8_t>) return is_same_v<U, half>;
    if (is_same_v<T, int16_t>) return is_same_v<U, float> || is_same_v<U, half>;
    if (is_same_v<T, int32_t>) return is_same_v<U, float> || is_same_v<U, int16_t> || is_same_v<U, int64_t>;
    return is_same_v<T, int64_t> && (is_same_v<U, float> || is_same_v<U, int32_t>);
}

/* float to float rounds to integers; to an integer type saturates, NaN giving 0; between floats rounds to nearest. */
template <typename U, typename T>
inline void Cast(const LocalTensor<U> &to, const LocalTensor<T> &from, RoundMode mode, uint32_t n) {
    static_assert(castable<U, T>(), "the vector unit has no cast between these types");
    to.aligned("ErrorWrite4");
    from.aligned("ErrorRead4");
    const T *x = from.read(0, n);
    U *y = to.write(0, n);
    std::vector<T> copy(x, x + n);
    for (uint32_t i = 0; i < n; i++) {
        float value = float(copy[i]);
        if constexpr (std::is_integral_v<U>) {
            value = value != value ? 0 : rounded(value, mode);
            double low = double(std::numeric_limits<U>::min()), high = double(std::numeric_limits<U>::max());
            y[i] = value <= low    ? std::numeric_limits<U>::min()
                   : value >= high ? std::numeric_limits<U>::max()
                                   : U(value);
        } else if constexpr (std::is_same_v<U, T>) {
            y[i] = U(rounded(value, mode));
        } else {
            y[i] = U(value);
        }
    }
}

inline void whole_repeats(uint64_t bytes) {
    if (bytes % 256)
        asc_cpu::fail("ErrorRead4", "Compare of %llu bytes, which are no whole repeats of 256",
                      (unsigned long long)bytes);
}
template <typename C>
inline bool compares(C a, C b, CMPMODE mode) {
    switch (mode) {
        case CMPMODE::LT: return a < b;
        case CMPMODE::GT: return a > b;
        case CMPMODE::EQ: return a == b;
        case CMPMODE::LE: return a <= b;
        case CMPMODE::GE: return a >= b;
        default: return a != b;
    }
}
inline void set_bit(uint8_t *bits, uint32_t i, bool value) {
    bits[i / 8] = uint8_t((bits[i / 8] & ~(1u << i % 8)) | unsigned(value) << i % 8);
}

/* A bit per element, the lowest first. */
template <typename T>
inline void Compare(const LocalTensor<uint8_t> &to, const LocalTensor<T> &left, const LocalTensor<T> &right,
                    CMPMODE mode, uint32_t n) {
    whole_repeats(n * sizeof(T));
    to.aligned("ErrorWrite4");
    left.aligned("ErrorRead4");
    right.aligned("ErrorRead4");
    const T *a = left.read(0, n), *b = right.read(0, n);
    uint8_t *bits = to.write(0, n / 8);
    for (uint32_t i = 0; i < n; i++) set_bit(bits, i, compares(Compute<T>(a[i]), Compute<T>(b[i]), mode));
}
template <typename T>
inline void CompareScalar(const LocalTensor<uint8_t> &to, const LocalTensor<T> &left, Same<T> right, CMPMODE mode,
                          uint32_t n) {
    whole_repeats(n * sizeof(T));
    to.aligned("ErrorWrite4");
    left.aligned("ErrorRead4");
    const T *a = left.read(0, n);
    uint8_t *bits = to.write(0, n / 8);
    for (uint32_t i = 0; i < n; i++) set_bit(bits, i, compares(Compute<T>(a[i]), Compute<T>(right), mode));
}

template <typename T>
inline void Select(const LocalTensor<T> &to, const LocalTensor<uint8_t> &mask, const LocalTensor<T> &left,
                   const LocalTensor<T> &right, SELMODE mode, uint32_t n) {
    if (mode != SELMODE::VSEL_TENSOR_TENSOR_MODE)
        asc_cpu::fail("ErrorRead1", "Select of two tensors in a mode for a scalar");
    const uint8_t *bits = mask.read(0, (n + 7) / 8);
    uint32_t i = 0;
    map2(to, left, right, int32_t(n), [&](auto a, auto b) { return bits[i / 8] >> i % 8 & 1 ? (i++, a) : (i++, b); });
}
template <typename T>
inline void Select(const LocalTensor<T> &to, const LocalTensor<uint8_t> &mask, const LocalTensor<T> &left,
                   Same<T> right, SELMODE mode, uint32_t n) {
    if (mode != SELMODE::VSEL_TENSOR_SCALAR_MODE)
        asc_cpu::fail("ErrorRead1", "Select with a scalar in a mode for two tensors");
    const uint8_t *bits = mask.read(0, (n + 7) / 8);
    uint32_t i = 0;
    const Compute<T> b = Compute<T>(right);
    map1(to, left, int32_t(n), [&](auto a) { return bits[i / 8] >> i % 8 & 1 ? (i++, a) : (i++, b); });
}

/* Folds n elements by halves, as the unit's tree does: an error grows with the logarithm of n. */
template <typename T, typename F>
inline T fold(const T *x, int32_t n, F f) {
    if (n == 1) return x[0];
    return T(f(Compute<T>(fold(x, n / 2, f)), Compute<T>(fold(x + n / 2, n - n / 2, f))));
}
template <typename T, typename F>
inline void reduce(const LocalTensor<T> &to, const LocalTensor<T> &from, const LocalTensor<T> &work, int32_t n, F f) {
    if (n <= 0) asc_cpu::fail("ErrorRead1", "a reduction of %d elements", n);
    from.aligned("ErrorRead4");
    work.aligned("ErrorWrite4");
    const int32_t repeats = int32_t((uint64_t(n) * sizeof(T) + 255) / 256);
    work.write(0, uint64_t(repeats));
    const T *x = from.read(0, uint64_t(n));
    const T result = fold(x, n, f);
    *to.write(0, 1) = result;
}
template <typename T>
inline void ReduceSum(const LocalTensor<T> &to, const LocalTensor<T> &from, const LocalTensor<T> &work, int32_t n) {
    reduce(to, from, work, n, [](auto a, auto b) { return a + b; });
}
template <typename T>
inline void ReduceMax(const LocalTensor<T> &to, const LocalTensor<T> &from, const LocalTensor<T> &work, int32_t n,
                      bool index = false) {
    if (index) asc_cpu::fail("ErrorRead1", "ReduceMax with an index is not part of this subset");
    reduce(to, from, work, n, [](auto a, auto b) { return larger(a, b); });
}
template <typename T>
inline void ReduceMin(const LocalTensor<T> &to, const LocalTensor<T> &from, const LocalTensor<T> &work, int32_t n,
                      bool index = false) {
    if (index) asc_cpu::fail("ErrorRead1", "ReduceMin with an index is not part of this subset");
    reduce(to, from, work, n, [](auto a, auto b) { return smaller(a, b); });
}

}  // namespace AscendC
