/* topk_rank.h - the few best elements of a float32 line without a heap, whose branches nobody can predict: a bound
 * that a little more than k elements reach, those elements, and of each how many are better. */
#ifndef ASC_KERNELS_TOPK_RANK_H
#define ASC_KERNELS_TOPK_RANK_H

#include <math.h>

#include "simd.h"

#define TOPK_GROUP 16 /* vectors of a group */

/* The larger, or the smaller, in the sense of the call: the sign bit is flipped to look for the smallest. */
static inline vf topk_load(const float *p, vi flip) {
    return (vf)((vi)vf_load(p) ^ flip);
}

/* Bit i: lane i of a mask. */
static inline uint32_t topk_bits(vi mask) {
#if defined(__AVX512DQ__)
    return _mm512_movepi32_mask((__m512i)mask);
#else
    uint32_t bits = 0;
    for (int i = 0; i < ASC_VF; i++) bits |= (uint32_t)(mask[i] & 1) << i;
    return bits;
#endif
}

/* The largest of the lanes of two vectors that k of them reach; k <= ASC_VF. */
static inline float topk_bound(vf a, vf b, int64_t k) {
    float lanes[2 * ASC_VF];
    vf_store(lanes, a);
    vf_store(lanes + ASC_VF, b);
    vi reach_a = {0}, reach_b = {0};
    for (int i = 0; i < 2 * ASC_VF; i++) {
        reach_a -= vf_set(lanes[i]) >= a;
        reach_b -= vf_set(lanes[i]) >= b;
    }
    vf low = vf_set(-INFINITY);
    return vf_maximum(vf_max(vf_select(reach_a >= (int32_t)k, a, low), vf_select(reach_b >= (int32_t)k, b, low)));
}

#define TOPK_MOST 64 /* candidates */

typedef struct topk_candidates {
    int64_t n, index[TOPK_MOST]; /* in rising order */
    float value[TOPK_MOST];
} topk_candidates;

/* The elements of one vector that `bits` names; 0 when there are too many. */
static inline int topk_collect(topk_candidates *c, vf v, uint32_t bits, int64_t index) {
    if (c->n > TOPK_MOST - ASC_VF) return 0;
    float lanes[ASC_VF];
    vf_store(lanes, v);
    for (; bits; bits &= bits - 1, c->n++) {
        int i = __builtin_ctz(bits);
        c->index[c->n] = index + i;
        c->value[c->n] = lanes[i];
    }
    return 1;
}

/* Those of a group that reach the bound; 0 when there are too many. One branch for each vector that has any. */
static inline int topk_collect_group(topk_candidates *c, const float *x, vi flip, vf bound, int64_t index) {
    uint32_t bits[TOPK_GROUP], any = 0;
    for (int i = 0; i < TOPK_GROUP; i++) {
        bits[i] = topk_bits(topk_load(x + index + i * ASC_VF, flip) >= bound);
        any |= (uint32_t)(bits[i] != 0) << i;
    }
    for (; any; any &= any - 1) {
        int i = __builtin_ctz(any);
        int64_t at = index + i * ASC_VF;
        if (!topk_collect(c, topk_load(x + at, flip), bits[i], at)) return 0;
    }
    return 1;
}

/* best[r]: where the candidate lies that r others are better than, for r < k <= ASC_VF. Of equal ones the first is
 * better. */
static inline void topk_rank(const topk_candidates *c, int64_t k, int64_t *best) {
    int64_t order[ASC_VF + 1]; /* the last: of all that are no good */
    for (int64_t j = 0; j < c->n; j += ASC_VF) {
        vf own = vf_load(c->value + j);
        vi lane = vi_iota() + (int32_t)j, rank = {0};
        for (int64_t i = 0; i < c->n; i++) {
            vf other = vf_set(c->value[i]);
            rank -= (other > own) | ((other == own) & (vi_set((int32_t)i) < lane));
        }
        int32_t ranks[ASC_VF];
        memcpy(ranks, &rank, sizeof ranks);
        for (int64_t i = 0; i < ASC_VF && j + i < c->n; i++) order[ranks[i] < k ? ranks[i] : k] = c->index[j + i];
    }
    memcpy(best, order, (size_t)k * sizeof *best);
}

#endif
