/* Tiles of a product, one after the other: while one multiplies, the one before it is ended. */
#include "gemm_place.h"

#include "chunks.h"

static void run_register_tile(const gemm_rows_block *k, int rows, int vectors, const gemm_tile *t) {
    if (k->fp16)
        ASC_FN(gemm_tile_fp16_run)(rows, vectors, t);
    else if (k->g->vnni2)
        ASC_FN(gemm_tile_vnni2_run)(rows, vectors, t);
    else
        ASC_FN(gemm_tile_run)(rows, vectors, t);
}

/* What the end of a tile reads and writes, brought to L2 while its sums grow. Inlined, because GCC drops the call of a
 * function that does nothing but fetch. */
static inline __attribute__((always_inline)) void fetch_output(const gemm *g, const float *c, int64_t row, int rows,
                                                               int64_t col, int64_t width, int last) {
    const epilogue_addend *r = &g->epilogue.residual;
    for (int i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j += 64 / (int64_t)sizeof *c) {
            if (!g->streams) __builtin_prefetch(c + i * g->ldc + j, 1);
            if (last && r->data) __builtin_prefetch(r->data + (row + i) * r->row + (col + j) * r->col, 0, 2);
        }
}

/* The same of a gated product. */
static inline __attribute__((always_inline)) void fetch_gated(const gemm *g, int64_t row, int rows, int64_t col) {
    int64_t size = g->c_narrow ? 2 : 4;
    const char *c = (const char *)g->c + (row * g->ldc + col / 2) * size;
    for (int i = 0; i < rows && !g->streams; i++) __builtin_prefetch(c + i * g->ldc * size, 1);
}

static const epilogue PLAIN = {.alpha = 1};

/* Sums of a tile that lie aside, finished by `e`, to where they belong: past the caches if the product says so. With a
 * residual they are finished aside, too: its rows often lie a multiple of 4 KB from the output's, and loads would wait
 * for stores. */
static void store_tile(const gemm *g, const epilogue *e, epilogue_rows *sums, int64_t row, int64_t col, int whole) {
    float *c = g->c + row * g->ldc + col;
    const float *edge = sums->sums;
    int streams = g->streams && whole && (uintptr_t)c % sizeof(vf) == 0 && g->ldc % ASC_VF == 0;
    if ((streams || e->residual.data) && !epilogue_is_plain(e)) {
        ASC_FN(epilogue_apply)(e, sums, row, col);
        e = &PLAIN;
    }
    if (!streams) {
        sums->y = c;
        sums->y_row = g->ldc;
        ASC_FN(epilogue_apply)(e, sums, row, col);
        return;
    }
    for (int64_t i = 0; i < sums->rows; i++, c += g->ldc, edge += sums->sums_row)
        for (int64_t j = 0; j < sums->cols; j += ASC_VF) vf_stream(c + j, vf_load(edge + j));
}

/* Whether ends of tiles are something that the next tile can do. */
static int ends_beside(const gemm *g) {
    const epilogue *e = &g->epilogue;
    int adds = (!e->bias.data || (e->bias.row == 0 && e->bias.col == 1)) && (!e->residual.data || e->residual.col == 1);
    int activates = e->activation == (g->vnni2 ? EPILOGUE_GELU_COARSE : ASC_ACTIVATION_GELU);
    if (g->gated) return GEMM_TILE_ENDS;
    return GEMM_TILE_ENDS && adds && e->alpha == 1 && e->beta == 1 && e->rounding == ASC_ROUND_NONE &&
           (activates || (e->activation == ASC_ACTIVATION_NONE && (g->streams || !epilogue_is_plain(e))));
}

/* Where a gated tile's rows go, and how far they are apart in floats. */
static float *gated_row(const gemm *g, int64_t row, int64_t col) {
    return (float *)((char *)g->c + (row * g->ldc + col / 2) * (g->c_narrow ? 2 : 4));
}

static int64_t gated_row_floats(const gemm *g) {
    return g->c_narrow ? g->ldc / 2 : g->ldc;
}

gemm_pending *ASC_FN(gemm_pending_begin)(const gemm *g, gemm_pending *room) {
    if (!ends_beside(g)) return NULL;
    room->end.rows = room->now = 0;
    for (int i = 0; i < GEMM_TILE_COLS; i++) room->nothing[i] = -0.0f;
    return room;
}

void ASC_FN(gemm_pending_end)(const gemm *g, gemm_pending *p) {
    if (!p || !p->end.rows) return;
    int64_t rows = p->end.rows;
    p->end.rows = 0;
    if (g->gated) {
        ASC_FN(gemm_store_gated)(g, p->sums[p->now], GEMM_TILE_COLS, p->row, rows, p->col, GEMM_TILE_COLS);
        return;
    }
    epilogue_rows sums = epilogue_in_place(p->sums[p->now], GEMM_TILE_COLS, rows, GEMM_TILE_COLS);
    store_tile(g, &g->epilogue, &sums, p->row, p->col, 1);
}

/* Leaves the end of a tile, whose sums lie at the pending one's next place, to the next tile. */
static void leave_end(const gemm *g, gemm_pending *p, int64_t row, int rows, int64_t col) {
    const epilogue_addend *bias = &g->epilogue.bias, *residual = &g->epilogue.residual;
    p->now = !p->now;
    p->row = row;
    p->col = col;
    p->end =
        (gemm_tile_end){.rows = rows,
                        .sums = p->sums[p->now],
                        .bias = bias->data ? bias->data + col : p->nothing,
                        .residual = residual->data ? residual->data + row * residual->row + col : p->nothing,
                        .residual_row = residual->data ? residual->row : 0,
                        .y = g->c + row * g->ldc + col,
                        .y_row = g->ldc,
                        .kind = g->epilogue.activation == ASC_ACTIVATION_NONE ? GEMM_END_ADDS : GEMM_END_ACTIVATES};
    if (g->gated) {
        p->end.kind = GEMM_END_GATES;
        p->end.narrow = g->c_narrow;
        p->end.y = gated_row(g, row, col);
        p->end.y_row = gated_row_floats(g);
    }
    p->end.streams = g->streams && (uintptr_t)p->end.y % sizeof(vf) == 0 && g->ldc % ASC_VF == 0;
}

static const _Alignas(64) float NOTHING[GEMM_TILE_COLS];

/* What the next tile begins and ends with, to be fetched; whether there is anything. */
static int look_ahead(const gemm_rows_block *k, const gemm_place *at, gemm_tile *t) {
    const gemm *g = k->g;
    const epilogue_addend *residual = &g->epilogue.residual;
    int last = k->k0 + k->k == g->k, adds = last && residual->data, writes = !g->streams || !last || k->k0 > 0;
    t->ahead_residual = t->ahead_y = NOTHING;
    if (at->next_col >= g->n) return 0;
    if (adds) {
        t->ahead_residual = residual->data + at->next_row * residual->row + at->next_col;
        t->ahead_residual_row = residual->row;
    }
    if (writes) {
        int64_t row = at->next_row, col = at->next_col;
        t->ahead_y = g->gated ? gated_row(g, row, col) : g->c + row * g->ldc + col;
        t->ahead_y_row = g->gated ? gated_row_floats(g) : g->ldc;
    }
    return adds || writes;
}

void ASC_FN(gemm_end_sums)(const gemm_rows_block *k, float *sums, int64_t width, int64_t row, int64_t rows,
                           int64_t col) {
    const gemm *g = k->g;
    int64_t cols = g->n - col;
    int last = k->k0 + k->k == g->k;
    if (g->gated) {
        ASC_FN(gemm_store_gated)(g, sums, width, row, rows, col, cols);
        return;
    }
    epilogue_rows done = epilogue_in_place(sums, width, rows, asc_least(cols, width));
    store_tile(g, last ? &g->epilogue : &PLAIN, &done, row, col, last && cols >= width);
}

void ASC_FN(gemm_place_run)(const gemm_rows_block *k, const gemm_place *at, const float *a, int64_t a_step,
                            const float *b, const char *fetch, int64_t fetch_step) {
    const gemm *g = k->g;
    gemm_pending *p = k->pending;
    int64_t row = at->row, col = at->col, cols = at->cols, width = (int64_t)at->vectors * ASC_VF;
    int rows = at->rows, vectors = at->vectors;
    _Alignas(64) float own[GEMM_TILE_FLOATS > GEMM_WIDE_COLS ? GEMM_TILE_FLOATS : GEMM_WIDE_COLS];
    float *c = g->c + row * g->ldc + col, *edge = own;
    gemm_tile t = {
        .k = k->k, .a = a, .a_step = a_step, .b = b, .b_step = k->b_step, .panel = k->b_panel, .c = c, .ldc = g->ldc};
    int last = k->k0 + k->k == g->k, ends = last && !epilogue_is_plain(&g->epilogue);
    int aside = g->gated || cols < width || ends || (last && g->streams);
    int leaves = p && last && cols >= width && vectors == 2 && rows >= GEMM_ENDING_ROWS;
    gemm_tile_end only = {.kind = GEMM_END_FETCHES, .rows = rows};
    t.resume = k->k0 > 0;
    t.fetch = fetch;
    t.fetch_step = fetch_step;
    int high = GEMM_TILE_ENDS && vectors == 2 && rows >= GEMM_ENDING_ROWS && k->k >= 2 * GEMM_ROWS;
    int fetches = look_ahead(k, at, &t) && g->far && !g->gated;
    if (high && p && p->end.rows)
        t.end = &p->end;
    else if (high && fetches)
        t.end = &only;
    if (p && t.end != &p->end) ASC_FN(gemm_pending_end)(g, p);
    if (g->far && g->gated && !t.end)
        fetch_gated(g, row, rows, col);
    else if (g->far && !t.end)
        fetch_output(g, c, row, rows, col, width, last);
    if (leaves) edge = p->sums[!p->now];
    if (aside) {
        t.c = edge;
        t.ldc = width;
        t.start = c;
        t.start_row = g->ldc;
        if (t.resume && cols < width) {
            for (int i = 0; i < rows; i++)
                for (int64_t j = 0; j < width; j++) edge[i * width + j] = j < cols ? c[i * g->ldc + j] : 0;
            t.start = NULL;
        }
    }
    run_register_tile(k, rows, vectors, &t);
    if (p && t.end == &p->end) p->end.rows = 0;
    if (leaves) {
        leave_end(g, p, row, rows, col);
        return;
    }
    if (aside) ASC_FN(gemm_end_sums)(k, edge, width, row, rows, col);
}
