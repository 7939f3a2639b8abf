/* Products of few columns whose rows of A lie in one run each: they are read where they lie. Packing them would take as
 * long as multiplying them by so few columns does. An element takes its products in the order of gemm_tile.h, so its
 * bits are those of every other tile. */
#include "chunks.h"
#include "gemm.h"
#include "heights.h"

#define GROUP_TILES 4 /* whose sums are finished together */

/* sums[i * GEMM_PANEL + j] = sum over k of a[i * a_row + k] * B[k][j], of all lanes of `vectors` vectors. Three rows
 * share a pointer, since an address has room for one, two or four times a stride: fourteen pointers wouldn't fit the
 * registers. */
#define TILE(rows, vectors)                                                                               \
    static void tile_##rows##x##vectors(const gemm *g, const float *a, const float *b, float *sums) {     \
        const float *third[(rows + 2) / 3];                                                               \
        int64_t a_row = g->a_row;                                                                         \
        vf sum[rows][vectors];                                                                            \
        _Pragma("GCC unroll 5") for (int i = 0; i < (rows + 2) / 3; i++) third[i] = a + 3 * i * a_row;    \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                                           \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] = (vf){0};                \
        for (int64_t k = g->k; k > 0; k--, b += GEMM_PANEL) {                                             \
            vf right[vectors];                                                                            \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) right[v] = vf_load(b + v * ASC_VF); \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++) {                                     \
                vf left = vf_set(third[i / 3][i % 3 * a_row]);                                            \
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) sum[i][v] =                     \
                    vf_fma(left, right[v], sum[i][v]);                                                    \
            }                                                                                             \
            _Pragma("GCC unroll 5") for (int i = 0; i < (rows + 2) / 3; i++) third[i]++;                  \
        }                                                                                                 \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                                           \
            _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++)                                     \
                vf_store(sums + i * GEMM_PANEL + v * ASC_VF, sum[i][v]);                                  \
    }

#define BOTH(rows) TILE(rows, 1) TILE(rows, 2)
EACH_HEIGHT(GEMM_ROWS, BOTH)

#define ROW(rows) {tile_##rows##x1, tile_##rows##x2},
static void (*const TILES[GEMM_ROWS][2])(const gemm *, const float *, const float *,
                                         float *) = {EACH_HEIGHT(GEMM_ROWS, ROW)};

static void multiply_rows(const gemm *g, int64_t row, int64_t rows, float *sums) {
    for (int64_t j = 0; j < g->n; j += 2 * ASC_VF)
        TILES[rows - 1][g->n - j > ASC_VF](g, g->a + row * g->a_row, g->b + j, sums + j);
}

void ASC_FN(gemm_unpacked)(const gemm *g, int64_t row, int64_t rows) {
    _Alignas(64) float sums[GROUP_TILES * GEMM_ROWS * GEMM_PANEL];
    int64_t tiles = asc_ceil_div(rows, GEMM_ROWS);
    for (int64_t tile = 0; tile < tiles; tile += GROUP_TILES) {
        int64_t last = asc_least(tile + GROUP_TILES, tiles), first = asc_split_at(rows, tiles, tile);
        epilogue_rows done = {.sums = sums, .sums_row = GEMM_PANEL, .y_row = g->ldc, .cols = g->n};
        for (int64_t i = tile; i < last; i++) {
            int64_t from = asc_split_at(rows, tiles, i), tall = asc_split_at(rows, tiles, i + 1) - from;
            multiply_rows(g, row + from, tall, sums + (from - first) * GEMM_PANEL);
            done.rows = from + tall - first;
        }
        done.y = g->c + (row + first) * g->ldc;
        ASC_FN(epilogue_apply)(&g->epilogue, &done, row + first, 0);
    }
}
