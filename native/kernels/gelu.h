/* gelu.h - GELU of vectors, x Phi(x), as epilogues use it. */
#ifndef ASC_KERNELS_GELU_H
#define ASC_KERNELS_GELU_H

#include "vmath.h"

#if defined(__AVX512F__)
#include "gelu_table.h"
#endif

/* x / 2 (1 + erf(x / sqrt 2)) */
static inline vf vf_gelu_erf(vf x) {
    return 0.5f * x * (1.0f + vf_erf(x * 0.70710678118654752440f));
}

/* The same to within 3e-5, a fiftieth of the noise in sums of products of bfloat16, with 3 multiplications. */
static inline vf vf_gelu_coarse(vf x) {
#if defined(__AVX512F__)
    vf t = vf_min(vf_set(5.5f), vf_abs(x)); /* from there on Phi is 1 */
    vf shifted = t + ASC_ROUNDER_F / 4;     /* holds round(4 t) in its low bits */
    vf r = t - (shifted - ASC_ROUNDER_F / 4);
    vf p = vf_fma(vf_look_up(asc_gelu_table[2], (vi)shifted), r, vf_look_up(asc_gelu_table[1], (vi)shifted));
    p = vf_fma(p, r, vf_look_up(asc_gelu_table[0], (vi)shifted));
    return x * (0.5f + vf_with_sign(p, x));
#else
    return vf_gelu_erf(x);
#endif
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
static inline vf vf_gelu_tanh(vf x) {
    vf inner = 0.79788456080286535588f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + vf_tanh(inner));
}

#endif
