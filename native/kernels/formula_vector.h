/* formula_vector.h - what code generated from a formula computes in: vectors V of the compute type S, and masks M.
 *
 * Every result passes sealed(), so that the compiler contracts no multiplication with an addition of another step: the
 * bits are those of the interpreter, which takes one step at a time.
 */
#ifndef ASC_KERNELS_FORMULA_VECTOR_H
#define ASC_KERNELS_FORMULA_VECTOR_H

#include <math.h>

#include "vmath.h"
#include "vmath_wide.h"

#if ASC_WIDE
typedef double S;
typedef vd V;
typedef vl M;
typedef int64_t LANE;
#define LANES ASC_VD
#else
typedef float S;
typedef vf V;
typedef vi M;
typedef int32_t LANE;
#define LANES ASC_VF
#endif
#define FN static inline __attribute__((always_inline, unused))

FN V sealed(V x) {
    __asm__("" : ASC_SEAL_CLASS(x));
    return x;
}

/* A turn: vectors whose steps are taken side by side, at most TURN of them. */
#define TURN 4
#define EVERY _Pragma("GCC unroll 4") for (int u = 0; u < many; u++)
#define fetch(p) __builtin_prefetch(p)
#define fetch_to_write(p) __builtin_prefetch(p, 1)

FN V v_set(S x) {
    return x - (V){0};
}
FN V v_select(M mask, V yes, V no) {
    return (V)(((M)yes & mask) | ((M)no & ~mask));
}
FN M m_set(int truth) {
    return (M){0} - (LANE)(truth != 0);
}
FN V v_of_mask(M mask) { /* 1 where it holds, else 0 */
    return (V)((M)v_set(1) & mask);
}
/* Positions first, first + step, ... */
FN V v_index(int64_t first, int64_t step) {
    V v;
    for (int i = 0; i < LANES; i++) v[i] = (S)(first + i * step);
    return v;
}
FN M m_first(int64_t n) { /* the first n lanes */
    M m;
    for (int i = 0; i < LANES; i++) m[i] = i < n ? -1 : 0;
    return m;
}

#if ASC_WIDE
#define lanes_greater vd_greater
#define lanes_less vd_less
#define swap_lanes vd_swap_lanes
#else
#define lanes_greater vf_greater
#define lanes_less vf_less
#define swap_lanes vf_swap_lanes
#endif

#endif
