/* norm_pass.h - one pass over neighbouring rows of a normalisation, each at another step of it.
 *
 * A row is summed, then (layer_norm) its deviations are, then it is finished. In one pass a row is finished and
 * what comes after it is summed: the cache beyond is read while another line goes there, and no step waits for
 * the fold of the step before. A pass for each step would have them take turns. */
#ifndef ASC_KERNELS_NORM_PASS_H
#define ASC_KERNELS_NORM_PASS_H

#include <math.h>

#include "reduction/row_sums.h"

/* Which operands there are: constants where the usual ones are given, which then have loops of their own. */
typedef struct norm_kind {
    int rms, residual, sum, scale, bias;
    int streams; /* y is stored past the caches */
} norm_kind;

/* Where a row's operands and results lie. */
typedef struct norm_row {
    const float *x, *residual;
    float *y, *sum;
} norm_row;

/* What a pass does, constant where it is run: to the row `finished`, to `deviating`, to `summed`. */
typedef struct norm_pass {
    int64_t n;
    norm_kind kind;
    int finishes, deviates, sums;
    norm_row finished, summed;
    const float *deviating;    /* x of the row */
    const float *scale, *bias; /* of the finished row, */
    vf shift, factor;
    vf mean; /* of the deviating one */
} norm_pass;

/* Of h, or of its squares; of squares of (h - mean) */
typedef struct norm_sums {
    float sum, deviation;
} norm_sums;

#define NORM_AHEAD 512 /* elements that are asked for before they are read: more than the CPU sees by itself */

static inline vf norm_load(const float *p, int64_t lanes) {
    return lanes < ASC_VF ? vf_load_tail(p, lanes, 0.0f) : vf_load(p);
}
static inline void norm_store(float *p, vf v, int64_t lanes) {
    if (lanes < ASC_VF)
        vf_store_tail(p, v, lanes);
    else
        vf_store(p, v);
}

/* h = x + residual of the row that is summed */
static inline vf norm_read(const norm_pass *p, int64_t i, int64_t lanes) {
    __builtin_prefetch(p->summed.x + i + NORM_AHEAD);
    if (!p->kind.residual) return norm_load(p->summed.x + i, lanes);
    __builtin_prefetch(p->summed.residual + i + NORM_AHEAD);
    return norm_load(p->summed.x + i, lanes) + norm_load(p->summed.residual + i, lanes);
}

/* (h - shift) * factor * scale + bias; h lies in `sum`, if there is one, since the row was summed. */
static inline vf norm_finish(const norm_pass *p, int64_t i, int64_t lanes) {
    vf h = norm_load((p->kind.sum ? p->finished.sum : p->finished.x) + i, lanes);
    if (p->kind.residual && !p->kind.sum) h += norm_load(p->finished.residual + i, lanes);
    vf v = p->kind.rms ? h * p->factor : (h - p->shift) * p->factor;
    if (p->kind.scale) v *= norm_load(p->scale + i, lanes);
    if (p->kind.bias) v += norm_load(p->bias + i, lanes);
    return v;
}

static inline vf norm_deviation(const norm_pass *p, int64_t i, int64_t lanes) {
    vf d = norm_load(p->deviating + i, lanes) - p->mean;
    return lanes < ASC_VF ? vf_first(d * d, lanes) : d * d;
}

/* `vectors` (1 or 4) vectors, the last of `lanes` elements; sums[u] is of every vectors-th. Loads stand before
 * stores, so that the compiler may take the steps of the chains side by side. */
static inline __attribute__((always_inline)) void norm_turn(const norm_pass *p, int64_t i, int vectors, int64_t lanes,
                                                            vf *sums, vf *deviations) {
    vf h[4], v[4];
    for (int u = 0; p->sums && u < vectors; u++) h[u] = norm_read(p, i + u * ASC_VF, lanes);
    for (int u = 0; p->finishes && u < vectors; u++) v[u] = norm_finish(p, i + u * ASC_VF, lanes);
    for (int u = 0; p->deviates && u < vectors; u++) deviations[u] += norm_deviation(p, i + u * ASC_VF, lanes);
    for (int u = 0; p->sums && u < vectors; u++) sums[u] += p->kind.rms ? h[u] * h[u] : h[u];
    for (int u = 0; p->sums && p->kind.sum && u < vectors; u++) norm_store(p->summed.sum + i + u * ASC_VF, h[u], lanes);
    for (int u = 0; p->finishes && u < vectors; u++)
        if (p->kind.streams && lanes == ASC_VF)
            vf_stream(p->finished.y + i + u * ASC_VF, v[u]);
        else
            norm_store(p->finished.y + i + u * ASC_VF, v[u], lanes);
}

/* The sums are in the order of row_sums.h. */
static inline __attribute__((always_inline)) norm_sums norm_run(const norm_pass *p) {
    vf sum = {0}, deviation = {0};
    int64_t i = 0, n = p->n;
    for (int64_t block = 0; block < n; block += ASC_SUM_BLOCK) {
        int64_t end = n - block < ASC_SUM_BLOCK ? n : block + ASC_SUM_BLOCK;
        vf s[4] = {{0}, {0}, {0}, {0}}, d[4] = {{0}, {0}, {0}, {0}};
        for (; i + 4 * ASC_VF <= end; i += 4 * ASC_VF) norm_turn(p, i, 4, ASC_VF, s, d);
        for (; i + ASC_VF <= end; i += ASC_VF) norm_turn(p, i, 1, ASC_VF, s, d);
        if (i < end) norm_turn(p, i, 1, end - i, s + 1, d + 1), i = end;
        sum += (s[0] + s[1]) + (s[2] + s[3]);
        if (p->deviates) deviation += (d[0] + d[1]) + (d[2] + d[3]);
    }
    return (norm_sums){p->sums ? vf_sum(sum) : 0, p->deviates ? vf_sum(deviation) : 0};
}

/* What a row is multiplied by whose squares, or whose deviations', have this sum. */
static inline float norm_factor(float squares, int64_t n, float epsilon) {
    return 1.0f / sqrtf(squares / (float)n + epsilon);
}

#endif
