/* quotient.h - quotients by one scale. */
#ifndef ASC_KERNELS_QUOTIENT_H
#define ASC_KERNELS_QUOTIENT_H

#include "simd.h"

#define QUOTIENT_FARTHEST 1e6f /* up to which vf_quotient's results are those of a division */

/* 1 / scale, for vf_quotient; 0 where only a division will do, since parts of it could be subnormal or infinite. */
static inline float quotient_inverse(float scale) {
    return scale > 1e-20f && scale < 1e20f ? 1 / scale : 0;
}

/* z / scale. With FMA what the reciprocal gives is corrected by what that leaves of z, which is exact. */
static inline __attribute__((always_inline)) vf vf_quotient(vf z, vf scale, vf inverse) {
#if ASC_VF == 16
    __m512 q = _mm512_mul_ps((__m512)z, (__m512)inverse), rest = _mm512_fnmadd_ps(q, (__m512)scale, (__m512)z);
    return (vf)_mm512_fmadd_ps(rest, (__m512)inverse, q);
#elif ASC_VF == 8
    __m256 q = _mm256_mul_ps((__m256)z, (__m256)inverse), rest = _mm256_fnmadd_ps(q, (__m256)scale, (__m256)z);
    return (vf)_mm256_fmadd_ps(rest, (__m256)inverse, q);
#else
    (void)inverse;
    return z / scale;
#endif
}

#endif
