/* saturate.h - integers to those of 8 bits by saturation, where their bounds are those of the type. */
#ifndef ASC_KERNELS_SATURATE_H
#define ASC_KERNELS_SATURATE_H

#include "simd.h"

#if ASC_VF == 16
/* What results with one zero point share. All are made as signed ones; `flip` makes unsigned ones of them. */
typedef struct saturation {
    __m512i zero, flip;
} saturation;

static inline saturation saturation_of(int32_t zero, int is_signed) {
    int top = is_signed ? 0 : 128;
    return (saturation){_mm512_set1_epi16((short)(zero - top)), _mm512_set1_epi8((char)top)};
}

/* Four vectors of integers as bytes: a quarter has those of the first's quarter, the second's and so on. Whatever
 * saturates on the way is beyond the bounds of 8 bits, too. */
static inline __attribute__((always_inline)) __m512i saturated_in_quarters(const saturation *s, const __m512i q[4]) {
    __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), s->zero);
    __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), s->zero);
    return _mm512_xor_si512(_mm512_packs_epi16(first, second), s->flip);
}

/* The same, one vector behind the other. */
static inline __attribute__((always_inline)) __m512i saturated(const saturation *s, const __m512i q[4]) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, saturated_in_quarters(s, q));
}

/* Sums times their scales, rounded half to even. */
static inline __attribute__((always_inline)) __m512i scaled(vi sums, vf scales) {
    return _mm512_cvtps_epi32((__m512)(__builtin_convertvector(sums, vf) * scales));
}
#endif

#endif
