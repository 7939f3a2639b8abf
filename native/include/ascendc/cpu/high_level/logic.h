/* Tests, logic and bits of elements, choices by a tensor of bool, and functions of three tensors or with two results.
 */
#pragma once

#include "forms.h"

namespace asc_cpu {

/* d[i] = f(i), of sources that are read whole. */
template <typename D, typename F>
inline void make_each(const char *name, Where w, const LocalTensor<D> &d, uint32_t n,
                      std::initializer_list<Operand> operands, F f) {
    D *const y = d.data();
    issue_lanes(PIPE_V, name, w, operands, [=] {
        std::vector<D> made(n);
        for (uint32_t i = 0; i < n; i++) made[i] = f(i);
        std::copy(made.begin(), made.end(), y);
    });
}
/* An element of a tensor, or a number. */
template <typename T>
struct ElementOf {
    T number;
    Operand reads(uint32_t, const Operand &nothing) const { return nothing; }
    T operator[](uint32_t) const { return number; }
};
template <typename T>
struct ElementOf<LocalTensor<T>> {
    const T *data;
    Operand memory;
    Operand reads(uint32_t, const Operand &) const { return memory; }
    T operator[](uint32_t i) const { return data[i]; }
};
template <typename T>
inline ElementOf<T> element_of(const T &number, uint32_t) {
    return {number};
}
template <typename T>
inline ElementOf<LocalTensor<T>> element_of(const LocalTensor<T> &tensor, uint32_t n) {
    return {tensor.data(), tensor.reads(n)};
}

}  // namespace asc_cpu

namespace AscendC {

ASC_FORMS1(Rint, ASC_PARAMETERS(typename T, bool isReuseSource = false), std::nearbyint(a))
ASC_FORMS1(BitwiseNot, ASC_PARAMETERS(typename T, bool isReuseSource = false), ~a)
ASC_FORMS2(BitwiseAnd, a &b)
ASC_FORMS2(BitwiseOr, a | b)
ASC_FORMS2(BitwiseXor, a ^ b)

/* Tests of one and of two: the result has a type of its own, as a rule bool. */
#define ASC_TEST1(name, ...)                                                                                \
    template <typename D, typename T>                                                                       \
    inline void name(const LocalTensor<D> &d, const LocalTensor<T> &x, const uint32_t n,                    \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                           \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(n), #name, w), {}, {},                 \
                       [](auto a) { return D(__VA_ARGS__); });                                              \
    }                                                                                                       \
    template <typename D, typename T>                                                                       \
    inline void name(const LocalTensor<D> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch, \
                     const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {                         \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                               \
        name(d, x, n, w);                                                                                   \
    }
ASC_TEST1(IsNan, a != a)
ASC_TEST1(IsInf, std::isinf(double(a)))
ASC_TEST1(IsFinite, std::isfinite(double(a)))
ASC_TEST1(LogicalNot, a == decltype(a)(0))
#undef ASC_TEST1
#define ASC_TEST2(name, of_number, ...)                                                                           \
    template <typename D, typename T>                                                                             \
    inline void name(const LocalTensor<D> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const uint32_t n, \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                 \
        const T *const p = x.data(), *const q = y.data();                                                         \
        asc_cpu::make_each(#name, w, d, n, {d.writes(n), x.reads(n), y.reads(n)}, [=](uint32_t i) {               \
            const bool a = p[i] != T(0), b = q[i] != T(0);                                                        \
            return D(__VA_ARGS__);                                                                                \
        });                                                                                                       \
    }                                                                                                             \
    template <typename D, typename T>                                                                             \
    inline void of_number(const LocalTensor<D> &d, const LocalTensor<T> &x, const asc_cpu::Same<T> &number,       \
                          const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {                          \
        const T *const p = x.data();                                                                              \
        const bool b = number != T(0);                                                                            \
        asc_cpu::make_each(#of_number, w, d, n, {d.writes(n), x.reads(n)}, [=](uint32_t i) {                      \
            const bool a = p[i] != T(0);                                                                          \
            return D(__VA_ARGS__);                                                                                \
        });                                                                                                       \
    }
ASC_TEST2(LogicalAnd, LogicalAnds, a &&b)
ASC_TEST2(LogicalOr, LogicalOrs, a || b)
ASC_TEST2(LogicalXor, LogicalXors, a != b)
#undef ASC_TEST2

/* x where the condition is true, else y: each a tensor or a number. */
template <typename T, typename X, typename Y>
inline void Where(const LocalTensor<T> &d, const X &x, const Y &y, const LocalTensor<bool> &condition, const uint32_t n,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    const auto p = asc_cpu::element_of(x, n);
    const auto q = asc_cpu::element_of(y, n);
    const bool *const c = condition.data();
    const asc_cpu::Operand nothing = condition.reads(0);
    asc_cpu::make_each("Where", w, d, n, {d.writes(n), condition.reads(n), p.reads(n, nothing), q.reads(n, nothing)},
                       [=](uint32_t i) { return c[i] ? T(p[i]) : T(q[i]); });
}

/* x * y + z, rounded once. */
template <typename T>
inline void Fma(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const LocalTensor<T> &z,
                const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    const T *const p = x.data(), *const q = y.data(), *const r = z.data();
    asc_cpu::make_each("Fma", w, d, n, {d.writes(n), x.reads(n), y.reads(n), z.reads(n)}, [=](uint32_t i) {
        if constexpr (std::is_same_v<T, float>)
            return std::fma(p[i], q[i], r[i]);
        else
            return T(std::fma(double(p[i]), double(q[i]), double(r[i])));
    });
}
template <typename T>
inline void Fma(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const LocalTensor<T> &z,
                const LocalTensor<uint8_t> &scratch, const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    Fma(d, x, y, z, n, w);
}

template <typename T>
inline void SinCos(const LocalTensor<T> &sine, const LocalTensor<T> &cosine, const LocalTensor<T> &x, const uint32_t n,
                   asc_cpu::Where w = asc_cpu::Where::here()) {
    T *const s = sine.data(), *const c = cosine.data();
    const T *const from = x.data();
    asc_cpu::issue_lanes(PIPE_V, "SinCos", w, {sine.writes(n), cosine.writes(n), x.reads(n)}, [=] {
        for (uint32_t i = 0; i < n; i++) {
            const double a = double(from[i]);
            s[i] = T(std::sin(a)), c[i] = T(std::cos(a));
        }
    });
}
template <typename T>
inline void SinCos(const LocalTensor<T> &sine, const LocalTensor<T> &cosine, const LocalTensor<T> &x,
                   const LocalTensor<uint8_t> &scratch, const uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    SinCos(sine, cosine, x, n, w);
}

/* The sum of x ^ y, in the elements' own type. */
template <typename T, bool isReuseSource = false>
inline void ReduceXorSum(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, const uint32_t n,
                         asc_cpu::Where w = asc_cpu::Where::here()) {
    T *const to = d.data();
    const T *const p = x.data(), *const q = y.data();
    asc_cpu::issue(PIPE_V, "ReduceXorSum", w, {d.writes(1), x.reads(n), y.reads(n)}, [=] {
        T sum = T(0);
        for (uint32_t i = 0; i < n; i++) sum = asc_cpu::plus(sum, T(p[i] ^ q[i]));
        *to = sum;
    });
}
template <typename T, bool isReuseSource = false>
inline void ReduceXorSum(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y,
                         const LocalTensor<uint8_t> &scratch, const uint32_t n,
                         asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    ReduceXorSum<T, isReuseSource>(d, x, y, n, w);
}

}  // namespace AscendC
