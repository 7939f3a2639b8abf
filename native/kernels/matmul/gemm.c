/* Blocks of a product: for each block of K, tiles of A are packed once, and each panel of B passes all
 * of them while it is in cache. Sums of unfinished blocks wait in C. */
#include "chunks.h"
#include "float16.h"
#include "gemm_pack.h"
#include "gemm_tiles.h"
#include "norm/norm_pass.h"

int64_t ASC_FN(gemm_scratch_bytes)(int64_t rows, int64_t k_block) {
    int64_t panels, floats, bytes;
    if (!asc_add_ok(k_block, GEMM_TILES_PAIRS, &k_block)) return 0; /* of which tiles read whole ones */
    if (!asc_mul_ok(rows, k_block, &floats) || !asc_mul_ok(GEMM_GROUP * GEMM_PANEL + 16, k_block, &panels)) return 0;
    if (!asc_add_ok(floats, panels, &floats) || !asc_add_ok(floats, 64, &floats) ||
        !asc_mul_ok(floats, sizeof(float), &bytes))
        return 0;
    return asc_add_ok(bytes, sizeof(gemm_scratch), &bytes) ? bytes / ASC_ALIGN * ASC_ALIGN : 0;
}

void ASC_FN(gemm_pack_strided)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    int64_t col = panel * GEMM_PANEL, lanes = g->n - col < GEMM_PANEL ? g->n - col : GEMM_PANEL;
    ASC_FN(gemm_interleave)(g->b + col * g->b_col + k0 * g->b_k, g->b_col, g->b_k, lanes, k, GEMM_PANEL, out);
}

void ASC_FN(gemm_pack_fp16)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out) {
    const uint16_t *from = (const uint16_t *)(g->b + (panel * g->k + k0) * gemm_line(g));
    for (int64_t i = 0; i < k * GEMM_PANEL; i += ASC_VF) vf_store(out + i, vf_load_f16(from + i));
}

/* Rows [0, rows) in nearly equal tiles: tile t starts at this row. */
static int64_t tile_start(int64_t rows, int64_t tiles, int64_t t) {
    return rows * t / tiles;
}

static int64_t tile_count(int64_t rows) {
    return (rows + GEMM_ROWS - 1) / GEMM_ROWS;
}

/* What a normalisation multiplies a tile's rows by, most likely for the first time. They are in a cache afterwards. */
static void find_factors(const gemm *g, int64_t row, int64_t rows, float *out) {
    norm_pass p = {.n = g->vnni2 ? g->a_columns : g->k, .kind = {.rms = 1}, .sums = 1};
    float *factors = g->norm.factors + row;
    for (int64_t i = 0; i < rows; i++) {
        __atomic_load(factors + i, out + i, __ATOMIC_RELAXED);
        if (out[i] != GEMM_UNKNOWN) continue;
        p.summed.x = g->a + (row + i) * g->a_row;
        out[i] = norm_factor(norm_run(&p).sum, p.n, g->norm.epsilon);
        __atomic_store(factors + i, out + i, __ATOMIC_RELAXED);
    }
}

/* Rows [row, row + rows) in one tile, of the block's columns. `room`: where panels of B are packed later, if at all. */
static void pack_tile(const gemm_rows_block *k, int64_t row, int64_t rows, float *out, float *room) {
    const gemm *g = k->g;
    int64_t from = g->rounds ? 2 * k->k0 : k->k0, columns = g->rounds ? asc_least(2 * k->k, g->a_columns - from) : k->k;
    const float *a = g->a + row * g->a_row + from * g->a_k;
    if (g->norm.scale) {
        float factors[GEMM_ROWS];
        gemm_scaling scaling = {.lanes = factors, .lines = g->norm.scale + from};
        find_factors(g, row, rows, factors);
        ASC_FN(gemm_interleave_scaled)(a, g->a_row, rows, columns, g->rounds, &scaling, room, out);
    } else if (g->rounds) {
        ASC_FN(gemm_interleave_vnni2)(a, g->a_row, g->a_k, rows, columns, rows, room, out);
    } else {
        ASC_FN(gemm_interleave)(a, g->a_row, g->a_k, rows, columns, rows, out);
    }
}

/* A row as tiles of pairs read it, of the block's columns. */
static void pack_line(const gemm_rows_block *k, int64_t row, float *out, float *room) {
    const gemm *g = k->g;
    if (!g->rounds && g->a_k == 1)
        memcpy(out, g->a + row * g->a_row + k->k0, (size_t)k->k * sizeof *out);
    else
        pack_tile(k, row, 1, out, room);
    for (int64_t i = k->k; i < k->a_line; i++) out[i] = 0;
}

static void pack_rows(const gemm_rows_block *k, gemm_scratch *scratch, float *out, float *room) {
    const gemm *g = k->g;
    int same = scratch->packed == g->a && scratch->row == k->row && scratch->rows == k->rows;
    if (same && scratch->k == k->k0 && scratch->k_end == k->k0 + k->k) return;
    for (int64_t i = 0; i < k->rows && k->a_line; i++) pack_line(k, k->row + i, out + i * k->a_line, room);
    for (int64_t tiles = tile_count(k->rows), t = 0; t < tiles && !k->a_line; t++) {
        int64_t from = tile_start(k->rows, tiles, t), rows = tile_start(k->rows, tiles, t + 1) - from;
        pack_tile(k, k->row + from, rows, out + from * k->k, room);
    }
    scratch->packed = g->a;
    scratch->row = k->row;
    scratch->rows = k->rows;
    scratch->k = k->k0;
    scratch->k_end = k->k0 + k->k;
}

/* Rows [first, first + rows) of the block against one strip of columns. */
static void run_strip(const gemm_rows_block *k, int64_t first, int64_t rows, int64_t col, int64_t cols, int vectors,
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
        gemm_place at = {.row = k->row + first + from,
                         .rows = (int)tall,
                         .col = col,
                         .cols = cols,
                         .vectors = vectors,
                         .next_row = k->row + first,
                         .next_col = col + vectors * ASC_VF};
        if (t + 1 < tiles) {
            at.next_row = at.row + tall;
            at.next_col = col;
        }
        ASC_FN(gemm_place_run)(k, &at, tile, step, b, fetch + t * k->k * share, share);
    }
}

/* Rows of the block against a group of panels, in strips as wide as the registers allow for so many rows. */
static void run_group(const gemm_rows_block *k, int64_t first, int64_t rows, int64_t panel, int64_t panels,
                      const float *b) {
    int64_t col = panel * GEMM_PANEL, end = asc_least(col + panels * GEMM_PANEL, k->g->n), at = 0;
    for (int vectors; col < end; col += vectors * ASC_VF, at += vectors * ASC_VF) {
        int64_t room = panels * GEMM_PANEL - at;
        vectors = end - col > ASC_VF ? 2 : 1;
        if (rows == 1 && end - col > 2 * ASC_VF && room >= 8 * ASC_VF && at % GEMM_PANEL == 0) vectors = 8;
        if (rows >= 2 && rows <= GEMM_WIDE_ROWS && end - col > 2 * ASC_VF && room >= 4 * ASC_VF) vectors = 4;
        run_strip(k, first, rows, col, end - col, vectors,
                  b + at / GEMM_PANEL * k->b_panel + at % GEMM_PANEL / (k->fp16 ? 2 : 1));
    }
}

#define FEW_COLUMNS 128

/* How many of a group's panels, from the last one on, are better multiplied with exchanged roles: all when
 * columns are few, because a panel of weights is then read by whole lines; a last one that would leave too
 * much of its vectors idle. */
static int64_t swapped_panels(const gemm_rows_block *k, int64_t panel, int64_t panels) {
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
static void run_swapped(const gemm_rows_block *k, int64_t first, int64_t rows, int64_t panel, const float *b) {
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
static int64_t group_panels(const gemm_rows_block *k) {
    if (k->rows <= GEMM_WIDE_ROWS) return GEMM_WIDE_PANELS;
    if (!k->g->a_panels) return 1;
    int64_t fit = (384 << 10) / (GEMM_PANEL * (int64_t)sizeof(float)) / (k->k ? k->k : 1);
    return fit < 1 ? 1 : asc_least(fit, GEMM_GROUP);
}

/* The block's rows of a group of panels: where they lie already, or packed. Rows of B that are
 * contiguous serve a single row tile as they are. */
static const float *find_panels(gemm_rows_block *k, int64_t panel, int64_t panels, float *packed) {
    const gemm *g = k->g;
    k->fp16 = g->fp16 && (!g->pack || k->rows <= GEMM_ROWS);
    if (!g->pack || k->fp16) {
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
static const float *after_panel(const gemm_rows_block *k, int64_t p, int64_t panel, int64_t panel_end) {
    const gemm *g = k->g;
    int64_t k_end = k->k0 + k->k, line = gemm_line(g);
    if (p + 1 < panel_end) return g->b + ((p + 1) * g->k + k->k0) * line;
    if (k_end < g->k_to) return g->b + (panel * g->k + k_end) * line;
    if ((p + 1) * GEMM_PANEL < g->n) return g->b + ((p + 1) * g->k + g->k_from) * line;
    return k_end < g->k ? g->b + k_end * line : g->prefetch;
}

/* The same by tiles of pairs. */
static void run_tiles(const gemm *g, int64_t row, int64_t rows, int64_t panel, int64_t panel_end,
                      gemm_scratch *scratch) {
    int64_t group = rows <= GEMM_TILES_ROWS ? GEMM_TILES_PANELS : 1, k0 = g->k_from;
    ASC_FN(gemm_tiles_begin)(rows);
    do {
        gemm_rows_block k = {.g = g, .row = row, .rows = rows, .k0 = k0, .k = asc_least(g->k_block, g->k_to - k0)};
        k.a = (float *)(scratch + 1);
        k.a_line = gemm_tiles_line(k.k);
        if (!g->rounds && g->a_k == 1 && k.k % GEMM_TILES_PAIRS == 0) {
            k.a = g->a + row * g->a_row + k0;
            k.a_line = g->a_row;
        } else {
            pack_rows(&k, scratch, (float *)(scratch + 1), (float *)(scratch + 1) + rows * k.a_line);
        }
        for (int64_t p = panel, panels; p < panel_end; p += panels) {
            panels = asc_least(group, panel_end - p);
            const float *b = find_panels(&k, p, panels, NULL);
            k.next = after_panel(&k, p + panels - 1, panel, panel_end);
            ASC_FN(gemm_tiles_run)(&k, p, panels, b);
        }
        k0 += k.k;
    } while (k0 < g->k_to);
    ASC_FN(gemm_tiles_end)();
    if (g->streams) finish_streams();
}

void ASC_FN(gemm_block)(const gemm *g, int64_t row, int64_t rows, int64_t panel, int64_t panel_end,
                        gemm_scratch *scratch) {
    if (g->vnni2 && ASC_FN(gemm_has_tiles)()) {
        run_tiles(g, row, rows, panel, panel_end, scratch);
        return;
    }
    float *a_tiles = (float *)(scratch + 1);
    int64_t k0 = g->k_from;
    gemm_pending room, *pending = ASC_FN(gemm_pending_begin)(g, &room);
    do { /* once even when K is 0: the sums are zero and the epilogue still applies */
        gemm_rows_block k = {
            .g = g, .pending = pending, .row = row, .rows = rows, .k0 = k0, .k = asc_least(g->k_block, g->k_to - k0)};
        float *b_panels = g->a_panels ? a_tiles : a_tiles + (rows * k.k + 15) / 16 * 16;
        if (g->a_panels) {
            k.a = g->a + row * g->k + k0 * GEMM_PANEL;
        } else if (rows == 1 && g->a_k == 1 && !g->rounds && !g->norm.scale) {
            k.a = g->a + row * g->a_row + k0;
            scratch->packed = NULL; /* panels of B lie where other rows did */
        } else {
            pack_rows(&k, scratch, a_tiles, b_panels);
            k.a = a_tiles;
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
    } while (k0 < g->k_to);
    ASC_FN(gemm_pending_end)(g, pending);
    if (g->streams) finish_streams();
}
