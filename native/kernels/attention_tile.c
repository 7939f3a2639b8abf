/* Scores of a run of keys: register tiles of keys by queries. K is read as its rows lie, one element in all lanes
 * at a time, so that nothing of it has to be turned. */
#include "attention.h"
#include "pairs.h"

#define LANES ATTENTION_LANES

typedef struct score_tile {
    const float *k;
    int64_t k_step, lines;
    const float *q;
    float *scores;
} score_tile;

typedef void (*tile_fn)(const score_tile *);

/* Constant `rows` and `vectors` make the loops vanish and keep `sum` in registers. */
#define TILE(kind, broadcast, multiply, rows, vectors)                                                    \
    static void kind##_##rows##x##vectors(const score_tile *t) {                                          \
        const float *k = t->k, *q = t->q;                                                                 \
        const int64_t step = t->k_step;                                                                   \
        float *scores = t->scores;                                                                        \
        vf sum[rows][vectors];                                                                            \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                                           \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] = (vf){0};                \
        for (int64_t line = t->lines; line > 0; line--, k++, q += LANES) {                                \
            vf right[vectors];                                                                            \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] = vf_load(q + v * ASC_VF); \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {                                     \
                vf left = broadcast(k + i * step);                                                        \
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] =                     \
                    multiply(left, right[v], sum[i][v]);                                                  \
            }                                                                                             \
        }                                                                                                 \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                                           \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)                                     \
                vf_store(scores + i * LANES + v * ASC_VF, sum[i][v]);                                     \
    }

#define PAIR(kind, broadcast, multiply, rows) \
    TILE(kind, broadcast, multiply, rows, 1) TILE(kind, broadcast, multiply, rows, 2)
#define ROW(kind, rows) {kind##_##rows##x1, kind##_##rows##x2}

#if GEMM_ROWS == 14
#define HEIGHTS(each, ...)                                                                                        \
    each(__VA_ARGS__, 1) each(__VA_ARGS__, 2) each(__VA_ARGS__, 3) each(__VA_ARGS__, 4) each(__VA_ARGS__, 5)      \
        each(__VA_ARGS__, 6) each(__VA_ARGS__, 7) each(__VA_ARGS__, 8) each(__VA_ARGS__, 9) each(__VA_ARGS__, 10) \
            each(__VA_ARGS__, 11) each(__VA_ARGS__, 12) each(__VA_ARGS__, 13) each(__VA_ARGS__, 14)
#elif GEMM_ROWS == 6
#define HEIGHTS(each, ...)                                                                                   \
    each(__VA_ARGS__, 1) each(__VA_ARGS__, 2) each(__VA_ARGS__, 3) each(__VA_ARGS__, 4) each(__VA_ARGS__, 5) \
        each(__VA_ARGS__, 6)
#else
#define HEIGHTS(each, ...) each(__VA_ARGS__, 1) each(__VA_ARGS__, 2) each(__VA_ARGS__, 3) each(__VA_ARGS__, 4)
#endif

static inline vf floats_broadcast(const float *p) {
    return vf_set(*p);
}

HEIGHTS(PAIR, floats, floats_broadcast, vf_fma)
HEIGHTS(PAIR, pairs, pairs_broadcast, pairs_multiply)

#define ENTRY(kind, rows) ROW(kind, rows),
static const tile_fn FLOATS[GEMM_ROWS][2] = {HEIGHTS(ENTRY, floats)}, PAIRS[GEMM_ROWS][2] = {HEIGHTS(ENTRY, pairs)};

void ASC_FN(attention_scores)(int narrow, const float *k, int64_t k_step, int64_t keys, int64_t lines, const float *q,
                              int64_t lanes, float *scores, attention_streams *streams, int64_t fetched_rows) {
    const tile_fn(*tiles)[2] = narrow ? PAIRS : FLOATS;
    int64_t n = (keys + GEMM_ROWS - 1) / GEMM_ROWS;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = keys * i / n, rows = keys * (i + 1) / n - from;
        score_tile t = {.k = k + from * k_step, .k_step = k_step, .lines = lines};
        for (int64_t at = 0; at < lanes; at += GEMM_TILE_COLS) {
            t.q = q + at;
            t.scores = scores + from * LANES + at;
            tiles[rows - 1][lanes - at > ASC_VF](&t);
            attention_fetch(streams, fetched_rows);
        }
    }
}
