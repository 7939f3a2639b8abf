/* attention: Y = softmax(scale Q K^T + mask) V without the matrix of scores in memory.
 *
 * in:     Q [B, H, M, D], K [B, G, S, D], V [B, G, S, W] with H a multiple of G (each key/value head serves
 *         H / G neighbouring heads), mask (absent, or broadcastable to [B, H, M, S]); any strides.
 * out:    Y [B, H, M, W], or [B, M, H, W] with heads_last; float32 or bfloat16, rounded as it is stored
 * ints:   asc_attention_params; with narrow, scale * Q, K, the weights exp(score - max) and V are rounded to bfloat16
 *         where they are multiplied; scores, sums and the softmax stay float32. With few queries, all is float32
 * floats: asc_attention_floats
 *
 * A key whose mask is ATTENTION_MASKED or less is left out where a whole panel of keys is masked for a
 * whole block of queries, each of which has another key that is not: its weight would be exp(-1e30) = 0.
 * Only a score of NaN or +Inf at such a key could tell the difference.
 * Without any key (S = 0) the result is 0, as the product of empty matrices is. */
#include "attention.h"

#include "chunks.h"
#include "matmul/gemm_pack.h"
#include "vnni2.h"

#define HELD_FLOATS 16 /* of a worker's scratch: a line of the cache */

/* Blocks in a chunk at least where a worker that takes over a part of a head has to pack its K or V too. */
#define PACKED_BLOCKS 8

ASC_KERNEL_NOTE(attention, attention_note)

static attention_note *note_of(const asc_call *call) {
    return call->note;
}

static int is_empty(const attention *p) {
    return !p->batch || !p->heads || !p->queries || !p->width;
}

/* Multiply-adds of about ten microseconds. */
static int is_small(const attention *p) {
    double work = (double)p->batch * (double)p->heads * (double)p->queries * (double)p->keys;
    return work * (double)(p->depth + p->width) < 400e3;
}

/* Floats of a matrix of so many lines, each of so many columns, in whole lines of the cache; -1: too many. */
static int64_t packed_floats(int64_t lines, int64_t columns) {
    int64_t floats;
    return asc_mul_ok(lines, columns, &floats) && floats < INT64_MAX / 64 ? asc_ceil_div(floats, 16) * 16 : -1;
}

#define MOST_TRANSPOSED (4 << 20) /* floats of a transposed mask that is kept for all heads */

static int64_t transposed_blocks(const attention *p) {
    return asc_ceil_div(p->queries, ATTENTION_LANES) * (p->mask_strides[0] ? p->batch : 1);
}

static int64_t transposed_mask_floats(const attention *p) {
    return transposed_blocks(p) * ATTENTION_LANES * p->keys;
}

/* Floats of the mask transposed once for all heads, and its kinds, or 0: each block transposes its own. */
static int64_t transposed_floats(const attention *p) {
    double floats = (double)transposed_blocks(p) * ATTENTION_LANES * (double)p->keys;
    if (!attention_transposes_mask(p) || p->mask_strides[1] || p->heads < 2 || floats > MOST_TRANSPOSED) return 0;
    return transposed_mask_floats(p) + asc_ceil_div(transposed_blocks(p) * attention_kinds(p), 64) * 16;
}

/* Whether the rows of K that a tile reads lie in one set of a first-level cache, as often as they are read that it pays
 * to move them. */
static int keys_share_sets(const attention *p) {
    int64_t queries = p->heads / p->kv_heads * p->queries;
    return p->k_strides[2] % (4096 / (int64_t)sizeof(float)) == 0 && p->k_strides[2] && queries >= 4 * ATTENTION_LANES;
}

/* Heads enough that each worker packs a head and multiplies with it while it is in its cache. */
static int goes_by_head(const attention *p, int32_t threads) {
    int64_t pairs = p->batch * p->kv_heads;
    return pairs % threads == 0 || pairs >= 8 * (int64_t)threads;
}

static int32_t prepare_few(asc_call *call, const attention *p) {
    int64_t floats = ASC_FN(attention_few_floats)(p), bytes;
    ASC_REQUIRE(call,
                floats > 0 && asc_mul_ok(floats, sizeof(float), &floats) && asc_mul_ok(floats, call->threads, &bytes),
                "attention: the operands are too large");
    note_of(call)->few = 1;
    note_of(call)->scratch_floats = floats / (int64_t)sizeof(float);
    call->workspace_bytes = (uint64_t)bytes;
    return ASC_OK;
}

int32_t ASC_FN(attention_prepare)(asc_call *call) {
    attention p;
    int32_t code = ASC_FN(attention_read)(call, &p);
    if (code) return code;
    ASC_FN(attention_point)(call, &p);
    note_of(call)->problem = p;
    if (is_empty(&p)) return ASC_OK;
    call->turns = 0; /* what is fetched ahead comes after */
    if (p.queries <= ATTENTION_FEW && p.k_strides[3] == 1 && p.v_strides[3] == 1 && p.q_strides[3] == 1)
        return prepare_few(call, &p);
    /* Rows of V far apart would share few cache sets; a last vector must not reach past a row. */
    int pack_v = p.narrow || p.v_strides[3] != 1 || p.v_strides[2] != p.width || p.width % ASC_VF;
    int pack_k = p.narrow || p.k_strides[3] != 1 || keys_share_sets(&p);
    int by_head = goes_by_head(&p, call->threads);
    int64_t floats = ASC_FN(attention_block_floats)(&p) + HELD_FLOATS, transposed = transposed_floats(&p), total,
            packed;
    int64_t k = pack_k ? packed_floats(p.keys, attention_lines(&p, p.depth)) : 0;
    int64_t v = pack_v ? packed_floats(attention_lines(&p, p.keys), attention_panels(p.width) * GEMM_PANEL) : 0;
    ASC_REQUIRE(call,
                floats > HELD_FLOATS && k >= 0 && v >= 0 && asc_mul_ok(floats, call->threads, &total) &&
                    asc_mul_ok(k + v, by_head ? call->threads : p.batch * p.kv_heads, &packed) &&
                    asc_add_ok(total, packed, &total) && asc_add_ok(total, transposed, &total) &&
                    asc_mul_ok(total, sizeof(float), &total),
                "attention: the operands are too large");
    note_of(call)->few = 0;
    note_of(call)->by_head = by_head;
    note_of(call)->scratch_floats = floats;
    note_of(call)->packed_k_floats = k;
    note_of(call)->packed_v_floats = v;
    note_of(call)->pack_k = pack_k;
    note_of(call)->pack_v = pack_v;
    note_of(call)->transpose_once = transposed > 0;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

/* A call under way. `packed`: K and V of all heads; by head, of the one that each worker is at. */
typedef struct job {
    const attention *p;
    int by_head, pack_k, pack_v, serial;
    float *scratch, *packed;
    int64_t scratch_floats, k_floats, v_floats;
    int64_t blocks, per_chunk; /* of queries: in a head, in a chunk */
} job;

static float *scratch_of(const job *j, int32_t worker) {
    return j->scratch + worker * j->scratch_floats;
}

/* By head: the one whose K and V a worker has packed, or -1; at the end of its scratch. */
static int64_t *held_by(const job *j, int32_t worker) {
    return (int64_t *)(scratch_of(j, worker + 1) - HELD_FLOATS);
}

/* Where K and V of a head lie packed. */
static attention_packed packed_of(const job *j, int64_t pair, int32_t worker) {
    float *k = j->packed + (j->by_head ? worker : pair) * (j->k_floats + j->v_floats);
    return (attention_packed){.k = j->pack_k ? k : NULL, .v = j->pack_v ? k + j->k_floats : NULL};
}

/* What is packed of a key/value head, in pieces: panels of keys, then panels of columns of V. */
static int64_t packed_pieces(const job *j) {
    return (j->pack_k ? attention_panels(j->p->keys) : 0) + (j->pack_v ? attention_panels(j->p->width) : 0);
}

/* Some keys, each a row. `room` takes as many rows of floats. */
static void pack_keys(const attention *p, const float *from, int64_t keys, float *to, float *room) {
    int64_t step = p->k_strides[2], lines = attention_lines(p, p->depth);
    if (p->k_strides[3] != 1) {
        float *rows = p->narrow ? room : to;
        ASC_FN(gemm_interleave)(from, p->k_strides[3], step, p->depth, keys, p->depth, rows);
        from = rows;
        step = p->depth;
    }
    for (int64_t i = 0; i < keys && from != to; i++)
        if (p->narrow)
            vnni2_from(from + i * step, p->depth, to + i * lines);
        else
            memcpy(to + i * lines, from + i * step, (size_t)lines * sizeof *to);
}

/* Some columns of V. `room` takes a run of them as pairs. */
static void pack_columns(const attention *p, const float *from, int64_t columns, float *to, float *room) {
    const int64_t *s = p->v_strides;
    if (!p->narrow) {
        ASC_FN(gemm_interleave)(from, s[3], s[2], columns, p->keys, GEMM_PANEL, to);
        return;
    }
    for (int64_t at = 0; at < p->keys; at += ATTENTION_KEYS) { /* an even number, and no more than there is room for */
        int64_t some = p->keys - at < ATTENTION_KEYS ? p->keys - at : ATTENTION_KEYS;
        ASC_FN(gemm_interleave_vnni2)(from + at * s[2], s[3], s[2], columns, some, GEMM_PANEL, room,
                                      to + at / 2 * GEMM_PANEL);
    }
}

static void pack_piece(const job *j, int64_t pair, int64_t piece, const attention_packed *packed, float *room) {
    const attention *p = j->p;
    int64_t b = pair / p->kv_heads, h = pair % p->kv_heads, panels = j->pack_k ? attention_panels(p->keys) : 0;
    int is_v = piece >= panels;
    const int64_t *s = is_v ? p->v_strides : p->k_strides;
    int64_t first = (is_v ? piece - panels : piece) * GEMM_PANEL, all = is_v ? p->width : p->keys;
    int64_t some = all - first < GEMM_PANEL ? all - first : GEMM_PANEL;
    const float *from = (is_v ? p->v : p->k) + b * s[0] + h * s[1] + first * s[is_v ? 3 : 2];
    if (is_v)
        pack_columns(p, from, some, packed->v + first * attention_lines(p, p->keys), room);
    else
        pack_keys(p, from, some, packed->k + first * attention_lines(p, p->depth), room);
}

static void pack_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    (void)call;
    int64_t pieces = packed_pieces(j), pair = chunk / pieces;
    attention_packed packed = packed_of(j, pair, worker);
    pack_piece(j, pair, chunk % pieces, &packed, scratch_of(j, worker));
}

static void transpose_chunk(const asc_call *call, int64_t block, int32_t worker, void *arg) {
    const job *j = arg;
    (void)call, (void)worker;
    const attention *p = j->p;
    ASC_FN(attention_transpose_mask)(p, block / j->blocks, 0, block % j->blocks,
                                     p->transposed + block * p->keys * ATTENTION_LANES,
                                     p->kinds + block * attention_kinds(p));
}

static void block_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    const attention *p = j->p;
    (void)call;
    int64_t chunks = asc_ceil_div(j->blocks, j->per_chunk), head = chunk / chunks;
    int64_t from = chunk % chunks * j->per_chunk, to = from + j->per_chunk;
    attention_packed packed = packed_of(j, head / (p->heads / p->kv_heads), worker);
    const attention_streams none = {0};
    for (int64_t i = from; i < (to < j->blocks ? to : j->blocks); i++)
        ASC_FN(attention_block)(p, head / p->heads, head % p->heads, i, &packed, &none, scratch_of(j, worker));
}

/* Part i of n of a head's keys and values, if there is such a head. */
static attention_streams find_part(const attention *p, int64_t pair, int64_t i, int64_t n) {
    attention_streams s = {0};
    if (pair >= p->batch * p->kv_heads || p->k_strides[3] != 1 || p->v_strides[3] != 1) return s;
    int64_t b = pair / p->kv_heads, h = pair % p->kv_heads, from = p->keys * i / n,
            count = p->keys * (i + 1) / n - from;
    const int64_t *ks = p->k_strides, *vs = p->v_strides;
    const float *k = p->k + b * ks[0] + h * ks[1] + from * ks[2], *v = p->v + b * vs[0] + h * vs[1] + from * vs[2];
    attention_stream_add(&s, (attention_stream){k, ks[2], count, p->depth});
    attention_stream_add(&s, (attention_stream){v, vs[2], count, p->width});
    return s;
}

/* Blocks of the queries that share a key/value head, which each worker packs for itself. */
static void head_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const job *j = arg;
    const attention *p = j->p;
    (void)call;
    int64_t group = p->heads / p->kv_heads, blocks = group * j->blocks, chunks = asc_ceil_div(blocks, j->per_chunk);
    int64_t pair = chunk / chunks, from = chunk % chunks * j->per_chunk, to = from + j->per_chunk;
    attention_packed packed = packed_of(j, pair, worker);
    if (*held_by(j, worker) != pair)
        for (int64_t i = 0; i < packed_pieces(j); i++) pack_piece(j, pair, i, &packed, scratch_of(j, worker));
    *held_by(j, worker) = pair;
    for (int64_t n = from; n < (to < blocks ? to : blocks); n++) {
        int64_t head = pair * group + n / j->blocks;
        attention_streams next = find_part(p, pair + 1, n, blocks);
        ASC_FN(attention_block)
        (p, head / p->heads, head % p->heads, n % j->blocks, &packed, &next, scratch_of(j, worker));
    }
}

static void few_chunk(const asc_call *call, int64_t pair, int32_t worker, void *arg) {
    const job *j = arg;
    (void)call;
    ASC_FN(attention_few)(j->p, pair / j->p->kv_heads, pair % j->p->kv_heads, scratch_of(j, worker));
}

static void run_chunks(const asc_call *call, job *j, int64_t chunks, asc_chunk_fn fn) {
    if (!j->serial)
        asc_parallel(call, chunks, fn, j);
    else
        for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, j);
}

static void run_blocks(const asc_call *call, attention *p, job *j) {
    int64_t pairs = p->batch * p->kv_heads;
    j->by_head = note_of(call)->by_head != 0;
    j->pack_k = note_of(call)->pack_k != 0;
    j->pack_v = note_of(call)->pack_v != 0;
    j->k_floats = note_of(call)->packed_k_floats;
    j->v_floats = note_of(call)->packed_v_floats;
    j->packed = j->scratch + call->threads * j->scratch_floats;
    j->blocks = asc_ceil_div(p->queries, ATTENTION_LANES);
    if (note_of(call)->transpose_once) {
        p->transposed = j->packed + (j->by_head ? call->threads : pairs) * (j->k_floats + j->v_floats);
        p->kinds = (uint8_t *)(p->transposed + transposed_mask_floats(p));
        run_chunks(call, j, transposed_blocks(p), transpose_chunk);
    }
    int64_t cost = ATTENTION_LANES * p->keys * (p->depth + p->width) / 16;
    if (j->by_head || !packed_pieces(j)) {
        int64_t blocks = p->heads / p->kv_heads * j->blocks;
        j->per_chunk = asc_chunk_items(call, blocks, cost);
        if (packed_pieces(j) && j->per_chunk < PACKED_BLOCKS) j->per_chunk = PACKED_BLOCKS;
        for (int32_t i = 0; i < call->threads; i++) *held_by(j, i) = -1;
        run_chunks(call, j, pairs * asc_ceil_div(blocks, j->per_chunk), head_chunk);
        return;
    }
    run_chunks(call, j, pairs * packed_pieces(j), pack_chunk);
    j->per_chunk = asc_chunk_items(call, j->blocks, cost);
    run_chunks(call, j, p->batch * p->heads * asc_ceil_div(j->blocks, j->per_chunk), block_chunk);
}

void ASC_FN(attention_schedule)(const asc_call *call, char *text, size_t room) {
    const attention_note *note = note_of(call);
    const attention *p = &note->problem;
    if (is_empty(p))
        asc_format(text, room, ASC_NO_SCHEDULE);
    else if (note->few)
        asc_format(text, room, "few_queries heads=%ld threads=%d", p->batch * p->kv_heads,
                   is_small(p) ? 1 : call->threads);
    else
        asc_format(text, room, "%s blocks=%ld threads=%d%s%s%s", note->by_head ? "heads" : "blocks",
                   p->batch * p->heads * asc_ceil_div(p->queries, ATTENTION_LANES), is_small(p) ? 1 : call->threads,
                   note->pack_k ? " packs_k" : "", note->pack_v ? " packs_v" : "",
                   note->transpose_once ? " transposes_mask" : "");
}

int ASC_FN(attention_takes_few)(const asc_call *call) {
    return note_of(call)->few != 0;
}

int32_t ASC_FN(attention_execute)(const asc_call *call, attention *p) {
    if (is_empty(p)) return ASC_OK;
    job j = {.p = p, .scratch = call->workspace, .scratch_floats = note_of(call)->scratch_floats};
    j.serial = is_small(p);
    if (note_of(call)->few)
        run_chunks(call, &j, p->batch * p->kv_heads, few_chunk);
    else
        run_blocks(call, p, &j);
    return ASC_OK;
}

int32_t ASC_FN(attention_run)(const asc_call *call) {
    attention p = note_of(call)->problem;
    ASC_FN(attention_point)(call, &p);
    return ASC_FN(attention_execute)(call, &p);
}
