/* Elementwise instructions of one tensor, and of a tensor and a number. */
#pragma once

#include "convert.h"

namespace AscendC {

/* The (count) forms again with no parameter behind, less special than the first: calls take that one, and pointers to
 * functions these. */
#define ASC_UNARY(name, ...)                                                                                         \
    template <typename T, bool isSetMask = true>                                                                     \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t &count,                     \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                    \
        asc_cpu::unary(#name, w, dst, src, asc_cpu::Lanes(count, #name, w), {}, {},                                  \
                       [](auto a) { return __VA_ARGS__; });                                                          \
    }                                                                                                                \
    template <typename T, bool isSetMask = true>                                                                     \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask, const uint8_t repeatTimes, \
                     const UnaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {                        \
        asc_cpu::at(w);                                                                                              \
        const asc_cpu::Lanes lanes(mask, isSetMask && mask != MASK_PLACEHOLDER, repeatTimes, asc_cpu::bits_of<T>,    \
                                   #name);                                                                           \
        asc_cpu::unary(#name, w, dst, src, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p),                            \
                       [](auto a) { return __VA_ARGS__; });                                                          \
    }                                                                                                                \
    template <typename T, bool isSetMask = true>                                                                     \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask[],                    \
                     const uint8_t repeatTimes, const UnaryRepeatParams &p,                                          \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                    \
        asc_cpu::at(w);                                                                                              \
        const asc_cpu::Lanes lanes(mask, isSetMask, repeatTimes, asc_cpu::bits_of<T>, #name);                        \
        asc_cpu::unary(#name, w, dst, src, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p),                            \
                       [](auto a) { return __VA_ARGS__; });                                                          \
    }                                                                                                                \
    template <typename T, bool isSetMask = true, typename U = T>                                                     \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<U> &src, const int32_t &count) {                   \
        name<T, isSetMask>(dst, src, count, asc_cpu::Where::nowhere());                                              \
    }
ASC_UNARY(Exp, std::exp(a))
ASC_UNARY(Ln, std::log(a))
ASC_UNARY(Abs, asc_cpu::size_of(a))
ASC_UNARY(Sqrt, std::sqrt(a))
ASC_UNARY(Rsqrt, 1.0f / std::sqrt(a))
ASC_UNARY(Reciprocal, 1.0f / a)
ASC_UNARY(Relu, asc_cpu::larger(a, decltype(a)(0)))
ASC_UNARY(Not, ~a)
ASC_UNARY(Neg, asc_cpu::negative(a))
#undef ASC_UNARY

#define ASC_SCALAR(name, ...)                                                                                     \
    template <typename T, bool isSetMask = true>                                                                  \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const asc_cpu::Same<T> &scalar,        \
                     const int32_t &count, asc_cpu::Where w = asc_cpu::Where::here()) {                           \
        const asc_cpu::Compute<T> b = asc_cpu::Compute<T>(scalar);                                                \
        asc_cpu::unary(#name, w, dst, src, asc_cpu::Lanes(count, #name, w), {}, {},                               \
                       [b](auto a) { return __VA_ARGS__; });                                                      \
    }                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                  \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const asc_cpu::Same<T> &scalar,        \
                     uint64_t mask, const uint8_t repeatTimes, const UnaryRepeatParams &p,                        \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                 \
        const asc_cpu::Compute<T> b = asc_cpu::Compute<T>(scalar);                                                \
        asc_cpu::at(w);                                                                                           \
        const asc_cpu::Lanes lanes(mask, isSetMask && mask != MASK_PLACEHOLDER, repeatTimes, asc_cpu::bits_of<T>, \
                                   #name);                                                                        \
        asc_cpu::unary(#name, w, dst, src, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p),                         \
                       [b](auto a) { return __VA_ARGS__; });                                                      \
    }                                                                                                             \
    template <typename T, bool isSetMask = true>                                                                  \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const asc_cpu::Same<T> &scalar,        \
                     const uint64_t mask[], const uint8_t repeatTimes, const UnaryRepeatParams &p,                \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                 \
        const asc_cpu::Compute<T> b = asc_cpu::Compute<T>(scalar);                                                \
        asc_cpu::at(w);                                                                                           \
        const asc_cpu::Lanes lanes(mask, isSetMask, repeatTimes, asc_cpu::bits_of<T>, #name);                     \
        asc_cpu::unary(#name, w, dst, src, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p),                         \
                       [b](auto a) { return __VA_ARGS__; });                                                      \
    }                                                                                                             \
    template <typename T, bool isSetMask = true, typename U = T>                                                  \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<U> &src, const asc_cpu::Same<T> &scalar,        \
                     const int32_t &count) {                                                                      \
        name<T, isSetMask>(dst, src, scalar, count, asc_cpu::Where::nowhere());                                   \
    }
ASC_SCALAR(Adds, asc_cpu::plus(a, b))
ASC_SCALAR(Subs, asc_cpu::minus(a, b))
ASC_SCALAR(Muls, asc_cpu::times(a, b))
ASC_SCALAR(Divs, asc_cpu::over(a, b))
ASC_SCALAR(Maxs, asc_cpu::larger(a, b))
ASC_SCALAR(Mins, asc_cpu::smaller(a, b))
ASC_SCALAR(Ands, a &b)
ASC_SCALAR(Ors, a | b)
ASC_SCALAR(LeakyRelu, a >= 0 ? a : asc_cpu::times(a, b))
#undef ASC_SCALAR

}  // namespace AscendC

namespace asc_cpu {

template <typename T>
inline T shifted_left(T a, int64_t by) {
    return by >= int64_t(sizeof(T) * 8) ? T(0) : T(Unsigned<T>(uint64_t(Unsigned<T>(a)) << by));
}
/* Signed numbers keep their sign; with `round` the last bit shifted out is added. */
template <typename T>
inline T shifted_right(T a, int64_t by, bool round) {
    if (by >= int64_t(sizeof(T) * 8)) return a < 0 ? T(-1) : T(0);
    const T moved = T(a >> by);
    return round && by > 0 ? plus(moved, T(a >> (by - 1) & 1)) : moved;
}

/* dst = src*scalar + dst */
template <typename D, typename S>
inline void axpy(Where w, const LocalTensor<D> &d, const LocalTensor<S> &x, S scalar, const Lanes &lanes, Stride to,
                 Stride from) {
    D *y = d.data();
    const S *a = x.data();
    const Compute<S> s = Compute<S>(scalar);
    const auto one = [s](D before, S element) {
        return D(plus(Compute<D>(before), Compute<D>(times(Compute<S>(element), s))));
    };
    const size_t wide = std::max(sizeof(D), sizeof(S));
    if (lanes.simple()) {
        const int64_t n = lanes.count();
        const bool meets = static_cast<const void *>(y) != a && meet(y, a, n);
        issue_lanes(PIPE_V, "Axpy", w, {d.writes(uint64_t(n)), d.reads(uint64_t(n)), x.reads(uint64_t(n))},
                    [=] { put(y, n, meets, int64_t(256 / wide), [=](int64_t i) { return one(y[i], a[i]); }); });
        return;
    }
    const std::vector<Run> written = lanes.runs(to, bits_of<D>), read = lanes.runs(from, bits_of<S>);
    const bool meets = meet(d.bytes(), written, x.bytes(), read);
    issue_lanes(PIPE_V, "Axpy", w, {d.writes_runs(written), d.reads_runs(written), x.reads_runs(read)}, [=] {
        lanes.put(y, to, meets, [=](int32_t r, uint32_t k) {
            return one(y[Lanes::at(r, k, to, bits_of<D>)], a[Lanes::at(r, k, from, bits_of<S>)]);
        });
    });
}

}  // namespace asc_cpu

namespace AscendC {

#define ASC_SHIFT(name, extra, ...)                                                                                    \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const asc_cpu::Same<T> &scalar,             \
                     const int32_t &count, asc_cpu::Where w = asc_cpu::Where::here()) {                                \
        const int64_t b = int64_t(scalar);                                                                             \
        constexpr bool round = false;                                                                                  \
        (void)round;                                                                                                   \
        asc_cpu::unary(#name, w, dst, src, asc_cpu::Lanes(count, #name, w), {}, {},                                    \
                       [b](auto a) { return __VA_ARGS__; });                                                           \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const asc_cpu::Same<T> &scalar,             \
                     uint64_t mask, const uint8_t repeatTimes, const UnaryRepeatParams &p, bool round = false,         \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                      \
        const int64_t b = int64_t(scalar);                                                                             \
        (void)round;                                                                                                   \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, isSetMask && mask != MASK_PLACEHOLDER, repeatTimes, asc_cpu::bits_of<T>,      \
                                   #name);                                                                             \
        asc_cpu::unary(#name, w, dst, src, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p),                              \
                       [=](auto a) { return __VA_ARGS__; });                                                           \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const asc_cpu::Same<T> &scalar,             \
                     const uint64_t mask[], const uint8_t repeatTimes, const UnaryRepeatParams &p, bool round = false, \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                      \
        const int64_t b = int64_t(scalar);                                                                             \
        (void)round;                                                                                                   \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, isSetMask, repeatTimes, asc_cpu::bits_of<T>, #name);                          \
        asc_cpu::unary(#name, w, dst, src, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p),                              \
                       [=](auto a) { return __VA_ARGS__; });                                                           \
    }
ASC_SHIFT(ShiftLeft, , asc_cpu::shifted_left(a, b))
ASC_SHIFT(ShiftRight, , asc_cpu::shifted_right(a, b, round))
#undef ASC_SHIFT

template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const asc_cpu::Same<U> &scalar,
                 const int32_t &count, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::axpy<T, U>(w, dst, src, scalar, asc_cpu::Lanes(count, "Axpy", w), {}, {});
}
template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const asc_cpu::Same<U> &scalar, uint64_t mask,
                 const uint8_t repeatTimes, const UnaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    const asc_cpu::Lanes lanes(mask, isSetMask && mask != MASK_PLACEHOLDER, repeatTimes, asc_cpu::wider_bits<T, U>,
                               "Axpy");
    asc_cpu::axpy<T, U>(w, dst, src, scalar, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p));
}
template <typename T, typename U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const asc_cpu::Same<U> &scalar,
                 const uint64_t mask[], const uint8_t repeatTimes, const UnaryRepeatParams &p,
                 asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    const asc_cpu::Lanes lanes(mask, isSetMask, repeatTimes, asc_cpu::wider_bits<T, U>, "Axpy");
    asc_cpu::axpy<T, U>(w, dst, src, scalar, lanes, asc_cpu::to_of(p), asc_cpu::from_of(p));
}

}  // namespace AscendC
