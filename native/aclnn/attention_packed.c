/* attention_packed.c - attention of training over sequences that lie behind each other, forwards and backwards. */
#include <string.h>

#include "attention.h"

/* Positions of arguments: `lengths` is the list of ends of queries, that of keys follows; from `tail` on scale, keep,
 * pre and next tokens, heads, layout, inner precision, sparse mode. */
typedef struct packed {
    asc_attention a;
    int drop, mask, lengths;
    double keep;
    int64_t count, bit; /* of the drop mask, where a sequence's scores begin */
} packed;

static packed packed_of(asc_run *run, int shift, int lengths, int tail) {
    packed p = {.a = asc_attention_of_training(run, tail),
                .drop = shift + 1,
                .mask = shift + 3,
                .keep = asc_float(run, tail + 1),
                .lengths = lengths,
                .count = asc_arg(run, lengths)->count};
    const char *layout = asc_arg(run, tail + 5)->text;
    ASC_STOP_UNLESS(run, layout && strcmp(layout, "TND") == 0 && p.a.heads > 0,
                    "sequences behind each other have the layout TND, not [%s]", layout ? layout : "");
    ASC_STOP_UNLESS(run, !asc_has_at(run, shift), "%s for sequences behind each other isn't there",
                    asc_run_row(run)->names[shift]);
    ASC_STOP_UNLESS(run, p.count > 0 && asc_arg(run, lengths + 1)->count == p.count,
                    "%lld ends of queries, and %d of keys", (long long)p.count, asc_arg(run, lengths + 1)->count);
    return p;
}

/* A view [1, heads, positions, width] of sequence b; `keys` says whose ends count. */
static tensor sequence(asc_run *run, const packed *p, int i, int64_t b, bool keys) {
    const asc_argument *ends = asc_arg(run, p->lengths + keys);
    int64_t start = b ? ends->ints[b - 1] : 0, end = ends->ints[b];
    tensor t = asc_in(run, i);
    ASC_STOP_UNLESS(run, t.rank == 3 && start >= 0 && start <= end && end <= t.dims[0],
                    "sequence %lld has positions %lld to %lld of %lld", (long long)b, (long long)start, (long long)end,
                    (long long)t.dims[0]);
    return asc_unsqueeze(asc_swap(asc_narrow(t, 0, start, end - start), 0, 1), 0);
}

static tensor floats(asc_run *run, const packed *p, int i, int64_t b) {
    return asc_cast(run, sequence(run, p, i, b, false), ASC_FLOAT32);
}

static tensor for_heads(asc_run *run, const packed *p, int i, int64_t b) {
    return asc_attention_for_all_heads(run, sequence(run, p, i, b, true), p->a.heads);
}

/* What dropping leaves of a sequence's weights, or of their gradient. */
static tensor dropped(asc_run *run, const packed *p, tensor t) {
    return asc_attention_dropped(run, p->drop, p->keep, p->bit, t);
}

/* A mask is for the longest sequence: of the others its first rows and columns count. */
static tensor scores(asc_run *run, const packed *p, tensor q, tensor k) {
    tensor mask = {0};
    if (asc_has_at(run, p->mask) && p->a.mode < 2) {
        mask = asc_in(run, p->mask);
        int r = mask.rank;
        ASC_STOP_UNLESS(run, r >= 2 && mask.dims[r - 2] >= q.dims[2] && mask.dims[r - 1] >= k.dims[2],
                        "the mask is smaller than a sequence");
        mask = asc_narrow(asc_narrow(mask, r - 2, 0, q.dims[2]), r - 1, 0, k.dims[2]);
    }
    return asc_attention_scores(run, &p->a, q, k, (tensor){0}, mask);
}

/* query, key, value, shift, dropMask, paddingMask, mask, prefix, ends of queries, of keys, perhaps where both begin,
 * from `tail` on scale, keep, preTokens, nextTokens, heads, layout, innerPrecise, sparseMode, perhaps a layout of
 * states or pseType, and from `out` on softmaxMax, softmaxSum, softmaxOut, attention. States have the layout of
 * queries. */
void asc_op_attention_packed(asc_run *run, int tail, int out_at) {
    packed p = packed_of(run, 3, 8, tail);
    for (int64_t b = 0; b < p.count; b++) {
        tensor q = floats(run, &p, 0, b), k = for_heads(run, &p, 1, b), v = for_heads(run, &p, 2, b);
        tensor out = sequence(run, &p, out_at + 3, b, false);
        if (!asc_elements(out)) continue;
        asc_attention_rows rows = asc_attention_rows_of(run, scores(run, &p, q, k));
        asc_store(run, out, asc_multiply(run, dropped(run, &p, asc_attention_weights(run, &rows)), v));
        if (asc_has_at(run, out_at)) asc_store(run, sequence(run, &p, out_at, b, false), rows.top);
        if (asc_has_at(run, out_at + 1)) asc_store(run, sequence(run, &p, out_at + 1, b, false), rows.sum);
        p.bit += asc_elements(rows.exponents);
    }
}

/* query, key, value, dy, shift, dropMask, paddingMask, mask, softmaxMax, softmaxSum, softmaxIn, attention, prefix, ends
 * of queries, of keys, perhaps where both begin, from `tail` on scale, keep, preTokens, nextTokens, heads, layout,
 * innerPrecise, sparseMode, perhaps pseType, from `out` on dq, dk, dv, dpse. */
void asc_op_attention_packed_backward(asc_run *run, int tail, int out_at) {
    packed p = packed_of(run, 4, 13, tail);
    for (int64_t b = 0; b < p.count; b++) {
        tensor q = floats(run, &p, 0, b), k = for_heads(run, &p, 1, b), v = for_heads(run, &p, 2, b);
        tensor dy = floats(run, &p, 3, b), y = floats(run, &p, 11, b), dk = sequence(run, &p, out_at + 1, b, true);
        tensor top = asc_narrow(sequence(run, &p, 8, b, false), 3, 0, 1);
        tensor sum = asc_narrow(sequence(run, &p, 9, b, false), 3, 0, 1), dv = sequence(run, &p, out_at + 2, b, true);
        if (!asc_elements(q) || !asc_elements(k)) { /* nothing is seen: nothing goes back */
            tensor zero = asc_new(run, ASC_FLOAT32, 0, NULL), to[] = {sequence(run, &p, out_at, b, false), dk, dv};
            asc_fill(run, zero, 0);
            for (int i = 0; i < 3; i++) asc_store(run, to[i], zero);
            continue;
        }
        tensor weights = ASC_COMPUTE(run, ASC_FLOAT32, "a == 0 - inf || c == 0 ? 0 : exp(a - b) / c",
                                     scores(run, &p, q, k), top, sum);
        tensor ds =
            asc_attention_backward(run, weights, dropped(run, &p, asc_multiply(run, dy, asc_swap(v, 2, 3))), dy, y);
        tensor kept = dropped(run, &p, weights);
        ds = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", p.a.scale, ds);
        asc_store(run, sequence(run, &p, out_at, b, false), asc_multiply(run, ds, k));
        asc_store(run, dk, asc_attention_for_own_heads(run, asc_multiply(run, asc_swap(ds, 2, 3), q), dk.dims[1]));
        asc_store(run, dv, asc_attention_for_own_heads(run, asc_multiply(run, asc_swap(kept, 2, 3), dy), dv.dims[1]));
        p.bit += asc_elements(weights);
    }
}
