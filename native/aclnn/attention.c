/* attention.c - attention over queries, keys and values, forwards with the largest score and the sum of each row, and
 * backwards from those. */
#include "attention.h"

#include <math.h>
#include <string.h>

#include "asc_plan.h"

/* What is given beside queries, keys and values. The last three are positions of arguments. */
typedef struct problem {
    asc_attention a;
    char layout[8];
    double keep, shift; /* shift: what pse is multiplied with */
    int pse, drop, mask;
} problem;

asc_attention asc_attention_of_training(asc_run *run, int tail) {
    return (asc_attention){.heads = asc_int(run, tail + 4),
                           .mode = asc_int(run, tail + 7),
                           .before = asc_int(run, tail + 2),
                           .behind = asc_int(run, tail + 3),
                           .scale = asc_float(run, tail)};
}

static void set_layout(asc_run *run, problem *p, const char *layout) {
    ASC_STOP_UNLESS(run, strlen(layout) < sizeof p->layout && p->a.heads > 0, "no layout [%s] of %lld heads", layout,
                    (long long)p->a.heads);
    strcpy(p->layout, layout);
}

/* Of training. `first` is the position of pse; the drop mask, the padding mask and the mask follow. `tail` is that of
 * scale; keep, pre and next tokens, heads, layout, inner precision, sparse mode follow. */
static problem problem_of(asc_run *run, int first, int tail, bool typed) {
    problem p = {.a = asc_attention_of_training(run, tail),
                 .keep = asc_float(run, tail + 1),
                 .pse = first,
                 .drop = first + 1,
                 .mask = first + 3};
    set_layout(run, &p, asc_arg(run, tail + 5)->text);
    int64_t kind = typed ? asc_int(run, tail + 8) : 1;
    ASC_STOP_UNLESS(run, kind == 0 || kind == 1, "pseType %lld is none of 0, 1", (long long)kind);
    p.shift = kind ? p.a.scale : 1;
    if (typed)
        for (int i = tail - 2; i < tail; i++)
            ASC_STOP_UNLESS(run, !asc_has_at(run, i) || (asc_arg(run, i)->count == 1 && asc_arg(run, i)->ints[0] == 0),
                            "sequences that begin elsewhere aren't there");
    return p;
}

/* A view [batch, heads, positions, width] of a tensor in the layout. */
static tensor as_heads(asc_run *run, const problem *p, tensor t, int64_t width) {
    tensor v = t;
    v.rank = 4;
    if (strcmp(p->layout, "BNSD") == 0) return t;
    if (strcmp(p->layout, "BSND") == 0) return asc_swap(t, 1, 2);
    bool batch_first = strcmp(p->layout, "BSH") == 0;
    ASC_STOP_UNLESS(run, (batch_first || strcmp(p->layout, "SBH") == 0) && t.rank == 3,
                    "layout [%s] is none of BNSD, BSND, BSH, SBH", p->layout);
    int batch = batch_first ? 0 : 1;
    int64_t dims[] = {t.dims[batch], t.dims[2] / width, t.dims[1 - batch], width};
    int64_t strides[] = {t.strides[batch], width * t.strides[2], t.strides[1 - batch], t.strides[2]};
    memcpy(v.dims, dims, sizeof dims);
    memcpy(v.strides, strides, sizeof strides);
    return v;
}

static int64_t width_of(const problem *p, tensor q) {
    return q.rank == 4 ? q.dims[3] : q.dims[2] / p->a.heads;
}

/* Keys and values of fewer heads serve several of the queries'. */
tensor asc_attention_for_all_heads(asc_run *run, tensor t, int64_t heads) {
    t = asc_cast(run, t, ASC_FLOAT32);
    int64_t own = t.dims[1], dims[] = {t.dims[0], own, heads / (own ? own : 1), t.dims[2], t.dims[3]};
    if (own == heads) return t;
    ASC_STOP_UNLESS(run, own && heads % own == 0, "%lld heads don't share %lld", (long long)heads, (long long)own);
    tensor all = asc_copy(run, asc_expand(run, asc_unsqueeze(t, 2), 5, dims), ASC_FLOAT32);
    return asc_reshape(run, all, 4, (int64_t[]){dims[0], heads, dims[3], dims[4]});
}

tensor asc_attention_for_own_heads(asc_run *run, tensor g, int64_t own) {
    if (g.dims[1] == own) return g;
    g = asc_reshape(run, g, 5, (int64_t[]){g.dims[0], own, g.dims[1] / own, g.dims[2], g.dims[3]});
    return asc_reshape(run, asc_reduce_axes(run, ASC_REDUCE_SUM, g, 1, (int64_t[]){2}), 4,
                       (int64_t[]){g.dims[0], own, g.dims[3], g.dims[4]});
}

/* Which keys each query does not see, [positions of queries, positions of keys], 1 hides. */
static tensor hidden(asc_run *run, const asc_attention *p, int64_t queries, int64_t keys, bool masked) {
    int64_t mode = p->mode;
    tensor t = asc_new(run, ASC_BOOL, 2, (int64_t[]){queries, keys});
    ASC_STOP_UNLESS(run, mode >= 0 && mode <= 4, "sparse mode %lld is none of 0 to 4", (long long)mode);
    int64_t shift = mode == 3 || mode == 4 ? keys - queries : 0;
    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < keys; j++) {
            bool causal = (mode == 2 || mode == 3) && j > i + shift;
            bool band =
                (mode == 4 || (mode == 0 && masked)) && (j > i + shift + p->behind || j < i + shift - p->before);
            ((uint8_t *)t.data)[i * keys + j] = causal || band;
        }
    return t;
}

tensor asc_attention_scores(asc_run *run, const asc_attention *a, tensor q, tensor k, tensor shift, tensor mask) {
    tensor s = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", a->scale, asc_multiply(run, q, asc_swap(k, 2, 3)));
    if (shift.data) s = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", s, shift);
    if (mask.data && a->mode < 2) s = ASC_COMPUTE(run, ASC_FLOAT32, "b != 0 ? 0 - inf : a", s, mask);
    return ASC_COMPUTE(run, ASC_FLOAT32, "b ? 0 - inf : a", s, hidden(run, a, s.dims[2], s.dims[3], mask.data != NULL));
}

asc_attention_rows asc_attention_rows_of(asc_run *run, tensor scores) {
    int64_t last = scores.rank - 1;
    asc_attention_rows r = {.top = asc_reduce_axes(run, ASC_REDUCE_MAX, scores, 1, &last)};
    r.exponents = ASC_COMPUTE(run, ASC_FLOAT32, "a == 0 - inf ? 0 : exp(a - b)", scores, r.top);
    r.sum = asc_reduce_axes(run, ASC_REDUCE_SUM, r.exponents, 1, &last);
    return r;
}

tensor asc_attention_weights(asc_run *run, const asc_attention_rows *rows) {
    return ASC_COMPUTE(run, ASC_FLOAT32, "b == 0 ? 0 : a / b", rows->exponents, rows->sum);
}

tensor asc_attention_backward(asc_run *run, tensor weights, tensor by_weights, tensor dy, tensor y) {
    int64_t last = y.rank - 1;
    tensor dot = asc_reduce_axes(run, ASC_REDUCE_SUM, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", dy, y), 1, &last);
    return ASC_COMPUTE(run, ASC_FLOAT32, "a * (b - c)", weights, by_weights, dot);
}

static tensor scores(asc_run *run, const problem *p, tensor q, tensor k) {
    tensor shift = {0}, mask = {0};
    if (asc_has_at(run, p->pse)) shift = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", p->shift, asc_in(run, p->pse));
    if (asc_given_at(run, p->mask)) {
        mask = asc_in(run, p->mask);
        if (mask.rank == 3) mask = asc_unsqueeze(mask, 1); /* of a batch's heads */
    }
    return asc_attention_scores(run, &p->a, q, k, shift, mask);
}

tensor asc_attention_dropped(asc_run *run, int mask_at, double keep_share, int64_t first, tensor t) {
    if (!asc_has_at(run, mask_at) || keep_share >= 1) return t;
    tensor mask = asc_in(run, mask_at), keep = asc_like(run, t, ASC_BOOL);
    int64_t bits = asc_elements(mask) * (int64_t)asc_dtype_bytes(mask.dtype) * 8;
    ASC_STOP_UNLESS(run, bits >= first + asc_elements(t), "the drop mask has no bit for each score");
    for (int64_t i = 0, at = first; i < asc_elements(t); i++, at++)
        ((uint8_t *)keep.data)[i] = ((const uint8_t *)mask.data)[at / 8] >> at % 8 & 1;
    return ASC_COMPUTE_WITH(run, ASC_FLOAT32, "b ? a / p : 0", keep_share, t, keep);
}

static tensor dropped(asc_run *run, const problem *p, tensor t) {
    return asc_attention_dropped(run, p->drop, p->keep, 0, t);
}

/* A value for each row in each place of the last axis of an output. */
static void put_rows(asc_run *run, int i, tensor rows) {
    if (asc_given_at(run, i) && asc_elements(asc_in(run, i))) asc_store(run, asc_in(run, i), rows);
}

/* query, key, value, pse, dropMask, paddingMask, mask, prefix, scale, keep, preTokens, nextTokens, heads, layout,
 * innerPrecise, sparseMode, softmaxMax, softmaxSum, softmaxOut, attention. In the second form where sequences begin
 * comes before the scale, and pseType behind the sparse mode. */
void asc_op_attention(asc_run *run, int tail, int out) {
    problem p = problem_of(run, 3, tail, tail > 8);
    int64_t width = width_of(&p, asc_in(run, 0)), value_width = width;
    if (asc_in(run, 2).rank == 4) value_width = asc_in(run, 2).dims[3];
    tensor q = asc_cast(run, as_heads(run, &p, asc_in(run, 0), width), ASC_FLOAT32);
    tensor k = asc_attention_for_all_heads(run, as_heads(run, &p, asc_in(run, 1), width), p.a.heads);
    tensor v = asc_attention_for_all_heads(run, as_heads(run, &p, asc_in(run, 2), value_width), p.a.heads);
    asc_attention_rows rows = asc_attention_rows_of(run, scores(run, &p, q, k));
    tensor weights = dropped(run, &p, asc_attention_weights(run, &rows));
    asc_store(run, as_heads(run, &p, asc_in(run, out + 3), value_width), asc_multiply(run, weights, v));
    put_rows(run, out, rows.top);
    put_rows(run, out + 1, rows.sum);
}

/* query, key, value, dy, pse, dropMask, paddingMask, mask, softmaxMax, softmaxSum, softmaxIn, attention, prefix, scale,
 * keep, preTokens, nextTokens, heads, layout, innerPrecise, sparseMode, dq, dk, dv, dpse. */
void asc_op_attention_backward(asc_run *run, int tail, int out) {
    problem p = problem_of(run, 4, tail, tail > 13);
    int64_t width = width_of(&p, asc_in(run, 0)), value_width = width;
    if (asc_in(run, 2).rank == 4) value_width = asc_in(run, 2).dims[3];
    tensor keys = as_heads(run, &p, asc_in(run, 1), width), values = as_heads(run, &p, asc_in(run, 2), value_width);
    tensor q = asc_cast(run, as_heads(run, &p, asc_in(run, 0), width), ASC_FLOAT32);
    tensor dy = asc_cast(run, as_heads(run, &p, asc_in(run, 3), value_width), ASC_FLOAT32);
    tensor y = asc_cast(run, as_heads(run, &p, asc_in(run, 11), value_width), ASC_FLOAT32);
    tensor k = asc_attention_for_all_heads(run, keys, p.a.heads),
           v = asc_attention_for_all_heads(run, values, p.a.heads);
    tensor top = asc_narrow(asc_in(run, 8), 3, 0, 1), sum = asc_narrow(asc_in(run, 9), 3, 0, 1);
    tensor weights =
        ASC_COMPUTE(run, ASC_FLOAT32, "a == 0 - inf || c == 0 ? 0 : exp(a - b) / c", scores(run, &p, q, k), top, sum);
    tensor dv = asc_multiply(run, asc_swap(dropped(run, &p, weights), 2, 3), dy);
    tensor dp = dropped(run, &p, asc_multiply(run, dy, asc_swap(v, 2, 3)));
    tensor ds = asc_attention_backward(run, weights, dp, dy, y);
    tensor dq = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", p.a.scale, asc_multiply(run, ds, k));
    tensor dk = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", p.a.scale, asc_multiply(run, asc_swap(ds, 2, 3), q));
    asc_store(run, as_heads(run, &p, asc_in(run, out), width), dq);
    asc_store(run, as_heads(run, &p, asc_in(run, out + 1), width), asc_attention_for_own_heads(run, dk, keys.dims[1]));
    asc_store(run, as_heads(run, &p, asc_in(run, out + 2), value_width),
              asc_attention_for_own_heads(run, dv, values.dims[1]));
    if (asc_has_at(run, out + 3) && asc_has_at(run, 4))
        asc_put(run, out + 3,
                ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", p.shift, asc_sum_to(run, ds, asc_in(run, out + 3))));
}
