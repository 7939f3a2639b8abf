/* attention: Y = softmax(scale Q K^T + mask) V without the matrix of scores in memory.
 *
 * in:     Q [B, H, M, D], K [B, G, S, D], V [B, G, S, W] with H a multiple of G (each key/value head serves
 *         H / G neighbouring heads), mask (absent, or broadcastable to [B, H, M, S]); any strides.
 * out:    Y [B, H, M, W], or [B, M, H, W] with heads_last
 * ints:   heads_last, nan_to_zero (a row whose scores have no finite sum of weights is 0, not NaN)
 * floats: scale
 *
 * A key whose mask is ATTENTION_MASKED or less is left out where a whole panel of keys is masked for a
 * whole block of queries, each of which has another key that is not: its weight would be exp(-1e30) = 0.
 * Only a score of NaN or +Inf at such a key could tell the difference.
 * Without any key (S = 0) the result is 0, as the product of empty matrices is. */
#include "attention.h"

#include "chunks.h"
#include "gemm_pack.h"

enum { Q, K, V, MASK };
enum { FEW, PACK_V, SCRATCH_BYTES, PACKED_K_FLOATS, PACKED_V_FLOATS, TURN_ONCE }; /* prepare's notes to run */

static int32_t read_operand(const asc_call *call, int index, int64_t strides[4]) {
    const asc_tensor *t = &call->in[index];
    ASC_REQUIRE(call, t->rank == 4 && t->layout == ASC_LAYOUT_PLAIN, "attention: Q, K, V and mask have four axes");
    for (int i = 0; i < 4; i++) strides[i] = t->dims[i] == 1 ? 0 : t->strides[i];
    if (t->dims[3] == 1) strides[3] = 1;
    return ASC_OK;
}

static int32_t read_mask(const asc_call *call, attention *p) {
    if (call->n_in <= MASK || call->in[MASK].dtype == ASC_UNDEFINED) return ASC_OK;
    int32_t code = read_operand(call, MASK, p->mask_strides);
    if (code) return code;
    const int64_t *dims = call->in[MASK].dims, full[4] = {p->batch, p->heads, p->queries, p->keys};
    for (int i = 0; i < 4; i++) {
        ASC_REQUIRE(call, dims[i] == 1 || dims[i] == full[i], "attention: the mask does not broadcast to the scores");
        if (dims[i] == 1) p->mask_strides[i] = 0;
    }
    p->mask = call->in[MASK].data;
    return ASC_OK;
}

static int32_t read_output(const asc_call *call, attention *p) {
    const asc_tensor *y = &call->out[0];
    int last = call->ints[0] != 0;
    ASC_REQUIRE(call, call->ints[0] == 0 || call->ints[0] == 1, "attention: heads_last is 0 or 1");
    ASC_REQUIRE(call,
                y->rank == 4 && y->layout == ASC_LAYOUT_PLAIN && y->dims[0] == p->batch &&
                    y->dims[last ? 2 : 1] == p->heads && y->dims[last ? 1 : 2] == p->queries && y->dims[3] == p->width,
                "attention: the output's shape is wrong");
    ASC_REQUIRE(call, call->ints[1] == 0 || call->ints[1] == 1, "attention: nan_to_zero is 0 or 1");
    p->nan_to_zero = call->ints[1] != 0;
    p->y = y->data;
    p->y_strides[0] = p->heads * p->queries * p->width;
    p->y_strides[1] = last ? p->width : p->queries * p->width;
    p->y_strides[2] = last ? p->heads * p->width : p->width;
    return ASC_OK;
}

static int32_t read_problem(const asc_call *call, attention *p) {
    ASC_REQUIRE(call, call->n_ints == 2 && call->n_floats == 1, "attention takes two ints and one float");
    *p = (attention){.scale = (float)call->floats[0]};
    int32_t code;
    if ((code = read_operand(call, Q, p->q_strides))) return code;
    if ((code = read_operand(call, K, p->k_strides))) return code;
    if ((code = read_operand(call, V, p->v_strides))) return code;
    const int64_t *q = call->in[Q].dims, *k = call->in[K].dims, *v = call->in[V].dims;
    ASC_REQUIRE(call, k[0] == q[0] && v[0] == q[0], "attention: the batches differ");
    ASC_REQUIRE(call, k[1] == v[1] && (k[1] ? q[1] % k[1] == 0 : q[1] == 0),
                "attention: the heads of Q are no multiple of those of K and V");
    ASC_REQUIRE(call, k[2] == v[2], "attention: K and V differ in length");
    ASC_REQUIRE(call, q[3] == k[3], "attention: Q and K differ in their last axis");
    p->batch = q[0];
    p->heads = q[1];
    p->kv_heads = k[1];
    p->queries = q[2];
    p->keys = k[2];
    p->depth = q[3];
    p->width = v[3];
    p->q = call->in[Q].data;
    p->k = call->in[K].data;
    p->v = call->in[V].data;
    if ((code = read_mask(call, p))) return code;
    return read_output(call, p);
}

static int is_empty(const attention *p) {
    return !p->batch || !p->heads || !p->queries || !p->width;
}

/* Floats of all packed panels of K (one matrix: `rows` x panels of the `columns`), or -1. */
static int64_t packed_floats(const attention *p, int64_t rows, int64_t columns) {
    int64_t n = attention_panels(columns);
    int ok = asc_mul_ok(n, GEMM_PANEL, &n) && asc_mul_ok(n, rows, &n) && asc_mul_ok(n, p->kv_heads, &n) &&
             asc_mul_ok(n, p->batch, &n);
    return ok && n < INT64_MAX / 64 ? n : -1;
}

#define MOST_TURNED (4 << 20) /* floats of a turned mask that is kept for all heads */

/* Floats of the mask turned once for all heads, or 0: each block turns its own. */
static int64_t turned_floats(const attention *p) {
    int64_t floats;
    if (!attention_turns(p) || p->mask_strides[1] || p->heads < 2) return 0;
    int ok = asc_mul_ok(asc_ceil_div(p->queries, ATTENTION_LANES), ATTENTION_LANES, &floats) &&
             asc_mul_ok(floats, p->keys, &floats) && asc_mul_ok(floats, p->mask_strides[0] ? p->batch : 1, &floats);
    return ok && floats <= MOST_TURNED ? floats : 0;
}

int32_t ASC_FN(attention_prepare)(asc_call *call) {
    attention p;
    int32_t code = read_problem(call, &p);
    if (code || is_empty(&p)) return code;
    int few = p.queries <= ATTENTION_FEW && p.k_strides[3] == 1 && p.v_strides[3] == 1 && p.q_strides[3] == 1;
    /* Rows of V far apart would share few cache sets; a last vector must not reach past a row. */
    int pack_v = p.v_strides[3] != 1 || p.v_strides[2] != p.width || p.width % ASC_VF;
    int64_t floats = few ? ASC_FN(attention_few_floats)(&p) : ASC_FN(attention_block_floats)(&p);
    int64_t k = few ? 0 : packed_floats(&p, p.depth, p.keys),
            v = few || !pack_v ? 0 : packed_floats(&p, p.keys, p.width);
    int64_t turned = few ? 0 : turned_floats(&p), total = turned;
    ASC_REQUIRE(call,
                floats > 0 && k >= 0 && v >= 0 && asc_mul_ok(floats, call->threads, &floats) &&
                    asc_add_ok(total, floats, &total) && asc_add_ok(total, k, &total) && asc_add_ok(total, v, &total) &&
                    asc_mul_ok(total, sizeof(float), &total),
                "attention: the operands are too large");
    call->scratch[FEW] = few;
    call->scratch[PACK_V] = pack_v;
    call->scratch[SCRATCH_BYTES] = floats / call->threads * (int64_t)sizeof(float);
    call->scratch[PACKED_K_FLOATS] = k;
    call->scratch[PACKED_V_FLOATS] = v;
    call->scratch[TURN_ONCE] = turned > 0;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

/* Panels of a key/value head that are packed: those of K, then those of V. */
static int64_t packed_panels(const attention *p) {
    return attention_panels(p->keys) + (p->packed_v ? attention_panels(p->width) : 0);
}

/* One panel of one key/value head: 32 keys of K, or 32 columns of V. */
static void pack_panel(const attention *p, int64_t pair, int64_t panel) {
    int64_t b = pair / p->kv_heads, h = pair % p->kv_heads, panels = attention_panels(p->keys);
    int is_v = panel >= panels;
    if (is_v) {
        panel -= panels;
        panels = attention_panels(p->width);
    }
    const int64_t *s = is_v ? p->v_strides : p->k_strides;
    int64_t lane = is_v ? s[3] : s[2], step = is_v ? s[2] : s[3], rows = is_v ? p->keys : p->depth;
    int64_t all = is_v ? p->width : p->keys, first = panel * GEMM_PANEL;
    int64_t lanes = all - first < GEMM_PANEL ? all - first : GEMM_PANEL;
    const float *from = (is_v ? p->v : p->k) + b * s[0] + h * s[1] + first * lane;
    float *to = (is_v ? p->packed_v : p->packed_k) + (pair * panels + panel) * rows * GEMM_PANEL;
    ASC_FN(gemm_interleave)(from, lane, step, lanes, rows, GEMM_PANEL, to);
}

/* Panels of all key/value heads, then blocks of the mask. */
static void pack_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const attention *p = arg;
    (void)worker;
    (void)call;
    int64_t panels = packed_panels(p), all = p->batch * p->kv_heads * panels;
    if (chunk < all) {
        pack_panel(p, chunk / panels, chunk % panels);
        return;
    }
    int64_t blocks = asc_ceil_div(p->queries, ATTENTION_LANES), block = chunk - all;
    ASC_FN(attention_turn_mask)(p, block / blocks, 0, block % blocks, p->turned + block * p->keys * ATTENTION_LANES);
}

typedef struct blocks {
    const attention *p;
    int64_t per_head, per_chunk;
} blocks;

static void block_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const blocks *job = arg;
    const attention *p = job->p;
    (void)call;
    int64_t chunks = asc_ceil_div(job->per_head, job->per_chunk), pair = chunk / chunks;
    int64_t from = chunk % chunks * job->per_chunk, to = from + job->per_chunk;
    float *scratch = (float *)(p->scratch + worker * p->scratch_bytes);
    for (int64_t i = from; i < (to < job->per_head ? to : job->per_head); i++)
        ASC_FN(attention_block)(p, pair / p->heads, pair % p->heads, i, scratch);
}

static void few_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const attention *p = arg;
    (void)call;
    ASC_FN(attention_few)(p, chunk / p->kv_heads, chunk % p->kv_heads,
                          (float *)(p->scratch + worker * p->scratch_bytes));
}

static void run_serially_or_not(const asc_call *call, int serial, int64_t chunks, asc_chunk_fn fn, void *arg) {
    if (!serial)
        asc_parallel(call, chunks, fn, arg);
    else
        for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, arg);
}

int32_t ASC_FN(attention_run)(const asc_call *call) {
    attention p;
    int32_t code = read_problem(call, &p);
    if (code || is_empty(&p)) return code;
    p.scratch = call->workspace;
    p.scratch_bytes = call->scratch[SCRATCH_BYTES];
    float *packed = (float *)(p.scratch + call->threads * p.scratch_bytes);
    int64_t pairs = p.batch * p.kv_heads;
    double work = (double)p.batch * (double)p.heads * (double)p.queries * (double)p.keys * (double)(p.depth + p.width);
    int serial = work < 400e3; /* multiply-adds: about ten microseconds */
    if (call->scratch[FEW]) {
        run_serially_or_not(call, serial, pairs, few_chunk, &p);
        return ASC_OK;
    }
    p.packed_k = packed;
    if (call->scratch[PACK_V]) p.packed_v = packed + call->scratch[PACKED_K_FLOATS];
    if (call->scratch[TURN_ONCE]) p.turned = packed + call->scratch[PACKED_K_FLOATS] + call->scratch[PACKED_V_FLOATS];
    int64_t masks = (p.turned ? asc_ceil_div(p.queries, ATTENTION_LANES) : 0) * (p.mask_strides[0] ? p.batch : 1);
    run_serially_or_not(call, serial, pairs * packed_panels(&p) + masks, pack_chunk, &p);
    blocks job = {.p = &p, .per_head = asc_ceil_div(p.queries, ATTENTION_LANES)};
    job.per_chunk = asc_chunk_items(call, job.per_head, ATTENTION_LANES * p.keys * (p.depth + p.width) / 16);
    run_serially_or_not(call, serial, p.batch * p.heads * asc_ceil_div(job.per_head, job.per_chunk), block_chunk, &job);
    return ASC_OK;
}
