/* attention_of_sequences.c - attention of inference: sequences of lengths of their own, whose keys and values may lie
 * in blocks that a table names, be integers of 8 bits, and have a part that rotates in a tensor of its own. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "attention.h"

/* Positions of arguments, -1 where the operator has none. Of scales `pair` is one tensor for keys and values. */
typedef struct places {
    int query_lengths, key_lengths, quant_scale, quant_offset, pair_scale, pair_offset, table, query_padding,
        key_padding;
    int key_scale, value_scale, query_rope, key_rope, sink, lse, out;
} places;

typedef struct problem {
    asc_attention a;
    places at;
    char in[8], out[8]; /* layouts */
    int64_t key_heads, block, key_mode, value_mode;
    bool one_query; /* of each sequence, which sees all keys: modes and bands mean nothing */
} problem;

static const places NONE = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

static void refuse_given(asc_run *run, int from, int to, const char *what) {
    for (int i = from; i <= to; i++) ASC_STOP_UNLESS(run, !asc_has_at(run, i), "attention with %s isn't there", what);
}

/* "TND", or "BSH_NBSD": that of what goes in, and of what comes out. */
static void set_layouts(asc_run *run, problem *p, const char *text) {
    static const char *const known[] = {"BSH", "SBH", "BSND", "BNSD", "NBSD", "TND", "NTD"};
    const char *end = strchr(text, '_');
    size_t length = end ? (size_t)(end - text) : strlen(text);
    bool in = false, out = !end;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        in = in || (strlen(known[k]) == length && strncmp(known[k], text, length) == 0);
        out = out || strcmp(known[k], end + 1) == 0;
    }
    ASC_STOP_UNLESS(run, in && out, "layout [%s] is none of BSH, BSND, BNSD, TND, NTD, nor one of these _ another",
                    text);
    memcpy(p->in, text, length);
    strcpy(p->out, end ? end + 1 : p->in);
    ASC_STOP_UNLESS(run, p->a.heads > 0, "attention has no %lld heads", (long long)p->a.heads);
    if (p->key_heads == 0) p->key_heads = p->a.heads;
}

static bool together(const char *layout) {
    return strchr(layout, 'T') != NULL;
}

/* A view [sequences, heads, positions, width] of a tensor in the layout; of sequences behind each other there is one.
 */
static tensor as_heads(asc_run *run, const char *layout, tensor t, int64_t heads) {
    ASC_STOP_UNLESS(run, t.rank == (int)strlen(layout), "layout [%s] has %d axes, a tensor %d", layout,
                    (int)strlen(layout), t.rank);
    const char *last = layout + t.rank - 1;
    if (*last == 'H') {
        int axis = t.rank - 1;
        ASC_STOP_UNLESS(run, t.dims[axis] % heads == 0, "%lld columns are not %lld heads", (long long)t.dims[axis],
                        (long long)heads);
        t = asc_unsqueeze(t, axis);
        t.dims[axis] = heads;
        t.dims[axis + 1] /= heads;
        t.strides[axis] = t.dims[axis + 1] * t.strides[axis + 1];
    }
    if (together(layout)) t = asc_unsqueeze(*layout == 'T' ? asc_swap(t, 0, 1) : t, 0);
    if (strcmp(layout, "BSND") == 0 || strcmp(layout, "BSH") == 0) t = asc_swap(t, 1, 2);
    if (strcmp(layout, "NBSD") == 0) t = asc_swap(t, 0, 1);
    if (strcmp(layout, "SBH") == 0) t = asc_swap(asc_swap(t, 0, 1), 1, 2);
    ASC_STOP_UNLESS(run, t.dims[1] == heads, "layout [%s] has %lld heads, not %lld", layout, (long long)t.dims[1],
                    (long long)heads);
    return t;
}

/* ---- lengths ------------------------------------------------------------------------------------------------- */

typedef struct span {
    int64_t start, length;
} span;

/* Of sequence b among `rows` positions: where lists say so, behind each other, or at the right. */
static span span_of(asc_run *run, int list, int padding, int64_t b, int64_t rows, bool behind_each_other) {
    span s = {0, rows};
    const asc_argument *lengths = list >= 0 ? asc_arg(run, list) : NULL;
    if (behind_each_other) {
        ASC_STOP_UNLESS(run, lengths && lengths->count > b, "sequences that lie behind each other need their ends");
        s.start = b ? lengths->ints[b - 1] : 0;
        s.length = lengths->ints[b] - s.start;
    } else if (lengths && lengths->count > 0) {
        ASC_STOP_UNLESS(run, lengths->count == 1 || lengths->count > b,
                        "%d lengths are given, and sequence %lld has none", lengths->count, (long long)b);
        s.length = lengths->ints[lengths->count == 1 ? 0 : b];
        if (asc_has_at(run, padding)) {
            int64_t behind = *(int64_t *)asc_of(run, padding, ASC_INT64).data;
            s.start = rows - (behind > 0 ? behind : 0) - s.length;
        }
    }
    ASC_STOP_UNLESS(run, s.start >= 0 && s.length >= 0 && s.start + s.length <= rows,
                    "sequence %lld has positions %lld to %lld of %lld", (long long)b, (long long)s.start,
                    (long long)(s.start + s.length), (long long)rows);
    return s;
}

/* ---- keys and values ----------------------------------------------------------------------------------------- */

/* A view [heads, positions, width] of one block: [block, position, all heads], [block, head, position, width], or that
 * with the width in parts of 16, [block, head, part, position, 16]. */
static tensor block_view(asc_run *run, const problem *p, tensor cache, int64_t block) {
    ASC_STOP_UNLESS(run, block >= 0 && block < cache.dims[0], "block %lld of %lld", (long long)block,
                    (long long)cache.dims[0]);
    tensor t = asc_select(cache, 0, block);
    return t.rank == 2 ? asc_select(as_heads(run, "BSH", asc_unsqueeze(t, 0), p->key_heads), 0, 0) : t;
}

/* [heads, positions, width] of sequence b, put together from its blocks. */
static tensor from_blocks(asc_run *run, const problem *p, tensor cache, int64_t b, int64_t length) {
    tensor table = asc_of(run, p->at.table, ASC_INT64);
    ASC_STOP_UNLESS(run, cache.rank >= 3 && cache.rank <= 5, "a cache of blocks has 3 to 5 axes, not %d", cache.rank);
    tensor first = block_view(run, p, cache, 0);
    bool parts = first.rank == 4;
    int64_t size = first.dims[first.rank - 2], width = parts ? first.dims[1] * first.dims[3] : first.dims[2];
    ASC_STOP_UNLESS(run, first.dims[0] == p->key_heads && size == p->block,
                    "blocks of %lld heads and %lld positions, not %lld and %lld", (long long)first.dims[0],
                    (long long)size, (long long)p->key_heads, (long long)p->block);
    ASC_STOP_UNLESS(run, table.rank == 2 && b < table.dims[0] && length <= table.dims[1] * size,
                    "the table has no blocks for %lld positions of sequence %lld", (long long)length, (long long)b);
    tensor made = asc_new(run, cache.dtype, 3, (int64_t[]){first.dims[0], length, width});
    for (int64_t at = 0; at < length; at += size) {
        int64_t n = length - at < size ? length - at : size;
        tensor block = block_view(run, p, cache, ((int64_t *)table.data)[b * table.dims[1] + at / size]);
        tensor to = asc_narrow(made, 1, at, n);
        if (parts) { /* [heads, part, position, 16] */
            to = asc_unsqueeze(to, 2);
            to.dims[2] = first.dims[1];
            to.dims[3] = first.dims[3];
            to.strides[2] = first.dims[3];
            to = asc_swap(to, 1, 2);
        }
        asc_store(run, to, asc_narrow(block, block.rank - 2, 0, n));
    }
    return made;
}

/* A scale, or offset, of integers: for all, for each head, for each column, or for each position. */
static tensor scale_of(asc_run *run, const problem *p, tensor scale, int64_t mode, int64_t b, span s, int64_t width) {
    int64_t n = asc_elements(scale), last = scale.rank - 1;
    ASC_STOP_UNLESS(run, mode >= 0 && mode <= 2, "antiquant mode %lld is none of 0 to 2", (long long)mode);
    if (mode == 1) {
        ASC_STOP_UNLESS(run, scale.rank >= 2 && b < scale.dims[last - 1] && s.start + s.length <= scale.dims[last],
                        "no scales for each position of sequence %lld", (long long)b);
        while (scale.rank > 2) scale = asc_select(scale, 0, 0);
        return asc_unsqueeze(asc_unsqueeze(asc_narrow(asc_select(scale, 0, b), 0, s.start, s.length), 0), 2);
    }
    scale = asc_cast(run, scale, ASC_FLOAT32);
    if (n == 1) return asc_reshape(run, scale, 3, (int64_t[]){1, 1, 1});
    int64_t dims[] = {p->key_heads, 1, mode == 2 ? 1 : width};
    ASC_STOP_UNLESS(run, n == dims[0] * dims[2], "%lld scales for %lld heads of %lld columns", (long long)n,
                    (long long)dims[0], (long long)width);
    return asc_reshape(run, scale, 3, dims);
}

/* (integers + offset) * scale; offsets follow their scales in the arguments. */
static tensor floats_of(asc_run *run, const problem *p, tensor t, int which, int64_t b, span s) {
    int own = which ? p->at.value_scale : p->at.key_scale, at = asc_has_at(run, own) ? own : p->at.pair_scale;
    int64_t mode = which ? p->value_mode : p->key_mode, width = t.dims[2];
    ASC_STOP_UNLESS(run, !asc_is_integer(t.dtype) || asc_has_at(run, at),
                    "keys and values of integers need their scales");
    if (!asc_has_at(run, at)) return t;
    tensor parts[2] = {0};
    for (int k = 0; k < 2; k++) {
        if (!asc_has_at(run, at + k)) continue;
        tensor scale = asc_in(run, at + k);
        if (at == p->at.pair_scale) {
            ASC_STOP_UNLESS(run, scale.rank > 1 && scale.dims[0] == 2, "one scale each is needed for keys and values");
            scale = asc_select(scale, 0, which);
        }
        parts[k] = scale_of(run, p, scale, mode, b, s, width);
    }
    t = parts[1].data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", t, parts[1]) : t;
    return ASC_COMPUTE(run, ASC_FLOAT32, "a * b", t, parts[0]);
}

/* The keys (0), values (1) of sequence b, or what rotates of its keys (2): [heads, positions, width]. */
static tensor of_sequence(asc_run *run, const problem *p, int which, int64_t b, span s) {
    const asc_argument *list = asc_arg(run, which == 2 ? p->at.key_rope : 1 + which);
    if (asc_has_at(run, p->at.table)) {
        tensor t = from_blocks(run, p, list->tensors[0], b, s.length);
        return which == 2 ? t : floats_of(run, p, t, which, b, s);
    }
    bool each = list->count > 1;
    ASC_STOP_UNLESS(run, !each || b < list->count, "there are %d tensors of keys or values, none for sequence %lld",
                    list->count, (long long)b);
    tensor t = as_heads(run, p->in, list->tensors[each ? b : 0], p->key_heads);
    t = asc_narrow(asc_select(t, 0, each || together(p->in) ? 0 : b), 1, s.start, s.length);
    return which == 2 ? t : floats_of(run, p, t, which, b, s);
}

static int64_t key_rows(asc_run *run, const problem *p, int64_t b) {
    const asc_argument *list = asc_arg(run, 1);
    if (asc_has_at(run, p->at.table)) return INT64_MAX;
    ASC_STOP_UNLESS(run, list->count == 1 || b < list->count, "there are no keys for sequence %lld", (long long)b);
    return as_heads(run, p->in, list->tensors[list->count > 1 ? b : 0], p->key_heads).dims[2];
}

/* ---- one sequence -------------------------------------------------------------------------------------------- */

/* A part [1, 1 or heads, queries, keys] of what is for all sequences, or for each; it may have more positions. */
static tensor plane_of(asc_run *run, int i, int64_t b, int64_t queries, int64_t keys, bool one_query) {
    if (!asc_has_at(run, i)) return (tensor){0};
    tensor t = asc_in(run, i);
    if (t.rank == 2 && one_query) t = asc_unsqueeze(t, 1); /* [sequences, keys] */
    if (t.rank == 2) t = asc_unsqueeze(t, 0);
    if (t.rank == 3) t = asc_unsqueeze(t, 1);
    int64_t at = t.dims[0] == 1 ? 0 : b;
    ASC_STOP_UNLESS(run, t.rank == 4 && at < t.dims[0] && (t.dims[2] == 1 || t.dims[2] >= queries) && t.dims[3] >= keys,
                    "%s has no part for %lld queries and %lld keys of sequence %lld", asc_run_row(run)->names[i],
                    (long long)queries, (long long)keys, (long long)b);
    return asc_narrow(asc_narrow(asc_narrow(t, 0, at, 1), 2, 0, t.dims[2] == 1 ? 1 : queries), 3, 0, keys);
}

/* A number of each head takes part in the sums, and has no value. */
static void add_sink(asc_run *run, int64_t heads, int i, asc_attention_rows *rows, tensor scores) {
    tensor sink = asc_in(run, i);
    ASC_STOP_UNLESS(run, asc_elements(sink) == heads, "%lld sinks for %lld heads", (long long)asc_elements(sink),
                    (long long)heads);
    sink = asc_reshape(run, asc_cast(run, sink, ASC_FLOAT32), 4, (int64_t[]){1, heads, 1, 1});
    int64_t last = 3;
    rows->top = ASC_COMPUTE(run, ASC_FLOAT32, "max(a, b)", rows->top, sink);
    rows->exponents = ASC_COMPUTE(run, ASC_FLOAT32, "a == 0 - inf ? 0 : exp(a - b)", scores, rows->top);
    rows->sum = asc_reduce_axes(run, ASC_REDUCE_SUM, rows->exponents, 1, &last);
    rows->sum = ASC_COMPUTE(run, ASC_FLOAT32, "a + exp(b - c)", rows->sum, sink, rows->top);
}

/* `out` and `lse` are [heads, positions, width] of the sequence; lse may have no data. */
static void attend(asc_run *run, const problem *p, int64_t b, tensor q, tensor rope, span keys, tensor out,
                   tensor lse) {
    int64_t heads = p->a.heads, queries = q.dims[1];
    tensor parts[3], shift = plane_of(run, 3, b, queries, keys.length, p->one_query), mask = {0};
    if (p->a.mode < 2) mask = plane_of(run, 4, b, queries, keys.length, p->one_query);
    for (int k = 0; k < (rope.data ? 3 : 2); k++)
        parts[k] = asc_attention_for_all_heads(run, asc_unsqueeze(of_sequence(run, p, k, b, keys), 0), heads);
    q = asc_unsqueeze(asc_cast(run, q, ASC_FLOAT32), 0);
    if (rope.data) { /* a product of what rotates is added to each score */
        tensor added = asc_multiply(run, asc_unsqueeze(asc_cast(run, rope, ASC_FLOAT32), 0), asc_swap(parts[2], 2, 3));
        added = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", p->a.scale, added);
        shift = shift.data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", added, shift) : added;
    }
    tensor scores = asc_attention_scores(run, &p->a, q, parts[0], shift, mask);
    asc_attention_rows rows = asc_attention_rows_of(run, scores);
    if (asc_has_at(run, p->at.sink)) add_sink(run, heads, p->at.sink, &rows, scores);
    tensor y = asc_select(asc_multiply(run, asc_attention_weights(run, &rows), parts[1]), 0, 0);
    if (asc_has_at(run, p->at.quant_scale)) {
        problem whole = *p; /* scales are for all heads, as queries have them */
        whole.key_heads = heads;
        tensor scale = scale_of(run, &whole, asc_in(run, p->at.quant_scale), 0, b, keys, y.dims[2]);
        y = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", y, scale);
        if (asc_has_at(run, p->at.quant_offset))
            y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y,
                            scale_of(run, &whole, asc_in(run, p->at.quant_offset), 0, b, keys, y.dims[2]));
        y = ASC_COMPUTE(run, ASC_FLOAT32, "min(max(round(a), 0 - 128), 127)", y);
    }
    asc_store(run, out, y);
    if (lse.data)
        asc_store(run, lse,
                  asc_select(ASC_COMPUTE(run, ASC_FLOAT32, "b == 0 ? inf : a + log(b)", rows.top, rows.sum), 0, 0));
}

/* ---- all sequences ------------------------------------------------------------------------------------------- */

static void infer(asc_run *run, problem *p) {
    bool behind = together(p->in), blocks = asc_has_at(run, p->at.table);
    tensor query = as_heads(run, p->in, asc_in(run, 0), p->a.heads), rope = {0}, lse = {0};
    tensor out = as_heads(run, p->out, asc_in(run, p->at.out), p->a.heads);
    int64_t n = behind ? asc_arg(run, p->at.query_lengths < 0 ? 0 : p->at.query_lengths)->count : query.dims[0];
    ASC_STOP_UNLESS(run, !behind || p->at.query_lengths >= 0, "layout [%s] is none of this operator's", p->in);
    ASC_STOP_UNLESS(run, out.dims[2] == query.dims[2] && out.dims[0] == query.dims[0],
                    "the output has not the positions of the queries");
    if (asc_has_at(run, p->at.query_rope)) {
        ASC_STOP_UNLESS(run, asc_has_at(run, p->at.key_rope), "queries have a part that rotates, and keys have none");
        rope = as_heads(run, p->in, asc_in(run, p->at.query_rope), p->a.heads);
    }
    p->one_query = !behind && query.dims[2] == 1 && !rope.data;
    if (p->one_query) {
        p->a.before = p->a.behind = INT32_MAX;
        if (p->a.mode > 1) p->a.mode = 0;
    }
    tensor zero = asc_new(run, ASC_FLOAT32, 0, NULL), none = asc_new(run, ASC_FLOAT32, 0, NULL);
    *(float *)zero.data = 0;
    *(float *)none.data = INFINITY;
    asc_store(run, out, zero);
    if (p->at.lse >= 0) { /* [sequences, heads, positions, 1], or [positions, heads, 1] */
        lse = asc_in(run, p->at.lse);
        asc_store(run, lse, none);
        lse = as_heads(run, behind ? "TND" : "BNSD", lse, p->a.heads);
    }
    for (int64_t b = 0; b < n; b++) {
        span q = span_of(run, p->at.query_lengths, p->at.query_padding, b, query.dims[2], behind);
        int64_t rows = key_rows(run, p, b);
        ASC_STOP_UNLESS(run, !blocks || asc_arg(run, p->at.key_lengths)->count > 0,
                        "blocks of keys need their lengths");
        span k = span_of(run, p->at.key_lengths, p->at.key_padding, b, rows, behind && !blocks);
        if (q.length == 0 || k.length == 0) continue;
        int64_t at = behind ? 0 : b;
        tensor part = rope;
        if (rope.data) part = asc_narrow(asc_select(rope, 0, at), 1, q.start, q.length);
        tensor sums = lse;
        if (lse.data) sums = asc_narrow(asc_select(lse, 0, at), 1, q.start, q.length);
        attend(run, p, b, asc_narrow(asc_select(query, 0, at), 1, q.start, q.length), part, k,
               asc_narrow(asc_select(out, 0, at), 1, q.start, q.length), sums);
    }
}

/* ---- operators ----------------------------------------------------------------------------------------------- */

/* Heads, scale, pre and next tokens, layout and heads of keys from `tail` on. */
static problem prefill(asc_run *run, int tail) {
    problem p = {.a = {.heads = asc_int(run, tail),
                       .scale = asc_float(run, tail + 1),
                       .before = asc_int(run, tail + 2),
                       .behind = asc_int(run, tail + 3)},
                 .at = NONE,
                 .key_heads = asc_int(run, tail + 5)};
    set_layouts(run, &p, asc_arg(run, tail + 4)->text);
    return p;
}

/* query, key, value, pse, mask, lengths of queries, perhaps (7) of keys and five scales of integers, heads, scale, pre
 * and next tokens, layout, heads of keys, perhaps a sparse mode and inner precision, attention. */
void asc_op_prompt_attention(asc_run *run, int tail, int out) {
    problem p = prefill(run, tail);
    p.at.query_lengths = 5;
    p.at.out = out;
    if (tail > 6) {
        refuse_given(run, 7, 9, "products of integers");
        p.at.key_lengths = 6;
        p.at.quant_scale = 10;
        p.at.quant_offset = 11;
        p.a.mode = asc_int(run, tail + 6);
    }
    infer(run, &p);
}

/* query, keys, values, pse, mask, lengths of keys, perhaps five scales of integers, perhaps a scale and an offset of
 * integers and a block table, perhaps padding, heads, scale, layout, heads of keys, perhaps block size, inner
 * precision, attention. */
void asc_op_next_attention(asc_run *run, int tail, int out) {
    problem p = {.a = {.heads = asc_int(run, tail), .scale = asc_float(run, tail + 1)},
                 .at = NONE,
                 .key_heads = asc_int(run, tail + 3)};
    p.a.before = p.a.behind = INT32_MAX;
    set_layouts(run, &p, asc_arg(run, tail + 2)->text);
    p.at.key_lengths = 5;
    p.at.out = out;
    if (tail > 6) {
        refuse_given(run, 6, 8, "products of integers");
        p.at.quant_scale = 9;
        p.at.quant_offset = 10;
    }
    if (tail > 11) {
        p.at.pair_scale = 11;
        p.at.pair_offset = 12;
        p.at.table = 13;
        p.block = asc_int(run, tail + 4);
    }
    if (tail > 14) p.at.key_padding = 14;
    infer(run, &p);
}

/* query, keys, values, pse, mask, lengths of queries, of keys, seven scales of integers, block table, paddings on the
 * left; from the second version on (24) scales of keys and values and shared prefixes, from the third (27) parts that
 * rotate, from the fourth (29) a scale of queries and a sink, in the fifth (31) where sequences begin; from `tail` on
 * heads, scale, pre and next tokens, layout, heads of keys, sparse mode, inner precision, block size, antiquantMode,
 * softmaxLseFlag, perhaps modes of keys and values, of queries, and of pse, attention, lse. */
void asc_op_fused_attention(asc_run *run, int tail, int out) {
    refuse_given(run, 7, 9, "products of integers");
    problem p = prefill(run, tail);
    p.a.mode = asc_int(run, tail + 6);
    p.block = asc_int(run, tail + 8);
    p.key_mode = p.value_mode = asc_int(run, tail + 9);
    p.at = (places){.query_lengths = 5,
                    .key_lengths = 6,
                    .quant_scale = 10,
                    .quant_offset = 11,
                    .pair_scale = 12,
                    .pair_offset = 13,
                    .table = 14,
                    .query_padding = 15,
                    .key_padding = 16,
                    .key_scale = -1,
                    .value_scale = -1,
                    .query_rope = -1,
                    .key_rope = -1,
                    .sink = -1,
                    .lse = asc_int(run, tail + 10) ? out + 1 : -1,
                    .out = out};
    if (tail >= 24) {
        refuse_given(run, 21, 23, "shared prefixes");
        p.at.key_scale = 17;
        p.at.value_scale = 19;
        if (asc_has_at(run, 17)) p.key_mode = asc_int(run, tail + 11);
        if (asc_has_at(run, 19)) p.value_mode = asc_int(run, tail + 12);
    }
    if (tail >= 27) {
        refuse_given(run, 26, 26, "keys of integers that rotate");
        p.at.query_rope = 24;
        p.at.key_rope = 25;
    }
    if (tail >= 29) {
        refuse_given(run, 27, 27, "queries of integers");
        p.at.sink = 28;
    }
    if (tail >= 31) {
        refuse_given(run, 29, 30, "sequences that begin elsewhere");
        ASC_STOP_UNLESS(run, asc_int(run, tail + 14) == 0, "pseType %lld isn't 0", (long long)asc_int(run, tail + 14));
    }
    infer(run, &p);
}
