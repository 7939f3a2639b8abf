/* swiglu.h - what a gate lets through: silu(gate) * up, silu(x) = x / (1 + exp(-x)). */
#ifndef ASC_KERNELS_SWIGLU_H
#define ASC_KERNELS_SWIGLU_H

#include "vmath.h"

static inline vf vf_swiglu(vf gate, vf up) {
    return gate * vf_sigmoid(gate) * up;
}

#endif
