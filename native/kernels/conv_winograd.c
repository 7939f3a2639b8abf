/* conv_winograd: what conv_last computes, for kernels of 3 x 3 with stride 1, by Winograd's F(2 x 2, 3 x 3).
 *
 * in:     X [N, H, W, C]; W [16, C, M] in ASC_LAYOUT_PANEL32: for each pair of channels the 4 x 4 elements of
 *         G w G^T, row by row; bias and residual as conv_last has them.
 * out:    Y [N, H', W', M]
 * ints, floats: as conv_last; one group, channels last.
 * Y may lie where the residual does.
 *
 * The 4 x 4 inputs d of a tile of 2 x 2 outputs become B^T d B; each of its 16 elements is multiplied, over the
 * channels, with its matrix of weights; the 16 sums m become the outputs A^T m A. So 16 products do what 36 did.
 * B and A hold 0, 1 and -1, and so rounding errors are no larger than those of 9 C products in a row. But what
 * isn't finite in the inputs of a tile reaches all of its outputs.
 *
 * A chunk is a block of tiles by a range of weight panels: the block's transformed inputs stay in L2.
 */
#include "conv_last.h"
#include "conv_tile.h"

enum { BLOCKS, PARTS, SCRATCH_BYTES, SERIAL };
enum { POINTS = 16 }; /* of a transformed tile */

#define INPUT_BYTES (768 << 10) /* transformed inputs of a block */
#define MOST_TILES (8 * CONV_ROWS)
#define APART 16 /* floats between the points of a block, so that they don't fall on the same sets of the cache */
#define ALWAYS static inline __attribute__((always_inline))

/* Tiles cover the outputs of an image, the last ones with a row or column too many. */
typedef struct tiling {
    conv c;
    int64_t rows, columns, count; /* of tiles: down, across, of the batch */
} tiling;

/* Of a block: its transformed inputs [point][tile][C], and sums of a panel [point][tile][GEMM_PANEL]. */
typedef struct block {
    int64_t first, tiles;
    float *inputs, *sums;
    int64_t input_point, sum_point; /* from one point to the next */
} block;

/* What a worker keeps between chunks; the floats of a block follow. */
typedef struct worker_state {
    int64_t block; /* whose transformed inputs are there; -1: none */
    int64_t pad[7];
} worker_state;

static int64_t ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}
static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t split_at(int64_t n, int64_t parts, int64_t i) {
    return n / parts * i + least(i, n % parts);
}

static int32_t read_tiling(const asc_call *call, tiling *t) {
    const asc_tensor *w = &call->in[CONV_W];
    conv *c = &t->c;
    int32_t code = ASC_FN(conv_read)(call, 1, 1, c);
    if (code) return code;
    int fits = c->groups == 1 && call->in[CONV_X].rank == 4 && call->ints[2] == 0;
    for (int a = HEIGHT; a <= WIDTH; a++) fits = fits && c->kernel[a] == 3 && c->stride[a] == 1 && c->dilation[a] == 1;
    ASC_REQUIRE(call, fits, "conv_winograd: images with channels last, one group, a kernel of 3 x 3 with stride 1");
    int64_t bytes = asc_packed_bytes(w->layout, c->in_channels, c->out_channels);
    ASC_REQUIRE(call,
                w->layout == ASC_LAYOUT_PANEL32 && w->rank == 3 && w->dims[0] == POINTS &&
                    w->dims[1] == c->in_channels && w->dims[2] == c->out_channels,
                "conv_winograd: weights are packed [16, C, M]");
    t->rows = ceil_div(c->out[HEIGHT], 2);
    t->columns = ceil_div(c->out[WIDTH], 2);
    ASC_REQUIRE(call,
                bytes >= 0 && asc_mul_ok(bytes, POINTS, &bytes) && asc_mul_ok(t->rows, t->columns, &t->count) &&
                    asc_mul_ok(t->count, c->batch, &t->count),
                "conv_winograd: the operands are too large");
    return ASC_OK;
}

/* Nanoseconds of one thread; only to size chunks. */
static int64_t cost(const tiling *t) {
    double macs = (double)t->count * POINTS * (double)(t->c.in_channels + 8) * (double)t->c.out_channels;
    double ns = macs / (ASC_VF * 7);
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

/* Blocks as large as the cache allows, as many for every thread; parts of the panels where tiles are too few. */
static void split(asc_call *call, const tiling *t) {
    int64_t fit = INPUT_BYTES / (int64_t)sizeof(float) / POINTS / most(1, t->c.in_channels);
    int64_t blocks = ceil_div(t->count, most(CONV_ROWS, least(fit, MOST_TILES))), parts = 1;
    int serial = call->threads < 2 || cost(t) < 16000;
    if (!serial) {
        int64_t even = ceil_div(blocks, call->threads) * call->threads;
        if (t->count >= even * CONV_ROWS)
            blocks = even;
        else
            parts = least(ceil_div(call->threads, blocks), ceil_div(t->c.out_channels, GEMM_PANEL));
    }
    call->scratch[BLOCKS] = blocks;
    call->scratch[PARTS] = parts;
    call->scratch[SERIAL] = serial;
}

int32_t ASC_FN(conv_winograd_prepare)(asc_call *call) {
    tiling t;
    int32_t code = read_tiling(call, &t);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    split(call, &t);
    int64_t tiles = ceil_div(t.count, call->scratch[BLOCKS]), floats, bytes, total;
    int fits = asc_mul_ok(tiles, t.c.in_channels + GEMM_PANEL, &floats) && asc_add_ok(floats, 2 * APART, &floats) &&
               asc_mul_ok(floats, POINTS * (int64_t)sizeof(float), &bytes) &&
               asc_add_ok(bytes, (int64_t)sizeof(worker_state) + ASC_ALIGN, &bytes);
    bytes = fits ? bytes / ASC_ALIGN * ASC_ALIGN : 0;
    ASC_REQUIRE(call, fits && asc_mul_ok(bytes, call->threads, &total), "conv_winograd: the operands are too large");
    call->scratch[SCRATCH_BYTES] = bytes;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

static worker_state *state_of(const asc_call *call, int64_t worker) {
    return (worker_state *)((char *)call->workspace + worker * call->scratch[SCRATCH_BYTES]);
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* Where a tile's inputs begin: they may lie partly outside the image. */
typedef struct patch {
    const float *at; /* of the element at [row, column]; only valid inside */
    int64_t row, column;
    int inside;
} patch;

static patch find_patch(const tiling *t, int64_t tile) {
    const conv *c = &t->c;
    int64_t per_image = t->rows * t->columns, image = tile / per_image, within = tile % per_image;
    patch p = {.row = within / t->columns * 2 - c->pad[HEIGHT], .column = within % t->columns * 2 - c->pad[WIDTH]};
    p.inside = p.row >= 0 && p.column >= 0 && p.row + 4 <= c->in[HEIGHT] && p.column + 4 <= c->in[WIDTH];
    p.at = c->x + image * c->in_size * c->in_channels;
    if (p.inside) p.at += (p.row * c->in[WIDTH] + p.column) * c->in_channels;
    return p;
}

ALWAYS vf load_input(const conv *c, const patch *p, int64_t i, int64_t j, int64_t channel, int tail, int64_t lanes) {
    const float *at = p->at + channel;
    if (p->inside) {
        at += (i * c->in[WIDTH] + j) * c->in_channels;
    } else {
        int64_t row = p->row + i, column = p->column + j;
        if (row < 0 || column < 0 || row >= c->in[HEIGHT] || column >= c->in[WIDTH]) return (vf){0};
        at += (row * c->in[WIDTH] + column) * c->in_channels;
    }
    return tail ? vf_load_tail(at, lanes, 0) : vf_load(at);
}

ALWAYS void store_input(float *out, vf v, int tail, int64_t lanes) {
    if (tail)
        vf_store_tail(out, v, lanes);
    else
        vf_store(out, v);
}

/* B^T d B of up to ASC_VF channels. */
ALWAYS void transform_channels(const conv *c, const patch *p, int64_t channel, int tail, int64_t lanes, float *out,
                               int64_t point) {
    vf down[4][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        vf d[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) d[i] = load_input(c, p, i, j, channel, tail, lanes);
        down[0][j] = d[0] - d[2];
        down[1][j] = d[1] + d[2];
        down[2][j] = d[2] - d[1];
        down[3][j] = d[1] - d[3];
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, out += 4 * point) {
        store_input(out, down[i][0] - down[i][2], tail, lanes);
        store_input(out + point, down[i][1] + down[i][2], tail, lanes);
        store_input(out + 2 * point, down[i][2] - down[i][1], tail, lanes);
        store_input(out + 3 * point, down[i][1] - down[i][3], tail, lanes);
    }
}

static void transform_inputs(const tiling *t, const block *b) {
    const conv *c = &t->c;
    float *out = b->inputs;
    for (int64_t i = 0; i < b->tiles; i++, out += c->in_channels) {
        patch p = find_patch(t, b->first + i);
        int64_t channel = 0;
        for (; channel + ASC_VF <= c->in_channels; channel += ASC_VF)
            transform_channels(c, &p, channel, 0, ASC_VF, out + channel, b->input_point);
        if (channel < c->in_channels)
            transform_channels(c, &p, channel, 1, c->in_channels - channel, out + channel, b->input_point);
    }
}

/* ---- products ------------------------------------------------------------------------------ */

/* All points of a block times one panel of their weights. */
static void multiply(const tiling *t, const block *b, int64_t panel) {
    int64_t depth = t->c.in_channels, size = depth * GEMM_PANEL, zero = 0;
    int64_t matrix = ceil_div(t->c.out_channels, GEMM_PANEL) * size, groups = ceil_div(b->tiles, CONV_ROWS);
    const float *weights = t->c.weights + panel * size;
    conv_tile tile = {.x_step = depth, .starts = &zero, .runs = 1, .length = depth, .y_step = GEMM_PANEL};
    tile.low = -__builtin_inff();
    tile.high = __builtin_inff();
    tile.ahead_step = ceil_div(GEMM_PANEL * (int64_t)sizeof(float), groups);
    for (int64_t point = 0; point < POINTS; point++) {
        const float *next = point + 1 < POINTS ? weights + (point + 1) * matrix : weights + size;
        for (int64_t column = 0; column < GEMM_PANEL; column += GEMM_TILE_COLS) {
            tile.w = weights + point * matrix + column;
            tile.columns = GEMM_TILE_COLS;
            tile.ahead = (uintptr_t)next;
            for (int64_t i = 0; i < groups; i++) {
                int64_t first = split_at(b->tiles, groups, i), tiles = split_at(b->tiles, groups, i + 1) - first;
                tile.x = b->inputs + point * b->input_point + first * depth;
                tile.y = b->sums + point * b->sum_point + first * GEMM_PANEL + column;
                ASC_FN(conv_tile_run)((int)tiles, &tile);
                tile.ahead += (uintptr_t)(tile.ahead_step * depth);
            }
        }
    }
}

/* ---- outputs ------------------------------------------------------------------------------- */

/* What becomes of A^T m A: its bias, residual and bounds; `after` is what bounds don't express. */
typedef struct finish {
    vf low, high;
    int limits;
    epilogue after;
} finish;

/* Up to ASC_VF channels of the output at one place. */
ALWAYS void store_output(const conv *c, const finish *f, int64_t at, int64_t channel, vf sum, int tail, int64_t lanes) {
    const float *bias = c->epilogue.bias.data, *residual = c->epilogue.residual.data;
    if (bias) sum += tail ? vf_load_tail(bias + channel, lanes, 0) : vf_load(bias + channel);
    if (residual) sum += tail ? vf_load_tail(residual + at + channel, lanes, 0) : vf_load(residual + at + channel);
    store_input(c->y + at + channel, vf_min(f->high, vf_max(f->low, sum)), tail, lanes);
}

/* A^T m A of up to ASC_VF channels of one tile, where `rows` x `columns` of its outputs exist from `at` on. */
ALWAYS void transform_sums(const conv *c, const finish *f, const float *sums, int64_t point, int64_t at, int64_t rows,
                           int64_t columns, int64_t channel, int tail, int64_t lanes) {
    vf across[2][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        vf m[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) m[i] = vf_load(sums + (4 * i + j) * point);
        across[0][j] = m[0] + m[1] + m[2];
        across[1][j] = m[1] - m[2] - m[3];
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++, at += c->out[WIDTH] * c->out_channels) {
        const vf *m = across[i];
        if (i >= rows) break;
        store_output(c, f, at, channel, m[0] + m[1] + m[2], tail, lanes);
        if (columns > 1) store_output(c, f, at + c->out_channels, channel, m[1] - m[2] - m[3], tail, lanes);
    }
}

static void transform_outputs(const tiling *t, const block *b, const finish *f, int64_t panel) {
    const conv *c = &t->c;
    int64_t from = panel * GEMM_PANEL, width = least(GEMM_PANEL, c->out_channels - from);
    int64_t per_image = t->rows * t->columns;
    for (int64_t i = 0; i < b->tiles; i++) {
        int64_t image = (b->first + i) / per_image, within = (b->first + i) % per_image;
        int64_t row = within / t->columns * 2, column = within % t->columns * 2, channel = 0;
        int64_t rows = least(2, c->out[HEIGHT] - row), columns = least(2, c->out[WIDTH] - column);
        int64_t at = (image * c->out_size + row * c->out[WIDTH] + column) * c->out_channels;
        const float *sums = b->sums + i * GEMM_PANEL;
        for (; channel + ASC_VF <= width; channel += ASC_VF)
            transform_sums(c, f, sums + channel, b->sum_point, at, rows, columns, from + channel, 0, ASC_VF);
        if (channel < width)
            transform_sums(c, f, sums + channel, b->sum_point, at, rows, columns, from + channel, 1, width - channel);
        for (int64_t k = 0; !f->limits && k < rows; k++, at += c->out[WIDTH] * c->out_channels)
            ASC_FN(epilogue_apply)(&f->after, c->y + at + from, c->out_channels, 0, columns, 0, width);
    }
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const tiling *t = arg;
    int64_t blocks = call->scratch[BLOCKS], parts = call->scratch[PARTS], index = chunk / parts;
    int64_t panels = ceil_div(t->c.out_channels, GEMM_PANEL), part = chunk % parts;
    worker_state *state = state_of(call, worker);
    block b = {.first = split_at(t->count, blocks, index), .inputs = (float *)(state + 1)};
    b.tiles = split_at(t->count, blocks, index + 1) - b.first;
    b.input_point = b.tiles * t->c.in_channels + APART;
    b.sum_point = b.tiles * GEMM_PANEL + APART;
    b.sums = b.inputs + POINTS * b.input_point;
    float low, high;
    finish f = {.limits = ASC_FN(conv_limits)(&t->c.epilogue, &low, &high)};
    f.after = ASC_FN(conv_after)(&t->c.epilogue);
    f.low = vf_set(low);
    f.high = vf_set(high);
    if (state->block != index) transform_inputs(t, &b);
    state->block = index;
    for (int64_t p = split_at(panels, parts, part); p < split_at(panels, parts, part + 1); p++) {
        multiply(t, &b, p);
        transform_outputs(t, &b, &f, p);
    }
}

int32_t ASC_FN(conv_winograd_run)(const asc_call *call) {
    tiling t;
    int32_t code = read_tiling(call, &t);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    int64_t chunks = call->scratch[BLOCKS] * call->scratch[PARTS];
    for (int64_t i = 0; i < call->threads; i++) state_of(call, i)->block = -1;
    if (!call->scratch[SERIAL])
        asc_parallel(call, chunks, run_chunk, &t);
    else
        for (int64_t i = 0; i < chunks; i++) run_chunk(call, i, 0, &t);
    return ASC_OK;
}
