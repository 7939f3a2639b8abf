/* Arithmetic on one element, and the loops that apply it: floats in float, half types rounding once, integers wrapping
 * in their own type. */
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanes.h"

namespace asc_cpu {

using AscendC::GlobalTensor;
using AscendC::LocalTensor;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;

/* a op b in T; integers as unsigned ones, which wrap. */
#define ASC_WRAPPING(name, op)                                                           \
    template <typename T>                                                                \
    inline T name(T a, T b) {                                                            \
        if constexpr (std::is_integral_v<T>)                                             \
            return T(Unsigned<T>(uint64_t(Unsigned<T>(a)) op uint64_t(Unsigned<T>(b)))); \
        else                                                                             \
            return a op b;                                                               \
    }
ASC_WRAPPING(plus, +)
ASC_WRAPPING(minus, -)
ASC_WRAPPING(times, *)
#undef ASC_WRAPPING
template <typename T>
inline T over(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == 0) return T(std::is_signed_v<T> ? -1 : std::numeric_limits<T>::max());
        if constexpr (std::is_signed_v<T>)
            if (b == T(-1)) return minus(T(0), a);
    }
    return T(a / b);
}
/* NaN where there is one. */
template <typename T>
inline T larger(T a, T b) {
    return a != a || a > b ? a : b;
}
template <typename T>
inline T smaller(T a, T b) {
    return a != a || a < b ? a : b;
}
template <typename T>
inline T negative(T a) {
    return minus(T(0), a);
}
template <typename T>
inline T size_of(T a) {
    if constexpr (std::is_unsigned_v<T>)
        return a;
    else if constexpr (std::is_integral_v<T>)
        return a < 0 ? negative(a) : a;
    else
        return std::fabs(a);
}

/* Whether n elements from y share bytes with n from x. */
template <typename D, typename S>
inline bool meet(const D *y, const S *x, int64_t n) {
    const auto *const to = reinterpret_cast<const uint8_t *>(y), *const from = reinterpret_cast<const uint8_t *>(x);
    return to < from + n * int64_t(sizeof(S)) && from < to + n * int64_t(sizeof(D));
}
inline bool meet(const uint8_t *to, const std::vector<Run> &written, const uint8_t *from,
                 const std::vector<Run> &read) {
    const auto ends = [](const std::vector<Run> &runs) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (const Run &r : runs) {
            low = std::min(low, r.begin);
            high = std::max(high, r.begin + r.stride * int64_t(r.repeats - 1) + int64_t(r.bytes));
        }
        return std::pair<int64_t, int64_t>(low, high);
    };
    if (written.empty() || read.empty()) return false;
    const auto w = ends(written), r = ends(read);
    return to + w.first < from + r.second && from + r.first < to + w.second;
}
/* y[i] = value(i): where y meets a source, `step` elements are read before one of them is written. */
template <typename D, typename F>
inline void put(D *y, int64_t n, bool meets, int64_t step, F value) {
    if (!meets) {
        for (int64_t i = 0; i < n; i++) y[i] = value(i);
        return;
    }
    std::vector<D> made(static_cast<size_t>(std::min(n, step)));
    for (int64_t begin = 0; begin < n; begin += step) {
        const int64_t end = std::min(n, begin + step);
        for (int64_t i = begin; i < end; i++) made[size_t(i - begin)] = value(i);
        std::copy(made.begin(), made.begin() + (end - begin), y + begin);
    }
}

/* d[i] = f(x[i]) */
template <typename D, typename S, typename F>
inline void unary(const char *name, Where w, const LocalTensor<D> &d, const LocalTensor<S> &x, const Lanes &lanes,
                  Stride to, Stride from, F f) {
    D *y = d.data();
    const S *a = x.data();
    if (lanes.simple()) {
        const int64_t n = lanes.count();
        const bool meets = static_cast<const void *>(y) != a && meet(y, a, n);
        const int64_t step = lanes.at_once(std::max(sizeof(D), sizeof(S)));
        issue_lanes(PIPE_V, name, w, {d.writes(uint64_t(n)), x.reads(uint64_t(n))},
                    [=] { put(y, n, meets, step, [=](int64_t i) { return D(f(Compute<S>(a[i]))); }); });
        return;
    }
    const std::vector<Run> written = lanes.runs(to, bits_of<D>), read = lanes.runs(from, bits_of<S>);
    const bool meets = meet(d.bytes(), written, x.bytes(), read);
    issue_lanes(PIPE_V, name, w, {d.writes_runs(written), x.reads_runs(read)}, [=] {
        lanes.put(y, to, meets,
                  [=](int32_t r, uint32_t k) { return D(f(Compute<S>(a[Lanes::at(r, k, from, bits_of<S>)]))); });
    });
}
/* d[i] = f(x[i], y[i]) */
template <typename D, typename S, typename R, typename F>
inline void binary(const char *name, Where w, const LocalTensor<D> &d, const LocalTensor<S> &x, const LocalTensor<R> &y,
                   const Lanes &lanes, const AscendC::BinaryRepeatParams &p, F f) {
    D *z = d.data();
    const S *a = x.data();
    const R *b = y.data();
    if (lanes.simple()) {
        const int64_t n = lanes.count();
        const uint64_t size = uint64_t(n);
        const bool meets = (static_cast<const void *>(z) != a && meet(z, a, n)) ||
                           (static_cast<const void *>(z) != b && meet(z, b, n));
        const int64_t step = lanes.at_once(std::max(sizeof(D), sizeof(S)));
        issue_lanes(PIPE_V, name, w, {d.writes(size), x.reads(size), y.reads(size)}, [=] {
            put(z, n, meets, step, [=](int64_t i) { return D(f(Compute<S>(a[i]), Compute<R>(b[i]))); });
        });
        return;
    }
    const Stride to{p.dstBlkStride, p.dstRepStride}, left{p.src0BlkStride, p.src0RepStride},
        right{p.src1BlkStride, p.src1RepStride};
    const std::vector<Run> written = lanes.runs(to, bits_of<D>), first = lanes.runs(left, bits_of<S>),
                           second = lanes.runs(right, bits_of<R>);
    const bool meets = meet(d.bytes(), written, x.bytes(), first) || meet(d.bytes(), written, y.bytes(), second);
    issue_lanes(PIPE_V, name, w, {d.writes_runs(written), x.reads_runs(first), y.reads_runs(second)}, [=] {
        const uint32_t n = meets ? 0 : lanes.dense({to, left, right});
        for (int32_t r = 0; n && r < lanes.repeats(); r++) {
            D *zr = z + Lanes::row(r, to, bits_of<D>);
            const S *ar = a + Lanes::row(r, left, bits_of<S>);
            const R *br = b + Lanes::row(r, right, bits_of<R>);
#pragma GCC ivdep
            for (uint32_t k = 0; k < n; k++) zr[k] = D(f(Compute<S>(ar[k]), Compute<R>(br[k])));
        }
        if (n) return;
        lanes.put(z, to, meets, [=](int32_t r, uint32_t k) {
            return D(
                f(Compute<S>(a[Lanes::at(r, k, left, bits_of<S>)]), Compute<R>(b[Lanes::at(r, k, right, bits_of<R>)])));
        });
    });
}
/* d[i] = f(d[i], x[i], y[i]) */
template <typename D, typename S, typename F>
inline void ternary(const char *name, Where w, const LocalTensor<D> &d, const LocalTensor<S> &x,
                    const LocalTensor<S> &y, const Lanes &lanes, const AscendC::BinaryRepeatParams &p, F f) {
    D *z = d.data();
    const S *a = x.data(), *b = y.data();
    if (lanes.simple()) {
        const int64_t n = lanes.count();
        const uint64_t size = uint64_t(n);
        const bool meets = (static_cast<const void *>(z) != a && meet(z, a, n)) ||
                           (static_cast<const void *>(z) != b && meet(z, b, n));
        const int64_t step = lanes.at_once(std::max(sizeof(D), sizeof(S)));
        issue_lanes(PIPE_V, name, w, {d.writes(size), d.reads(size), x.reads(size), y.reads(size)}, [=] {
            put(z, n, meets, step,
                [=](int64_t i) { return D(f(Compute<D>(z[i]), Compute<S>(a[i]), Compute<S>(b[i]))); });
        });
        return;
    }
    const Stride to{p.dstBlkStride, p.dstRepStride}, left{p.src0BlkStride, p.src0RepStride},
        right{p.src1BlkStride, p.src1RepStride};
    const std::vector<Run> written = lanes.runs(to, bits_of<D>), first = lanes.runs(left, bits_of<S>),
                           second = lanes.runs(right, bits_of<S>);
    const bool meets = meet(d.bytes(), written, x.bytes(), first) || meet(d.bytes(), written, y.bytes(), second);
    issue_lanes(PIPE_V, name, w,
                {d.writes_runs(written), d.reads_runs(written), x.reads_runs(first), y.reads_runs(second)}, [=] {
                    const uint32_t n = meets ? 0 : lanes.dense({to, left, right});
                    for (int32_t r = 0; n && r < lanes.repeats(); r++) {
                        D *zr = z + Lanes::row(r, to, bits_of<D>);
                        const S *ar = a + Lanes::row(r, left, bits_of<S>);
                        const S *br = b + Lanes::row(r, right, bits_of<S>);
#pragma GCC ivdep
                        for (uint32_t k = 0; k < n; k++)
                            zr[k] = D(f(Compute<D>(zr[k]), Compute<S>(ar[k]), Compute<S>(br[k])));
                    }
                    if (n) return;
                    lanes.put(z, to, meets, [=](int32_t r, uint32_t k) {
                        return D(f(Compute<D>(z[Lanes::at(r, k, to, bits_of<D>)]),
                                   Compute<S>(a[Lanes::at(r, k, left, bits_of<S>)]),
                                   Compute<S>(b[Lanes::at(r, k, right, bits_of<S>)])));
                    });
                });
}

/* The wider of two element types says how many elements a repeat has. */
template <typename A, typename B>
constexpr uint32_t wider_bits = bits_of<A> > bits_of<B> ? bits_of<A> : bits_of<B>;

inline Stride to_of(const AscendC::UnaryRepeatParams &p) {
    return {p.dstBlkStride, p.dstRepStride};
}
inline Stride from_of(const AscendC::UnaryRepeatParams &p) {
    return {p.srcBlkStride, p.srcRepStride};
}

}  // namespace asc_cpu
