/* simd_gather.h - vectors of floats from scattered places. Apart from simd.h, whose intrinsics are those of
 * intrinsics.h: generated code reads them. */
#ifndef ASC_KERNELS_SIMD_GATHER_H
#define ASC_KERNELS_SIMD_GATHER_H

#include "simd.h"

/* p[at[i]] in lane i. */
static inline vf vf_gather(const float *p, const int32_t *at) {
#if defined(__AVX512F__)
    return (vf)_mm512_i32gather_ps(_mm512_loadu_si512(at), p, 4);
#else
    vf v;
    for (int i = 0; i < ASC_VF; i++) v[i] = p[at[i]];
    return v;
#endif
}

#endif
