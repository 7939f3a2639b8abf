/* The softmax of a block of queries, kept up to date from run to run of keys as Milakov and Gimelshein (Online
 * normalizer calculation for softmax, 2018) do. Queries are lanes, so that all of it runs down columns of scores. */
#include <math.h>

#include "attention.h"
#include "exp_below.h"
#include "vnni2.h"

#define LANES ATTENTION_LANES
#define VECTORS ATTENTION_VECTORS

/* The largest score of each query so far. Four at a time: one alone would wait for the one before. */
static vf largest(const float *scores, int64_t keys, vf so_far) {
    vf max[4] = {so_far, so_far, so_far, so_far};
    int64_t i = 0;
    for (; i + 4 <= keys; i += 4, scores += 4 * LANES)
#pragma GCC unroll 4
        for (int u = 0; u < 4; u++) max[u] = vf_max(vf_load(scores + u * LANES), max[u]);
    for (; i < keys; i++, scores += LANES) max[0] = vf_max(vf_load(scores), max[0]);
    return vf_max(vf_max(max[0], max[1]), vf_max(max[2], max[3]));
}

/* What to subtract: the maximum, unless subtracting it would make NaN of an infinity. */
static vf finite_shift(vf max) {
    return vf_select(vf_abs(max) == INFINITY, (vf){0}, max);
}

/* What is subtracted for a query stays while no score exceeds it by more than the slack: weights above 1 are rounded
 * as those below are, and what is summed already need not be rescaled. */
int ASC_FN(attention_shift)(attention_softmax *s, int narrow, const float *scores, int64_t keys, int64_t lanes,
                            float *factors) {
    vi moved = {0};
    float slack = narrow ? 0 : ATTENTION_SLACK;
    for (int v = 0; v < VECTORS; v++, factors += ASC_VF) {
        vf_store(factors, vf_set(1.0f));
        if (v * ASC_VF >= lanes) continue;
        vf max = scores ? largest(scores + v * ASC_VF, keys, s->max[v]) : vf_max(s->product[v], s->max[v]);
        vi moves = ~(max <= s->max[v] + slack);
        if (!vi_any(moves)) continue;
        vf shift = finite_shift(max) - (narrow ? 0 : EXP2_AHEAD), less = s->shift[v] - shift,
           change = narrow ? vf_exp(less) : vf_exp2(less);
        change = vf_select(s->max[v] == -INFINITY, (vf){0}, change);
        vf factor = vf_select(moves, change, vf_set(1.0f));
        s->shift[v] = vf_select(moves, shift, s->shift[v]);
        s->max[v] = vf_select(moves, max, s->max[v]);
        s->total[v] *= factor;
        vf_store(factors, factor);
        moved |= moves;
    }
    return vi_any(moved);
}

/* The scores' exponentials in place, and their sums, key by key as where they overlap (attention_tile.c). A score of
 * +Inf gives NaN. */
static void exponentials(attention_softmax *s, float *scores, int64_t keys, int64_t vectors) {
    for (int64_t v = 0; v < vectors; v++) {
        vf shift = s->shift[v], total = s->total[v];
        float *at = scores + v * ASC_VF;
#pragma GCC unroll 4
        for (int64_t i = 0; i < keys; i++, at += LANES) {
            vf e = vf_exp2_from(&EXP2_TABLE, vf_load(at) - shift);
            vf_store(at, e);
            total += e;
        }
        s->total[v] = total;
    }
}

void ASC_FN(attention_rescale)(float *weights, int64_t keys, const float *factors) {
    for (int64_t i = 0; i < keys; i++, weights += LANES)
        for (int v = 0; v < VECTORS; v++)
            vf_store(weights + v * ASC_VF, vf_load(weights + v * ASC_VF) * vf_load(factors + v * ASC_VF));
}

/* exp for x <= 0, or NaN, to be rounded to bfloat16: relative error 8e-5. 2^y with y = n + r, 0 <= r <= 1. */
static inline vf coarse_exp(vf x) {
    vf y = x * ASC_LOG2E_F;
#if defined(__AVX512DQ__)
    vf r = (vf)_mm512_reduce_ps((__m512)y, 9); /* y - floor(y); 0 of an infinity */
#else
    y = vf_max(vf_set(-150.0f), y);
    vf shifted = (y - 0.5f) + ASC_ROUNDER_F, n = shifted - ASC_ROUNDER_F, r = y - n;
#endif
    vf p = vf_fma(vf_set(0x1.3f96b4p-4f), r, vf_set(0x1.cefc54p-3f));
    p = vf_fma(p, r, vf_set(0x1.644448p-1f));
    p = vf_fma(p, r, vf_set(0x1.fff634p-1f));
#if defined(__AVX512DQ__)
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)y); /* by 2^floor(y) */
#else
    return vf_scale(p, n, (vi)shifted);
#endif
}

/* The same, the exponentials of every two keys becoming a line of pairs. Sums are of what they were rounded to, so
 * that the weights still add up to 1. */
static void narrow_exponentials(attention_softmax *s, float *scores, int64_t keys, int64_t vectors) {
    for (int64_t v = 0; v < vectors; v++) {
        vf shift = s->shift[v], sum[4] = {{0}, {0}, {0}, {0}};
        float *at = scores + v * ASC_VF, *out = at;
        int64_t i = 0;
        for (; i + 4 <= keys; i += 4, at += 4 * LANES, out += 2 * LANES) {
            vf e[4];
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) e[u] = coarse_exp(vf_load(at + u * LANES) - shift);
#pragma GCC unroll 2
            for (int u = 0; u < 4; u += 2) {
                vf pair = vnni2_zip(e[u], e[u + 1]);
                vf_store(out + u / 2 * LANES, pair);
                sum[u] += vnni2_first(pair);
                sum[u + 1] += vnni2_second(pair);
            }
        }
        for (; i < keys; i += 2, at += 2 * LANES, out += LANES) {
            vf first = coarse_exp(vf_load(at) - shift), second = {0};
            if (i + 1 < keys) second = coarse_exp(vf_load(at + LANES) - shift);
            vf pair = vnni2_zip(first, second);
            vf_store(out, pair);
            sum[0] += vnni2_first(pair);
            sum[1] += vnni2_second(pair);
        }
        s->total[v] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

void ASC_FN(attention_weights)(attention_softmax *s, int narrow, float *scores, int64_t keys, int64_t lanes) {
    int64_t vectors = (lanes + ASC_VF - 1) / ASC_VF;
    if (narrow)
        narrow_exponentials(s, scores, keys, vectors);
    else
        exponentials(s, scores, keys, vectors);
}
