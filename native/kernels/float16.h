/* float16.h - vectors of float32 from and to float16 in memory. Subnormal float16 are exact on every ISA. */
#ifndef ASC_KERNELS_FLOAT16_H
#define ASC_KERNELS_FLOAT16_H

#include "simd.h"

#if defined(__F16C__) && !defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

typedef uint16_t vf16 __attribute__((vector_size(ASC_VF * 2)));

/* The exponent is rebiased by a multiplication, which makes subnormals right too; NaN becomes quiet. */
static inline vf vf_load_f16(const uint16_t *p) {
#if defined(__AVX512F__)
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)p));
#elif defined(__F16C__)
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)p));
#elif defined(__aarch64__)
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
#else
    vf16 narrow;
    memcpy(&narrow, p, sizeof narrow);
    vw half = __builtin_convertvector(narrow, vw), sign = (half & 0x8000) << 16, magnitude = (half & 0x7fff) << 13;
    vi special = (vi)(magnitude >= 0x0f800000), nan = (vi)(magnitude > 0x0f800000);
    vw wide = magnitude | 0x7f800000 | ((vw)nan & 0x00400000);
    return (vf)((vw)vf_select(special, (vf)wide, (vf)magnitude * 0x1p112f) | sign);
#endif
}

/* Rounded to the nearest, ties to even; beyond the range to infinity. Below 2^-14 by adding 1/2, whose ulp is the
 * smallest float16; else in integers. */
static inline void vf_store_f16(uint16_t *p, vf v) {
#if defined(__AVX512F__)
    __m256i narrow = _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif defined(__F16C__)
    __m128i narrow = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__aarch64__)
    float16x4_t narrow = vcvt_f16_f32((float32x4_t)v);
#else
    vw bits = (vw)v, sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    vw normal = (a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13, tiny = (vw)((vf)a + 0.5f) - 0x3f000000;
    vw is_nan = (vw)(a > 0x7f800000), is_tiny = (vw)(a < 0x38800000), is_huge = (vw)(a >= 0x47800000);
    vw huge = 0x7c00 | (is_nan & (0x200 | (a >> 13 & 0x3ff)));
    vw half = sign | (is_tiny & tiny) | (is_huge & huge) | (~is_tiny & ~is_huge & normal);
    vf16 narrow = __builtin_convertvector(half, vf16);
#endif
    memcpy(p, &narrow, sizeof narrow);
}

/* Rounded to the nearest float16, and still float32. */
static inline vf vf_round_f16(vf v) {
    uint16_t lanes[ASC_VF];
    vf_store_f16(lanes, v);
    return vf_load_f16(lanes);
}

/* The first n lanes (n < ASC_VF); the rest are zero. */
static inline vf vf_load_f16_tail(const uint16_t *p, int64_t n) {
    uint16_t lanes[ASC_VF] = {0};
    memcpy(lanes, p, (size_t)n * sizeof *p);
    return vf_load_f16(lanes);
}

static inline void vf_store_f16_tail(uint16_t *p, vf v, int64_t n) {
    uint16_t lanes[ASC_VF];
    vf_store_f16(lanes, v);
    memcpy(p, lanes, (size_t)n * sizeof *p);
}

#endif
