/* gemm_gated.h - what a gate lets through, of sums that hold both sides by turns: groups of ASC_GATED_GROUP of the
 * gate, then as many of what it lets through. */
#ifndef ASC_KERNELS_GEMM_GATED_H
#define ASC_KERNELS_GEMM_GATED_H

#include "gemm.h"
#include "shuffle.h"
#include "swiglu.h"

/* Lane i of the result is in group i / ASC_GATED_GROUP. */
static inline __attribute__((always_inline)) vf gemm_gate(vf low, vf high) {
    vi lane = vi_iota(), gates = lane + (lane & ~(ASC_GATED_GROUP - 1));
    return vf_swiglu(asc_shuffle2(low, high, gates), asc_shuffle2(low, high, gates + ASC_GATED_GROUP));
}

#endif
