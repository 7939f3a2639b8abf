/* simd.h - vectors of ASC_VF floats in GCC/Clang vector extensions: the same source on every ISA. */
#ifndef ASC_KERNELS_SIMD_H
#define ASC_KERNELS_SIMD_H

#include <stdint.h>
#include <string.h>

#include "isa.h"

typedef float vf __attribute__((vector_size(ASC_VF * 4)));
typedef int32_t vi __attribute__((vector_size(ASC_VF * 4)));

static inline vf vf_set(float x) { return x - (vf){0}; }
static inline vf vf_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void vf_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
/* The first n lanes (n < ASC_VF); the rest are `fill`. */
static inline vf vf_load_tail(const float *p, int64_t n, float fill) {
    float lanes[ASC_VF];
    for (int i = 0; i < ASC_VF; i++) lanes[i] = i < n ? p[i] : fill;
    return vf_load(lanes);
}
static inline void vf_store_tail(float *p, vf v, int64_t n) {
    float lanes[ASC_VF];
    vf_store(lanes, v);
    memcpy(p, lanes, (size_t)n * sizeof *p);
}
/* mask lanes are all ones or zero, as comparisons give them */
static inline vf vf_select(vi mask, vf yes, vf no) { return (vf)(((vi)yes & mask) | ((vi)no & ~mask)); }
static inline vf vf_fma(vf a, vf b, vf c) { return a * b + c; } /* contracted where the ISA has FMA */

#endif
