/* gemm_tiles.h - products of pairs of bfloat16 by the tiles of AMX (amx.h), at the level that has them.
 *
 * There all products of pairs go this way, of one row as of many: the bits of an element depend on its row of A and its
 * column of B alone. Each 16 pairs along K, counted from the first, are one product of tiles, whose sum is added to
 * those before; missing pairs are zeros.
 */
#ifndef ASC_KERNELS_GEMM_TILES_H
#define ASC_KERNELS_GEMM_TILES_H

#include "gemm_place.h"

#define GEMM_TILES_PAIRS 16 /* along K, in a tile */

/* Whether this level has tiles. */
int ASC_FN(gemm_has_tiles)(void);

/* Pairs of a row of A as tiles read it: whole tiles, zeros behind the last pair. */
static inline int64_t gemm_tiles_line(int64_t pairs) {
    return (pairs + GEMM_TILES_PAIRS - 1) / GEMM_TILES_PAIRS * GEMM_TILES_PAIRS;
}

#define GEMM_TILES_ROWS 16  /* of A, at most, in a tile */
#define GEMM_TILES_PANELS 2 /* that so few rows are multiplied by at once */

/* Makes the thread's tiles ready for a block of so many rows; gemm_tiles_end gives them back. */
void ASC_FN(gemm_tiles_begin)(int64_t rows);
void ASC_FN(gemm_tiles_end)(void);

/* The block's rows, of which `a` is the first and the others lie `a_line` apart, times `panels` panels from `b` on, up
 * to GEMM_TILES_PANELS; k0 is a multiple of GEMM_TILES_PAIRS. */
void ASC_FN(gemm_tiles_run)(const gemm_rows_block *k, int64_t panel, int64_t panels, const float *b);

#endif
