/* formula_elements.h - loads, stores and rounding of every element type, for generated code. */
#ifndef ASC_KERNELS_FORMULA_ELEMENTS_H
#define ASC_KERNELS_FORMULA_ELEMENTS_H

#include "formula_vector.h"

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

#endif
