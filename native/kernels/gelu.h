/* gelu.h - GELU of vectors, x Phi(x), as epilogues use it. */
#ifndef ASC_KERNELS_GELU_H
#define ASC_KERNELS_GELU_H

#include "vmath.h"

/* x / 2 (1 + erf(x / sqrt 2)) */
static inline vf vf_gelu_erf(vf x) {
    return 0.5f * x * (1.0f + vf_erf(x * 0.70710678118654752440f));
}

/* x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
static inline vf vf_gelu_tanh(vf x) {
    vf inner = 0.79788456080286535588f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + vf_tanh(inner));
}

#endif
