/* conv_tile.h - the register tile of convolution with channels last: pixels by output channels.
 *
 * Each output element is one accumulator that begins with its bias and takes its products in the order of the weights'
 * rows, by fused multiply-add where the ISA has it. So its bits depend on its window and its channel alone: not on the
 * tile it fell in, the chunks, or the threads. */
#ifndef ASC_KERNELS_CONV_TILE_H
#define ASC_KERNELS_CONV_TILE_H

#include "by_lane.h"
#include "conv_ending.h"
#include "matmul/gemm_tile.h"

#if ASC_BY_LANE
#define CONV_ROWS 8 /* most pixels of a tile: with 8 x 2 accumulators four elements of each pixel are in registers */
#else
#define CONV_ROWS GEMM_ROWS
#endif
#define CONV_AMX_ROWS 32 /* of one of AMX */
#define CONV_MOST_ROWS CONV_AMX_ROWS

/* Consecutive floats that a window reads, each times one row of weights. */
typedef struct conv_run {
    int64_t start;  /* from the window's pixel */
    int64_t weight; /* from the first float of the panel */
} conv_run;

/* y[i * y_step + j] = end(bias[j] + sum of x * w + residual[i * y_step + j]) for pixels i and columns j. */
typedef struct conv_tile {
    const float *x; /* where the first pixel reads; the others follow, each x_step floats further */
    int64_t x_step;
    const conv_run *of; /* the runs of a window */
    int64_t runs, length;
    int64_t lines, x_line; /* of these pixels, x_line floats apart; those of y and the residual follow each other */
    int roomy;             /* what lies behind the pixels may be read, as if there were 16 of a line */
    const float *w;        /* rows of GEMM_PANEL */
    void *y;
    int64_t y_step;
    int narrow;           /* y and the residual are bfloat16 */
    int64_t columns;      /* output channels that exist, from w's first column on */
    const float *bias;    /* NULL: none */
    const void *residual; /* NULL: none */
    conv_ending end;
    uintptr_t next_y, next_residual; /* as y and residual, of the next tile: brought into L1 meanwhile; may be any */
    uintptr_t ahead;                 /* the address of memory to bring into L2 meanwhile; need not exist */
    int64_t ahead_step;              /* bytes of it for each row of weights */
} conv_tile;

/* `pixels` is 1..CONV_ROWS, columns at most GEMM_TILE_COLS. */
void ASC_FN(conv_tile_run)(int pixels, const conv_tile *t);

/* The same on pairs of bfloat16 (vnni2.h): x and w hold one where they held a float, and length counts them. */
void ASC_FN(conv_tile_vnni2_run)(int pixels, const conv_tile *t);

/* How a convolution makes its tiles. Of one convolution all are made alike. */
typedef struct conv_tiles {
    int64_t rows;   /* most pixels of a tile */
    int64_t behind; /* pixels that may be read behind those of a strip */
    void (*run)(int pixels, const conv_tile *t);
    void (*begin)(int64_t length); /* called by a thread before its tiles, with the length of their runs */
    void (*end)(void);             /* and after them */
    int64_t (*lines)(int64_t width, int64_t x_line, int64_t x_step); /* most lines of a tile that are so wide */
} conv_tiles;

/* The same on pairs, by AMX (conv_tile_amx.c); NULL at the levels without. The products of up to 16 pairs of a run are
 * summed before the sum takes them. How runs are cut depends on their length alone. */
const conv_tiles *ASC_FN(conv_amx_tiles)(void);

#endif
