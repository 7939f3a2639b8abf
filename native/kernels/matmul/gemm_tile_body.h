/* gemm_tile_body.h - the register tiles: one body, unrolled by the compiler for every height. The includer
 * defines what a product is:
 *   GEMM_VECTOR                    floats of B's memory that hold ASC_VF of its elements
 *   GEMM_LOAD(p)                   those elements
 *   GEMM_BROADCAST(p)              one element of A in every lane
 *   GEMM_MULTIPLY(left, right, sum) sum plus the products of the lanes
 *   GEMM_MULTIPLY_LANE(four, lane, right, sum) the same with the element that four[lane] is of A, where ASC_BY_LANE
 *   GEMM_HALF(pair, first)         if defined, an element is a pair, and this the first or the second of each lane's:
 *                                  the seconds are multiplied before the firsts, so that a tile's registers suffice
 *   GEMM_BLOCKS(t, rows, vectors)  if defined: runs the tile in a way of its own, if it has one; whether it did
 *   GEMM_GELU                      the activation of tiles that end with one (epilogue.h)
 *   GEMM_TILE_RUN                  the function's name
 */
#include "activation.h"
#include "bfloat16.h"
#include "gemm_gated.h"
#include "heights.h"

#define PER_PANEL (GEMM_PANEL / ASC_VF) /* vectors in a row of a panel */

#define EACH_SUM(rows, vectors) \
    _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++)

/* Constant `rows` and `vectors` make the loops vanish and keep `sum` in registers. */
#define BEGIN(rows, vectors)                                                              \
    const float *a = t->a, *b = t->b;                                                     \
    const int64_t a_step = t->a_step, b_step = t->b_step, panel = t->panel, ldc = t->ldc; \
    float *c = t->c;                                                                      \
    const char *fetch = t->fetch;                                                         \
    const int64_t fetch_step = t->fetch_step;                                             \
    const float *start = t->start ? t->start : c;                                         \
    const int64_t start_row = t->start ? t->start_row : ldc;                              \
    vf sum[rows][vectors];                                                                \
    EACH_SUM(rows, vectors) sum[i][v] = t->resume ? vf_load(start + i * start_row + v * ASC_VF) : (vf){0}

/* The products of `rows` rows' elements at a with the vectors of B, of which whole fours of rows are taken by lanes. */
#if ASC_BY_LANE
#define PRODUCTS(rows, vectors)                                                              \
    vf four[rows / 4 + 1];                                                                   \
    _Pragma("GCC unroll 4") for (int i = 0; i < rows / 4; i++) four[i] = vf_load(a + 4 * i); \
    _Pragma("GCC unroll 16") for (int i = 0; i < rows / 4 * 4; i++)                          \
        _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) sum[i][v] =                \
            GEMM_MULTIPLY_LANE(four[i / 4], i % 4, right[v], sum[i][v]);                     \
    ROWS_PRODUCTS(rows / 4 * 4, rows, vectors)
#else
#define PRODUCTS(rows, vectors) ROWS_PRODUCTS(0, rows, vectors)
#endif

#define ROWS_PRODUCTS(from, rows, vectors)                                    \
    _Pragma("GCC unroll 16") for (int i = from; i < rows; i++) {              \
        vf left = GEMM_BROADCAST(a + i);                                      \
        _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) sum[i][v] = \
            GEMM_MULTIPLY(left, right[v], sum[i][v]);                         \
    }

#if defined(GEMM_HALF)
/* Read anew for each half: kept, pairs would need registers that the sums of a high tile take. */
#define MULTIPLY_STEP(rows, vectors)                                                                  \
    if (rows <= 4) {                                                                                  \
        vf right[vectors];                                                                            \
        _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) right[v] =                          \
            GEMM_LOAD(b + v / PER_PANEL * panel + v % PER_PANEL * GEMM_VECTOR);                       \
        PRODUCTS(rows, vectors)                                                                       \
    } else                                                                                            \
        _Pragma("GCC unroll 2") for (int first = 0; first < 2; first++) {                             \
            vf right[vectors];                                                                        \
            __asm__("" : "+r"(a), "+r"(b));                                                           \
            _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) right[v] =                      \
                GEMM_HALF(GEMM_LOAD(b + v / PER_PANEL * panel + v % PER_PANEL * GEMM_VECTOR), first); \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {                                 \
                vf left = GEMM_HALF(GEMM_BROADCAST(a + i), first);                                    \
                _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) sum[i][v] =                 \
                    vf_fma(left, right[v], sum[i][v]);                                                \
            }                                                                                         \
        }
#else
#define MULTIPLY_STEP(rows, vectors)                                        \
    vf right[vectors];                                                      \
    _Pragma("GCC unroll 8") for (int v = 0; v < vectors; v++) right[v] =    \
        GEMM_LOAD(b + v / PER_PANEL * panel + v % PER_PANEL * GEMM_VECTOR); \
    PRODUCTS(rows, vectors)
#endif
#define STEP(rows, vectors)              \
    do {                                 \
        MULTIPLY_STEP(rows, vectors)     \
        __builtin_prefetch(fetch, 0, 2); \
        fetch += fetch_step;             \
        a += a_step;                     \
        b += b_step;                     \
    } while (0)

#if !defined(GEMM_BLOCKS)
#define GEMM_BLOCKS(t, rows, vectors) 0
#endif

#define TILE(rows, vectors)                                                    \
    static void tile_##rows##x##vectors(const gemm_tile *t) {                  \
        if (GEMM_BLOCKS(t, rows, vectors)) return;                             \
        BEGIN(rows, vectors);                                                  \
        for (int64_t k = t->k; k > 0; k--) STEP(rows, vectors);                \
        EACH_SUM(rows, vectors) vf_store(c + i * ldc + v * ASC_VF, sum[i][v]); \
    }

#define PAIR(rows) TILE(rows, 1) TILE(rows, 2)

TILE(1, 8)
TILE(2, 4)
#if GEMM_ROWS > 6
TILE(3, 4)
#endif
EACH_HEIGHT(GEMM_ROWS, PAIR)

#if GEMM_TILE_ENDS
/* One vector of a tile's end. Beside products, all but multiplications come for nothing. */
static inline __attribute__((always_inline)) void end_vector(const float *sums, const float *bias,
                                                             const float *residual, float *y, int kind, int streams) {
    if (kind == GEMM_END_FETCHES) return;
    vf x = vf_load(sums) + vf_load(bias) + vf_load(residual);
    if (kind == GEMM_END_ACTIVATES) x = activate(x, GEMM_GELU, NULL);
    if (streams)
        vf_stream(y, x);
    else
        vf_store(y, x);
}

/* A tile that ends another, a vector with each of its first steps. */
#define ENDING(height, name, kind)                                                                   \
    static void tile_##height##_##name(const gemm_tile *t) {                                         \
        BEGIN(height, 2);                                                                            \
        const gemm_tile_end end = *t->end;                                                           \
        const float *sums = end.sums, *residual = end.residual, *ahead_residual = t->ahead_residual; \
        const float *ahead_y = t->ahead_y;                                                           \
        float *y = end.y;                                                                            \
        int64_t k = t->k - 2 * end.rows;                                                             \
        for (int64_t left = end.rows; left > 0; left--) {                                            \
            _Pragma("GCC unroll 2") for (int64_t at = 0; at < GEMM_TILE_COLS; at += ASC_VF) {        \
                end_vector(sums + at, end.bias + at, residual + at, y + at, kind, end.streams);      \
                __builtin_prefetch(ahead_residual + at, 0, 2);                                       \
                __builtin_prefetch(ahead_y + at, 1, 2);                                              \
                STEP(height, 2);                                                                     \
            }                                                                                        \
            ahead_residual += t->ahead_residual_row;                                                 \
            ahead_y += t->ahead_y_row;                                                               \
            sums += GEMM_TILE_COLS;                                                                  \
            residual += end.residual_row;                                                            \
            y += end.y_row;                                                                          \
        }                                                                                            \
        for (; k > 0; k--) STEP(height, 2);                                                          \
        EACH_SUM(height, 2) vf_store(c + i * ldc + v * ASC_VF, sum[i][v]);                           \
    }

static inline __attribute__((always_inline)) void end_gate(const float *sums, float *y, int narrow, int streams) {
    vf x = gemm_gate(vf_load(sums), vf_load(sums + ASC_VF));
    if (narrow)
        vf_store_bf16((uint16_t *)y, x);
    else if (streams)
        vf_stream(y, x);
    else
        vf_store(y, x);
}

/* The same of a gated tile, a row with every second step. */
#define GATING(height)                                                     \
    static void tile_##height##_gating(const gemm_tile *t) {               \
        BEGIN(height, 2);                                                  \
        const gemm_tile_end end = *t->end;                                 \
        const float *sums = end.sums, *ahead_y = t->ahead_y;               \
        float *y = end.y;                                                  \
        int64_t k = t->k - 2 * end.rows;                                   \
        for (int64_t left = end.rows; left > 0; left--) {                  \
            end_gate(sums, y, end.narrow, end.streams);                    \
            __builtin_prefetch(ahead_y, 1, 2);                             \
            STEP(height, 2);                                               \
            STEP(height, 2);                                               \
            ahead_y += t->ahead_y_row;                                     \
            sums += GEMM_TILE_COLS;                                        \
            y += end.y_row;                                                \
        }                                                                  \
        for (; k > 0; k--) STEP(height, 2);                                \
        EACH_SUM(height, 2) vf_store(c + i * ldc + v * ASC_VF, sum[i][v]); \
    }

#define ENDINGS(height)                        \
    ENDING(height, fetching, GEMM_END_FETCHES) \
    ENDING(height, adding, GEMM_END_ADDS) ENDING(height, activating, GEMM_END_ACTIVATES) GATING(height)
ENDINGS(12)
ENDINGS(13)
ENDINGS(14)
#endif

typedef void (*tile_fn)(const gemm_tile *);
#define ROW(rows) {tile_##rows##x1, tile_##rows##x2},
static const tile_fn TILES[GEMM_ROWS][2] = {EACH_HEIGHT(GEMM_ROWS, ROW)};

#if GEMM_TILE_ENDS
#define ENDS(rows) {tile_##rows##_fetching, tile_##rows##_adding, tile_##rows##_activating, tile_##rows##_gating}
static const tile_fn ENDING_TILES[GEMM_ROWS - GEMM_ENDING_ROWS + 1][GEMM_END_KINDS] = {ENDS(12), ENDS(13), ENDS(14)};
#endif

void GEMM_TILE_RUN(int rows, int vectors, const gemm_tile *t) {
#if GEMM_TILE_ENDS
    if (t->end) {
        ENDING_TILES[rows - GEMM_ENDING_ROWS][t->end->kind](t);
        return;
    }
#endif
    if (vectors == 8) tile_1x8(t);
#if GEMM_ROWS > 6
    else if (vectors == 4 && rows == 3)
        tile_3x4(t);
#endif
    else if (vectors == 4)
        tile_2x4(t);
    else
        TILES[rows - 1][vectors - 1](t);
}
