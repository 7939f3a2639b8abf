/* formula_code.h - what code generated from a formula is written in: one vector type V of the compute type
 * S, masks M, every operation of an expression on them, and loads and stores of every element type.
 *
 * Generated code defines ASC_WIDE (1: S is double, else float) and includes this text. Every result passes
 * SEALED, so that the compiler contracts no multiplication with an addition of another step: the bits are
 * those of the interpreter, which takes one step at a time.
 */
#ifndef ASC_KERNELS_FORMULA_CODE_H
#define ASC_KERNELS_FORMULA_CODE_H

#include <math.h>

#include "vmath.h"
#include "vmath_wide.h"

#if ASC_WIDE
typedef double S;
typedef vd V;
typedef vl M;
typedef int64_t LANE;
#define LANES ASC_VD
#else
typedef float S;
typedef vf V;
typedef vi M;
typedef int32_t LANE;
#define LANES ASC_VF
#endif
#define FN static inline __attribute__((always_inline, unused))

FN V sealed(V x) {
    __asm__("" : ASC_SEAL_CLASS(x));
    return x;
}

/* A turn: vectors whose steps are taken side by side, at most TURN of them. */
#define TURN 4
#define EVERY _Pragma("GCC unroll 4") for (int u = 0; u < many; u++)
#define fetch(p) __builtin_prefetch(p)
#define fetch_to_write(p) __builtin_prefetch(p, 1)

FN V v_set(S x) {
    return x - (V){0};
}
FN V v_select(M mask, V yes, V no) {
    return (V)(((M)yes & mask) | ((M)no & ~mask));
}
FN M m_set(int truth) {
    return (M){0} - (LANE)(truth != 0);
}
FN V v_of_mask(M mask) { /* 1 where it holds, else 0 */
    return (V)((M)v_set(1) & mask);
}
/* Positions first, first + step, ... */
FN V v_index(int64_t first, int64_t step) {
    V v;
    for (int i = 0; i < LANES; i++) v[i] = (S)(first + i * step);
    return v;
}
FN M m_first(int64_t n) { /* the first n lanes */
    M m;
    for (int i = 0; i < LANES; i++) m[i] = i < n ? -1 : 0;
    return m;
}

#if ASC_WIDE
#define lanes_greater vd_greater
#define lanes_less vd_less
#define swap_lanes vd_swap_lanes
#else
#define lanes_greater vf_greater
#define lanes_less vf_less
#define swap_lanes vf_swap_lanes
#endif

/* ---- operations ---------------------------------------------------------------------------- */

#define EACH(name, expression)            \
    FN V op_##name(V a) {                 \
        for (int i = 0; i < LANES; i++) { \
            S x = a[i];                   \
            a[i] = (S)(expression);       \
        }                                 \
        return sealed(a);                 \
    }
#define EACH_OF_TWO(name, expression)     \
    FN V op_##name(V a, V b) {            \
        for (int i = 0; i < LANES; i++) { \
            S x = a[i], y = b[i];         \
            a[i] = (S)(expression);       \
        }                                 \
        return sealed(a);                 \
    }
#define WHOLE(name, expression)    \
    FN V op_##name(V x) {          \
        return sealed(expression); \
    }
#define WHOLE_OF_TWO(name, expression) \
    FN V op_##name(V x, V y) {         \
        return sealed(expression);     \
    }
#define COMPARE(name, sign)    \
    FN M op_##name(V x, V y) { \
        return x sign y;       \
    }

WHOLE_OF_TWO(add, x + y)
WHOLE_OF_TWO(sub, x - y)
WHOLE_OF_TWO(mul, x *y)
WHOLE_OF_TWO(div, x / y)
WHOLE_OF_TWO(min, lanes_less(x, y))
WHOLE_OF_TWO(max, lanes_greater(x, y))
COMPARE(eq, ==)
COMPARE(ne, !=)
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)
FN M op_and(M x, M y) {
    return x & y;
}
FN M op_or(M x, M y) {
    return x | y;
}
FN M op_not(M x) {
    return ~x;
}
FN V op_select(M c, V x, V y) {
    return v_select(c, x, y);
}
WHOLE(neg, -x)
WHOLE(sign, v_select(x > 0, v_set(1), v_select(x < 0, v_set(-1), x)))

static inline S floor_mod(S x, S y) {
    S r = (S)(sizeof(S) == 8 ? fmod(x, y) : fmodf((float)x, (float)y));
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
EACH_OF_TWO(mod, floor_mod(x, y))

#if ASC_WIDE
WHOLE(abs, vd_abs(x))
WHOLE(sqrt, vd_sqrt(x))
WHOLE(rsqrt, 1.0 / vd_sqrt(x))
EACH(floor, __builtin_floor(x))
EACH(ceil, __builtin_ceil(x))
EACH(round, __builtin_rint(x))
EACH(trunc, __builtin_trunc(x))
static inline double wide_sigmoid(double x) {
    double e = exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
static inline double wide_softplus(double x) {
    return x != x ? x : (x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x)));
}
EACH(sigmoid, wide_sigmoid(x))
EACH(softplus, wide_softplus(x))
#define LIBRARY(name) EACH(name, name(x))
LIBRARY(exp)
LIBRARY(expm1)
LIBRARY(log)
LIBRARY(log1p)
LIBRARY(sin)
LIBRARY(cos)
LIBRARY(tan)
LIBRARY(asin)
LIBRARY(acos)
LIBRARY(atan)
LIBRARY(sinh)
LIBRARY(cosh)
LIBRARY(tanh)
LIBRARY(asinh)
LIBRARY(acosh)
LIBRARY(atanh)
LIBRARY(erf)
EACH_OF_TWO(pow, pow(x, y))
EACH_OF_TWO(atan2, atan2(x, y))
#else
WHOLE(abs, vf_abs(x))
WHOLE(sqrt, vf_sqrt(x))
WHOLE(rsqrt, 1.0f / vf_sqrt(x))
EACH(floor, __builtin_floorf(x))
EACH(ceil, __builtin_ceilf(x))
EACH(round, __builtin_rintf(x))
EACH(trunc, __builtin_truncf(x))
WHOLE(exp, vf_exp(x))
WHOLE(expm1, vf_expm1(x))
WHOLE(log, vf_log(x))
WHOLE(log1p, vf_log1p(x))
WHOLE(tanh, vf_tanh(x))
WHOLE(erf, vf_erf(x))
WHOLE(sigmoid, vf_sigmoid(x))
WHOLE(softplus, vf_softplus(x))

/* Through float64, half the lanes at a time. */
#define WIDENED(name, arguments, call)                                     \
    FN V op_##name arguments {                                             \
        float a[LANES], b[LANES];                                          \
        vf_store(a, x);                                                    \
        vf_store(b, y);                                                    \
        for (int i = 0; i < LANES; i += ASC_VD) vd_store_f32(a + i, call); \
        return vf_load(a);                                                 \
    }
#define WIDENED_ONE(name)                                                                           \
    FN V op_##name(V x) {                                                                           \
        float a[LANES];                                                                             \
        vf_store(a, x);                                                                             \
        for (int i = 0; i < LANES; i += ASC_VD) vd_store_f32(a + i, vd_##name(vd_load_f32(a + i))); \
        return vf_load(a);                                                                          \
    }
/* Lanes above LARGEST_REDUCED come from the C library. */
#define CIRCULAR(name)                                                                              \
    FN V op_##name(V x) {                                                                           \
        float a[LANES];                                                                             \
        vf_store(a, x);                                                                             \
        for (int i = 0; i < LANES; i += ASC_VD) vd_store_f32(a + i, vd_##name(vd_load_f32(a + i))); \
        if (__builtin_expect(vi_any(((vi)x & INT32_MAX) > (vi)vf_set(LARGEST_REDUCED)), 0))         \
            for (int i = 0; i < LANES; i++)                                                         \
                if (!(fabsf(x[i]) <= LARGEST_REDUCED)) a[i] = name##f(x[i]);                        \
        return vf_load(a);                                                                          \
    }
CIRCULAR(sin)
CIRCULAR(cos)
CIRCULAR(tan)
WIDENED_ONE(asin)
WIDENED_ONE(acos)
WIDENED_ONE(atan)
WIDENED_ONE(sinh)
WIDENED_ONE(cosh)
WIDENED_ONE(asinh)
WIDENED_ONE(acosh)
WIDENED_ONE(atanh)
WIDENED(pow, (V x, V y), vd_pow(vd_load_f32(a + i), vd_load_f32(b + i)))
WIDENED(atan2, (V x, V y), vd_atan2(vd_load_f32(a + i), vd_load_f32(b + i)))
#endif

/* ---- folds --------------------------------------------------------------------------------- */

/* As kernels/reduction/reduce.c folds, so the same bits: blocks of four vectors, which join a vector of totals; at
 * the end the lanes of that, in halves. */
#define FOLD(name, start, step)                                                                                      \
    FN V start_##name(void) {                                                                                        \
        return v_set(start);                                                                                         \
    }                                                                                                                \
    FN V fold_##name(V x, V y) {                                                                                     \
        return sealed(step);                                                                                         \
    }                                                                                                                \
    FN V join_##name(V a, V b, V c, V d) {                                                                           \
        return fold_##name(fold_##name(a, b), fold_##name(c, d));                                                    \
    }                                                                                                                \
    /* The total of the lanes, in every lane. */                                                                     \
    FN V lanes_##name(V v) {                                                                                         \
        _Pragma("GCC unroll 4") for (int half = LANES / 2; half; half /= 2) v = fold_##name(v, swap_lanes(v, half)); \
        return v_set(v[0]);                                                                                          \
    }
FOLD(sum, 0, (x + y))
FOLD(prod, 1, (x * y))
FOLD(max, (S)-INFINITY, lanes_greater(y, x))
FOLD(min, (S)INFINITY, lanes_less(y, x))

/* ---- element types ------------------------------------------------------------------------- */

static inline uint32_t bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
/* The exponent is rebiased by a multiplication, which makes subnormals right too. */
static inline float of_f16(uint16_t h) {
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t quiet = magnitude > 0x0f800000 ? 0x7fc00000 : 0x7f800000;
    uint32_t wide = magnitude >= 0x0f800000 ? quiet | magnitude : bits_of(float_of(magnitude) * 0x1p112f);
    return float_of(wide | sign);
}
/* Round to nearest even: below 2^-14 by adding 1/2, whose ulp is the smallest half; else in integers. */
static inline uint16_t to_f16(S wide) {
    float x = (float)wide;
    uint32_t u = bits_of(x), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    uint32_t normal = (a - (112u << 23) + 0xfff + ((a >> 13) & 1)) >> 13;
    uint32_t tiny = bits_of(float_of(a) + 0.5f) - 0x3f000000;
    uint32_t huge = a > 0x7f800000 ? 0x7e00 | ((a >> 13) & 0x3ff) : 0x7c00;
    return (uint16_t)(sign | (a < 0x38800000 ? tiny : a < 0x47800000 ? normal : huge));
}
static inline float of_bf16(uint16_t h) {
    return float_of((uint32_t)h << 16);
}
static inline uint16_t to_bf16(S wide) {
    uint32_t u = bits_of((float)wide);
    uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? (u >> 16) | 0x40 : rounded);
}
/* Whole numbers: cut off at the point; beyond the type its nearest number, and 0 for NaN. */
#define TO_NARROW(name, type, least, most)                                        \
    static inline type to_##name(S x) {                                           \
        S y = x > (S)(least) ? x : (S)(least); /* the least for NaN */            \
        return x == x ? (type)(int32_t)(y < (S)(most) ? y : (S)(most)) : (type)0; \
    }
TO_NARROW(i8, int8_t, INT8_MIN, INT8_MAX)
TO_NARROW(u8, uint8_t, 0, UINT8_MAX)
TO_NARROW(i16, int16_t, INT16_MIN, INT16_MAX)
TO_NARROW(u16, uint16_t, 0, UINT16_MAX)
static inline int32_t to_i32(S x) {
    return x != x ? 0 : x >= (S)0x1p31 ? INT32_MAX : x > (S)-0x1p31 ? (int32_t)x : INT32_MIN;
}
static inline int64_t to_i64(S x) {
    return x != x ? 0 : x >= (S)0x1p63 ? INT64_MAX : x > (S)-0x1p63 ? (int64_t)x : INT64_MIN;
}
static inline uint32_t to_u32(S x) {
    return x > 0 ? (x < (S)0x1p32 ? (uint32_t)(int64_t)x : UINT32_MAX) : 0;
}
static inline uint64_t to_u64(S x) {
    uint64_t high = x >= (S)0x1p63 ? (uint64_t)1 << 63 : 0;
    return x > 0 ? (x < (S)0x1p64 ? high + (uint64_t)(int64_t)(x - (S)high) : UINT64_MAX) : 0;
}

typedef float e_f32;
typedef double e_f64;
typedef uint16_t e_f16;
typedef uint16_t e_bf16;
typedef int8_t e_i8;
typedef uint8_t e_u8;
typedef int16_t e_i16;
typedef uint16_t e_u16;
typedef int32_t e_i32;
typedef uint32_t e_u32;
typedef int64_t e_i64;
typedef uint64_t e_u64;
typedef uint8_t e_b8;

/* load_T(p, n, full): LANES elements, or only the first n when not full (the others are 0); splat_T(p): one
 * element everywhere; store_T likewise, past the caches where full is 2 and p aligned; round_T(v): to the type and
 * back. n < LANES unless full. Where full is 2 or 3, what is a page ahead is fetched. */
#define ELEMENT_IO(name, of, to)                                   \
    FN V unpack_##name(const e_##name *p) {                        \
        V v;                                                       \
        for (int i = 0; i < LANES; i++) v[i] = (S)of(p[i]);        \
        return v;                                                  \
    }                                                              \
    FN void pack_##name(e_##name *p, V v) {                        \
        for (int i = 0; i < LANES; i++) p[i] = (e_##name)to(v[i]); \
    }                                                              \
    ELEMENT_TAILS(name)
#define ELEMENT_TAILS(name)                                       \
    FN V load_##name(const e_##name *p, int64_t n, int full) {    \
        if (full) return unpack_##name(p);                        \
        e_##name some[LANES] = {0};                               \
        memcpy(some, p, (size_t)n * sizeof *p);                   \
        return unpack_##name(some);                               \
    }                                                             \
    FN void store_##name(e_##name *p, V v, int64_t n, int full) { \
        e_##name some[LANES];                                     \
        if (full) {                                               \
            pack_##name(p, v);                                    \
        } else {                                                  \
            pack_##name(some, v);                                 \
            memcpy(p, some, (size_t)n * sizeof *p);               \
        }                                                         \
    }                                                             \
    FN V splat_##name(const e_##name *p) {                        \
        e_##name some[LANES];                                     \
        for (int i = 0; i < LANES; i++) some[i] = *p;             \
        return unpack_##name(some);                               \
    }                                                             \
    FN V round_##name(V v) {                                      \
        e_##name some[LANES];                                     \
        pack_##name(some, v);                                     \
        return sealed(unpack_##name(some));                       \
    }
#define SAME(x) (x)

#if ASC_WIDE
ELEMENT_IO(f32, SAME, SAME)
FN V load_f64(const double *p, int64_t n, int full) {
    V v = {0};
    memcpy(&v, p, full ? sizeof v : (size_t)n * sizeof *p);
    return v;
}
FN void store_f64(double *p, V v, int64_t n, int full) {
    memcpy(p, &v, full ? sizeof v : (size_t)n * sizeof *p);
}
FN V splat_f64(const double *p) {
    return v_set(*p);
}
FN V round_f64(V v) {
    return v;
}
#else
ELEMENT_IO(f64, SAME, SAME)
FN V load_f32(const float *p, int64_t n, int full) {
    if (full >= 2) __builtin_prefetch(p + 1024); /* the hardware's own stops where a page ends */
    return full ? vf_load(p) : vf_load_tail(p, n, 0.0f);
}
FN void store_f32(float *p, V v, int64_t n, int full) {
    if (full == 2)
        vf_stream(p, v);
    else if (full)
        vf_store(p, v);
    else
        vf_store_tail(p, v, n);
}
FN V splat_f32(const float *p) {
    return v_set(*p);
}
FN V round_f32(V v) {
    return v;
}
#endif

#if !ASC_WIDE && defined(__AVX512F__)
FN V unpack_f16(const uint16_t *p) {
    return (V)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
}
FN void pack_f16(uint16_t *p, V v) {
    _mm256_storeu_si256((void *)p, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}
ELEMENT_TAILS(f16)
#elif !ASC_WIDE && defined(__F16C__) && defined(__AVX2__)
#include <immintrin.h>
FN V unpack_f16(const uint16_t *p) {
    return (V)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
}
FN void pack_f16(uint16_t *p, V v) {
    _mm_storeu_si128((void *)p, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}
ELEMENT_TAILS(f16)
#else
ELEMENT_IO(f16, of_f16, to_f16)
#endif

#if ASC_WIDE
ELEMENT_IO(bf16, of_bf16, to_bf16)
#else
typedef uint16_t v16 __attribute__((vector_size(LANES * 2)));
typedef uint32_t v32 __attribute__((vector_size(LANES * 4)));
FN V unpack_bf16(const uint16_t *p) {
    v16 h;
    memcpy(&h, p, sizeof h);
    return (V)(__builtin_convertvector(h, v32) << 16);
}
FN void pack_bf16(uint16_t *p, V v) {
    v32 u = (v32)v, rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    v32 nan = (v32)(v != v);
    v16 h = __builtin_convertvector((((u >> 16) | 0x40) & nan) | (rounded & ~nan), v16);
    memcpy(p, &h, sizeof h);
}
ELEMENT_TAILS(bf16)
#endif
ELEMENT_IO(i8, SAME, to_i8)
ELEMENT_IO(u8, SAME, to_u8)
ELEMENT_IO(i16, SAME, to_i16)
ELEMENT_IO(u16, SAME, to_u16)
ELEMENT_IO(i32, SAME, to_i32)
ELEMENT_IO(u32, SAME, to_u32)
ELEMENT_IO(i64, SAME, to_i64)
ELEMENT_IO(u64, SAME, to_u64)

/* Bools in memory are bytes of 0 and 1; any other byte counts as true. */
FN M load_b8(const uint8_t *p, int64_t n, int full) {
    M m;
    for (int i = 0; i < LANES; i++) m[i] = (full || i < n) && p[i] ? -1 : 0;
    return m;
}
FN void store_b8(uint8_t *p, M m, int64_t n, int full) {
    for (int i = 0; i < LANES; i++)
        if (full || i < n) p[i] = (uint8_t)(m[i] != 0);
}
FN M splat_b8(const uint8_t *p) {
    return m_set(*p);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static inline int is_aligned(const void *p) {
    return (uintptr_t)p % sizeof(V) == 0;
}

#define STREAM_TURN 64

/* Of STREAM_TURN items, how many store their outputs past the caches: so many that of all `bytes`, of which `written`
 * are outputs, `cached` go through them. */
static inline int64_t streamed_items(int64_t bytes, int64_t written, int64_t cached) {
    if (bytes <= cached || written == 0) return 0;
    return bytes - cached >= written ? STREAM_TURN : (bytes - cached) * STREAM_TURN / written;
}
/* Whether an item is one of those, which lie evenly among the others. The same ones in every call. */
static inline int is_streamed(int64_t item, int64_t streamed) {
    int64_t at = item % STREAM_TURN;
    return (at + 1) * streamed / STREAM_TURN > at * streamed / STREAM_TURN;
}

#define BLOCK 1024 /* elements of a fold that are added up before they join the total */

static inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static int32_t fail_call(const asc_custom_call *call, const char *text) {
    if (call->error && call->error_bytes) {
        uint32_t n = 0;
        for (; text[n] && n + 1 < call->error_bytes; n++) call->error[n] = text[n];
        call->error[n] = 0;
    }
    return 1;
}

/* Room for a temporary of these dims at the end of the workspace, at *at; whether it can have that. */
static inline int add_temp(uint64_t *bytes, uint64_t *at, const int64_t *dims, int rank, uint64_t size) {
    for (int d = 0; d < rank; d++)
        if (__builtin_mul_overflow(size, (uint64_t)dims[d], &size) || size >> 46) return 0;
    *at = *bytes;
    *bytes += size / 64 * 64 + 64;
    return *bytes >> 46 == 0;
}

/* Items per chunk: enough that a chunk costs some microseconds, and about four chunks a thread. The same when
 * the workspace is asked for and when the call runs. */
static inline int64_t items_per_chunk(const asc_custom_call *call, int64_t items, int64_t cost_of_item) {
    int64_t threads = call->threads > 1 ? call->threads : 1;
    int64_t least = 32768 / (cost_of_item > 0 ? cost_of_item : 1) + 1;
    int64_t fair = threads == 1 ? items : items / (threads * 4) + 1;
    return smaller(least > fair ? least : fair, items > 0 ? items : 1);
}

static void run_chunks(const asc_custom_call *call, int64_t n, void (*fn)(void *, int64_t), void *arg) {
    if (call->parallel && call->threads > 1 && n > 1)
        call->parallel(call, n, fn, arg);
    else
        for (int64_t i = 0; i < n; i++) fn(arg, i);
}

#endif
