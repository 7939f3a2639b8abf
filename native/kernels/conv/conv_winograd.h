/* conv_winograd.h - Winograd's F(2 x 2, 3 x 3): tiles, blocks of them, and their transformations. */
#ifndef ASC_KERNELS_CONV_WINOGRAD_H
#define ASC_KERNELS_CONV_WINOGRAD_H

#include "conv_last.h"

enum { POINTS = 16 }; /* of a transformed tile */

/* Tiles cover the outputs of a plane, the last ones with a row or column too many. */
typedef struct tiling {
    conv c;
    int64_t rows, columns, count; /* of tiles: down, across, of the batch */
    int64_t depth;                /* inputs of a point: the channels of each plane of taps */
} tiling;

/* Of a block: its transformed inputs [point][tile][depth], and sums of a panel [point][tile][GEMM_PANEL]. */
typedef struct block {
    int64_t first, tiles;
    float *inputs, *sums;
    int64_t input_point, sum_point; /* from one point to the next */
} block;

/* What becomes of A^T m A: its bias, residual and ending; `after` is what that doesn't express. */
typedef struct finish {
    conv_ending end;
    int limits;
    epilogue after;
} finish;

/* B^T d B of the inputs d of all tiles of a block, to its `inputs`. */
void ASC_FN(winograd_inputs)(const tiling *t, const block *b);
/* A^T m A of the sums m of a panel, from the block's `sums` to the outputs. */
void ASC_FN(winograd_outputs)(const tiling *t, const block *b, const finish *f, int64_t panel);

#endif
