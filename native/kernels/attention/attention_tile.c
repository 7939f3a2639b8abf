/* Scores of a run of keys: register tiles of keys by queries. K is read as its rows lie, one element in all lanes
 * at a time, so that nothing of it has to be transposed. While a tile multiplies, scores of the tile before it become
 * weights: exponentials need other pipes of the core most of the time, so that beside a product they take less than
 * half of the time that they take alone. */
#include <math.h>

#include "attention.h"
#include "exp_below.h"
#include "heights.h"
#include "vnni2.h"

#define LANES ATTENTION_LANES
#define VECTORS ATTENTION_VECTORS

typedef struct score_tile {
    const float *k;
    int64_t k_step, lines;
    const float *q;
    float *scores;
    float *pending, *pending_end; /* lines of scores that become weights */
    const vf *shift;
    vf *total, *largest;
    const exp2_table *powers;
} score_tile;

typedef void (*tile_fn)(const score_tile *);

/* Of products in a step: as long as a key's scores take to become weights. And of few steps the end is predicted. */
#define LINES 4

/* One key's scores. Nothing stays in registers, which are the product's. */
static inline __attribute__((always_inline)) void weigh(const score_tile *t, float *scores, int vectors) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        vf e = vf_exp2_from(t->powers, vf_load(scores + v * ASC_VF) - t->shift[v]);
        vf_store(scores + v * ASC_VF, e);
        t->total[v] += e;
    }
}

#define LINE(broadcast, multiply, rows, vectors)                                                                      \
    do {                                                                                                              \
        vf right[vectors];                                                                                            \
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] = vf_load(q + v * ASC_VF);                 \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {                                                     \
            vf key = broadcast(k + i * step);                                                                         \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] = multiply(key, right[v], sum[i][v]); \
        }                                                                                                             \
        k++, q += LANES;                                                                                              \
    } while (0)

#if ASC_VF == 8
/* The same of pairs, the second elements before the first (vnni2_half). */
#define LINE_OF_PAIRS(rows, vectors)                                                  \
    do {                                                                              \
        _Pragma("GCC unroll 2") for (int first = 0; first < 2; first++) {             \
            vf right[vectors];                                                        \
            __asm__("" : "+r"(k), "+r"(q));                                           \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] =      \
                vnni2_half(vf_load(q + v * ASC_VF), first);                           \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {                 \
                vf key = vnni2_half(vnni2_broadcast(k + i * step), first);            \
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] = \
                    vf_fma(key, right[v], sum[i][v]);                                 \
            }                                                                         \
        }                                                                             \
        k++, q += LANES;                                                              \
    } while (0)
#define LINE_OF(kind, broadcast, multiply, rows, vectors) \
    do {                                                  \
        if (kind##_by_halves && rows > 4)                 \
            LINE_OF_PAIRS(rows, vectors);                 \
        else                                              \
            LINE(broadcast, multiply, rows, vectors);     \
    } while (0)
#else
#define LINE_OF(kind, broadcast, multiply, rows, vectors) LINE(broadcast, multiply, rows, vectors)
#endif

/* Constant `rows` and `vectors` make the loops vanish and keep `sum` in registers. */
#define TILE(kind, broadcast, multiply, rows, vectors)                                                                 \
    static void kind##_##rows##x##vectors(const score_tile *t) {                                                       \
        const float *k = t->k, *q = t->q;                                                                              \
        const int64_t step = t->k_step;                                                                                \
        float *scores = t->scores;                                                                                     \
        vf sum[rows][vectors];                                                                                         \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                                                        \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] = (vf){0};                             \
        int64_t line = t->lines;                                                                                       \
        if (kind##_overlap)                                                                                            \
            for (float *at = t->pending; at < t->pending_end; at += LANES, line -= LINES) {                            \
                weigh(t, at, vectors);                                                                                 \
                _Pragma("GCC unroll 4") for (int i = 0; i < LINES; i++)                                                \
                    LINE_OF(kind, broadcast, multiply, rows, vectors);                                                 \
            }                                                                                                          \
        for (; line >= LINES; line -= LINES)                                                                           \
            _Pragma("GCC unroll 4") for (int i = 0; i < LINES; i++) LINE_OF(kind, broadcast, multiply, rows, vectors); \
        for (; line > 0; line--) LINE_OF(kind, broadcast, multiply, rows, vectors);                                    \
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) {                                                    \
            vf largest = t->largest[v];                                                                                \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {                                                  \
                vf_store(scores + i * LANES + v * ASC_VF, sum[i][v]);                                                  \
                largest = vf_max(sum[i][v], largest);                                                                  \
            }                                                                                                          \
            t->largest[v] = largest;                                                                                   \
        }                                                                                                              \
    }

#define PAIR(kind, broadcast, multiply, rows) \
    TILE(kind, broadcast, multiply, rows, 1) TILE(kind, broadcast, multiply, rows, 2)
#define ROW(kind, rows) {kind##_##rows##x1, kind##_##rows##x2},

enum { floats_overlap = ATTENTION_OVERLAPS, pairs_overlap = 0, floats_by_halves = 0, pairs_by_halves = 1 };

static inline vf floats_broadcast(const float *p) {
    return vf_set(*p);
}

#define FLOATS_TILES(rows) PAIR(floats, floats_broadcast, vf_fma, rows)
#define PAIRS_TILES(rows) PAIR(pairs, vnni2_broadcast, vnni2_multiply, rows)
EACH_HEIGHT(GEMM_ROWS, FLOATS_TILES)
EACH_HEIGHT(GEMM_ROWS, PAIRS_TILES)

#define FLOATS_ROW(rows) ROW(floats, rows)
#define PAIRS_ROW(rows) ROW(pairs, rows)
static const tile_fn FLOATS[GEMM_ROWS][2] = {EACH_HEIGHT(GEMM_ROWS, FLOATS_ROW)},
                     PAIRS[GEMM_ROWS][2] = {EACH_HEIGHT(GEMM_ROWS, PAIRS_ROW)};

void ASC_FN(attention_scores)(int narrow, const float *k, int64_t k_step, int64_t keys, int64_t lines, const float *q,
                              int64_t lanes, float *scores, const attention_pending *pending,
                              attention_streams *streams, int64_t fetched_rows) {
    const tile_fn(*tiles)[2] = narrow ? PAIRS : FLOATS;
    int64_t n = (keys + GEMM_ROWS - 1) / GEMM_ROWS;
    int64_t overlapped = pending->keys < lines / LINES ? pending->keys : lines / LINES;
    for (int v = 0; v < VECTORS; v++) pending->softmax->product[v] = vf_set(-INFINITY);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = keys * i / n, rows = keys * (i + 1) / n - from;
        score_tile t = {.k = k + from * k_step, .k_step = k_step, .lines = lines, .powers = &EXP2_TABLE};
        for (int64_t at = 0; at < lanes; at += GEMM_TILE_COLS) {
            t.q = q + at;
            t.scores = scores + from * LANES + at;
            t.largest = &pending->softmax->product[at / ASC_VF];
            if (i == 0 && overlapped > 0) {
                t.shift = &pending->softmax->shift[at / ASC_VF];
                t.total = &pending->softmax->total[at / ASC_VF];
                t.pending = pending->scores + at;
                t.pending_end = t.pending + overlapped * LANES;
            }
            tiles[rows - 1][lanes - at > ASC_VF](&t);
            attention_fetch(streams, fetched_rows);
        }
    }
    int64_t left = pending->keys - overlapped;
    float *rest = pending->scores + overlapped * LANES;
    if (left > 0) ASC_FN(attention_weights)(pending->softmax, 0, rest, left, lanes);
}
