/* norm_lines.h - the pass of norm_pass.h for rms_norm, over rows of x that begin inside a line of the cache, as large
 * arrays of numpy do (16 bytes behind a page).
 *
 * A vector across two lines is read twice. So squares are summed of whole lines: in line k of a row that begins `past`
 * elements into its first one, lanes from `past` on belong to vector k of the row, the others to vector k - 1, and each
 * goes where that vector's sums are, its lanes rotated by `past`. Every sum has its terms in the order of norm_pass.h:
 * the bits are the same. (Finishing rows of whole lines, by permutations, gains nothing.) */
#ifndef ASC_KERNELS_NORM_LINES_H
#define ASC_KERNELS_NORM_LINES_H

#include "norm_pass.h"

#define NORM_TURN (4 * ASC_VF)

/* How many elements into a line of this vector's length all rows of n elements begin, the first at x; 0 where they have
 * no use for a pass of their own: of shorter vectors every second one lies in a line of the cache anyway. */
static inline int64_t norm_past(const float *x, int64_t n) {
    int whole = ASC_VF == 16 && n % NORM_TURN == 0 && n <= ASC_SUM_BLOCK;
    return whole ? (int64_t)((uintptr_t)x % sizeof(vf) / sizeof(float)) : 0;
}

/* Finishes four vectors from i on, and adds the squares of the four lines that begin in those of the summed row. */
static inline __attribute__((always_inline)) void norm_turn_lines(const norm_pass *p, int64_t i, int64_t past, int last,
                                                                  vf *sums) {
    const float *lines = p->summed.x - past + i + ASC_VF;
    vf h[4], v[4] = {{0}, {0}, {0}, {0}};
    for (int u = 0; u < 4; u++) {
        const float *line = lines + u * ASC_VF;
        __builtin_prefetch(line + NORM_AHEAD);
        h[u] = last && u == 3 ? vf_load_lanes(line, lanes_between(0, past)) : vf_load(line);
    }
    for (int u = 0; p->finishes && u < 4; u++) v[u] = norm_finish(p, i + u * ASC_VF, ASC_VF);
    for (int u = 0; u < 4; u++) sums[(u + 1) % 4] += h[u] * h[u];
    for (int u = 0; p->finishes && u < 4; u++) vf_store(p->finished.y + i + u * ASC_VF, v[u]);
}

/* Lanes from `past` on, then those of `next` before it. */
static inline vf norm_rotated(vf lanes, vf next, int64_t past) {
#if ASC_VF == 16
    return (vf)_mm512_permutex2var_ps((__m512)lanes, (__m512i)(vi_iota() + vi_set((int32_t)past)), (__m512)next);
#else
    (void)next, (void)past; /* 0: see norm_past */
    return lanes;
#endif
}

/* Finishes a row, if the pass does, and returns the sum of the squares of the summed one. */
static inline __attribute__((always_inline)) float norm_run_lines(const norm_pass *p, int64_t past) {
    vf first = vf_load_lanes(p->summed.x - past, lanes_between(past, ASC_VF)), sums[4] = {first * first};
    int64_t i = 0;
    for (; i + NORM_TURN < p->n; i += NORM_TURN) norm_turn_lines(p, i, past, 0, sums);
    norm_turn_lines(p, i, past, 1, sums);
    vf s[4];
    for (int u = 0; u < 4; u++) s[u] = norm_rotated(sums[u], sums[(u + 1) % 4], past);
    return vf_sum((s[0] + s[1]) + (s[2] + s[3]));
}

#endif
