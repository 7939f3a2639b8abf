/* Blocks of a product: for each block of K, tiles of A are packed once, and each panel of B passes all
 * of them while it is in cache. Sums of unfinished blocks wait in C. */
#include "gemm.h"

#include "chunks.h"
#include "float16.h"
#include "gemm_pack.h"

int64_t ASC_FN(gemm_scratch_bytes)(int64_t rows, int64_t k_rows, int64_t k_block) {
    int64_t panels, floats, bytes;
    if (!asc_mul_ok(rows, k_rows, &floats) || !asc_mul_ok(GEMM_GROUP * GEMM_PANEL + 16, k_block, &panels)) return 0;
    if (!asc_add_ok(floats, panels, &floats) || !asc_add_ok(floats, 64, &floats) ||
        !asc_mul_ok(floats, sizeof(float), &bytes))
        return 0;
    return asc_add_ok(bytes, sizeof(gemm_scratch), &bytes) ? bytes / ASC_ALIGN * ASC_ALIGN : 0;
}

void ASC_FN(gemm_pack_strided)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    int64_t col = panel * GEMM_PANEL, lanes = g->n - col < GEMM_PANEL ? g->n - col : GEMM_PANEL;
    ASC_FN(gemm_interleave)(g->b + col * g->b_col + k0 * g->b_k, g->b_col, g->b_k, lanes, k, GEMM_PANEL, out);
}

void ASC_FN(gemm_pack_halves)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    const uint16_t *from = (const uint16_t *)(g->b + (panel * g->k + k0) * gemm_line(g));
    for (int64_t i = 0; i < k * GEMM_PANEL; i += ASC_VF) vf_store(out + i, vf_load_f16(from + i));
}

#define TILE_FLOATS (GEMM_ROWS * GEMM_TILE_COLS)

/* The last tile that was multiplied, if its end is left to the next one. Sums of one and the other lie apart. */
typedef struct pending {
    gemm_tile_end end; /* rows 0: none */
    int64_t row, col;
    int now;
    _Alignas(64) float sums[2][TILE_FLOATS];
    _Alignas(64) float nothing[GEMM_TILE_COLS]; /* added: zeros that leave a zero its sign */
} pending;

/* Where the row tiles of a block lie. */
typedef struct block {
    const gemm *g;
    pending *pending; /* NULL: tiles end on their own */
    int64_t row, rows;
    int64_t k0, k;
    const float *a; /* packed tiles, panels, or one row as it is */
    int64_t b_step, b_panel;
    int halves;        /* what the tiles read of B is float16 */
    const float *next; /* the panels after these, fetched while these are multiplied; NULL: none, or not ready */
} block;

/* Rows [0, rows) in nearly equal tiles: tile t starts at this row. */
static int64_t tile_start(int64_t rows, int64_t tiles, int64_t t) {
    return rows * t / tiles;
}

static int64_t tile_count(int64_t rows) {
    return (rows + GEMM_ROWS - 1) / GEMM_ROWS;
}

/* `room`: where panels of B are packed later, if at all. */
static void pack_rows(const block *k, gemm_scratch *scratch, float *out, float *room) {
    const gemm *g = k->g;
    int same = scratch->packed == g->a && scratch->row == k->row && scratch->rows == k->rows;
    if (same && scratch->k <= k->k0 && k->k0 + k->k <= scratch->k_end) return;
    for (int64_t tiles = tile_count(k->rows), t = 0; t < tiles; t++) {
        int64_t from = tile_start(k->rows, tiles, t), rows = tile_start(k->rows, tiles, t + 1) - from;
        const float *a = g->a + (k->row + from) * g->a_row;
        if (g->rounds)
            ASC_FN(gemm_interleave_pairs)(a + 2 * k->k0 * g->a_k, g->a_row, g->a_k, rows,
                                          asc_least(2 * k->k, g->a_columns - 2 * k->k0), rows, room, out + from * k->k);
        else
            ASC_FN(gemm_interleave)(a + k->k0 * g->a_k, g->a_row, g->a_k, rows, k->k, rows, out + from * k->k);
    }
    scratch->packed = g->a;
    scratch->row = k->row;
    scratch->rows = k->rows;
    if (!same || !g->keeps_rows || scratch->k_end != k->k0) scratch->k = k->k0;
    scratch->k_end = k->k0 + k->k;
}

static void run_register_tile(const block *k, int rows, int vectors, const gemm_tile *t) {
    if (k->halves)
        ASC_FN(gemm_tile_halves_run)(rows, vectors, t);
    else if (k->g->pairs)
        ASC_FN(gemm_tile_pairs_run)(rows, vectors, t);
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
    int activates = e->activation == (g->pairs ? EPILOGUE_GELU_COARSE : EPILOGUE_GELU);
    if (g->gated) return GEMM_TILE_ENDS;
    return GEMM_TILE_ENDS && adds && e->alpha == 1 && e->beta == 1 && e->rounding == ROUND_NOT &&
           (activates || (e->activation == EPILOGUE_NONE && (g->streams || !epilogue_is_plain(e))));
}

/* Where a gated tile's rows go, and how far they are apart in floats. */
static float *gated_row(const gemm *g, int64_t row, int64_t col) {
    return (float *)((char *)g->c + (row * g->ldc + col / 2) * (g->c_narrow ? 2 : 4));
}

static int64_t gated_row_floats(const gemm *g) {
    return g->c_narrow ? g->ldc / 2 : g->ldc;
}

/* Ends the tile that is pending, if any, on its own. */
static void end_pending(const gemm *g, pending *p) {
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
static void leave_end(const gemm *g, pending *p, int64_t row, int rows, int64_t col) {
    const epilogue_addend *bias = &g->epilogue.bias, *residual = &g->epilogue.residual;
    p->now = !p->now;
    p->row = row;
    p->col = col;
    p->end = (gemm_tile_end){.rows = rows,
                             .sums = p->sums[p->now],
                             .bias = bias->data ? bias->data + col : p->nothing,
                             .residual = residual->data ? residual->data + row * residual->row + col : p->nothing,
                             .residual_row = residual->data ? residual->row : 0,
                             .y = g->c + row * g->ldc + col,
                             .y_row = g->ldc,
                             .kind = g->epilogue.activation == EPILOGUE_NONE ? GEMM_END_ADDS : GEMM_END_ACTIVATES};
    if (g->gated) {
        p->end.kind = GEMM_END_GATES;
        p->end.narrow = g->c_narrow;
        p->end.y = gated_row(g, row, col);
        p->end.y_row = gated_row_floats(g);
    }
    p->end.streams = g->streams && (uintptr_t)p->end.y % sizeof(vf) == 0 && g->ldc % ASC_VF == 0;
}

/* Has a tile end the pending one, and fetch what it will end with itself. */
static void end_beside(const gemm *g, pending *p, gemm_tile *t, int64_t row, int64_t col) {
    const epilogue_addend *residual = &g->epilogue.residual;
    t->end = &p->end;
    t->ahead_residual = t->ahead_y = p->nothing;
    if (residual->data) {
        t->ahead_residual = residual->data + row * residual->row + col;
        t->ahead_residual_row = residual->row;
    }
    if (!g->streams) {
        t->ahead_y = g->gated ? gated_row(g, row, col) : g->c + row * g->ldc + col;
        t->ahead_y_row = g->gated ? gated_row_floats(g) : g->ldc;
    }
}

/* One tile: rows [row, row + rows) by columns [col, col + cols) of the output. */
static void run_tile(const block *k, int64_t row, int rows, const float *a, int64_t a_step, int64_t col, int64_t cols,
                     int vectors, const float *b, const char *fetch, int64_t fetch_step) {
    const gemm *g = k->g;
    pending *p = k->pending;
    _Alignas(64) float own[TILE_FLOATS > GEMM_WIDE_COLS ? TILE_FLOATS : GEMM_WIDE_COLS];
    float *c = g->c + row * g->ldc + col, *edge = own;
    int64_t width = (int64_t)vectors * ASC_VF;
    gemm_tile t = {
        .k = k->k, .a = a, .a_step = a_step, .b = b, .b_step = k->b_step, .panel = k->b_panel, .c = c, .ldc = g->ldc};
    int last = k->k0 + k->k == g->k, ends = last && !epilogue_is_plain(&g->epilogue);
    int aside = g->gated || cols < width || ends || (last && g->streams);
    int leaves = p && last && cols >= width && vectors == 2;
    t.resume = k->k0 > 0;
    t.fetch = fetch;
    t.fetch_step = fetch_step;
    if (p && p->end.rows) {
        if (vectors == 2 && rows >= GEMM_ENDING_ROWS && k->k >= 2 * p->end.rows)
            end_beside(g, p, &t, row, col);
        else
            end_pending(g, p);
    }
    if (g->far && g->gated && !t.end)
        fetch_gated(g, row, rows, col);
    else if (g->far && !t.end)
        fetch_output(g, c, row, rows, col, width, last);
    if (leaves) edge = p->sums[!p->now];
    if (aside) {
        t.c = edge;
        t.ldc = width;
        if (t.resume)
            for (int i = 0; i < rows; i++)
                for (int64_t j = 0; j < width; j++) edge[i * width + j] = j < cols ? c[i * g->ldc + j] : 0;
    }
    run_register_tile(k, rows, vectors, &t);
    if (t.end) p->end.rows = 0;
    if (leaves) {
        leave_end(g, p, row, rows, col);
        return;
    }
    if (g->gated) {
        ASC_FN(gemm_store_gated)(g, edge, width, row, rows, col, cols);
        return;
    }
    epilogue_rows sums = epilogue_in_place(edge, width, rows, asc_least(cols, width));
    if (aside) store_tile(g, last ? &g->epilogue : &PLAIN, &sums, row, col, last && cols >= width);
}

/* Rows [first, first + rows) of the block against one strip of columns. */
static void run_strip(const block *k, int64_t first, int64_t rows, int64_t col, int64_t cols, int vectors,
                      const float *b) {
    const gemm *g = k->g;
    const float *a = k->a + first * (g->a_panels ? g->k : k->k);
    const char *fetch = (const char *)(k->next ? k->next : b);
    int64_t line = gemm_line(g) * (int64_t)sizeof(float);
    int64_t tiles = tile_count(rows), share = k->next ? (line + tiles - 1) / tiles : 0;
    for (int64_t t = 0; t < tiles; t++) {
        int64_t from = tile_start(rows, tiles, t), tall = tile_start(rows, tiles, t + 1) - from;
        const float *tile = g->a_panels ? a + from : a + from * k->k;
        int64_t step = g->a_panels ? GEMM_PANEL : tall;
        run_tile(k, k->row + first + from, (int)tall, tile, step, col, cols, vectors, b, fetch + t * k->k * share,
                 share);
    }
}

/* Rows of the block against a group of panels, in strips as wide as the registers allow for so many rows. */
static void run_group(const block *k, int64_t first, int64_t rows, int64_t panel, int64_t panels, const float *b) {
    int64_t col = panel * GEMM_PANEL, end = asc_least(col + panels * GEMM_PANEL, k->g->n), at = 0;
    for (int vectors; col < end; col += vectors * ASC_VF, at += vectors * ASC_VF) {
        int64_t room = panels * GEMM_PANEL - at;
        vectors = end - col > ASC_VF ? 2 : 1;
        if (rows == 1 && end - col > 2 * ASC_VF && room >= 8 * ASC_VF && at % GEMM_PANEL == 0) vectors = 8;
        if (rows == 2 && end - col > 2 * ASC_VF && room >= 4 * ASC_VF) vectors = 4;
        run_strip(k, first, rows, col, end - col, vectors,
                  b + at / GEMM_PANEL * k->b_panel + at % GEMM_PANEL / (k->halves ? 2 : 1));
    }
}

#define FEW_COLUMNS 128

/* How many of a group's panels, from the last one on, are better multiplied with exchanged roles: all when
 * columns are few, because a panel of weights is then read by whole lines; a last one that would leave too
 * much of its vectors idle. */
static int64_t swapped_panels(const block *k, int64_t panel, int64_t panels) {
    const gemm *g = k->g;
    if (!g->a_panels || k->b_step != GEMM_PANEL) return 0;
    if (g->n <= FEW_COLUMNS) return panels;
    int64_t cols = asc_least(GEMM_PANEL, g->n - (panel + panels - 1) * GEMM_PANEL);
    int64_t whole = (cols + ASC_VF - 1) / ASC_VF * ASC_VF;
    return whole * 8 > cols * 9;
}

/* rows x cols of the output to or from sums[col][row]. */
static void turn(float *c, int64_t ldc, int64_t rows, int64_t cols, float *sums, int to_sums) {
    for (int64_t i = 0; i < rows; i++, c += ldc)
        for (int64_t j = 0; j < cols; j++) {
            if (to_sums)
                sums[j * GEMM_PANEL + i] = c[j];
            else
                c[j] = sums[j * GEMM_PANEL + i];
        }
}

/* A panel of A against a panel of B with the roles exchanged: columns of B are the tile's
 * rows and rows of A fill its vectors. The same products in the same order, so the same bits. */
static void run_swapped(const block *k, int64_t first, int64_t rows, int64_t panel, const float *b) {
    const gemm *g = k->g;
    float sums[GEMM_PANEL * GEMM_PANEL];
    int64_t col = panel * GEMM_PANEL, cols = asc_least(GEMM_PANEL, g->n - col), tiles = tile_count(cols);
    float *c = g->c + (k->row + first) * g->ldc + col;
    if (k->k0 > 0) turn(c, g->ldc, rows, cols, sums, 1);
    for (int64_t at = 0; at < rows; at += GEMM_TILE_COLS)
        for (int64_t t = 0; t < tiles; t++) {
            int64_t from = tile_start(cols, tiles, t), tall = tile_start(cols, tiles, t + 1) - from;
            gemm_tile tile = {.k = k->k, .a = b + from, .a_step = GEMM_PANEL, .b = k->a + first * g->k + at};
            tile.b_step = GEMM_PANEL;
            tile.fetch = (const char *)tile.a;
            tile.c = sums + from * GEMM_PANEL + at;
            tile.ldc = GEMM_PANEL;
            tile.resume = k->k0 > 0;
            ASC_FN(gemm_tile_run)((int)tall, rows - at > ASC_VF ? 2 : 1, &tile);
        }
    turn(c, g->ldc, rows, cols, sums, 0);
    epilogue_rows done = epilogue_in_place(c, g->ldc, rows, cols);
    if (k->k0 + k->k == g->k && !epilogue_is_plain(&g->epilogue))
        ASC_FN(epilogue_apply)(&g->epilogue, &done, k->row + first, col);
}

/* Panels that are at hand together. Few rows want wide strips. Rows of A in panels are read from far, so
 * several panels of B wait for each of them in L2. */
static int64_t group_panels(const block *k) {
    if (k->rows <= 2) return GEMM_WIDE_PANELS;
    if (!k->g->a_panels) return 1;
    int64_t fit = (384 << 10) / (GEMM_PANEL * (int64_t)sizeof(float)) / (k->k ? k->k : 1);
    return fit < 1 ? 1 : asc_least(fit, GEMM_GROUP);
}

/* The block's rows of a group of panels: where they lie already, or packed. Rows of B that are
 * contiguous serve a single row tile as they are. */
static const float *find_panels(block *k, int64_t panel, int64_t panels, float *packed) {
    const gemm *g = k->g;
    k->halves = g->halves && (!g->pack || k->rows <= GEMM_ROWS);
    if (!g->pack || k->halves) {
        k->b_step = gemm_line(g);
        k->b_panel = g->k * k->b_step;
        return g->b + (panel * g->k + k->k0) * k->b_step;
    }
    k->b_step = GEMM_PANEL;
    int whole = (panel + panels) * GEMM_PANEL <= g->n;
    if (g->pack == ASC_FN(gemm_pack_strided) && g->b_col == 1 && whole && k->rows <= GEMM_ROWS) {
        k->b_step = g->b_k;
        k->b_panel = GEMM_PANEL;
        return g->b + k->k0 * g->b_k + panel * GEMM_PANEL;
    }
    k->b_panel = k->k * GEMM_PANEL;
    for (int64_t i = 0; i < panels && k->k > 0; i++) g->pack(g, panel + i, k->k0, k->k, packed + i * k->b_panel);
    return packed;
}

/* What is multiplied after panel p of the block: the next panel, or the first one's next block of K, or what the
 * chunk after this one begins with. */
static const float *after_panel(const block *k, int64_t p, int64_t panel, int64_t panel_end) {
    const gemm *g = k->g;
    int64_t k_end = k->k0 + k->k, line = gemm_line(g);
    if (p + 1 < panel_end) return g->b + ((p + 1) * g->k + k->k0) * line;
    if (k_end < g->k) return g->b + (panel * g->k + k_end) * line;
    return (p + 1) * GEMM_PANEL < g->n ? g->b + (p + 1) * g->k * line : NULL;
}

void ASC_FN(gemm_block)(const gemm *g, int64_t row, int64_t rows, int64_t panel, int64_t panel_end,
                        gemm_scratch *scratch) {
    float *a_tiles = (float *)(scratch + 1);
    int64_t k0 = 0;
    pending ends, *pending = ends_beside(g) ? &ends : NULL;
    if (pending) {
        ends.end.rows = ends.now = 0;
        for (int i = 0; i < GEMM_TILE_COLS; i++) ends.nothing[i] = -0.0f;
    }
    do { /* once even when K is 0: the sums are zero and the epilogue still applies */
        block k = {
            .g = g, .pending = pending, .row = row, .rows = rows, .k0 = k0, .k = asc_least(g->k_block, g->k - k0)};
        float *tiles = a_tiles + (g->keeps_rows ? rows * k0 : 0);
        float *b_panels = g->a_panels ? a_tiles : a_tiles + (rows * (g->keeps_rows ? g->k : k.k) + 15) / 16 * 16;
        if (g->a_panels) {
            k.a = g->a + row * g->k + k0 * GEMM_PANEL;
        } else if (rows == 1 && g->a_k == 1 && !g->rounds) {
            k.a = g->a + row * g->a_row + k0;
        } else {
            pack_rows(&k, scratch, tiles, b_panels);
            k.a = tiles;
        }
        int64_t group = group_panels(&k), unit = g->a_panels ? GEMM_PANEL : rows;
        for (int64_t p = panel; p < panel_end; p += group) {
            int64_t panels = asc_least(group, panel_end - p);
            const float *b = find_panels(&k, p, panels, b_panels);
            k.next = !g->pack && group == 1 ? after_panel(&k, p, panel, panel_end) : NULL;
            int64_t plain = panels - swapped_panels(&k, p, panels);
            for (int64_t first = 0; first < rows; first += unit) {
                int64_t tall = asc_least(unit, rows - first);
                if (plain > 0) run_group(&k, first, tall, p, plain, b);
                for (int64_t i = plain; i < panels; i++) run_swapped(&k, first, tall, p + i, b + i * k.b_panel);
            }
        }
        k0 += k.k;
    } while (k0 < g->k);
    end_pending(g, pending);
    if (g->streams) finish_streams();
}
