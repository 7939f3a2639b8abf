/* bfloat16.h - vectors of float32 from and to bfloat16 in memory. Subnormal bfloat16 may count as zero. */
#ifndef ASC_KERNELS_BFLOAT16_H
#define ASC_KERNELS_BFLOAT16_H

#include "simd.h"

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include <arm_neon.h>
#endif

typedef uint16_t vs __attribute__((vector_size(ASC_VF * 2)));

/* Rounded to the nearest bfloat16, ties to even; NaN stays NaN. */
static inline uint32_t bf16_round(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000) return (bits >> 16) | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* The same of every lane, in its low half. */
static inline vw vf_round_bf16(vf x) {
    vw bits = (vw)x, nan = (vw)(x != x), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (nan & (bits >> 16 | 0x40)) | (~nan & rounded);
}

static inline vf vf_load_bf16(const uint16_t *p) {
#if defined(__AVX512F__)
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i_u *)p)), 16);
#elif defined(__AVX2__)
    return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i_u *)p)), 16);
#else
    vs half;
    memcpy(&half, p, sizeof half);
    return (vf)(__builtin_convertvector(half, vw) << 16);
#endif
}

static inline void vf_store_bf16(uint16_t *p, vf v) {
#if defined(__AVX512BF16__)
    __m256bh half = _mm512_cvtneps_pbh((__m512)v);
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
    bfloat16x4_t half = vcvt_bf16_f32((float32x4_t)v);
#elif defined(__AVX2__) && ASC_VF == 8
    __m256i wide = (__m256i)vf_round_bf16(v);
    __m128i half = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
#else
    vs half = __builtin_convertvector(vf_round_bf16(v), vs);
#endif
    memcpy(p, &half, sizeof half);
}

/* The first n lanes (n < ASC_VF); the rest are zero. */
static inline vf vf_load_bf16_tail(const uint16_t *p, int64_t n) {
#if defined(__AVX512F__)
    __m256i half = _mm256_maskz_loadu_epi16((__mmask16)((1u << n) - 1), p);
    return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
#else
    uint16_t lanes[ASC_VF] = {0};
    for (int64_t i = 0; i < n; i++) lanes[i] = p[i];
    return vf_load_bf16(lanes);
#endif
}

static inline void vf_store_bf16_tail(uint16_t *p, vf v, int64_t n) {
#if defined(__AVX512BF16__)
    _mm256_mask_storeu_epi16(p, (__mmask16)((1u << n) - 1), (__m256i)_mm512_cvtneps_pbh((__m512)v));
#elif defined(__AVX512F__)
    __m256i half = _mm512_cvtepi32_epi16((__m512i)vf_round_bf16(v));
    _mm256_mask_storeu_epi16(p, (__mmask16)((1u << n) - 1), half);
#else
    uint16_t lanes[ASC_VF];
    vf_store_bf16(lanes, v);
    memcpy(p, lanes, (size_t)n * sizeof *p);
#endif
}

/* Element i of an array that is bfloat16, if narrow, or float32. */
static inline const void *image_at(const void *image, int64_t i, int narrow) {
    return (const char *)image + i * (narrow ? 2 : 4);
}

/* A vector of it from element i on; with a tail, its first n lanes, and zeros. */
static inline __attribute__((always_inline)) vf image_load(const void *image, int64_t i, int narrow, int tail,
                                                           int64_t n) {
    const void *p = image_at(image, i, narrow);
    if (narrow) return tail ? vf_load_bf16_tail(p, n) : vf_load_bf16(p);
    return tail ? vf_load_tail(p, n, 0) : vf_load(p);
}

static inline __attribute__((always_inline)) void image_store(void *image, int64_t i, vf v, int narrow, int tail,
                                                              int64_t n) {
    void *p = (char *)image + i * (narrow ? 2 : 4);
    if (narrow)
        tail ? vf_store_bf16_tail(p, v, n) : vf_store_bf16(p, v);
    else
        tail ? vf_store_tail(p, v, n) : vf_store(p, v);
}

#endif
