/* exp_below.h - the exponential of differences from a maximum, as a softmax takes it. */
#ifndef ASC_KERNELS_EXP_BELOW_H
#define ASC_KERNELS_EXP_BELOW_H

#include "vmath.h"

/* 2^y within 1.5 ulp for y < 127, or NaN; 0 of -Inf */
static inline vf vf_exp2(vf y) {
#if defined(__AVX512DQ__)
    vf r = (vf)_mm512_reduce_ps((__m512)y, 8), n = y - r; /* y - round(y); 0 of an infinity */
    vi bits = {0};
#else
    y = vf_max(vf_set(-150.0f), y);
    vf shifted = y + ASC_ROUNDER_F, n = shifted - ASC_ROUNDER_F, r = y - n;
    vi bits = (vi)shifted;
#endif
    vf p = vf_fma(vf_set(0x1.4434b0p-13f), r, vf_set(0x1.5ef38ap-10f));
    p = vf_fma(p, r, vf_set(0x1.3b2a3ap-7f));
    p = vf_fma(p, r, vf_set(0x1.c6afa0p-5f));
    p = vf_fma(p, r, vf_set(0x1.ebfbe0p-3f));
    p = vf_fma(p, r, vf_set(0x1.62e430p-1f));
    p = vf_fma(p, r, vf_set(1.0f));
    return vf_scale(p, n, bits);
}

/* exp(x) for x <= 0, or NaN: 1 of 0, and else within (|x| + 1.5) ulp, as x itself is rounded by |x| / 2. */
static inline vf vf_exp_below(vf x) {
    return vf_exp2(x * ASC_LOG2E_F);
}

#endif
