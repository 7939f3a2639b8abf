/* A block of queries against all keys, a run of keys at a time, as Dao et al. (FlashAttention, 2022) do. */
#include <math.h>

#include "attention.h"
#include "bfloat16.h"
#include "chunks.h"
#include "matmul/gemm_pack.h"
#include "vmath.h"
#include "vnni2.h"

#define LANES ATTENTION_LANES
#define VECTORS ATTENTION_VECTORS

/* What a worker holds: LANES * (depth + keys of a run + keys (the mask) + width, rounded up), and kinds. */
typedef struct state {
    const attention *p;
    const float *k, *packed_v, *v, *mask; /* of the head; mask of all queries */
    int64_t k_step;                       /* from key to key */
    const float *transposed;              /* mask of the block as [keys][LANES], or NULL */
    const uint8_t *kinds;                 /* of it */
    float *q, *scores, *sums;
    int64_t first, lanes; /* queries of the block */
    int64_t width;        /* of a row of sums */
    attention_softmax softmax;
    int started;
    attention_streams streams;
    int64_t fetched_rows; /* behind each tile */
} state;

static int64_t sums_width(const attention *p) {
    return (p->width + GEMM_TILE_COLS - 1) / GEMM_TILE_COLS * GEMM_TILE_COLS;
}

/* Lines of LANES floats that kinds take. */
static int64_t kinds_lines(const attention *p) {
    return attention_kinds(p) / (LANES * (int64_t)sizeof(float)) + 1;
}

int64_t ASC_FN(attention_block_floats)(const attention *p) {
    int64_t lines = asc_least(p->keys, ATTENTION_KEYS), floats;
    if (attention_transposes_mask(p) && !asc_add_ok(lines, p->keys, &lines)) return 0;
    if (p->mask && !asc_add_ok(lines, kinds_lines(p), &lines)) return 0;
    if (!asc_add_ok(lines, p->depth, &lines) || !asc_add_ok(lines, p->width, &lines)) return 0;
    if (!asc_add_ok(lines, GEMM_TILE_COLS, &lines) || !asc_mul_ok(lines, LANES, &floats)) return 0;
    return floats < INT64_MAX / 64 ? floats : 0;
}

/* Nearly equal row tiles of a left operand packed `LANES` wide. */
static void product(state *s, int narrow, const float *a, int64_t rows, int64_t k, const float *b, int64_t b_step,
                    int64_t columns, float *c, int64_t ldc, int resume) {
    int64_t tiles = (rows + GEMM_ROWS - 1) / GEMM_ROWS;
    for (int64_t at = 0; at < columns; at += GEMM_TILE_COLS)
        for (int64_t t = 0; t < tiles; t++) {
            int64_t from = rows * t / tiles, to = rows * (t + 1) / tiles;
            gemm_tile tile = {
                .k = k, .a = a + from, .a_step = LANES, .b = b + at, .b_step = b_step, .fetch = (const char *)b};
            tile.c = c + from * ldc + at;
            tile.ldc = ldc;
            tile.resume = resume;
            int vectors = columns - at > ASC_VF ? 2 : 1;
            if (narrow)
                ASC_FN(gemm_tile_vnni2_run)((int)(to - from), vectors, &tile);
            else
                ASC_FN(gemm_tile_run)((int)(to - from), vectors, &tile);
            attention_fetch(&s->streams, s->fetched_rows);
        }
}

/* The block's queries as [depth][LANES], scaled; or as pairs of these lines. */
static void find_queries(const state *s, const float *q) {
    const attention *p = s->p;
    ASC_FN(gemm_interleave)(q, p->q_strides[2], p->q_strides[3], s->lanes, p->depth, LANES, s->q);
    vf scale = vf_set(p->scale * attention_unit(p));
    for (int64_t i = 0; i < LANES * p->depth; i += ASC_VF) vf_store(s->q + i, vf_load(s->q + i) * scale);
    if (p->narrow) ASC_FN(gemm_interleave_vnni2)(s->q, 1, LANES, LANES, p->depth, LANES, NULL, s->q);
}

/* One row of scores for each key, plus the mask. Whether that changed any. */
static int add_mask(const state *s, int64_t key, int64_t keys, float *scores) {
    const attention *p = s->p;
    int64_t vectors = (s->lanes + ASC_VF - 1) / ASC_VF, step = p->mask_strides[3];
    int changed = 0;
    for (int64_t i = 0; i < keys; i++) {
        int64_t panel = (key + i) / GEMM_PANEL;
        if (s->kinds && s->kinds[panel] == MASK_IS_ZERO) {
            i = (panel + 1) * GEMM_PANEL - 1 - key;
            continue;
        }
        changed = 1;
        for (int64_t v = 0; v < vectors; v++) {
            float *at = scores + i * LANES + v * ASC_VF;
            vf mask = s->transposed ? vf_load(s->transposed + (key + i) * LANES + v * ASC_VF)
                                    : attention_mask_in_unit(p, vf_set(s->mask[(key + i) * step]));
            vf_store(at, vf_load(at) + mask);
        }
    }
    return changed;
}

/* Scores of keys that come after what a query sees become -Inf. */
static void hide_future(const state *s, int64_t key, int64_t keys, float *scores) {
    const attention *p = s->p;
    int64_t seen = attention_reach(p, s->first) - key; /* by all queries */
    for (int64_t i = seen > 0 ? seen : 0; i < keys; i++)
        for (int v = 0; v < VECTORS; v++) {
            float *at = scores + i * LANES + v * ASC_VF;
            vi behind = vi_iota() + v * ASC_VF < (int32_t)(key + i - p->offset - s->first);
            vf_store(at, vf_select(behind, vf_set(-INFINITY), vf_load(at)));
        }
}

/* Sums so far, by the factor of each query. */
static void rescale(state *s, const float *factors) {
    for (int64_t i = 0; i < s->lanes; i++)
        for (int64_t j = 0; j < s->width; j += ASC_VF)
            vf_store(s->sums + i * s->width + j, vf_load(s->sums + i * s->width + j) * factors[i]);
}

/* Weights of a run of keys from their scores K Q^T, those of a few keys while the next ones' scores are multiplied.
 * Lanes without a query cost nothing where a vector has none. */
static void find_weights(state *s, int64_t first, int64_t all) {
    const attention *p = s->p;
    attention_pending pending = {.softmax = &s->softmax, .scores = s->scores};
    int64_t n = ATTENTION_OVERLAPS && !p->narrow ? (all - 1) / ATTENTION_TILE_KEYS + 1 : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t before = i * ATTENTION_TILE_KEYS, keys = n > 1 ? asc_least(all - before, ATTENTION_TILE_KEYS) : all;
        int64_t key = first + before;
        float *scores = s->scores + before * LANES, factors[LANES];
        ASC_FN(attention_scores)(p->narrow, s->k + key * s->k_step, s->k_step, keys, attention_lines(p, p->depth), s->q,
                                 s->lanes, scores, &pending, &s->streams, s->fetched_rows);
        const float *changed = p->mask && add_mask(s, key, keys, scores) ? scores : NULL;
        if (key + keys > attention_reach(p, s->first)) {
            hide_future(s, key, keys, scores);
            changed = scores;
        }
        if ((changed || attention_rises(&s->softmax, p->narrow, s->lanes)) &&
            ASC_FN(attention_shift)(&s->softmax, p->narrow, changed, keys, s->lanes, factors)) {
            ASC_FN(attention_rescale)(s->scores, before, factors);
            if (s->started) rescale(s, factors);
        }
        pending.scores = scores;
        pending.keys = keys;
    }
    ASC_FN(attention_weights)(&s->softmax, p->narrow, pending.scores, pending.keys, s->lanes);
}

static void run_keys(state *s, int64_t key, int64_t keys) {
    const attention *p = s->p;
    find_weights(s, key, keys);
    int64_t first = attention_lines(p, key), lines = attention_lines(p, keys);
    for (int64_t j = 0; j < p->width; j += GEMM_PANEL) {
        const float *v = s->packed_v ? s->packed_v + j * attention_lines(p, p->keys) + first * GEMM_PANEL
                                     : s->v + key * p->v_strides[2] + j;
        int64_t columns = asc_least(GEMM_PANEL, p->width - j), step = s->packed_v ? GEMM_PANEL : p->v_strides[2];
        product(s, p->narrow, s->scores, s->lanes, lines, v, step, columns, s->sums + j, s->width, s->started);
    }
    s->started = 1;
}

/* The mask of the block, if any, transposed unless all queries share it, and its kinds. */
static void find_mask(state *s, int64_t batch, int64_t head, int64_t block, float *room) {
    const attention *p = s->p;
    if (!p->mask) return;
    s->mask = p->mask + batch * p->mask_strides[0] + head * p->mask_strides[1];
    if (!attention_transposes_mask(p)) {
        ASC_FN(attention_mask_kinds)(p, s->mask, (uint8_t *)room);
        s->kinds = (uint8_t *)room;
        return;
    }
    int64_t blocks = (p->queries + LANES - 1) / LANES, index = (p->mask_strides[0] ? batch : 0) * blocks + block;
    if (p->transposed) {
        s->transposed = p->transposed + index * p->keys * LANES;
        s->kinds = p->kinds + index * attention_kinds(p);
        return;
    }
    uint8_t *kinds = (uint8_t *)(room + p->keys * LANES);
    ASC_FN(attention_transpose_mask)(p, batch, head, block, room, kinds);
    s->transposed = room;
    s->kinds = kinds;
}

static int is_hidden(const state *s, int64_t key) {
    return s->kinds[key / GEMM_PANEL] == MASK_HIDES;
}

/* Sums divided by those of the weights, to the elements of the result from `at` on. */
static inline __attribute__((always_inline)) void divide(const state *s, int64_t at, int narrow) {
    const attention *p = s->p;
    float totals[LANES];
    for (int v = 0; v < VECTORS; v++) vf_store(totals + v * ASC_VF, s->softmax.total[v]);
    for (int64_t i = 0; i < s->lanes; i++, at += p->y_strides[2]) {
        float factor = attention_factor(p, totals[i]);
        if (factor < 0) {
            memset((char *)p->y + at * (narrow ? 2 : 4), 0, (size_t)p->width * (narrow ? 2 : 4));
            continue;
        }
        const float *sums = s->sums + i * s->width;
        int64_t j = 0;
        for (; j + ASC_VF <= p->width; j += ASC_VF) image_store(p->y, at + j, vf_load(sums + j) * factor, narrow, 0, 0);
        if (j < p->width) image_store(p->y, at + j, vf_load(sums + j) * factor, narrow, 1, p->width - j);
    }
}

/* The queries of the block after this one, room for the results from `at` on, and what the caller names. */
static void find_streams(state *s, int64_t batch, int64_t head, int64_t block, int64_t at,
                         const attention_streams *next) {
    const attention *p = s->p;
    if ((block + 1) * LANES < p->queries)
        block++;
    else if (block = 0, ++head == p->heads)
        head = 0, batch++;
    int64_t count = asc_least(LANES, p->queries - block * LANES);
    const int64_t *q = p->q_strides;
    const float *queries = p->q + batch * q[0] + head * q[1] + block * LANES * q[2];
    if (batch < p->batch && q[3] == 1)
        attention_stream_add(&s->streams, (attention_stream){queries, q[2], count, p->depth});
    int64_t each = p->y_narrow ? 2 : 1; /* elements in the memory of a float */
    const float *y = (const float *)p->y + at / each;
    attention_stream_add(&s->streams, (attention_stream){y, p->y_strides[2] / each, s->lanes, p->width / each});
    for (int i = 0; i < next->count; i++) attention_stream_add(&s->streams, next->of[i]);
}

/* Tiles of both products, if no key is left out. */
static int64_t count_tiles(const state *s, int64_t keys) {
    int64_t rows = (s->lanes + GEMM_ROWS - 1) / GEMM_ROWS, runs = (keys + ATTENTION_KEYS - 1) / ATTENTION_KEYS;
    int64_t columns = (s->lanes + GEMM_TILE_COLS - 1) / GEMM_TILE_COLS;
    return runs * rows * (s->width / GEMM_TILE_COLS) + keys / GEMM_ROWS * columns;
}

void ASC_FN(attention_block)(const attention *p, int64_t batch, int64_t head, int64_t block,
                             const attention_packed *packed, const attention_streams *next, float *scratch) {
    int64_t first = block * LANES, kv_head = head / (p->heads / p->kv_heads);
    state s = {.p = p, .first = first, .lanes = asc_least(LANES, p->queries - first), .width = sums_width(p)};
    s.q = scratch;
    s.sums = s.q + LANES * p->depth;
    s.scores = s.sums + LANES * s.width;
    find_mask(&s, batch, head, block, s.scores + LANES * asc_least(p->keys, ATTENTION_KEYS));
    s.k = packed->k ? packed->k : p->k + batch * p->k_strides[0] + kv_head * p->k_strides[1];
    s.k_step = packed->k ? attention_lines(p, p->depth) : p->k_strides[2];
    s.packed_v = packed->v;
    s.v = p->v + batch * p->v_strides[0] + kv_head * p->v_strides[1];
    find_queries(&s, p->q + batch * p->q_strides[0] + head * p->q_strides[1] + first * p->q_strides[2]);
    int64_t at = batch * p->y_strides[0] + head * p->y_strides[1] + first * p->y_strides[2];
    int64_t reach = attention_reach(p, first + s.lanes - 1);
    find_streams(&s, batch, head, block, at, next);
    for (int v = 0; v < VECTORS; v++) s.softmax.max[v] = vf_set(-INFINITY);
    int may_skip = s.kinds && attention_may_skip(p, s.kinds);
    s.fetched_rows = s.streams.rows / (count_tiles(&s, reach) + 1) + 1;
    for (int64_t key = 0; key < reach;) {
        if (may_skip && is_hidden(&s, key)) {
            key += GEMM_PANEL;
            continue;
        }
        int64_t end = key + GEMM_PANEL;
        while (end < reach && end - key < ATTENTION_KEYS && !(may_skip && is_hidden(&s, end))) end += GEMM_PANEL;
        end = asc_least(end, reach);
        run_keys(&s, key, end - key);
        key = end;
    }
    if (!s.started) memset(s.sums, 0, (size_t)(LANES * s.width) * sizeof *s.sums);
    if (p->y_narrow)
        divide(&s, at, 1);
    else
        divide(&s, at, 0);
}
