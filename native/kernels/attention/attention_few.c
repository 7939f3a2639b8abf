/* Few queries, as in decoding: every row of K and V is read once for all queries that share it, and where keys and
 * values are appended to a cache (attention_append.c), once for that, too. */
#include <math.h>

#include "attention.h"
#include "bfloat16.h"
#include "chunks.h"
#include "shuffle.h"
#include "vmath.h"

#define NEAR 16 /* keys at a time: what is moved is multiplied while it lies in L1, and the next are fetched */

/* Sums that a tile of weights times V holds: so many rows by so many vectors. */
#define MIXED_ROWS (ASC_VF == 16 ? 4 : 2)
#define MIXED_VECTORS 4

static int64_t room_of(int64_t keys) {
    return (keys + 15) / 16 * 16;
}

int64_t ASC_FN(attention_few_floats)(const attention *p) {
    int64_t rows, floats, row = p->keys + 16;
    if (p->y_narrow && !asc_add_ok(row, p->width, &row)) return 0;
    if (!asc_mul_ok(p->heads / p->kv_heads, p->queries, &rows) || !asc_mul_ok(rows, row, &floats)) return 0;
    return floats < INT64_MAX / 64 ? (floats + 15) / 16 * 16 + 16 : 0;
}

/* The queries of one key/value head: row r is query r % queries of its r / queries-th head. */
typedef struct few {
    const attention *p;
    int64_t batch, kv_head, rows;
    float *scores; /* [rows][room] */
    int64_t room;
    float *sums; /* [rows][width], where the result can't hold them */
} few;

static const float *query_of(const few *f, int64_t r) {
    const attention *p = f->p;
    const int64_t *s = p->q_strides;
    int64_t head = f->kv_head * (p->heads / p->kv_heads) + r / p->queries;
    return p->q + f->batch * s[0] + head * s[1] + r % p->queries * s[2];
}

/* The first element of a row's result. */
static int64_t result_of(const few *f, int64_t r) {
    const attention *p = f->p;
    int64_t head = f->kv_head * (p->heads / p->kv_heads) + r / p->queries;
    return f->batch * p->y_strides[0] + head * p->y_strides[1] + r % p->queries * p->y_strides[2];
}

/* Where weights times V are summed. */
static float *sums_of(const few *f, int64_t r) {
    return f->sums ? f->sums + r * f->p->width : (float *)f->p->y + result_of(f, r);
}

static int64_t reach_of(const few *f, int64_t r) {
    return attention_reach(f->p, r % f->p->queries);
}

/* ---- rows of K or V ---------------------------------------------------------------------------------- */

/* Neighbouring keys, or their values, as rows of `floats`; `to` NULL, or where they are copied. */
typedef struct segment {
    const float *from;
    int64_t step, count, floats;
    float *to; /* rows without gaps */
    int past_caches;
} segment;

/* Brings up to NEAR rows near. Caches fetch ahead by themselves, but not beyond a page. */
static void fetch(const segment *s, int64_t row) {
    for (int64_t i = row; i < asc_least(row + NEAR, s->count); i++)
        for (int64_t j = 0; j < s->floats; j += 16) __builtin_prefetch(s->from + i * s->step + j);
}

static void move(const segment *s, int64_t row, int64_t rows) {
    if (!s->to) return;
    for (int64_t i = row; i < row + rows; i++) {
        const float *from = s->from + i * s->step;
        float *to = s->to + i * s->floats;
        if (!s->past_caches)
            memcpy(to, from, (size_t)s->floats * sizeof *to);
        else
            for (int64_t j = 0; j < s->floats; j += ASC_VF) vf_stream(to + j, vf_load(from + j));
    }
}

/* Both segments of keys (values 0) or values (1): past and new ones, or all as they lie. */
static int find_segments(const few *f, int values, segment out[2]) {
    const attention *p = f->p;
    const int64_t *s = values ? p->v_strides : p->k_strides, at = f->batch * s[0] + f->kv_head * s[1];
    const float *from = (values ? p->v : p->k) + at;
    int64_t floats = values ? p->width : p->depth;
    const attention_cache *c = p->cache;
    if (!c) {
        out[0] = (segment){.from = from, .step = s[2], .count = p->keys, .floats = floats};
        return 1;
    }
    const attention_appended *a = values ? &c->v : &c->k;
    float *to = a->present + (f->batch * p->kv_heads + f->kv_head) * p->keys * floats;
    int past_caches = c->past_caches && floats % ASC_VF == 0 && (uintptr_t)to % sizeof(vf) == 0;
    for (int i = 0; i < 2; i++) {
        const int64_t *strides = i ? a->new_strides : a->past_strides;
        out[i] = (segment){.step = strides[2], .count = i ? p->keys - c->past : c->past, .floats = floats};
        out[i].from = (i ? a->new : a->past) + f->batch * strides[0] + f->kv_head * strides[1];
        out[i].to = to + (i ? c->past * floats : 0);
        out[i].past_caches = past_caches;
    }
    return 2;
}

/* ---- scores ------------------------------------------------------------------------------------------ */

/* Lane i: the sum of two neighbouring groups of `width` lanes of a, or where i & width, of b. */
static inline __attribute__((always_inline)) vf fold(vf a, vf b, int width) {
    vi lane = vi_iota(), odd = (lane & width) != 0;
    vi low = lane + (odd & (ASC_VF - width)), high = lane + width + (odd & (ASC_VF - width));
    return asc_shuffle2(a, b, low) + asc_shuffle2(a, b, high);
}

/* Lane i: the sum of all lanes of s[i], whichever i it is in the same order. */
static inline __attribute__((always_inline)) vf sum_each(vf s[ASC_VF]) {
#pragma GCC unroll 16
    for (int i = 0; i < ASC_VF / 2; i++) s[i] = fold(s[2 * i], s[2 * i + 1], 1);
#pragma GCC unroll 16
    for (int i = 0; i < ASC_VF / 4; i++) s[i] = fold(s[2 * i], s[2 * i + 1], 2);
#if ASC_VF >= 8
#pragma GCC unroll 16
    for (int i = 0; i < ASC_VF / 8; i++) s[i] = fold(s[2 * i], s[2 * i + 1], 4);
#endif
#if ASC_VF >= 16
    s[0] = fold(s[0], s[1], 8);
#endif
    return s[0];
}

/* Scores of some queries and ASC_VF / rows keys, of which the first `some` exist. */
#define SCORES(rows)                                                                                            \
    static void scores_##rows(const float *const *q, const float *k, int64_t step, int64_t some, int64_t depth, \
                              float scale, float *scores, int64_t room) {                                       \
        enum { KEYS = ASC_VF / (rows) };                                                                        \
        const float *key[KEYS];                                                                                 \
        vf sum[ASC_VF];                                                                                         \
        _Pragma("GCC unroll 16") for (int j = 0; j < KEYS; j++) key[j] = k + (j < some ? j : some - 1) * step;  \
        _Pragma("GCC unroll 16") for (int i = 0; i < ASC_VF; i++) sum[i] = (vf){0};                             \
        int64_t at = 0;                                                                                         \
        for (; at + ASC_VF <= depth; at += ASC_VF) {                                                            \
            vf left[rows];                                                                                      \
            _Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++) left[r] = vf_load(q[r] + at);              \
            _Pragma("GCC unroll 16") for (int j = 0; j < KEYS; j++) {                                           \
                vf right = vf_load(key[j] + at);                                                                \
                _Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++) sum[r * KEYS + j] =                    \
                    vf_fma(left[r], right, sum[r * KEYS + j]);                                                  \
            }                                                                                                   \
        }                                                                                                       \
        for (int r = 0; at < depth && r < (rows); r++) {                                                        \
            vf left = vf_load_tail(q[r] + at, depth - at, 0);                                                   \
            for (int j = 0; j < KEYS; j++)                                                                      \
                sum[r * KEYS + j] = vf_fma(left, vf_load_tail(key[j] + at, depth - at, 0), sum[r * KEYS + j]);  \
        }                                                                                                       \
        float all[ASC_VF];                                                                                      \
        vf_store(all, sum_each(sum) * scale);                                                                   \
        for (int r = 0; r < (rows); r++)                                                                        \
            if (some >= KEYS)                                                                                   \
                memcpy(scores + r * room, all + r * KEYS, KEYS * sizeof *all);                                  \
            else                                                                                                \
                memcpy(scores + r * room, all + r * KEYS, (size_t)some * sizeof *all);                          \
    }

SCORES(1)
#if ASC_VF >= 8
SCORES(2)
#endif
#if ASC_VF >= 16
SCORES(4)
#endif

/* scores[row][key ..] of all queries and some neighbouring keys. */
static void find_scores(const few *f, int64_t key, const float *k, int64_t step, int64_t keys) {
    for (int64_t r = 0; r < f->rows;) {
        int64_t left = f->rows - r, depth = f->p->depth;
        int rows = ASC_VF >= 16 && left >= 4 ? 4 : ASC_VF >= 8 && left >= 2 ? 2 : 1, some = ASC_VF / rows;
        const float *q[4];
        for (int i = 0; i < rows; i++) q[i] = query_of(f, r + i);
        for (int64_t i = 0; i < keys; i += some) {
            float *scores = f->scores + r * f->room + key + i;
#if ASC_VF >= 16
            if (rows == 4) scores_4(q, k + i * step, step, keys - i, depth, f->p->scale, scores, f->room);
#endif
#if ASC_VF >= 8
            if (rows == 2) scores_2(q, k + i * step, step, keys - i, depth, f->p->scale, scores, f->room);
#endif
            if (rows == 1) scores_1(q, k + i * step, step, keys - i, depth, f->p->scale, scores, f->room);
        }
        r += rows;
    }
}

/* Scores to weights that still lack the division by the sum they return. */
static float exponentials(float *scores, int64_t n, const float *mask, int64_t step) {
    vf max = vf_set(-INFINITY), sum = {0};
    if (mask)
        for (int64_t i = 0; i < n; i++) scores[i] += mask[i * step];
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) max = vf_max(vf_load(scores + i), max);
    if (i < n) max = vf_max(vf_load_tail(scores + i, n - i, -INFINITY), max);
    max = vf_set(vf_maximum(max));
    if (max[0] == -INFINITY) max = (vf){0}; /* weights of 0, which have no sum */
    for (i = 0; i < n; i += ASC_VF) {
        int64_t lanes = n - i;
        vf e = vf_exp((lanes < ASC_VF ? vf_load_tail(scores + i, lanes, -INFINITY) : vf_load(scores + i)) - max);
        if (lanes < ASC_VF) {
            e = vf_select(vi_iota() < (int32_t)lanes, e, (vf){0}); /* of a NaN too */
            vf_store_tail(scores + i, e, lanes);
        } else {
            vf_store(scores + i, e);
        }
        sum += e;
    }
    return vf_sum(sum);
}

/* ---- weights times V --------------------------------------------------------------------------------- */

/* y (+)= sum of weights[i] * v[i], for some rows and vectors of columns; resume: what y holds is added to. */
#define MIX(rows, vectors)                                                                                      \
    static void mix_##rows##x##vectors(float *const *y, const float *weights, int64_t room, const float *v,     \
                                       int64_t step, int64_t keys, int resume) {                                \
        vf sum[rows][vectors];                                                                                  \
        _Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++)                                                \
            _Pragma("GCC unroll 4") for (int u = 0; u < (vectors); u++) sum[r][u] =                             \
                resume ? vf_load(y[r] + u * ASC_VF) : (vf){0};                                                  \
        for (int64_t i = 0; i < keys; i++, v += step) {                                                         \
            vf right[vectors];                                                                                  \
            _Pragma("GCC unroll 4") for (int u = 0; u < (vectors); u++) right[u] = vf_load(v + u * ASC_VF);     \
            _Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++)                                            \
                _Pragma("GCC unroll 4") for (int u = 0; u < (vectors); u++) sum[r][u] =                         \
                    vf_fma(vf_set(weights[r * room + i]), right[u], sum[r][u]);                                 \
        }                                                                                                       \
        _Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++)                                                \
            _Pragma("GCC unroll 4") for (int u = 0; u < (vectors); u++) vf_store(y[r] + u * ASC_VF, sum[r][u]); \
    }

MIX(1, 1)
MIX(1, 4)
#if MIXED_ROWS > 2
MIX(4, 1)
MIX(4, 4)
#else
MIX(2, 1)
MIX(2, 4)
#endif

static void mix_tail(float *y, const float *weights, const float *v, int64_t step, int64_t keys, int64_t lanes,
                     int resume) {
    vf sum = {0};
    if (resume) sum = vf_load_tail(y, lanes, 0);
    for (int64_t i = 0; i < keys; i++, v += step) sum = vf_fma(vf_set(weights[i]), vf_load_tail(v, lanes, 0), sum);
    vf_store_tail(y, sum, lanes);
}

/* Rows [r, r + rows) of Y and some neighbouring keys. */
static void mix_rows(const few *f, int64_t r, int rows, int64_t key, const float *v, int64_t step, int64_t keys) {
    const float *weights = f->scores + r * f->room + key;
    int64_t j = 0, width = f->p->width;
    int resume = key > 0;
    float *y[MIXED_ROWS];
    for (int i = 0; i < rows; i++) y[i] = sums_of(f, r + i);
    for (int vectors; j + ASC_VF <= width; j += vectors * ASC_VF) {
        vectors = width - j >= MIXED_VECTORS * ASC_VF ? MIXED_VECTORS : 1;
        if (rows == 1)
            (vectors == 1 ? mix_1x1 : mix_1x4)(y, weights, f->room, v + j, step, keys, resume);
        else
#if MIXED_ROWS > 2
            (vectors == 1 ? mix_4x1 : mix_4x4)(y, weights, f->room, v + j, step, keys, resume);
#else
            (vectors == 1 ? mix_2x1 : mix_2x4)(y, weights, f->room, v + j, step, keys, resume);
#endif
        for (int i = 0; i < rows; i++) y[i] += vectors * ASC_VF;
    }
    for (int i = 0; j < width && i < rows; i++)
        mix_tail(y[i], weights + i * f->room, v + j, step, keys, width - j, resume);
}

/* Y (+)= weights V for some neighbouring keys, of which each query takes those it sees. */
static void mix(const few *f, int64_t key, const float *v, int64_t step, int64_t keys) {
    int alike = f->p->queries == 1 || f->p->offset >= f->p->keys;
    for (int64_t r = 0; r < f->rows;) {
        int rows = alike && f->rows - r >= MIXED_ROWS ? MIXED_ROWS : 1;
        int64_t seen = asc_least(keys, reach_of(f, r) - key);
        if (seen > 0) mix_rows(f, r, rows, key, v, step, seen);
        r += rows;
    }
}

static void scale_row(float *y, int64_t width, float factor) {
    if (factor < 0)
        memset(y, 0, (size_t)width * sizeof *y);
    else
        for (int64_t j = 0; j < width; j++) y[j] *= factor;
}

static void store_narrow(const float *sums, int64_t width, uint16_t *y) {
    int64_t j = 0;
    for (; j + ASC_VF <= width; j += ASC_VF) vf_store_bf16(y + j, vf_load(sums + j));
    if (j < width) vf_store_bf16_tail(y + j, vf_load_tail(sums + j, width - j, 0), width - j);
}

/* ---- a head ------------------------------------------------------------------------------------------ */

void ASC_FN(attention_few)(const attention *p, int64_t batch, int64_t kv_head, float *scores) {
    few f = {.p = p, .batch = batch, .kv_head = kv_head, .scores = scores, .room = room_of(p->keys)};
    f.rows = p->heads / p->kv_heads * p->queries;
    float *factors = scores + f.rows * f.room; /* in what attention_few_floats counts beyond the room */
    f.sums = p->y_narrow ? factors + f.rows : NULL;
    segment parts[2];
    int64_t key = 0, reach = attention_reach(p, p->queries - 1);
    for (int n = find_segments(&f, 0, parts), i = 0; i < n; i++)
        for (int64_t row = 0; row < parts[i].count; row += NEAR) {
            int64_t some = asc_least(NEAR, parts[i].count - row), seen = asc_least(some, reach - key);
            fetch(&parts[i], row + NEAR);
            move(&parts[i], row, some);
            if (seen > 0) find_scores(&f, key, parts[i].from + row * parts[i].step, parts[i].step, seen);
            key += some;
        }
    for (int64_t r = 0; r < f.rows; r++) {
        int64_t head = kv_head * (p->heads / p->kv_heads) + r / p->queries, query = r % p->queries;
        const float *mask = NULL;
        if (p->mask)
            mask = p->mask + batch * p->mask_strides[0] + head * p->mask_strides[1] + query * p->mask_strides[2];
        factors[r] = attention_factor(p, exponentials(scores + r * f.room, reach_of(&f, r), mask, p->mask_strides[3]));
    }
    key = 0;
    for (int n = find_segments(&f, 1, parts), i = 0; i < n; i++)
        for (int64_t row = 0; row < parts[i].count; row += NEAR) {
            int64_t some = asc_least(NEAR, parts[i].count - row);
            fetch(&parts[i], row + NEAR);
            move(&parts[i], row, some);
            mix(&f, key, parts[i].from + row * parts[i].step, parts[i].step, some);
            key += some;
        }
    for (int64_t r = 0; r < f.rows; r++) {
        scale_row(sums_of(&f, r), p->width, factors[r]);
        if (f.sums) store_narrow(f.sums + r * p->width, p->width, (uint16_t *)p->y + result_of(&f, r));
    }
    if (p->cache && p->cache->past_caches) finish_streams();
}
