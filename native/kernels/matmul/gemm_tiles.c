/* Products of pairs of bfloat16 by tiles: two by two tiles of sums, or one by four when all rows are in one. */
#include "gemm_tiles.h"

#include "amx.h"
#include "chunks.h"

#if defined(ASC_AMX)
#include <string.h>

#define LINE (GEMM_PANEL * (int64_t)sizeof(float)) /* bytes of a row of a panel, and of one of the sums */
#define HALF (AMX_SUMS * (int64_t)sizeof(float))   /* of a row of a tile */
#define BLOCK_SUMS (AMX_ROWS * GEMM_PANEL)         /* of a block of rows and a panel */
#define TILE_LINES (2 * GEMM_TILES_PAIRS)          /* lines of 64 bytes of a panel that one step multiplies */

_Static_assert(2 * AMX_SUMS == GEMM_PANEL && 2 * GEMM_TILES_PAIRS == AMX_BF16_K, "a panel is two tiles wide");
_Static_assert(GEMM_TILES_ROWS == AMX_ROWS, "rows of a tile");

int ASC_FN(gemm_has_tiles)(void) {
    return 1;
}

/* Rows in blocks of one height, up to a tile's. The last ones overlap: what is multiplied twice is stored once. */
typedef struct row_blocks {
    int64_t rows, count, height;
} row_blocks;

static row_blocks cut_rows(int64_t rows) {
    int64_t count = asc_ceil_div(rows, AMX_ROWS);
    return (row_blocks){rows, count, asc_ceil_div(rows, count)};
}

static int64_t block_row(const row_blocks *b, int64_t i) {
    return asc_least(i * b->height, b->rows - b->height);
}

void ASC_FN(gemm_tiles_begin)(int64_t rows) {
    amx_shapes shapes = amx_whole();
    int height = (int)cut_rows(rows).height;
    for (int i = 0; i < 6; i++) amx_shape(&shapes, i, height, AMX_ROW_BYTES); /* sums, and rows of A */
    amx_configure(&shapes);
}

void ASC_FN(gemm_tiles_end)(void) {
    amx_release();
}

/* What a run of products along K reads: blocks of rows of A, and panels of B whose lines behind the last whole tile lie
 * apart, with zeros behind them. */
typedef struct factors {
    const char *a[2], *b[GEMM_TILES_PANELS];
    const char *b_rest[GEMM_TILES_PANELS];
    int64_t a_line;      /* bytes */
    int64_t steps, rest; /* whole tiles along K; whether there are lines behind them */
    const char *fetch;   /* brought near meanwhile, `fetch_lines` of 64 bytes each step */
    int64_t fetch_lines;
} factors;

static inline void fetch_step(const factors *f, int64_t step) {
    const char *p = f->fetch + step * f->fetch_lines * 64;
    for (int64_t i = 0; i < f->fetch_lines; i++) __builtin_prefetch(p + 64 * i, 0, 2);
}

static inline __attribute__((always_inline)) void step_2x2(const char *a0, const char *a1, int64_t a_line,
                                                           const char *b) {
    AMX_LOAD(4, a0, a_line);
    AMX_LOAD(6, b, LINE);
    AMX_LOAD(7, b + HALF, LINE);
    AMX_LOAD(5, a1, a_line);
    AMX_MULTIPLY_BF16(0, 4, 6);
    AMX_MULTIPLY_BF16(1, 4, 7);
    AMX_MULTIPLY_BF16(2, 5, 6);
    AMX_MULTIPLY_BF16(3, 5, 7);
}

static void multiply_2x2(const factors *f) {
    const char *a0 = f->a[0], *a1 = f->a[1], *b = f->b[0];
    for (int64_t i = 0; i < f->steps; i++, a0 += AMX_ROW_BYTES, a1 += AMX_ROW_BYTES, b += AMX_ROWS * LINE) {
        step_2x2(a0, a1, f->a_line, b);
        fetch_step(f, i);
    }
    if (f->rest) step_2x2(a0, a1, f->a_line, f->b_rest[0]);
}

static inline __attribute__((always_inline)) void step_1x2(const char *a, int64_t a_line, const char *b) {
    AMX_LOAD(4, a, a_line);
    AMX_LOAD(6, b, LINE);
    AMX_LOAD(7, b + HALF, LINE);
    AMX_MULTIPLY_BF16(0, 4, 6);
    AMX_MULTIPLY_BF16(1, 4, 7);
}

static void multiply_1x2(const factors *f) {
    const char *a = f->a[0], *b = f->b[0];
    for (int64_t i = 0; i < f->steps; i++, a += AMX_ROW_BYTES, b += AMX_ROWS * LINE) {
        step_1x2(a, f->a_line, b);
        fetch_step(f, i);
    }
    if (f->rest) step_1x2(a, f->a_line, f->b_rest[0]);
}

static inline __attribute__((always_inline)) void step_1x4(const char *a, int64_t a_line, const char *b,
                                                           const char *other) {
    step_1x2(a, a_line, b);
    AMX_LOAD(6, other, LINE);
    AMX_LOAD(7, other + HALF, LINE);
    AMX_MULTIPLY_BF16(2, 4, 6);
    AMX_MULTIPLY_BF16(3, 4, 7);
}

static void multiply_1x4(const factors *f) {
    const char *a = f->a[0], *b = f->b[0], *other = f->b[1];
    for (int64_t i = 0; i < f->steps; i++, a += AMX_ROW_BYTES, b += AMX_ROWS * LINE, other += AMX_ROWS * LINE) {
        step_1x4(a, f->a_line, b, other);
        fetch_step(f, i);
    }
    if (f->rest) step_1x4(a, f->a_line, f->b_rest[0], f->b_rest[1]);
}

/* A block of rows and a panel of the output: two tiles of sums. */
typedef struct place {
    int64_t row, col;
    int64_t skip; /* rows that another block has stored */
    float *sums;  /* in the output or aside, in rows of `width` */
    int64_t width;
    int aside;
} place;

/* Where the sums of a block of rows grow: in the output, if they are whole and nothing else becomes of them now. */
static place place_of(const gemm_rows_block *k, const row_blocks *b, int64_t block, int64_t col, float *room) {
    const gemm *g = k->g;
    int last = k->k0 + k->k == g->k, ends = last && (g->streams || !epilogue_is_plain(&g->epilogue));
    int64_t from = block_row(b, block);
    place at = {.row = k->row + from, .col = col, .skip = block * b->height - from};
    at.aside = g->gated || ends || g->n - col < GEMM_PANEL || at.skip > 0;
    at.sums = at.aside ? room : g->c + at.row * g->ldc + col;
    at.width = at.aside ? GEMM_PANEL : g->ldc;
    return at;
}

/* Sums of K's blocks before this one, where the tiles load them. Those of rows that another block has stored already
 * are wrong, and stored nowhere. */
static void resume(const gemm_rows_block *k, const place *at, int64_t rows) {
    const gemm *g = k->g;
    int64_t cols = asc_least(GEMM_PANEL, g->n - at->col);
    if (!at->aside) return;
    const float *c = g->c + at->row * g->ldc + at->col;
    for (int64_t i = 0; i < rows; i++) {
        memcpy(at->sums + i * GEMM_PANEL, c + i * g->ldc, (size_t)cols * sizeof *c);
        memset(at->sums + i * GEMM_PANEL + cols, 0, (size_t)(GEMM_PANEL - cols) * sizeof *c);
    }
}

/* The tiles of sums `left` and `right` begin at zero, or go on. */
#define BEGIN(k, at, rows, left, right)                                                   \
    do {                                                                                  \
        if ((k)->k0 == 0) {                                                               \
            AMX_ZERO(left);                                                               \
            AMX_ZERO(right);                                                              \
        } else {                                                                          \
            resume(k, at, rows);                                                          \
            AMX_MEMORY();                                                                 \
            AMX_LOAD(left, (at)->sums, (at)->width * (int64_t)sizeof(float));             \
            AMX_LOAD(right, (at)->sums + AMX_SUMS, (at)->width * (int64_t)sizeof(float)); \
        }                                                                                 \
    } while (0)

#define STORE(at, left, right)                                                         \
    do {                                                                               \
        AMX_STORE(left, (at)->sums, (at)->width * (int64_t)sizeof(float));             \
        AMX_STORE(right, (at)->sums + AMX_SUMS, (at)->width * (int64_t)sizeof(float)); \
        AMX_MEMORY();                                                                  \
    } while (0)

static void end_place(const gemm_rows_block *k, const place *at, int64_t rows) {
    if (at->aside)
        ASC_FN(gemm_end_sums)(k, at->sums + at->skip * GEMM_PANEL, GEMM_PANEL, at->row + at->skip, rows - at->skip,
                              at->col);
}

/* The lines of a panel behind its last whole tile. */
static void copy_rest(const gemm_rows_block *k, const float *panel, float *out) {
    int64_t whole = k->k / GEMM_TILES_PAIRS * GEMM_TILES_PAIRS, lines = k->k - whole;
    memset(out, 0, (size_t)(AMX_ROWS * LINE));
    memcpy(out, panel + whole * GEMM_PANEL, (size_t)(lines * LINE));
}

static void run_one_block(const gemm_rows_block *k, const row_blocks *b, int64_t block, int64_t panel, int64_t panels,
                          const factors *f, float *room) {
    place left = place_of(k, b, block, panel * GEMM_PANEL, room);
    BEGIN(k, &left, b->height, 0, 1);
    if (panels == 1) {
        multiply_1x2(f);
        STORE(&left, 0, 1);
        end_place(k, &left, b->height);
        return;
    }
    place right = place_of(k, b, block, (panel + 1) * GEMM_PANEL, room + BLOCK_SUMS);
    BEGIN(k, &right, b->height, 2, 3);
    multiply_1x4(f);
    STORE(&left, 0, 1);
    STORE(&right, 2, 3);
    end_place(k, &left, b->height);
    end_place(k, &right, b->height);
}

static void run_two_blocks(const gemm_rows_block *k, const row_blocks *b, int64_t block, int64_t panel,
                           const factors *f, float *room) {
    place above = place_of(k, b, block, panel * GEMM_PANEL, room);
    place below = place_of(k, b, block + 1, panel * GEMM_PANEL, room + b->height * GEMM_PANEL);
    BEGIN(k, &above, b->height, 0, 1);
    BEGIN(k, &below, b->height, 2, 3);
    multiply_2x2(f);
    STORE(&above, 0, 1);
    STORE(&below, 2, 3);
    if (below.skip) {
        end_place(k, &above, b->height);
        end_place(k, &below, b->height);
    } else {
        end_place(k, &above, 2 * b->height); /* whose sums lie one behind the other */
    }
}

void ASC_FN(gemm_tiles_run)(const gemm_rows_block *k, int64_t panel, int64_t panels, const float *b) {
    _Alignas(64) float room[2 * BLOCK_SUMS], rest[GEMM_TILES_PANELS * BLOCK_SUMS];
    row_blocks blocks = cut_rows(k->rows);
    int64_t pairs = asc_ceil_div(blocks.count, 2), wanted = k->next ? asc_ceil_div(panels * TILE_LINES, pairs) : 0;
    factors f = {.a_line = k->a_line * (int64_t)sizeof(float), .steps = k->k / GEMM_TILES_PAIRS};
    f.rest = k->k % GEMM_TILES_PAIRS != 0;
    f.fetch_lines = wanted;
    for (int64_t i = 0; i < panels; i++) {
        const float *from = b + i * k->b_panel;
        if (f.rest) copy_rest(k, from, rest + i * BLOCK_SUMS);
        f.b[i] = (const char *)from;
        f.b_rest[i] = (const char *)(rest + i * BLOCK_SUMS);
    }
    for (int64_t i = 0; i < blocks.count; i += 2) {
        int two = i + 1 < blocks.count;
        for (int j = 0; j < 1 + two; j++) f.a[j] = (const char *)(k->a + block_row(&blocks, i + j) * k->a_line);
        f.fetch = (const char *)k->next + i / 2 * f.steps * wanted * 64;
        AMX_MEMORY();
        if (two)
            run_two_blocks(k, &blocks, i, panel, &f, room);
        else
            run_one_block(k, &blocks, i, panel, panels, &f, room);
    }
}

#else

int ASC_FN(gemm_has_tiles)(void) {
    return 0;
}

void ASC_FN(gemm_tiles_begin)(int64_t rows) {
    (void)rows;
}

void ASC_FN(gemm_tiles_end)(void) {}

void ASC_FN(gemm_tiles_run)(const gemm_rows_block *k, int64_t panel, int64_t panels, const float *b) {
    (void)k, (void)panel, (void)panels, (void)b;
}

#endif
