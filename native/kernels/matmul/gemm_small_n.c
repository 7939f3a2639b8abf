/* Products of few columns with many rows: the roles are exchanged. Rows of A, packed by columns, fill the vectors of a
 * tile whose rows are the columns of B. The same products in the same order, so the same bits as gemm_block's. */
#include "chunks.h"
#include "gemm.h"
#include "gemm_pack.h"

#define GROUP_ROWS 128     /* of A, for which a block of B is made ready once */
#define BLOCK_FLOATS 4096  /* of A at hand, in L1 */
#define BLOCK_ROWS_OF_B 64 /* 32 columns of it beside them */

typedef struct group {
    const gemm *g;
    int64_t row, rows;
    float *sums; /* [columns of B][GROUP_ROWS] */
    float *a, *room;
} group;

/* Rows of A in one tile: so many that its sums hide the latency of an addition. */
static int64_t tile_width(int64_t columns) {
    return (columns == 1 ? 8 : columns == 2 ? 4 : 2) * (int64_t)ASC_VF;
}

/* Rows [first, first + lanes) of the group, columns [k0, k0 + k), as lines of `width`. */
static void pack_rows(const group *s, int64_t first, int64_t lanes, int64_t k0, int64_t k, int64_t width) {
    const gemm *g = s->g;
    const float *from = g->a + (s->row + first) * g->a_row;
    if (g->rounds)
        ASC_FN(gemm_interleave_vnni2)(from + 2 * k0 * g->a_k, g->a_row, g->a_k, lanes,
                                      asc_least(2 * k, g->a_columns - 2 * k0), width, s->room, s->a);
    else
        ASC_FN(gemm_interleave)(from + k0 * g->a_k, g->a_row, g->a_k, lanes, k, width, s->a);
}

/* What rows [k0, k0 + k) of B add to the sums of all rows of the group. */
static void add_block(const group *s, int64_t k0, int64_t k, const float *b) {
    const gemm *g = s->g;
    int64_t width = tile_width(g->n), tiles = asc_ceil_div(g->n, GEMM_ROWS);
    for (int64_t first = 0; first < s->rows; first += width) {
        pack_rows(s, first, asc_least(width, s->rows - first), k0, k, width);
        for (int64_t i = 0; i < tiles; i++) {
            int64_t from = asc_split_at(g->n, tiles, i), tall = asc_split_at(g->n, tiles, i + 1) - from;
            gemm_tile t = {.k = k, .a = b + from, .a_step = GEMM_PANEL, .b = s->a, .b_step = width};
            t.panel = GEMM_PANEL;
            t.c = s->sums + from * GROUP_ROWS + first;
            t.ldc = GROUP_ROWS;
            t.resume = k0 > 0;
            t.fetch = (const char *)t.a;
            if (g->vnni2)
                ASC_FN(gemm_tile_vnni2_run)((int)tall, (int)(width / ASC_VF), &t);
            else
                ASC_FN(gemm_tile_run)((int)tall, (int)(width / ASC_VF), &t);
        }
    }
}

/* What the epilogue sees of sums that lie by columns. */
static epilogue transposed(const epilogue *e) {
    epilogue found = *e;
    found.bias.row = e->bias.col, found.bias.col = e->bias.row;
    found.residual.row = e->residual.col, found.residual.col = e->residual.row;
    return found;
}

/* Few columns fill a part of a vector, many rows all of it: sums are finished as they lie, unless the rows of a
 * residual lie otherwise. */
static void store_rows(const group *s) {
    const gemm *g = s->g;
    float *c = g->c + s->row * g->ldc;
    int plain = epilogue_is_plain(&g->epilogue), first = g->n == 1 || !g->epilogue.residual.data;
    if (!plain && first) {
        epilogue e = transposed(&g->epilogue);
        epilogue_rows sums = epilogue_in_place(s->sums, GROUP_ROWS, g->n, s->rows);
        ASC_FN(epilogue_apply)(&e, &sums, 0, s->row);
    }
    if (g->n == 1)
        memcpy(c, s->sums, (size_t)s->rows * sizeof *c);
    else
        ASC_FN(gemm_interleave)(s->sums, GROUP_ROWS, 1, g->n, s->rows, g->n, c);
    if (plain || first) return;
    epilogue_rows done = epilogue_in_place(c, g->ldc, s->rows, g->n);
    ASC_FN(epilogue_apply)(&g->epilogue, &done, s->row, 0);
}

void ASC_FN(gemm_small_n)(const gemm *g, int64_t row, int64_t rows) {
    _Alignas(64) float a[BLOCK_FLOATS], room[BLOCK_FLOATS], sums[GEMM_SMALL_N * GROUP_ROWS];
    _Alignas(64) float b[BLOCK_ROWS_OF_B * GEMM_PANEL];
    int64_t most = asc_least(BLOCK_FLOATS / tile_width(g->n), BLOCK_ROWS_OF_B);
    for (int64_t end = row + rows; row < end; row += GROUP_ROWS) {
        group s = {.g = g, .row = row, .rows = asc_least(GROUP_ROWS, end - row), .sums = sums, .a = a, .room = room};
        int64_t k0 = 0;
        do { /* once even when K is 0: the sums are zero */
            int64_t k = asc_least(most, g->k - k0);
            if (g->pack && k > 0) g->pack(g, 0, k0, k, b);
            add_block(&s, k0, k, g->pack ? b : g->b + k0 * GEMM_PANEL);
            k0 += k;
        } while (k0 < g->k);
        store_rows(&s);
    }
}
