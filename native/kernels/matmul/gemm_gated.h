/* gemm_gated.h - what a gate lets through, of sums that hold both sides by turns: groups of GEMM_GATED of the gate,
 * then as many of what it lets through. */
#ifndef ASC_KERNELS_GEMM_GATED_H
#define ASC_KERNELS_GEMM_GATED_H

#include "gemm.h"
#include "swiglu.h"

/* Lane i of the result is in group i / GEMM_GATED. */
static inline __attribute__((always_inline)) vf gemm_gate(vf low, vf high) {
    vi lane = vi_iota(), gates = lane + (lane & ~(GEMM_GATED - 1));
    return vf_swiglu(__builtin_shuffle(low, high, gates), __builtin_shuffle(low, high, gates + GEMM_GATED));
}

#endif
