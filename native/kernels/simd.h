/* simd.h - vectors of ASC_VF floats in GCC/Clang vector extensions: the same source on every ISA.
 *
 * vf, vi: ASC_VF float32 / int32 lanes.  vd, vl: ASC_VD = ASC_VF / 2 float64 / int64 lanes; vh: as
 * many float32 lanes. Masks are vi or vl with lanes all ones or zero, as comparisons give them. */
#ifndef ASC_KERNELS_SIMD_H
#define ASC_KERNELS_SIMD_H

#include <stdint.h>
#include <string.h>

#include "isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ASC_VD (ASC_VF / 2)
typedef float vf __attribute__((vector_size(ASC_VF * 4)));
typedef int32_t vi __attribute__((vector_size(ASC_VF * 4)));
typedef uint32_t vw __attribute__((vector_size(ASC_VF * 4))); /* arithmetic on bit patterns, which may wrap */
typedef double vd __attribute__((vector_size(ASC_VF * 4)));
typedef int64_t vl __attribute__((vector_size(ASC_VF * 4)));
typedef uint64_t vu __attribute__((vector_size(ASC_VF * 4)));
typedef float vh __attribute__((vector_size(ASC_VF * 2)));

static inline vf vf_set(float x) {
    return x - (vf){0};
}
static inline vi vi_set(int32_t x) {
    return x - (vi){0};
}
static inline vd vd_set(double x) {
    return x - (vd){0};
}
/* Lane numbers. A literal, so that shuffle masks made from it are constants. */
static inline vi vi_iota(void) {
#if ASC_VF == 16
    return (vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif ASC_VF == 8
    return (vi){0, 1, 2, 3, 4, 5, 6, 7};
#else
    return (vi){0, 1, 2, 3};
#endif
}
static inline vl vl_iota(void) {
#if ASC_VF == 16
    return (vl){0, 1, 2, 3, 4, 5, 6, 7};
#elif ASC_VF == 8
    return (vl){0, 1, 2, 3};
#else
    return (vl){0, 1};
#endif
}
static inline vf vf_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vf_store(float *p, vf v) {
    memcpy(p, &v, sizeof v);
}
/* To memory past the caches; p is aligned to the vector. finish_streams() before another thread may read it. */
static inline void vf_stream(float *p, vf v) {
#if defined(__clang__)
    __builtin_nontemporal_store(v, (vf *)p);
#elif defined(__AVX512F__)
    __builtin_ia32_movntps512(p, v);
#elif defined(__AVX__)
    __builtin_ia32_movntps256(p, v);
#elif defined(__SSE__)
    __builtin_ia32_movntps(p, v);
#else
    vf_store(p, v);
#endif
}
static inline void finish_streams(void) {
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}
/* The first n lanes (n < ASC_VF); the rest are `fill`. */
static inline vf vf_load_tail(const float *p, int64_t n, float fill) {
#if defined(__AVX512F__)
    return (vf)_mm512_mask_loadu_ps(_mm512_set1_ps(fill), (__mmask16)((1u << n) - 1), p);
#elif defined(__AVX2__)
    __m256i lanes = (__m256i)(vi_iota() < vi_set((int32_t)n));
    return (vf)_mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, lanes), (__m256)lanes);
#else
    float lanes[ASC_VF];
    for (int i = 0; i < ASC_VF; i++) lanes[i] = i < n ? p[i] : fill;
    return vf_load(lanes);
#endif
}
static inline void vf_store_tail(float *p, vf v, int64_t n) {
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#elif defined(__AVX2__)
    /* By halves: a masked store is slow in some CPUs, and memcpy of any length is a call. */
    __m128 left = _mm256_castps256_ps128((__m256)v);
    if (n & 4) {
        _mm_storeu_ps(p, left);
        left = _mm256_extractf128_ps((__m256)v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, left);
        left = _mm_movehl_ps(left, left);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, left);
#else
    float lanes[ASC_VF];
    vf_store(lanes, v);
    memcpy(p, lanes, (size_t)n * sizeof *p);
#endif
}
/* Which lanes of a vector exist. */
#if defined(__AVX512F__)
typedef __mmask16 lane_mask;
#else
typedef vi lane_mask;
#endif
/* Lanes [from, to), where 0 <= from and to <= ASC_VF; none unless from < to. */
static inline lane_mask lanes_between(int64_t from, int64_t to) {
#if defined(__AVX512F__)
    return from < to ? (lane_mask)((1u << to) - (1u << from)) : 0;
#else
    return (vi_iota() >= vi_set((int32_t)from)) & (vi_iota() < vi_set((int32_t)to));
#endif
}
/* Those lanes of the vector at p; the others are zero, and not read. */
static inline vf vf_load_lanes(const float *p, lane_mask lanes) {
#if defined(__AVX512F__)
    return (vf)_mm512_maskz_loadu_ps(lanes, p);
#elif defined(__AVX2__) && !defined(__clang__)
    return __builtin_ia32_maskloadps256((const vf *)p, lanes);
#else
    vf v = {0};
    for (int i = 0; i < ASC_VF; i++)
        if (lanes[i]) v[i] = p[i];
    return v;
#endif
}
static inline vf vf_select(vi mask, vf yes, vf no) {
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}
static inline vd vd_select(vl mask, vd yes, vd no) {
    return (vd)(((vl)yes & mask) | ((vl)no & ~mask));
}
static inline vf vf_fma(vf a, vf b, vf c) {
    return a * b + c;
} /* contracted where the ISA has FMA */

/* Operand of an assembly statement: a vector register. */
#if defined(__AVX512F__)
#define ASC_SEAL_CLASS "+v"
#elif defined(__x86_64__)
#define ASC_SEAL_CLASS "+x"
#elif defined(__aarch64__)
#define ASC_SEAL_CLASS "+w"
#else
#define ASC_SEAL_CLASS "+m"
#endif
/* x, of which the compiler forgets that it is a product: it is rounded before anything is added to it, in every copy
 * of the code. */
static inline vf vf_sealed(vf x) {
    __asm__("" : ASC_SEAL_CLASS(x));
    return x;
}

/* a < b ? a : b, lane by lane: b when either is NaN. So a constant first lets NaN of b through. On x86 the instruction
 * is named: of a loop over lanes GCC makes it only where nothing else is done with them. */
static inline vf vf_min(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE4_1__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    for (int i = 0; i < ASC_VF; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
    return a;
#endif
}
static inline vf vf_max(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE4_1__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    for (int i = 0; i < ASC_VF; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
    return a;
#endif
}
static inline vd vd_min(vd a, vd b) {
#if defined(__AVX2__) && ASC_VD == 4
    return (vd)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE4_1__) && ASC_VD == 2
    return (vd)_mm_min_pd((__m128d)a, (__m128d)b);
#else
    for (int i = 0; i < ASC_VD; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
    return a;
#endif
}
static inline vd vd_max(vd a, vd b) {
#if defined(__AVX2__) && ASC_VD == 4
    return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif defined(__SSE4_1__) && ASC_VD == 2
    return (vd)_mm_max_pd((__m128d)a, (__m128d)b);
#else
    for (int i = 0; i < ASC_VD; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
    return a;
#endif
}
/* The greater, or the less, of two; b when they are equal; NaN when either is NaN. */
static inline vf vf_greater(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_mask_max_ps((__m512)a, _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_ORD_Q), (__m512)a,
                                  (__m512)b);
#else
    return vf_select(a != a, a, vf_max(a, b));
#endif
}
static inline vf vf_less(vf a, vf b) {
#if defined(__AVX512F__)
    return (vf)_mm512_mask_min_ps((__m512)a, _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_ORD_Q), (__m512)a,
                                  (__m512)b);
#else
    return vf_select(a != a, a, vf_min(a, b));
#endif
}
static inline vd vd_greater(vd a, vd b) {
    return vd_select(a != a, a, vd_max(a, b));
}
static inline vd vd_less(vd a, vd b) {
    return vd_select(a != a, a, vd_min(a, b));
}
static inline vf vf_round(vf a) { /* half to even */
#if defined(__AVX2__) && ASC_VF == 8
    return (vf)_mm256_round_ps((__m256)a, _MM_FROUND_RINT);
#elif defined(__SSE4_1__) && ASC_VF == 4
    return (vf)_mm_round_ps((__m128)a, _MM_FROUND_RINT);
#else
    for (int i = 0; i < ASC_VF; i++) a[i] = __builtin_rintf(a[i]);
    return a;
#endif
}
static inline vf vf_sqrt(vf a) {
#if defined(__AVX2__) && ASC_VF == 8
    return (vf)_mm256_sqrt_ps((__m256)a);
#elif defined(__SSE4_1__) && ASC_VF == 4
    return (vf)_mm_sqrt_ps((__m128)a);
#else
    for (int i = 0; i < ASC_VF; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
#endif
}
static inline vd vd_sqrt(vd a) {
#if defined(__AVX2__) && ASC_VD == 4
    return (vd)_mm256_sqrt_pd((__m256d)a);
#elif defined(__SSE4_1__) && ASC_VD == 2
    return (vd)_mm_sqrt_pd((__m128d)a);
#else
    for (int i = 0; i < ASC_VD; i++) a[i] = __builtin_sqrt(a[i]);
    return a;
#endif
}
static inline vf vf_abs(vf a) {
    return (vf)((vi)a & 0x7fffffff);
}
static inline vd vd_abs(vd a) {
    return (vd)((vl)a & INT64_MAX);
}
/* |magnitude| with the sign of `sign`; magnitude is not negative */
static inline vf vf_with_sign(vf magnitude, vf sign) {
    return (vf)((vi)magnitude | ((vi)sign & INT32_MIN));
}
static inline vd vd_with_sign(vd magnitude, vd sign) {
    return (vd)((vl)magnitude | ((vl)sign & INT64_MIN));
}

/* ASC_VD floats to and from float64. */
static inline vd vd_load_f32(const float *p) {
    vh v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vd);
}
static inline void vd_store_f32(float *p, vd v) {
    vh narrow = __builtin_convertvector(v, vh);
    memcpy(p, &narrow, sizeof narrow);
}

/* Whether any lane of a mask is set. */
static inline int vi_any(vi mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
    return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
    vl wide = (vl)mask;
    int64_t any = 0;
    for (int i = 0; i < ASC_VD; i++) any |= wide[i];
    return any != 0;
#endif
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* The lowest byte of each lane: GCC takes a conversion to bytes apart into lanes. */
static inline int64_t vi_low_bytes(vi v) {
    const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, /* lanes 0-3 */
                                           -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i bytes = _mm256_shuffle_epi8((__m256i)v, order);
    return _mm_cvtsi128_si64(_mm_or_si128(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1)));
}
#endif

/* Sum and maximum of all lanes, in one fixed order (halves, quarters, ...). */
static inline vf vf_swap_lanes(vf v, int distance) {
#if defined(__clang__)
    vf swapped = v;
    for (int i = 0; i < ASC_VF; i++) swapped[i] = v[i ^ distance];
    return swapped;
#else
    return __builtin_shuffle(v, vi_iota() ^ distance);
#endif
}
static inline vd vd_swap_lanes(vd v, int distance) {
#if defined(__clang__)
    vd swapped = v;
    for (int i = 0; i < ASC_VD; i++) swapped[i] = v[i ^ distance];
    return swapped;
#else
    return __builtin_shuffle(v, vl_iota() ^ distance);
#endif
}
static inline float vf_sum(vf v) {
#pragma GCC unroll 4
    for (int half = ASC_VF / 2; half; half /= 2) v += vf_swap_lanes(v, half);
    return v[0];
}
static inline float vf_maximum(vf v) {
#pragma GCC unroll 4
    for (int half = ASC_VF / 2; half; half /= 2) v = vf_max(v, vf_swap_lanes(v, half));
    return v[0];
}

#endif
