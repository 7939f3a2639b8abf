/* gemm_place.h - one tile of a product's output: its sums, and its end, which the next tile does beside its own
 * products where it can. */
#ifndef ASC_KERNELS_GEMM_PLACE_H
#define ASC_KERNELS_GEMM_PLACE_H

#include "gemm.h"

#define GEMM_TILE_FLOATS (GEMM_ROWS * GEMM_TILE_COLS)

/* The last tile that was multiplied, if its end is left to the next one. Sums of one and the other lie apart. */
typedef struct gemm_pending {
    gemm_tile_end end; /* rows 0: none */
    int64_t row, col;
    int now;
    _Alignas(64) float sums[2][GEMM_TILE_FLOATS];
    _Alignas(64) float nothing[GEMM_TILE_COLS]; /* added: zeros that leave a zero its sign */
} gemm_pending;

/* Where the row tiles of a block lie. */
typedef struct gemm_rows_block {
    const gemm *g;
    gemm_pending *pending; /* NULL: tiles end on their own */
    int64_t row, rows;
    int64_t k0, k;
    const float *a; /* packed tiles, panels, or one row as it is; for gemm_tiles.h rows `a_line` apart */
    int64_t a_line;
    int64_t b_step, b_panel;
    int fp16;          /* what the tiles read of B is float16 */
    const float *next; /* the panels after these, fetched while these are multiplied; NULL: none, or not ready */
} gemm_rows_block;

/* Where a tile lies in the output, and the one after it. `cols` are left of the columns. */
typedef struct gemm_place {
    int64_t row, col, cols, next_row, next_col;
    int rows, vectors;
} gemm_place;

/* Whether ends of tiles are something that the next tile can do: then `room`, with no tile pending. */
gemm_pending *ASC_FN(gemm_pending_begin)(const gemm *g, gemm_pending *room);

/* Ends the tile that is pending, if any, on its own. `p` may be NULL. */
void ASC_FN(gemm_pending_end)(const gemm *g, gemm_pending *p);

/* Ends sums of a block of K that lie aside, in rows of `width` floats: they go to the output, of which the first is
 * element [row, col], as what becomes of them if K ends with the block. */
void ASC_FN(gemm_end_sums)(const gemm_rows_block *k, float *sums, int64_t width, int64_t row, int64_t rows,
                           int64_t col);

/* Multiplies a tile and ends it, or leaves that to the next one. */
void ASC_FN(gemm_place_run)(const gemm_rows_block *k, const gemm_place *at, const float *a, int64_t a_step,
                            const float *b, const char *fetch, int64_t fetch_step);

#endif
