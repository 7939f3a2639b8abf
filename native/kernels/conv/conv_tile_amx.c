/* Tiles of convolution on pairs of bfloat16, by AMX: 32 pixels by 32 channels.
 *
 * A run of a window is cut into blocks of up to 16 pairs. Pixels a step apart are the rows of a tile A, and a panel's
 * rows are those of two tiles B, as they lie. Blocks of a run are of one size where that wastes little: then four tiles
 * C share what is loaded. Else the last one is smaller, and has tiles of its own shape, for which C leaves two.
 *
 * Where a tile has no 16 pixels, and what lies behind them may not be read, they are copied. Of 17 to 31, some are
 * computed twice. Of narrow lines a tile has several: those of a tile A follow each other, with what pads them.
 */
#include "amx.h"
#include "conv_tile.h"

#ifdef ASC_AMX

#include "chunks.h"
#include "conv_tile_finish.h"

#define FLOATS (AMX_ROW_BYTES / 4)   /* of a row of a tile: sums, or pairs */
#define PANEL_BYTES (GEMM_PANEL * 4) /* of a row of weights */
#define STEADY __attribute__((always_inline)) inline

/* A run is `count` blocks of `size` pairs, and one of `tail`, if that isn't 0. */
typedef struct blocks {
    int64_t count, size, tail;
} blocks;

static blocks cut(int64_t length) {
    int64_t least = asc_ceil_div(length, FLOATS);
    for (int64_t n = asc_most(1, least); 3 * n <= 4 * asc_most(1, least); n++)
        if (length % n == 0) return (blocks){n, length / n, 0};
    return (blocks){length / FLOATS, FLOATS, length % FLOATS};
}

/* Tiles: C are 0 and 1 (the two halves of the channels), and 2 and 3 of the second 16 pixels; A is 4, and 5 that of the
 * second 16 pixels; B are 6 and 7. With a tail its A is 5, and its B are 2 and 3. */
static void amx_begin(int64_t length) {
    amx_shapes shapes = amx_whole();
    blocks b = cut(length);
    for (int i = 4; i < 6; i++) amx_shape(&shapes, i, AMX_ROWS, (int)b.size * 4);
    for (int i = 6; i < 8; i++) amx_shape(&shapes, i, (int)b.size, AMX_ROW_BYTES);
    if (b.tail) {
        amx_shape(&shapes, 5, AMX_ROWS, (int)b.tail * 4);
        for (int i = 2; i < 4; i++) amx_shape(&shapes, i, (int)b.tail, AMX_ROW_BYTES);
    }
    amx_configure(&shapes);
}

/* What a tile brings nearer with each block: lines for L2 from `ahead` on, and the next tile's pixels of Y. */
typedef struct fetching {
    uintptr_t ahead, y, residual, pixel;
    int64_t left, each; /* pixels, and those of a block */
} fetching;

static fetching fetching_of(const conv_tile *t, int pixels, int64_t per_run) {
    fetching f = {t->ahead, t->next_y, t->next_residual, (uintptr_t)t->y_step * (t->narrow ? 2 : 4), pixels, 0};
    f.each = asc_ceil_div(pixels, asc_most(1, t->runs * per_run));
    return f;
}

static STEADY void fetch(fetching *f, uintptr_t bytes) {
    for (uintptr_t line = f->ahead; line < f->ahead + bytes; line += 64) __builtin_prefetch((const void *)line, 0, 2);
    f->ahead += bytes;
    for (int64_t i = asc_least(f->each, f->left); i > 0; i--, f->left--) {
        __builtin_prefetch((const void *)f->y, 0, 3);
        __builtin_prefetch((const void *)f->residual, 0, 3);
        f->y += f->pixel;
        f->residual += f->pixel;
    }
}

/* The pixels of a tile A. */
typedef struct pixels16 {
    int64_t step, second; /* floats from one to the next, and to the 16 that follow, of which some may be the same */
    int few;              /* 0, or how many there are: fewer than 16, and nothing else may be read */
} pixels16;

/* Copies a block of few pixels to where 16 rows may be read. */
static STEADY const float *gather(const pixels16 *p, const float *x, int64_t pairs, vf room[AMX_ROWS]) {
    __mmask16 mask = (__mmask16)((1u << pairs) - 1);
    for (int i = 0; i < p->few; i++) room[i] = (vf)_mm512_maskz_loadu_ps(mask, x + i * p->step);
    AMX_MEMORY();
    return (const float *)room;
}

#define LOAD_A(tile, at, pairs)                                        \
    do {                                                               \
        if (p->few)                                                    \
            AMX_LOAD(tile, gather(p, at, pairs, room), AMX_ROW_BYTES); \
        else                                                           \
            AMX_LOAD(tile, at, p->step * 4);                           \
    } while (0)

/* All blocks alike. `halves` of 16 pixels, `wide`: more than 16 channels. */
static STEADY void multiply_even(const conv_tile *t, const pixels16 *p, blocks b, fetching *f, int halves, int wide) {
    vf room[AMX_ROWS] = {0};
    for (int64_t r = 0; r < t->runs; r++) {
        const float *x = t->x + t->of[r].start, *w = t->w + t->of[r].weight;
        for (int64_t i = 0; i < b.count; i++, x += b.size, w += b.size * GEMM_PANEL) {
            AMX_LOAD(6, w, PANEL_BYTES);
            if (wide) AMX_LOAD(7, w + FLOATS, PANEL_BYTES);
            LOAD_A(4, x, b.size);
            AMX_MULTIPLY_BF16(0, 4, 6);
            if (wide) AMX_MULTIPLY_BF16(1, 4, 7);
            if (halves == 2) {
                AMX_LOAD(5, x + p->second, p->step * 4);
                AMX_MULTIPLY_BF16(2, 5, 6);
                if (wide) AMX_MULTIPLY_BF16(3, 5, 7);
            }
            fetch(f, (uintptr_t)(t->ahead_step * b.size));
        }
    }
}

/* With a smaller block at the end of each run; 16 pixels, from `x` on. */
static void multiply_tailed(const conv_tile *t, const pixels16 *p, const float *from, blocks b, fetching *f) {
    vf room[AMX_ROWS] = {0};
    for (int64_t r = 0; r < t->runs; r++) {
        const float *x = from + t->of[r].start, *w = t->w + t->of[r].weight;
        for (int64_t i = 0; i < b.count; i++, x += FLOATS, w += FLOATS * GEMM_PANEL) {
            AMX_LOAD(6, w, PANEL_BYTES);
            AMX_LOAD(7, w + FLOATS, PANEL_BYTES);
            LOAD_A(4, x, FLOATS);
            AMX_MULTIPLY_BF16(0, 4, 6);
            AMX_MULTIPLY_BF16(1, 4, 7);
            fetch(f, (uintptr_t)(t->ahead_step * FLOATS));
        }
        AMX_LOAD(2, w, PANEL_BYTES);
        AMX_LOAD(3, w + FLOATS, PANEL_BYTES);
        LOAD_A(5, x, b.tail);
        AMX_MULTIPLY_BF16(0, 5, 2);
        AMX_MULTIPLY_BF16(1, 5, 3);
        fetch(f, (uintptr_t)(t->ahead_step * b.tail));
    }
}

/* Sums begin with the bias: every row of C is it. */
static void read_bias(const conv_tile *t, vf bias[2]) {
    for (int v = 0; v < 2; v++) {
        int64_t left = t->columns - v * FLOATS;
        const float *at = t->bias + v * FLOATS;
        bias[v] = (vf){0};
        if (t->bias && left > 0) bias[v] = left < FLOATS ? vf_load_tail(at, left, 0) : vf_load(at);
    }
}

/* Lines of one tile A, and pixels from one to the next, which is 0 where there is one. */
static int64_t half_lines(int64_t width, int64_t x_line, int64_t x_step, int64_t *apart) {
    int together = width <= AMX_ROWS && x_line % x_step == 0 && x_line / x_step + width <= AMX_ROWS;
    *apart = together ? x_line / x_step : 0;
    return together ? (AMX_ROWS - width) / *apart + 1 : 1;
}

static int64_t amx_lines(int64_t width, int64_t x_line, int64_t x_step) {
    int64_t apart;
    return width > AMX_ROWS ? 1 : 2 * half_lines(width, x_line, x_step, &apart);
}

/* Where the sums of a tile are: those of line i at row i % half * apart of a tile C, of the first one or the second. */
typedef struct arrangement {
    int64_t half, apart;
    int rest; /* first row of the second C; not above 0: there is none */
    int64_t second;
} arrangement;

static arrangement arrange(const conv_tile *t, int pixels) {
    arrangement a = {1, 0, pixels - AMX_ROWS, 0};
    a.second = a.rest * t->x_step;
    if (t->lines > 1) {
        a.half = half_lines(pixels, t->x_line, t->x_step, &a.apart);
        a.rest = t->lines > a.half ? AMX_ROWS : 0;
        a.second = a.half * t->x_line;
    }
    return a;
}

static void even_sums(const conv_tile *t, int pixels, blocks b, const arrangement *a, const vf bias[2], vf (*sums)[2]) {
    int rest = a->rest;
    pixels16 p = {t->x_step, a->second, pixels < AMX_ROWS && !t->roomy ? pixels : 0};
    fetching f = fetching_of(t, (int)t->lines * pixels, b.count);
    AMX_MEMORY();
    AMX_LOAD(0, &bias[0], 0);
    AMX_LOAD(1, &bias[1], 0);
    if (rest > 0) {
        AMX_LOAD(2, &bias[0], 0);
        AMX_LOAD(3, &bias[1], 0);
    }
    if (rest <= 0)
        t->columns > FLOATS ? multiply_even(t, &p, b, &f, 1, 1) : multiply_even(t, &p, b, &f, 1, 0);
    else
        t->columns > FLOATS ? multiply_even(t, &p, b, &f, 2, 1) : multiply_even(t, &p, b, &f, 2, 0);
    if (rest > 0) {
        AMX_STORE(2, &sums[rest][0], 2 * AMX_ROW_BYTES);
        AMX_STORE(3, &sums[rest][1], 2 * AMX_ROW_BYTES);
    }
    AMX_STORE(0, &sums[0][0], 2 * AMX_ROW_BYTES);
    AMX_STORE(1, &sums[0][1], 2 * AMX_ROW_BYTES);
    AMX_MEMORY();
}

static void tailed_sums(const conv_tile *t, int pixels, blocks b, const arrangement *a, const vf bias[2],
                        vf (*sums)[2]) {
    pixels16 p = {t->x_step, 0, pixels < AMX_ROWS && !t->roomy ? pixels : 0};
    fetching f = fetching_of(t, (int)t->lines * pixels, b.count + 1);
    for (int second = 0; second <= (a->rest > 0); second++) {
        int at = second ? a->rest : 0;
        AMX_MEMORY();
        AMX_LOAD(0, &bias[0], 0);
        AMX_LOAD(1, &bias[1], 0);
        multiply_tailed(t, &p, t->x + (second ? a->second : 0), b, &f);
        AMX_STORE(0, &sums[at][0], 2 * AMX_ROW_BYTES);
        AMX_STORE(1, &sums[at][1], 2 * AMX_ROW_BYTES);
        AMX_MEMORY();
    }
}

static STEADY void finish_tile(const conv_tile *t, int pixels, int vectors, vf (*sums)[2]) {
    if (!ends_at_once(t))
        vectors == 2 ? finish_kept_2(t, pixels, sums) : finish_kept_1(t, pixels, sums);
    else if (!t->narrow && t->end.bends)
        finish_each(t, pixels, vectors, 0, 0, 0, 1, sums);
    else if (!t->narrow)
        finish_each(t, pixels, vectors, 0, 0, 1, 0, sums);
    else
        finish_each(t, pixels, vectors, 1, 0, 1, 0, sums);
}

static void amx_run(int pixels, const conv_tile *t) {
    vf bias[2], sums[CONV_AMX_ROWS][2];
    blocks b = cut(t->length);
    read_bias(t, bias);
    arrangement a = arrange(t, pixels);
    (b.tail ? tailed_sums : even_sums)(t, pixels, b, &a, bias, sums);
    conv_tile line = *t;
    for (int64_t i = 0; i < t->lines; i++) {
        int64_t at = i * pixels * t->y_step;
        vf(*of)[2] = sums + i / a.half * AMX_ROWS + i % a.half * a.apart;
        line.y = (void *)image_at(t->y, at, t->narrow);
        line.residual = t->residual ? image_at(t->residual, at, t->narrow) : NULL;
        t->columns > FLOATS ? finish_tile(&line, pixels, 2, of) : finish_tile(&line, pixels, 1, of);
    }
}

static const conv_tiles AMX_TILES = {
    .rows = CONV_AMX_ROWS,
    .behind = AMX_ROWS,
    .run = amx_run,
    .begin = amx_begin,
    .end = amx_release,
    .lines = amx_lines,
};

const conv_tiles *ASC_FN(conv_amx_tiles)(void) {
    return &AMX_TILES;
}

#else

const conv_tiles *ASC_FN(conv_amx_tiles)(void) {
    return NULL;
}

#endif
