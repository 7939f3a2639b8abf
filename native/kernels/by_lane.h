/* by_lane.h - products of a vector with one lane of another, which AArch64 takes without spreading the lane first. */
#ifndef ASC_KERNELS_BY_LANE_H
#define ASC_KERNELS_BY_LANE_H

#include "simd.h"

#if defined(__aarch64__)
#define ASC_BY_LANE 1 /* products by lanes are cheaper than those by a vector of a broadcast element */

#include <arm_neon.h>

/* sum + four[lane] * right; `lane` is constant once the code around is unrolled. */
static inline __attribute__((always_inline)) vf vf_fma_lane(vf four, const int lane, vf right, vf sum) {
    switch (lane) {
        case 0: return (vf)vfmaq_laneq_f32((float32x4_t)sum, (float32x4_t)right, (float32x4_t)four, 0);
        case 1: return (vf)vfmaq_laneq_f32((float32x4_t)sum, (float32x4_t)right, (float32x4_t)four, 1);
        case 2: return (vf)vfmaq_laneq_f32((float32x4_t)sum, (float32x4_t)right, (float32x4_t)four, 2);
        default: return (vf)vfmaq_laneq_f32((float32x4_t)sum, (float32x4_t)right, (float32x4_t)four, 3);
    }
}
#else
#define ASC_BY_LANE 0
#endif

#endif
