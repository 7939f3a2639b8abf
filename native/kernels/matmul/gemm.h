/* gemm.h - C = A B on one thread, by register tiles over blocks that stay in L2. The operators of this
 * folder that are products at heart (matmul, conv) describe themselves as a gemm and run blocks of it. */
#ifndef ASC_KERNELS_GEMM_H
#define ASC_KERNELS_GEMM_H

#include "epilogue.h"
#include "gemm_tile.h"

typedef struct gemm gemm;

/* A normalisation of A's rows as they are packed, with the bits of rms_norm (norm/norm.c). Columns of such an A
 * are neighbours. */
typedef struct gemm_norm {
    const float *scale; /* of the columns; NULL: A is taken as it is */
    float epsilon;
    float *factors; /* of the rows, for all workers: GEMM_UNKNOWN until one finds it */
} gemm_norm;
#define GEMM_UNKNOWN (-1.0f)

/* Writes rows [k0, k0 + k) of panel `panel` of B: out[i * GEMM_PANEL + j], zero past the last column. */
typedef void (*gemm_pack_fn)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out);

struct gemm {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_k; /* strides of A */
    gemm_norm norm;
    int vnni2;          /* B holds pairs of bfloat16 and k counts them; A as well, unless it `rounds` */
    int rounds;         /* A is float32 and rounded to pairs as it is packed */
    int64_t a_columns;  /* of such an A: 2 k, or one less */
    int fp16;           /* B holds float16, in panels; `pack` widens them for many rows where tiles had better not */
    int a_panels;       /* A is the transpose of a matrix in ASC_LAYOUT_PANEL32, [K,M]: strides are unused */
    const float *b;     /* in panels of 32 columns, or what `pack` reads */
    int64_t b_k, b_col; /* strides of B, for gemm_pack_strided */
    gemm_pack_fn pack;  /* NULL: B is read from its panels */
    const void *source; /* for a pack function with more to know than strides */
    float *c;
    int64_t ldc;
    int far;     /* C is larger than L2: what a tile ends with is fetched before */
    int streams; /* finished rows of C are stored past the caches */
    int64_t k_block;
    const float *prefetch; /* read after the last panel, by others; NULL: unknown */
    int64_t k_from, k_to;  /* what of K is multiplied: all, or blocks behind those that others did */
    epilogue epilogue;
    int gated;    /* see gemm_store_gated; all of K is one block, and there is no epilogue */
    int c_narrow; /* C is bfloat16: of gated products only */
};

/* What a worker keeps between blocks. Floats of A tiles follow, then GEMM_GROUP panels of B. */
#define GEMM_GROUP 4
typedef struct gemm_scratch {
    const float *packed; /* the A whose rows from `row` on, columns from `k` to `k_end`, lie packed here */
    int64_t row, rows, k, k_end;
    int64_t pad[3];
} gemm_scratch;

/* A pack function for B of any strides. */
void ASC_FN(gemm_pack_strided)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out);

/* A pack function for B in panels of float16. */
void ASC_FN(gemm_pack_fp16)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out);

/* Floats of memory in a row of one of B's panels. */
static inline int64_t gemm_line(const gemm *g) {
    return g->fp16 ? GEMM_PANEL / 2 : GEMM_PANEL;
}

#define GEMM_MANY_ROWS 65

/* K is walked in blocks of this many, so that a panel's block and the A tiles stay in L2: `rows` of A that are packed
 * at once, of which few leave room for longer blocks. */
static inline int64_t gemm_k_block(int64_t k, int64_t rows) {
    int64_t most = rows < GEMM_MANY_ROWS ? 2944 : ASC_K_BLOCK, blocks = (k + most - 1) / most;
    return blocks <= 1 ? k : ((k + blocks - 1) / blocks + 15) / 16 * 16;
}

/* Most rows of A that a worker packs at once: a quarter of L2, up to half of it for ten tiles, or more when B must be
 * packed for every row block. */
static inline int64_t gemm_row_block(int64_t k_block, int packs_b) {
    int64_t floats = 72 << 10, least = 10 * GEMM_ROWS, lines = k_block > 0 ? k_block : 1;
    if (packs_b) floats = 512 << 10;
    if (least > 2 * floats / lines) least = 2 * floats / lines;
    if (least < 8 * GEMM_ROWS) least = 8 * GEMM_ROWS;
    return floats / lines < least ? least : floats / lines;
}

/* Bytes of scratch for blocks of up to `rows` rows; 0 on overflow. */
int64_t ASC_FN(gemm_scratch_bytes)(int64_t rows, int64_t k_block);

/* Ends a tile of a gated product, whose sums lie `width` apart: C, of half as many columns, is silu(gate) * up. */
void ASC_FN(gemm_store_gated)(const gemm *g, const float *sums, int64_t width, int64_t row, int64_t rows, int64_t col,
                              int64_t cols);

/* Columns up to which many rows are better multiplied by gemm_small_n, and how many rows those are. */
#define GEMM_SMALL_N ASC_SMALL_N_COLUMNS
#define GEMM_SMALL_N_LEAST 32

/* Computes rows [row, row + rows), epilogue included, of at most GEMM_SMALL_N columns; ldc is n. B is not float16,
 * unless `pack` widens them; A isn't normalised. */
void ASC_FN(gemm_small_n)(const gemm *g, int64_t row, int64_t rows);

/* The same for float32, rows of A that lie in one run each and B in panels. */
void ASC_FN(gemm_unpacked)(const gemm *g, int64_t row, int64_t rows);

/* Computes rows [row, row + rows) of panels [panel, panel_end), the epilogue with the last of K. With a_panels, row
 * is a multiple of GEMM_PANEL. */
void ASC_FN(gemm_block)(const gemm *g, int64_t row, int64_t rows, int64_t panel, int64_t panel_end,
                        gemm_scratch *scratch);

#endif
