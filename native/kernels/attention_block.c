/* A block of queries against all keys, a run of keys at a time, with the softmax kept up to date as Milakov
 * and Gimelshein (Online normalizer calculation for softmax, 2018) and Dao et al. (FlashAttention, 2022) do. */
#include <math.h>

#include "attention.h"
#include "gemm_pack.h"
#include "pairs.h"
#include "vmath.h"

#define LANES ATTENTION_LANES
#define VECTORS (LANES / ASC_VF) /* of a row of scores */

/* What a worker holds: LANES * (depth + keys of a run + keys (the mask) + width, rounded up). */
typedef struct state {
    const attention *p;
    const float *k, *packed_v, *v, *mask; /* of the head; mask of all queries */
    const float *turned;                  /* mask of the block as [keys][LANES], or NULL */
    float *q, *scores, *sums;
    int64_t first, lanes; /* queries of the block */
    int64_t width;        /* of a row of sums */
    vf max[VECTORS], total[VECTORS];
    int started;
} state;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t sums_width(const attention *p) {
    return (p->width + GEMM_TILE_COLS - 1) / GEMM_TILE_COLS * GEMM_TILE_COLS;
}

int64_t ASC_FN(attention_block_floats)(const attention *p) {
    int64_t lines = least(p->keys, ATTENTION_KEYS), floats;
    if (attention_turns(p) && !asc_add_ok(lines, p->keys, &lines)) return 0;
    if (!asc_add_ok(lines, p->depth, &lines) || !asc_add_ok(lines, p->width, &lines)) return 0;
    if (!asc_add_ok(lines, GEMM_TILE_COLS, &lines) || !asc_mul_ok(lines, LANES, &floats)) return 0;
    return floats < INT64_MAX / 64 ? floats : 0;
}

/* Nearly equal row tiles of a left operand packed `LANES` wide. */
static void product(int narrow, const float *a, int64_t rows, int64_t k, const float *b, int64_t b_step,
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
                ASC_FN(gemm_tile_pairs_run)((int)(to - from), vectors, &tile);
            else
                ASC_FN(gemm_tile_run)((int)(to - from), vectors, &tile);
        }
}

/* The block's queries as [depth][LANES], scaled; or as pairs of these lines. */
static void find_queries(const state *s, const float *q) {
    const attention *p = s->p;
    ASC_FN(gemm_interleave)(q, p->q_strides[2], p->q_strides[3], s->lanes, p->depth, LANES, s->q);
    for (int64_t i = 0; i < LANES * p->depth; i += ASC_VF) vf_store(s->q + i, vf_load(s->q + i) * p->scale);
    if (p->narrow) ASC_FN(gemm_interleave_pairs)(s->q, 1, LANES, LANES, p->depth, LANES, NULL, s->q);
}

/* scores = K Q^T for whole panels of keys; lanes without a query cost nothing where a vector has none. */
static void find_scores(const state *s, int64_t key, int64_t keys) {
    const attention *p = s->p;
    int64_t lines = attention_lines(p, p->depth);
    for (int64_t i = 0; i < keys; i += GEMM_PANEL)
        product(p->narrow, s->k + (key + i) * lines, least(GEMM_PANEL, keys - i), lines, s->q, LANES, s->lanes,
                s->scores + i * LANES, LANES, 0);
}

/* One row of scores for each key, plus the mask. */
static void add_mask(const state *s, int64_t key, int64_t keys) {
    const attention *p = s->p;
    int64_t vectors = (s->lanes + ASC_VF - 1) / ASC_VF, step = p->mask_strides[3];
    for (int64_t i = 0; i < keys; i++)
        for (int64_t v = 0; v < vectors; v++) {
            float *at = s->scores + i * LANES + v * ASC_VF;
            vf mask =
                s->turned ? vf_load(s->turned + (key + i) * LANES + v * ASC_VF) : vf_set(s->mask[(key + i) * step]);
            vf_store(at, vf_load(at) + mask);
        }
}

/* Scores of keys that come after what a query sees become -Inf. */
static void hide_future(const state *s, int64_t key, int64_t keys) {
    const attention *p = s->p;
    int64_t seen = attention_reach(p, s->first) - key; /* by all queries */
    for (int64_t i = seen > 0 ? seen : 0; i < keys; i++)
        for (int v = 0; v < VECTORS; v++) {
            float *at = s->scores + i * LANES + v * ASC_VF;
            vi behind = vi_iota() + v * ASC_VF < (int32_t)(key + i - p->offset - s->first);
            vf_store(at, vf_select(behind, vf_set(-INFINITY), vf_load(at)));
        }
}

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

/* Sums so far, under a larger maximum. */
static void rescale(state *s, const vf factor[VECTORS]) {
    float factors[LANES];
    for (int v = 0; v < VECTORS; v++) vf_store(factors + v * ASC_VF, factor[v]);
    for (int64_t i = 0; i < s->lanes; i++)
        for (int64_t j = 0; j < s->width; j += ASC_VF)
            vf_store(s->sums + i * s->width + j, vf_load(s->sums + i * s->width + j) * factors[i]);
}

/* The scores' exponentials in place, and their sums. A score of +Inf gives NaN. */
static void exponentials(state *s, int64_t keys, const vf max[VECTORS]) {
    int64_t vectors = (s->lanes + ASC_VF - 1) / ASC_VF;
    for (int64_t v = 0; v < vectors; v++) {
        vf shift = finite_shift(max[v]), sum[4] = {{0}, {0}, {0}, {0}};
        float *at = s->scores + v * ASC_VF;
        int64_t i = 0;
        for (; i + 4 <= keys; i += 4, at += 4 * LANES)
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) {
                vf e = vf_exp_bounded(vf_load(at + u * LANES) - shift);
                vf_store(at + u * LANES, e);
                sum[u] += e;
            }
        for (; i < keys; i++, at += LANES) {
            vf e = vf_exp_bounded(vf_load(at) - shift);
            vf_store(at, e);
            sum[0] += e;
        }
        s->total[v] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
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
static void narrow_exponentials(state *s, int64_t keys, const vf max[VECTORS]) {
    int64_t vectors = (s->lanes + ASC_VF - 1) / ASC_VF;
    for (int64_t v = 0; v < vectors; v++) {
        vf shift = finite_shift(max[v]), sum[4] = {{0}, {0}, {0}, {0}};
        float *at = s->scores + v * ASC_VF, *out = at;
        int64_t i = 0;
        for (; i + 4 <= keys; i += 4, at += 4 * LANES, out += 2 * LANES) {
            vf e[4];
#pragma GCC unroll 4
            for (int u = 0; u < 4; u++) e[u] = coarse_exp(vf_load(at + u * LANES) - shift);
#pragma GCC unroll 2
            for (int u = 0; u < 4; u += 2) {
                vf pair = pairs_zip(e[u], e[u + 1]);
                vf_store(out + u / 2 * LANES, pair);
                sum[u] += pairs_first(pair);
                sum[u + 1] += pairs_second(pair);
            }
        }
        for (; i < keys; i += 2, at += 2 * LANES, out += LANES) {
            vf first = coarse_exp(vf_load(at) - shift), second = {0};
            if (i + 1 < keys) second = coarse_exp(vf_load(at + LANES) - shift);
            vf pair = pairs_zip(first, second);
            vf_store(out, pair);
            sum[0] += pairs_first(pair);
            sum[1] += pairs_second(pair);
        }
        s->total[v] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

static void run_keys(state *s, int64_t key, int64_t keys) {
    const attention *p = s->p;
    vf max[VECTORS], factor[VECTORS];
    find_scores(s, key, keys);
    if (p->mask) add_mask(s, key, keys);
    if (key + keys > attention_reach(p, s->first)) hide_future(s, key, keys);
    for (int v = 0; v < VECTORS; v++) {
        max[v] = v * ASC_VF < s->lanes ? largest(s->scores + v * ASC_VF, keys, s->max[v]) : s->max[v];
        vf old = finite_shift(s->max[v]);
        factor[v] = vf_select(s->max[v] == -INFINITY, (vf){0}, vf_exp(old - finite_shift(max[v])));
        s->total[v] *= factor[v];
        s->max[v] = max[v];
    }
    if (s->started) rescale(s, factor);
    if (p->narrow)
        narrow_exponentials(s, keys, max);
    else
        exponentials(s, keys, max);
    int64_t first = attention_lines(p, key), lines = attention_lines(p, keys);
    for (int64_t j = 0; j < p->width; j += GEMM_PANEL) {
        const float *v = s->packed_v ? s->packed_v + j * attention_lines(p, p->keys) + first * GEMM_PANEL
                                     : s->v + key * p->v_strides[2] + j;
        int64_t columns = least(GEMM_PANEL, p->width - j), step = s->packed_v ? GEMM_PANEL : p->v_strides[2];
        product(p->narrow, s->scores, s->lanes, lines, v, step, columns, s->sums + j, s->width, s->started);
    }
    s->started = 1;
}

/* Where the turned mask of the block lies; NULL when all queries share one mask, or none. */
static const float *find_turned(const attention *p, int64_t batch, int64_t head, int64_t block, float *room) {
    if (!attention_turns(p)) return NULL;
    int64_t blocks = (p->queries + LANES - 1) / LANES, index = (p->mask_strides[0] ? batch : 0) * blocks + block;
    if (p->turned) return p->turned + index * p->keys * LANES;
    ASC_FN(attention_turn_mask)(p, batch, head, block, room);
    return room;
}

static void divide(const state *s, float *y) {
    const attention *p = s->p;
    float totals[LANES];
    for (int v = 0; v < VECTORS; v++) vf_store(totals + v * ASC_VF, s->total[v]);
    for (int64_t i = 0; i < s->lanes; i++, y += p->y_strides[2]) {
        float factor = attention_factor(p, totals[i]);
        if (factor < 0) {
            memset(y, 0, (size_t)p->width * sizeof *y);
            continue;
        }
        const float *sums = s->sums + i * s->width;
        int64_t j = 0;
        for (; j + ASC_VF <= p->width; j += ASC_VF) vf_store(y + j, vf_load(sums + j) * factor);
        if (j < p->width) vf_store_tail(y + j, vf_load(sums + j) * factor, p->width - j);
    }
}

/* The queries of the block after this one, and room for the results. */
static void fetch_neighbours(const state *s, int64_t batch, int64_t head, int64_t block, float *y) {
    const attention *p = s->p;
    if ((block + 1) * LANES < p->queries)
        block++;
    else if (block = 0, ++head == p->heads)
        head = 0, batch++;
    int64_t count = least(LANES, p->queries - block * LANES);
    const int64_t *q = p->q_strides;
    if (batch < p->batch && q[3] == 1)
        attention_fetch(p->q + batch * q[0] + head * q[1] + block * LANES * q[2], q[2], count, p->depth);
    for (int64_t i = 0; i < s->lanes; i++)
        for (int64_t j = 0; j < p->width; j += 16) __builtin_prefetch(y + i * p->y_strides[2] + j, 1, 3);
}

void ASC_FN(attention_block)(const attention *p, int64_t batch, int64_t head, int64_t block,
                             const attention_packed *packed, float *scratch) {
    int64_t first = block * LANES, kv_head = head / (p->heads / p->kv_heads);
    state s = {.p = p, .first = first, .lanes = least(LANES, p->queries - first), .width = sums_width(p)};
    s.q = scratch;
    s.sums = s.q + LANES * p->depth;
    s.scores = s.sums + LANES * s.width;
    if (p->mask) s.mask = p->mask + batch * p->mask_strides[0] + head * p->mask_strides[1];
    s.turned = find_turned(p, batch, head, block, s.scores + LANES * least(p->keys, ATTENTION_KEYS));
    s.k = packed->k;
    s.packed_v = packed->v;
    s.v = p->v + batch * p->v_strides[0] + kv_head * p->v_strides[1];
    find_queries(&s, p->q + batch * p->q_strides[0] + head * p->q_strides[1] + first * p->q_strides[2]);
    float *y = p->y + batch * p->y_strides[0] + head * p->y_strides[1] + first * p->y_strides[2];
    fetch_neighbours(&s, batch, head, block, y);
    memset(s.sums, 0, (size_t)(LANES * s.width) * sizeof *s.sums);
    for (int v = 0; v < VECTORS; v++) s.max[v] = vf_set(-INFINITY);
    int64_t reach = attention_reach(p, first + s.lanes - 1);
    /* A query whose keys are all masked or in the future needs the scores of the masked ones. */
    int may_skip = s.turned && p->offset >= p->keys && ASC_FN(attention_every_query_sees)(s.turned, p->keys, s.lanes);
    for (int64_t key = 0; key < reach;) {
        if (may_skip && ASC_FN(attention_is_hidden)(s.turned, key, p->keys)) {
            key += GEMM_PANEL;
            continue;
        }
        int64_t end = key + GEMM_PANEL;
        while (end < reach && end - key < ATTENTION_KEYS &&
               !(may_skip && ASC_FN(attention_is_hidden)(s.turned, end, p->keys)))
            end += GEMM_PANEL;
        end = least(end, reach);
        run_keys(&s, key, end - key);
        key = end;
    }
    divide(&s, y);
}
