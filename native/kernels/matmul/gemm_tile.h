/* gemm_tile.h - the register tile every product of this folder is made of.
 *
 * A tile is `rows` x `vectors` accumulators of ASC_VF floats. Each output element is one accumulator
 * that takes its K products in order, by fused multiply-add where the ISA has it; a pass over
 * [k0, k1) that starts from the stored sum continues it exactly. So the bits of an element depend on
 * its row of A and its column of B alone: not on the tile it fell in, the blocking, or the threads.
 */
#ifndef ASC_KERNELS_GEMM_TILE_H
#define ASC_KERNELS_GEMM_TILE_H

#include "asc_plan.h"
#include "simd.h"

#define GEMM_PANEL ASC_PANEL

#if ASC_VF == 16
#define GEMM_ROWS 14 /* 14 x 2 accumulators, 2 of B and a broadcast fill the 32 registers */
#elif ASC_VF == 8
#define GEMM_ROWS 6
#elif defined(__aarch64__)
#define GEMM_ROWS 12 /* 12 x 2 accumulators, 2 of B and 3 of A, which it multiplies lane by lane */
#else
#define GEMM_ROWS 4
#endif
#define GEMM_TILE_COLS (2 * ASC_VF)                    /* columns of the ordinary tile: 32, 16, 8 */
#define GEMM_WIDE_COLS (8 * ASC_VF)                    /* columns of the one-row tile: 128, 64, 32 */
#define GEMM_WIDE_PANELS (GEMM_WIDE_COLS / GEMM_PANEL) /* 4, 2, 1 */

#define GEMM_TILE_ENDS (ASC_VF == 16) /* whether registers hold a tile and the end of another */
#define GEMM_ENDING_ROWS 12           /* least height of a tile that ends another */

/* What is done beside the first products of a tile. */
enum {
    GEMM_END_FETCHES, /* for the next tile, as the others do: no tile ends */
    GEMM_END_ADDS,
    GEMM_END_ACTIVATES, /* by GELU */
    GEMM_END_GATES,
    GEMM_END_KINDS
};

/* What a tile of GEMM_TILE_COLS columns ends with: y = activation(sums + bias + residual), or what a gate lets through
 * (gemm_gated.h). */
typedef struct gemm_tile_end {
    int kind;
    int64_t rows;
    const float *sums; /* whole rows, one behind the other */
    const float *bias; /* the same for all rows */
    const float *residual;
    int64_t residual_row;
    float *y;
    int64_t y_row;
    int streams; /* past the caches: y is aligned */
    int narrow;  /* y of a gate is bfloat16; strides count memory of floats */
} gemm_tile_end;

/* c[i * ldc + j] (+)= sum over k of a[k * a_step + i] * B[k][j]. Column j of B lies in panel
 * j / GEMM_PANEL, `panel` floats after the one before, at b[k * b_step + j % GEMM_PANEL].
 * Steps and strides count floats of memory, of which one holds two elements of a float16 B. */
typedef struct gemm_tile {
    int64_t k;
    const float *a;
    int64_t a_step;
    const float *b;
    int64_t b_step;
    int64_t panel;
    float *c;
    int64_t ldc;
    int resume;         /* start from the sums stored in c instead of zero */
    const float *start; /* or, unless NULL, from these, in rows `start_row` apart */
    int64_t start_row;
    const char *fetch; /* brought near while the tile runs, fetch_step bytes at each k */
    int64_t fetch_step;
    /* With an end, brought near meanwhile: what the next tile begins and ends with, rows of GEMM_TILE_COLS. */
    const float *ahead_residual, *ahead_y;
    int64_t ahead_residual_row, ahead_y_row;
    const gemm_tile_end *end; /* of the tile before, done while this one multiplies; NULL: none */
} gemm_tile;

/* Most rows of a tile of 4 vectors, whose sums and the rest fill no more registers than there are. */
#define GEMM_WIDE_ROWS (GEMM_ROWS > 6 ? 3 : 2)

/* Writes all `vectors` whole vectors of each row. rows is 1..GEMM_ROWS; vectors is 1 or 2, with 4
 * for 2 to GEMM_WIDE_ROWS and 8 for 1 row also possible: narrow tiles need more columns to hide latency. */
void ASC_FN(gemm_tile_run)(int rows, int vectors, const gemm_tile *t);

/* The same on pairs of bfloat16 (vnni2.h): k counts pairs, and a and b hold one where they held a float. */
void ASC_FN(gemm_tile_vnni2_run)(int rows, int vectors, const gemm_tile *t);

/* The same with B in float16, whose bits are those of the float32 it stands for. */
void ASC_FN(gemm_tile_fp16_run)(int rows, int vectors, const gemm_tile *t);

#endif
