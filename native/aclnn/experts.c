/* experts.c - mixtures of experts: tokens in the order of their experts, and back. */
#include <math.h>
#include <string.h>

#include "operator.h"
#include "quantised.h"

/* ---- tokens by expert ---------------------------------------------------------------------------------------- */

/* Places of n numbers in ascending order; equal ones stay in turn. */
static tensor ascending(asc_run *run, const int64_t *x, int64_t n) {
    tensor from = asc_new(run, ASC_INT64, 1, &n), out[2];
    memcpy(from.data, x, (size_t)n * sizeof *x);
    for (int k = 0; k < 2; k++) out[k] = asc_new(run, ASC_INT64, 1, &n);
    if (n) asc_call_kernel(run, "topk", 1, &from, 2, out, 3, (int64_t[]){0, n, 0}, 0, NULL);
    return out[1];
}

/* Contiguous, of its own type, and its rows' bytes. */
static tensor with_rows(asc_run *run, int i, size_t *bytes) {
    tensor t = asc_in(run, i);
    ASC_STOP_UNLESS(run, t.rank >= 1, "%s has no rows", asc_run_row(run)->names[i]);
    t = asc_cast(run, t, t.dtype);
    *bytes = (t.dims[0] ? (size_t)(asc_elements(t) / t.dims[0]) : 0) * asc_dtype_bytes(t.dtype);
    return t;
}

/* Rows of a matrix by their numbers; those that are negative are zeros. */
static tensor gathered(asc_run *run, int i, const int64_t *numbers, int64_t n) {
    size_t bytes;
    tensor from = with_rows(run, i, &bytes);
    int64_t dims[ASC_MAX_RANK];
    memcpy(dims, from.dims, sizeof dims);
    dims[0] = n;
    tensor made = asc_new(run, from.dtype, from.rank, dims);
    for (int64_t k = 0; k < n; k++) {
        ASC_STOP_UNLESS(run, numbers[k] < from.dims[0], "row %lld of %lld", (long long)numbers[k],
                        (long long)from.dims[0]);
        char *to = (char *)made.data + (size_t)k * bytes;
        if (numbers[k] < 0)
            memset(to, 0, bytes);
        else
            memcpy(to, (const char *)from.data + (size_t)numbers[k] * bytes, bytes);
    }
    return made;
}

/* x, rows, experts, active tokens, x by expert, where each row went, experts in order. */
void asc_op_route(asc_run *run) {
    tensor rows = asc_of(run, 1, ASC_INT64), experts = asc_of(run, 2, ASC_INT64), at, to = asc_in(run, 4);
    int64_t n = asc_elements(experts), tokens = asc_in(run, 0).dims[0], *row = rows.data;
    ASC_STOP_UNLESS(run, asc_elements(rows) == n && tokens > 0 && to.dims[0] <= n, "%lld rows for %lld experts",
                    (long long)asc_elements(rows), (long long)n);
    at = ascending(run, experts.data, n);
    tensor went = asc_new(run, ASC_INT32, 1, &n), sorted = asc_new(run, ASC_INT32, 1, &n);
    int64_t *from = asc_bytes(run, (size_t)n * sizeof *from), *order = at.data;
    for (int64_t i = 0; i < n; i++) {
        int64_t source = row[order[i]];
        ASC_STOP_UNLESS(run, source >= 0 && source < n, "row %lld of %lld", (long long)source, (long long)n);
        ((int32_t *)went.data)[source] = (int32_t)i;
        ((int32_t *)sorted.data)[i] = (int32_t)((int64_t *)experts.data)[order[i]];
        from[i] = source % tokens;
    }
    asc_put(run, 4, gathered(run, 0, from, to.dims[0]));
    asc_put(run, 5, went);
    asc_put(run, 6, sorted);
}

/* Tokens that are routed to experts [first, end): places of pairs in the order of their experts, and counts of these.
 */
typedef struct routing {
    int64_t n, active, first, end, k;
    int64_t *order, *expert, *counts;
} routing;

static routing routing_of(asc_run *run, int i, int64_t first, int64_t end) {
    tensor experts = asc_of(run, i, ASC_INT64);
    routing r = {.n = asc_elements(experts), .first = first, .end = end, .expert = experts.data};
    r.k = experts.rank > 1 ? experts.dims[experts.rank - 1] : 1;
    r.counts = asc_bytes(run, (size_t)(end > first ? end - first : 0) * sizeof *r.counts + 1);
    memset(r.counts, 0, (size_t)(end > first ? end - first : 0) * sizeof *r.counts);
    int64_t *key = asc_bytes(run, (size_t)r.n * sizeof *key + 1);
    for (int64_t j = 0; j < r.n; j++) { /* those before the range come last, as those behind it do */
        bool in = end <= first || (r.expert[j] >= first && r.expert[j] < end);
        key[j] = r.expert[j] < first ? INT32_MAX : r.expert[j];
        r.active += in;
        if (in && end > first) r.counts[r.expert[j] - first]++;
    }
    r.order = ascending(run, key, r.n).data;
    return r;
}

/* The pair that lies at each place of the output, -1 where none does: one behind another, or with room for `capacity`
 * of each expert. */
static int64_t *pairs_of(asc_run *run, const routing *r, int64_t places, int64_t capacity) {
    int64_t *pair = asc_bytes(run, (size_t)places * sizeof *pair + 1), at = 0;
    for (int64_t i = 0; i < places; i++) pair[i] = -1;
    if (!capacity) {
        for (int64_t i = 0; i < places && i < r->active; i++) pair[i] = r->order[i];
        return pair;
    }
    for (int64_t e = 0; e < r->end - r->first; e++)
        for (int64_t i = 0; i < r->counts[e]; i++, at++)
            if (i < capacity && e * capacity + i < places) pair[e * capacity + i] = r->order[at];
    return pair;
}

static int64_t *tokens_of(asc_run *run, const int64_t *pair, int64_t places, int64_t k) {
    int64_t *token = asc_bytes(run, (size_t)places * sizeof *token + 1);
    for (int64_t i = 0; i < places; i++) token[i] = pair[i] < 0 ? -1 : pair[i] / k;
    return token;
}

/* Where each pair went, -1: nowhere. */
static void put_places(asc_run *run, int i, const routing *r, const int64_t *pair, int64_t places) {
    tensor went = asc_new(run, ASC_INT32, 1, &r->n);
    for (int64_t j = 0; j < r->n; j++) ((int32_t *)went.data)[j] = -1;
    for (int64_t j = 0; j < places; j++)
        if (pair[j] >= 0) ((int32_t *)went.data)[pair[j]] = (int32_t)j;
    asc_put(run, i, went);
}

/* 0 sums so far, 1 counts, 2 experts that have any and their counts. */
static void put_counts(asc_run *run, int i, const routing *r, int64_t kind) {
    int64_t n = r->end - r->first, at = 0, sum = 0;
    if (!asc_given_at(run, i) || !asc_elements(asc_in(run, i))) return;
    tensor t = asc_new(run, ASC_INT64, kind == 2 ? 2 : 1, (int64_t[]){n, 2});
    int64_t *to = t.data;
    asc_fill(run, t, 0);
    for (int64_t e = 0; e < n; e++) {
        sum += r->counts[e];
        if (kind != 2) to[e] = kind ? r->counts[e] : sum;
        if (kind != 2 || !r->counts[e]) continue;
        to[at++] = r->first + e;
        to[at++] = r->counts[e];
    }
    asc_put(run, i, t);
}

static int64_t output_places(tensor to) {
    return to.rank == 3 ? to.dims[0] * to.dims[1] : to.dims[0];
}

/* x, experts, active tokens, capacity, number of experts, whether experts have room for as many as the capacity,
 * counts: 0 none, 1 sums, 2 counts, whether those before the capacity, x by expert, where pairs went, counts, counts
 * before. */
void asc_op_route_with_room(asc_run *run) {
    int64_t padded = asc_int(run, 5), experts = asc_int(run, 4), places = output_places(asc_in(run, 8));
    ASC_STOP_UNLESS(run, (padded == 0 || padded == 1) && (!padded || (experts > 0 && asc_int(run, 3) > 0)),
                    "dropPadMode %lld, of %lld experts with room for %lld", (long long)padded, (long long)experts,
                    (long long)asc_int(run, 3));
    routing r = routing_of(run, 1, 0, experts);
    int64_t *pair = pairs_of(run, &r, places, padded ? asc_int(run, 3) : 0);
    asc_put(run, 8, gathered(run, 0, tokens_of(run, pair, places, r.k), places));
    if (!padded) places = r.active, pair = r.order;
    put_places(run, 9, &r, pair, places);
    if (!padded && asc_int(run, 6)) put_counts(run, 10, &r, asc_int(run, 6) == 2);
    if (padded && asc_int(run, 7)) put_counts(run, 11, &r, 1);
}

/* Smooth scales are for all experts, or a row for each. */
static tensor smoothed(asc_run *run, const routing *r, tensor x, int i, const int64_t *pair) {
    tensor scale = asc_f32(run, i);
    if (scale.rank < 2 || scale.dims[0] == 1) return ASC_COMPUTE(run, ASC_FLOAT32, "a * b", x, scale);
    int64_t places = x.dims[0], width = x.dims[1];
    ASC_STOP_UNLESS(run, scale.dims[0] == r->end - r->first && scale.dims[1] == width,
                    "scales for %lld experts of %lld", (long long)scale.dims[0], (long long)(r->end - r->first));
    for (int64_t p = 0; p < places; p++)
        for (int64_t k = 0; pair[p] >= 0 && k < width; k++)
            ((float *)x.data)[p * width + k] *=
                ((const float *)scale.data)[(r->expert[pair[p]] - r->first) * width + k];
    return x;
}

/* x, experts, scale, offset, active tokens, capacity, number of experts, dropPadMode, kind of counts, whether there are
 * any, quantMode (-1 none, 0 by a scale and an offset, 1 by the row), range of experts, kind of places (0 where pairs
 * went, 1 which pair came), x by expert, places, counts, scales of rows. */
void asc_op_route_to_some(asc_run *run) {
    enum { X = 13, PLACES, COUNTS, SCALES };
    const asc_argument *range = asc_arg(run, 11);
    int64_t quant = asc_int(run, 10), padded = asc_int(run, 7), kind = asc_int(run, 8);
    int64_t first = range->count == 2 ? range->ints[0] : 0, end = range->count == 2 ? range->ints[1] : asc_int(run, 6);
    ASC_STOP_UNLESS(run, quant >= -1 && quant <= 1, "quantMode %lld is none of -1, 0, 1", (long long)quant);
    ASC_STOP_UNLESS(run, kind >= 0 && kind <= 2 && (padded == 0 || padded == 1),
                    "expertTokensNumType %lld, dropPadMode %lld", (long long)kind, (long long)padded);
    routing r = routing_of(run, 1, first, end);
    int64_t places = output_places(asc_in(run, X)), *pair = pairs_of(run, &r, places, padded ? asc_int(run, 5) : 0);
    int64_t *token = tokens_of(run, pair, places, r.k);
    tensor x = gathered(run, 0, token, places);
    if (quant == -1) {
        asc_put(run, X, x);
        if (asc_given_at(run, 2) && asc_given_at(run, SCALES)) asc_put(run, SCALES, gathered(run, 2, token, places));
    } else if (quant == 0) {
        tensor y = ASC_COMPUTE(run, ASC_FLOAT32, "a * b + c", x, asc_in(run, 2), asc_in(run, 3));
        asc_put(run, X, asc_quantised(run, y, 127));
    } else {
        tensor scale, y = asc_cast(run, x, ASC_FLOAT32);
        if (asc_given_at(run, 2)) y = smoothed(run, &r, y, 2, pair);
        asc_put(run, X, asc_quantised_rows(run, y, 127, &scale));
        asc_put(run, SCALES, scale);
    }
    if (asc_int(run, 12) == 1) {
        tensor came = asc_new(run, ASC_INT64, 1, &r.n);
        memcpy(came.data, r.order, (size_t)r.n * sizeof *r.order);
        asc_put(run, PLACES, came);
    } else if (padded) {
        put_places(run, PLACES, &r, pair, places);
    } else {
        put_places(run, PLACES, &r, r.order, r.active);
    }
    if (asc_int(run, 9)) put_counts(run, COUNTS, &r, padded ? 1 : kind);
}

/* experts in order, their number, sums of their counts so far. */
void asc_op_expert_ends(asc_run *run) {
    tensor experts = asc_of(run, 0, ASC_INT64);
    int64_t n = asc_int(run, 1), at = 0;
    ASC_STOP_UNLESS(run, n >= 0, "%lld experts", (long long)n);
    tensor ends = asc_new(run, ASC_INT64, 1, &n);
    for (int64_t e = 0; e < n; e++) {
        while (at < asc_elements(experts) && ((const int64_t *)experts.data)[at] <= e) at++;
        ((int64_t *)ends.data)[e] = at;
    }
    asc_put(run, 2, ends);
}

/* tokens that lie by rank and expert, counts [ranks, experts], scales of tokens, whether counts go out (1) or sums so
 * far, whether places say what came (0) or where it went, tokens by expert and rank, their scales, places, counts. */
void asc_op_regroup_by_expert(asc_run *run) {
    tensor counts = asc_of(run, 1, ASC_INT64);
    ASC_STOP_UNLESS(run, counts.rank == 2, "counts are of [ranks, experts], not of %d axes", counts.rank);
    int64_t ranks = counts.dims[0], experts = counts.dims[1], n = asc_in(run, 5).dims[0], at = 0;
    const int64_t *count = counts.data;
    int64_t *starts = asc_bytes(run, (size_t)(ranks * experts) * sizeof *starts + 1),
            *from = asc_bytes(run, (size_t)n * sizeof *from + 1);
    for (int64_t i = 0, sum = 0; i < ranks * experts; sum += count[i++]) {
        ASC_STOP_UNLESS(run, count[i] >= 0 && sum + count[i] <= n, "counts of more than %lld tokens", (long long)n);
        starts[i] = sum;
    }
    tensor places = asc_new(run, ASC_INT32, 1, &n), each = asc_new(run, ASC_INT64, 1, &experts);
    asc_fill(run, places, -1);
    asc_fill(run, each, 0);
    for (int64_t i = 0; i < n; i++) from[i] = -1;
    for (int64_t e = 0; e < experts; e++) {
        for (int64_t r = 0; r < ranks; r++)
            for (int64_t k = 0; k < count[r * experts + e]; k++) from[at++] = starts[r * experts + e] + k;
        ((int64_t *)each.data)[e] = at;
    }
    for (int64_t e = experts - 1; asc_int(run, 3) && e > 0; e--)
        ((int64_t *)each.data)[e] -= ((int64_t *)each.data)[e - 1];
    for (int64_t i = 0; i < at; i++)
        ((int32_t *)places.data)[asc_int(run, 4) ? from[i] : i] = (int32_t)(asc_int(run, 4) ? i : from[i]);
    asc_put(run, 5, gathered(run, 0, from, n));
    if (asc_given_at(run, 2) && asc_given_at(run, 6)) asc_put(run, 6, gathered(run, 2, from, n));
    asc_put(run, 7, places);
    asc_put(run, 8, each);
}

/* ---- and back ------------------------------------------------------------------------------------------------ */

/* Positions of arguments, -1: none; `columns`: places of a token's pairs follow each other. */
typedef struct finish {
    int x, places, skips[2], bias, scales, experts, out;
    bool columns;
} finish;

static void finalize(asc_run *run, finish f) {
    tensor x = asc_rows_of(run, asc_in(run, f.x)), places = asc_of(run, f.places, ASC_INT64), to = asc_in(run, f.out);
    int64_t rows = to.dims[0], width = to.dims[1], n = asc_elements(places), k = rows ? n / rows : 0;
    ASC_STOP_UNLESS(run, to.rank == 2 && k * rows == n && x.dims[1] == width, "%lld places for %lld rows of %lld",
                    (long long)n, (long long)rows, (long long)width);
    tensor sum = asc_like(run, to, ASC_FLOAT32), scales = {0}, bias = {0}, experts = {0};
    asc_fill(run, sum, 0);
    for (int i = 0; i < 2; i++)
        if (asc_given_at(run, f.skips[i])) sum = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", sum, asc_in(run, f.skips[i]));
    if (asc_given_at(run, f.scales)) scales = asc_f32(run, f.scales);
    if (asc_given_at(run, f.bias)) {
        bias = asc_f32(run, f.bias);
        experts = asc_of(run, f.experts, ASC_INT64);
    }
    ASC_STOP_UNLESS(run, (!scales.data || asc_elements(scales) == n) && (!bias.data || asc_elements(experts) == n),
                    "not every one of %lld pairs has a scale and an expert", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = i / k, at = ((const int64_t *)places.data)[f.columns ? i : i % k * rows + row];
        float *d = (float *)sum.data + row * width, scale = scales.data ? ((const float *)scales.data)[i] : 1;
        ASC_STOP_UNLESS(run, at < x.dims[0], "place %lld of %lld", (long long)at, (long long)x.dims[0]);
        const float *s = at < 0 ? NULL : (const float *)x.data + at * width, *b = NULL;
        if (bias.data) {
            int64_t e = ((const int64_t *)experts.data)[i];
            ASC_STOP_UNLESS(run, e >= 0 && e < bias.dims[0], "expert %lld of %lld", (long long)e,
                            (long long)bias.dims[0]);
            b = (const float *)bias.data + e * width;
        }
        for (int64_t j = 0; j < width; j++) d[j] += scale * ((s ? s[j] : 0) + (b ? b[j] : 0));
    }
    asc_put(run, f.out, sum);
}

/* x by expert, two tensors that are added, bias, scales, where pairs went (the first of all tokens first), experts,
 * out. */
void asc_op_finalize(asc_run *run) {
    finalize(run, (finish){.x = 0, .places = 5, .skips = {1, 2}, .bias = 3, .scales = 4, .experts = 6, .out = 7});
}

/* x by expert, where pairs went, two tensors that are added, bias, scales, experts, mode (from 2 on: the pairs of the
 * first token first), out. */
void asc_op_finalize_either(asc_run *run) {
    int64_t mode = asc_int(run, 7);
    ASC_STOP_UNLESS(run, mode >= 0 && mode <= 3, "dropPadMode %lld is none of 0 to 3", (long long)mode);
    finalize(
        run,
        (finish){
            .x = 0, .places = 1, .skips = {2, 3}, .bias = 4, .scales = 5, .experts = 6, .out = 8, .columns = mode > 1});
}

/* ---- tokens in order, and their gradients -------------------------------------------------------------------- */

/* tokens, experts of each (or, padded, tokens of each place), how many go out, padded, tokens in order, where each
 * pair went. */
void asc_op_permute_tokens(asc_run *run) {
    tensor index = asc_of(run, 1, ASC_INT64), to = asc_in(run, 4);
    int64_t n = asc_elements(index), places = to.dims[0];
    if (asc_int(run, 3)) {
        asc_put(run, 4, gathered(run, 0, index.data, n));
        asc_put(run, 5, index);
        return;
    }
    routing r = routing_of(run, 1, 0, 0);
    ASC_STOP_UNLESS(run, places <= n, "the output has %lld rows for %lld pairs", (long long)places, (long long)n);
    asc_put(run, 4, gathered(run, 0, tokens_of(run, r.order, places, r.k), places));
    put_places(run, 5, &r, r.order, n);
}

/* How pairs that lie in order belong to rows. */
typedef struct pairs {
    int64_t n, k;
    const int64_t *at;
    bool padded; /* `at` has the row of each place, not the place of each pair */
} pairs;

static pairs pairs_in(asc_run *run, int places, int64_t k, bool padded) {
    tensor at = asc_of(run, places, ASC_INT64);
    return (pairs){asc_elements(at), padded || k < 1 ? 1 : k, at.data, padded};
}

/* Of pair i: its place in order, and its row outside. */
static int64_t place_of(const pairs *p, int64_t i) {
    return p->padded ? i : p->at[i];
}

static int64_t row_of(const pairs *p, int64_t i) {
    return p->padded ? p->at[i] : i / p->k;
}

/* Sums of rows [places, width] that are in order, each times its pair's weight, to [rows, width]. */
static tensor unpermuted(asc_run *run, const pairs *p, tensor x, const float *weight, tensor to) {
    tensor sum = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){to.dims[0], x.dims[1]});
    asc_fill(run, sum, 0);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t place = place_of(p, i), row = row_of(p, i), width = x.dims[1];
        if (place < 0 || place >= x.dims[0]) continue; /* it was dropped */
        ASC_STOP_UNLESS(run, row >= 0 && row < to.dims[0], "row %lld of %lld", (long long)row, (long long)to.dims[0]);
        float *d = (float *)sum.data + row * width, w = weight ? weight[i] : 1;
        const float *s = (const float *)x.data + place * width;
        for (int64_t j = 0; j < width; j++) d[j] += w * s[j];
    }
    return sum;
}

/* tokens in order, where pairs went, weights, padded, shape, out. */
void asc_op_unpermute_tokens(asc_run *run) {
    tensor x = asc_rows_of(run, asc_in(run, 0)), weights = {0};
    int64_t k = 1;
    if (asc_given_at(run, 2)) {
        weights = asc_f32(run, 2);
        k = weights.rank > 1 ? weights.dims[1] : 1;
    }
    pairs p = pairs_in(run, 1, k, asc_int(run, 3));
    ASC_STOP_UNLESS(run, !weights.data || asc_elements(weights) == p.n, "%lld weights for %lld pairs",
                    (long long)asc_elements(weights), (long long)p.n);
    asc_put(run, 5, unpermuted(run, &p, x, weights.data, asc_in(run, 5)));
}

/* gradient of tokens in order, where pairs went, pairs of each token, padded, gradient of tokens. */
void asc_op_permute_tokens_backward(asc_run *run) {
    pairs p = pairs_in(run, 1, asc_int(run, 2), asc_int(run, 3));
    asc_put(run, 4, unpermuted(run, &p, asc_rows_of(run, asc_in(run, 0)), NULL, asc_in(run, 4)));
}

/* tokens in order, gradient of the sums, where pairs went, weights, padded, shape, gradients of tokens in order, and of
 * weights. */
void asc_op_unpermute_tokens_backward(asc_run *run) {
    tensor g = asc_rows_of(run, asc_in(run, 1)), x = {0}, weights = {0}, to = asc_in(run, 6), dots = {0};
    int64_t k = 1, width = g.dims[1];
    if (asc_given_at(run, 3)) {
        weights = asc_f32(run, 3);
        k = weights.rank > 1 ? weights.dims[1] : 1;
        x = asc_rows_of(run, asc_in(run, 0));
        dots = asc_like(run, weights, ASC_FLOAT32);
        asc_fill(run, dots, 0);
    }
    pairs p = pairs_in(run, 2, k, asc_int(run, 4));
    ASC_STOP_UNLESS(run, to.rank == 2 && to.dims[1] == width && (!weights.data || asc_elements(weights) == p.n),
                    "gradients of %lld columns, and not as many weights as pairs", (long long)width);
    tensor made = asc_like(run, to, ASC_FLOAT32);
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < p.n; i++) {
        int64_t place = place_of(&p, i), row = row_of(&p, i);
        if (place < 0 || place >= to.dims[0]) continue;
        ASC_STOP_UNLESS(run, row >= 0 && row < g.dims[0], "row %lld of %lld", (long long)row, (long long)g.dims[0]);
        const float *s = (const float *)g.data + row * width;
        float w = weights.data ? ((float *)weights.data)[i] : 1;
        float *d = (float *)made.data + place * width, dot = 0;
        for (int64_t j = 0; j < width; j++) d[j] = w * s[j];
        if (!weights.data) continue;
        for (int64_t j = 0; j < width; j++) dot += s[j] * ((const float *)x.data)[place * width + j];
        ((float *)dots.data)[i] = dot;
    }
    asc_put(run, 6, made);
    if (dots.data && asc_given_at(run, 7)) asc_put(run, 7, dots);
}
