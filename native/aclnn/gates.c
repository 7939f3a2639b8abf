/* gates.c - gates of mixtures of experts: which experts a token is for, and how much of each. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* Where the k largest of n are, in order; the first of equal ones first. -infinity means that it is not to be had. */
static void largest(const float *x, int64_t n, int64_t k, int32_t *at, uint8_t *taken) {
    memset(taken, 0, (size_t)n);
    for (int64_t j = 0; j < k; j++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || x[i] > x[best])) best = i;
        taken[best] = 1;
        at[j] = (int32_t)best;
    }
}

static tensor largest_of_rows(asc_run *run, tensor x, int64_t k) {
    int64_t rows = x.dims[0], n = x.dims[1];
    ASC_STOP_UNLESS(run, k >= 0 && k <= n, "the %lld largest of %lld", (long long)k, (long long)n);
    tensor at = asc_new(run, ASC_INT32, 2, (int64_t[]){rows, k});
    uint8_t *taken = asc_bytes(run, (size_t)n + 1);
    for (int64_t i = 0; i < rows; i++) largest((const float *)x.data + i * n, n, k, (int32_t *)at.data + i * k, taken);
    return at;
}

static tensor taken_from(asc_run *run, tensor x, tensor at) {
    tensor made = asc_like(run, at, ASC_FLOAT32);
    int64_t k = at.dims[1], n = x.dims[1];
    for (int64_t i = 0; i < asc_elements(at); i++)
        ((float *)made.data)[i] = ((const float *)x.data)[i / (k ? k : 1) * n + ((const int32_t *)at.data)[i]];
    return made;
}

/* Rows that are finished have no expert: the number behind the last. */
static void put_experts(asc_run *run, int i, tensor at, int finished, int64_t experts) {
    if (asc_given_at(run, finished)) {
        tensor done = asc_of(run, finished, ASC_BOOL);
        ASC_STOP_UNLESS(run, asc_elements(done) == at.dims[0], "finished has %lld rows, not %lld",
                        (long long)asc_elements(done), (long long)at.dims[0]);
        for (int64_t k = 0; k < asc_elements(at); k++)
            if (((const uint8_t *)done.data)[k / at.dims[1]]) ((int32_t *)at.data)[k] = (int32_t)experts;
    }
    asc_put(run, i, at);
}

/* x, finished, k, y, experts, rows: the softmax's largest, where they are, and their place if columns came first. */
void asc_op_gating_softmax(asc_run *run) {
    tensor x = asc_rows_of(run, asc_in(run, 0));
    tensor p = asc_softmax_of(run, x, 1), at = largest_of_rows(run, p, asc_int(run, 2)),
           places = asc_like(run, at, ASC_INT32);
    asc_put(run, 3, taken_from(run, p, at));
    put_experts(run, 4, at, 1, x.dims[1]);
    int64_t rows = at.dims[0], k = at.dims[1];
    for (int64_t i = 0; i < asc_elements(at); i++) ((int32_t *)places.data)[i] = (int32_t)(i % k * rows + i / k);
    asc_put(run, 5, places);
}

/* x, finished, k, renorm, whether softmax goes out, y, experts, softmax; renorm: a softmax of the largest. */
void asc_op_gating_softmax_either(asc_run *run) {
    tensor x = asc_rows_of(run, asc_in(run, 0)), p = x;
    int64_t renorm = asc_int(run, 3);
    ASC_STOP_UNLESS(run, renorm == 0 || renorm == 1, "renorm %lld is none of 0, 1", (long long)renorm);
    if (!renorm) p = asc_softmax_of(run, x, 1);
    tensor at = largest_of_rows(run, p, asc_int(run, 2)), y = taken_from(run, p, at);
    asc_put(run, 5, renorm ? asc_softmax_of(run, y, 1) : y);
    put_experts(run, 6, at, 1, x.dims[1]);
    if (!renorm && asc_int(run, 4)) asc_put(run, 7, p);
}

/* What groups of experts are worth: their largest, or the sum of their two largest. Others than the best `k` are lost.
 */
static void keep_groups(asc_run *run, tensor x, int64_t k, int64_t groups, int64_t mode) {
    int64_t rows = x.dims[0], n = x.dims[1], each = groups ? n / groups : 0;
    ASC_STOP_UNLESS(run, groups > 0 && each * groups == n && k > 0 && k <= groups && mode >= 0 && mode <= 1,
                    "%lld of %lld groups of %lld experts, by mode %lld", (long long)k, (long long)groups, (long long)n,
                    (long long)mode);
    float *worth = asc_bytes(run, (size_t)groups * sizeof *worth);
    uint8_t *taken = asc_bytes(run, (size_t)(groups > n ? groups : n));
    int32_t *at = asc_bytes(run, (size_t)(groups + 2) * sizeof *at);
    for (int64_t i = 0; i < rows; i++) {
        float *row = (float *)x.data + i * n;
        for (int64_t g = 0; g < groups; g++) {
            largest(row + g * each, each, mode && each > 1 ? 2 : 1, at, taken);
            worth[g] = row[g * each + at[0]] + (mode && each > 1 ? row[g * each + at[1]] : 0);
        }
        largest(worth, groups, k, at, taken);
        for (int64_t g = 0; g < groups; g++)
            for (int64_t e = 0; !taken[g] && e < each; e++) row[g * each + e] = -INFINITY;
    }
}

/* x, bias, k, groups that are kept, groups, how they are chosen, renorm, norm, whether the norm goes out, factor, eps,
 * y, experts, norm: a softmax (0) or sigmoid (1), whose largest with the bias count without it. */
void asc_op_gating_of_groups(asc_run *run) {
    tensor x = asc_rows_of(run, asc_in(run, 0));
    int64_t kind = asc_int(run, 7);
    ASC_STOP_UNLESS(run, kind == 0 || kind == 1, "normType %lld is none of 0, 1", (long long)kind);
    tensor p = kind ? ASC_COMPUTE(run, ASC_FLOAT32, "sigmoid(a)", x) : asc_softmax_of(run, x, 1);
    tensor chosen = asc_copy(run, p, ASC_FLOAT32);
    if (asc_given_at(run, 1)) chosen = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", p, asc_in(run, 1));
    if (asc_int(run, 4) > 1) keep_groups(run, chosen, asc_int(run, 3), asc_int(run, 4), asc_int(run, 5));
    tensor at = largest_of_rows(run, chosen, asc_int(run, 2)), y = taken_from(run, p, at);
    int64_t last = 1;
    if (kind || asc_int(run, 6))
        y = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a / (b + p)", asc_float(run, 10), y,
                             asc_reduce_axes(run, ASC_REDUCE_SUM, y, 1, &last));
    asc_put(run, 11, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", asc_float(run, 9), y));
    asc_put(run, 12, at);
    if (asc_int(run, 8)) asc_put(run, 13, p);
}
