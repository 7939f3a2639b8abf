/* exp_below.h - the exponential of differences from a maximum, as a softmax takes it. */
#ifndef ASC_KERNELS_EXP_BELOW_H
#define ASC_KERNELS_EXP_BELOW_H

#include "vmath.h"

/* 2^y within 3 ulp for y < 127, or NaN; 1 of 0, 0 of -Inf. 2^r is 1 + r P(r). */
static inline vf vf_exp2(vf y) {
#if defined(__AVX512DQ__)
    vf r = (vf)_mm512_reduce_ps((__m512)y, 9); /* y - floor(y); 0 of an infinity */
    vf p = vf_fma(vf_set(0x1.e9691ep-10f), r, vf_set(0x1.277c1ap-7f));
    p = vf_fma(p, r, vf_set(0x1.c91c10p-5f));
    p = vf_fma(p, r, vf_set(0x1.ebdb6ap-3f));
    p = vf_fma(p, r, vf_set(0x1.62e4bap-1f));
    p = vf_fma(p, r, vf_set(1.0f));
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)y); /* by 2^floor(y) */
#else
    y = vf_max(vf_set(-150.0f), y);
    vf shifted = y + ASC_ROUNDER_F, n = shifted - ASC_ROUNDER_F, r = y - n;
    vf p = vf_fma(vf_set(0x1.5be0e6p-10f), r, vf_set(0x1.3ce8b0p-7f));
    p = vf_fma(p, r, vf_set(0x1.c6b6ccp-5f));
    p = vf_fma(p, r, vf_set(0x1.ebf9c2p-3f));
    p = vf_fma(p, r, vf_set(0x1.62e42ap-1f));
    p = vf_fma(p, r, vf_set(1.0f));
    return vf_scale(p, n, (vi)shifted);
#endif
}

/* exp(x) for x <= 0, or NaN: 1 of 0, and else within (1.3 |x| + 3) ulp, as the argument of 2^y is rounded. */
static inline vf vf_exp_below(vf x) {
    return vf_exp2(x * ASC_LOG2E_F);
}

#endif
