/* byte_sum_vectors.h - sums of an integer product's results and an image in vectors of 16, where the sum's scale has a
 * reciprocal (byte_sum.h). Files that include it contract no product with a sum: CMakeLists.txt. */
#ifndef ASC_KERNELS_BYTE_SUM_VECTORS_H
#define ASC_KERNELS_BYTE_SUM_VECTORS_H

#include "matmul/qgemm.h"
#include "quotient.h"
#include "saturate.h"

#if ASC_VF == 16
/* What all results share. */
typedef struct sum_vectors {
    saturation ends;
    __m512i top, least, most; /* bounds of the sum, as signed bytes; `top` makes unsigned ones of them */
    __m512i flip;
    __m512 low, high, scale, addend_zero, addend_scale, y_scale, inverse;
    __m512 product, image, rest; /* of the sum as byte_affine has it */
} sum_vectors;

static inline sum_vectors sum_vectors_of(const requantiser *r) {
    const byte_sum *s = r->sum;
    const int is_signed = r->dtype == ASC_INT8, top = is_signed ? 0 : 128;
    sum_vectors v = {.ends = saturation_of((int32_t)s->y_zero, is_signed), .top = _mm512_set1_epi8((char)top)};
    v.least = _mm512_set1_epi8((char)(s->least - top));
    v.most = _mm512_set1_epi8((char)(s->most - top));
    v.flip = _mm512_set1_epi8((char)s->flip);
    v.low = _mm512_set1_ps(r->low);
    v.high = _mm512_set1_ps(r->high);
    v.scale = _mm512_set1_ps(s->scale);
    v.addend_zero = _mm512_set1_ps(8388608.0f + s->addend_zero);
    v.addend_scale = _mm512_set1_ps(s->addend_scale);
    v.y_scale = _mm512_set1_ps(s->y_scale);
    v.inverse = _mm512_set1_ps(s->inverse);
    v.product = _mm512_set1_ps(s->affine.product);
    v.image = _mm512_set1_ps(s->affine.image);
    v.rest = _mm512_set1_ps(s->affine.rest);
    return v;
}

/* The image's bytes for four vectors one behind the other, as `addend_of` takes them: quarter q has lanes 4 q to
 * 4 q + 3 of each vector. */
static inline __attribute__((always_inline)) __m512i in_quarters(const sum_vectors *v, __m512i bytes) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, _mm512_xor_si512(bytes, v->flip));
}

/* Where the shuffle of a quarter finds the bytes of vector k. */
static inline __attribute__((always_inline)) __m512i place_of(const int k) {
    return _mm512_add_epi32(_mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0), _mm512_set1_epi32(4 * k));
}

/* Vector k of the image as floats, less its zero point. A byte in the place of the last bits of 2^23 adds itself to
 * that. */
static inline __attribute__((always_inline)) __m512 addend_of(const sum_vectors *v, __m512i quarters, const int k) {
    const __mmask64 lowest = 0x1111111111111111;
    __m512 x = (__m512)_mm512_mask_shuffle_epi8(_mm512_set1_epi32(0x4b000000), lowest, quarters, place_of(k));
    return _mm512_sub_ps(x, v->addend_zero);
}

/* Sums of products in steps of the product's results. */
static inline __attribute__((always_inline)) __m512 product_of(vi sums, vf scale) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sums), (__m512)scale);
}

/* The results, less their zero point. */
static inline __attribute__((always_inline)) __m512 result_of(const sum_vectors *v, __m512 x) {
    x = _mm512_min_ps(_mm512_max_ps(x, v->low), v->high);
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/* Results plus the image in steps of the sum, less its zero point. */
static inline __attribute__((always_inline)) __m512i steps_of_sum(const sum_vectors *v, __m512 result, __m512 addend) {
    __m512 z = _mm512_add_ps(_mm512_mul_ps(result, v->scale), _mm512_mul_ps(addend, v->addend_scale));
    return _mm512_cvtps_epi32((__m512)vf_quotient((vf)z, (vf)v->y_scale, (vf)v->inverse));
}

/* The same before it is rounded, as int8, where the sum is affine; with vector k of the image. */
static inline __attribute__((always_inline)) __m512 affine_sum(const sum_vectors *v, __m512 result, __m512i quarters,
                                                               const int k) {
    const __mmask64 lowest = 0x1111111111111111;
    __m512 bytes = _mm512_cvtepi32_ps(_mm512_maskz_shuffle_epi8(lowest, quarters, place_of(k)));
    return _mm512_fmadd_ps(result, v->product, _mm512_fmadd_ps(bytes, v->image, v->rest));
}

/* Four vectors of those as bytes, one vector behind the other. */
static inline __attribute__((always_inline)) __m512i bytes_of_affine(const sum_vectors *v, const __m512 x[4]) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i first = _mm512_packs_epi32(_mm512_cvtps_epi32(x[0]), _mm512_cvtps_epi32(x[1]));
    __m512i second = _mm512_packs_epi32(_mm512_cvtps_epi32(x[2]), _mm512_cvtps_epi32(x[3]));
    return _mm512_permutexvar_epi32(order, _mm512_xor_si512(_mm512_packs_epi16(first, second), v->top));
}

/* Steps of four vectors as bytes, one vector behind the other. */
static inline __attribute__((always_inline)) __m512i bytes_of_sum(const sum_vectors *v, const __m512i steps[4]) {
    __m512i bytes = _mm512_xor_si512(saturated(&v->ends, steps), v->top);
    return _mm512_xor_si512(_mm512_min_epi8(_mm512_max_epi8(bytes, v->least), v->most), v->top);
}
#endif

#endif
