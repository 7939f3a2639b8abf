/* conv_winograd: what conv_last computes, for planes of 3 x 3 taps with stride 1, by Winograd's F(2 x 2, 3 x 3).
 *
 * in:     X [N, H, W, C] or [N, D, H, W, C]; W [16, K C, M] in ASC_LAYOUT_PANEL32, K planes of taps: for each pair of
 *         channels the 4 x 4 elements of G w G^T, row by row; bias and residual as conv_last has them.
 * out:    Y [N, H', W', M] or [N, D', H', W', M]
 * ints, floats: as conv_last; one group, channels last.
 * Y may lie where the residual does.
 *
 * The 4 x 4 inputs d of a tile of 2 x 2 outputs become B^T d B; each of its 16 elements is multiplied, over the
 * channels and planes, with its matrix of weights; the 16 sums m become the outputs A^T m A. So 16 products do what 36
 * did. B and A hold 0, 1 and -1, and so rounding errors are no larger than those of 9 K C products in a row. But what
 * isn't finite in the inputs of a tile reaches all of its outputs.
 *
 * A chunk is a block of tiles by a range of weight panels: the block's transformed inputs stay in L2.
 */
#include "conv_winograd.h"

#include "conv_tile.h"

typedef struct winograd_note {
    tiling tiling;         /* whose pointers are prepare's */
    int64_t blocks, parts; /* of tiles, and of the panels of each */
    int64_t scratch_bytes, serial;
} winograd_note;
ASC_KERNEL_NOTE(conv_winograd, winograd_note)

static winograd_note *note_of(const asc_call *call) {
    return call->note;
}
#define INPUT_BYTES (768 << 10) /* transformed inputs of a block */
#define MOST_TILES (8 * CONV_ROWS)
#define APART 16 /* floats between the points of a block, so that they don't fall on the same sets of the cache */
static int32_t read_tiling(const asc_call *call, tiling *t) {
    const asc_tensor *w = &call->in[CONV_W];
    conv *c = &t->c;
    int32_t code = ASC_FN(conv_read)(call, 1, 1, c);
    if (code) return code;
    int fits = c->groups == 1 && call->in[CONV_X].rank >= 4 && !conv_last_params(call)->channels_first;
    for (int a = HEIGHT; a <= WIDTH; a++) fits = fits && c->kernel[a] == 3 && c->stride[a] == 1 && c->dilation[a] == 1;
    ASC_REQUIRE(call, fits, "conv_winograd: images with channels last, one group, a kernel of 3 x 3 with stride 1");
    ASC_REQUIRE(call, asc_mul_ok(c->kernel[DEPTH], c->in_channels, &t->depth),
                "conv_winograd: the kernel is too large");
    int64_t bytes = asc_packed_bytes(w->layout, t->depth, c->out_channels);
    ASC_REQUIRE(call,
                w->layout == ASC_LAYOUT_PANEL32 && w->rank == 3 && w->dims[0] == POINTS && w->dims[1] == t->depth &&
                    w->dims[2] == c->out_channels,
                "conv_winograd: weights are packed [16, K C, M]");
    t->rows = asc_ceil_div(c->out[HEIGHT], 2);
    t->columns = asc_ceil_div(c->out[WIDTH], 2);
    ASC_REQUIRE(call,
                bytes >= 0 && asc_mul_ok(bytes, POINTS, &bytes) && asc_mul_ok(t->rows, t->columns, &t->count) &&
                    asc_mul_ok(t->count, c->batch * c->out[DEPTH], &t->count),
                "conv_winograd: the operands are too large");
    return ASC_OK;
}

/* Nanoseconds of one thread; only to size chunks. */
static int64_t cost(const tiling *t) {
    double macs = (double)t->count * POINTS * (double)(t->depth + 8) * (double)t->c.out_channels;
    double ns = macs / (ASC_VF * 7);
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

/* Blocks as large as the cache allows, as many for every thread; parts of the panels where tiles are too few. */
static void split(asc_call *call, const tiling *t) {
    int64_t fit = INPUT_BYTES / (int64_t)sizeof(float) / POINTS / asc_most(1, t->depth);
    int64_t blocks = asc_ceil_div(t->count, asc_most(CONV_ROWS, asc_least(fit, MOST_TILES))), parts = 1;
    int serial = call->threads < 2 || cost(t) < 16000;
    if (!serial) {
        int64_t even = asc_ceil_div(blocks, call->threads) * call->threads;
        if (t->count >= even * CONV_ROWS)
            blocks = even;
        else
            parts = asc_least(asc_ceil_div(call->threads, blocks), asc_ceil_div(t->c.out_channels, GEMM_PANEL));
    }
    note_of(call)->blocks = blocks;
    note_of(call)->parts = parts;
    note_of(call)->serial = serial;
}

int32_t ASC_FN(conv_winograd_prepare)(asc_call *call) {
    tiling t;
    int32_t code = read_tiling(call, &t);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    note_of(call)->tiling = t;
    split(call, &t);
    int64_t tiles = asc_ceil_div(t.count, note_of(call)->blocks), floats, bytes, total;
    int fits = asc_mul_ok(tiles, t.depth + GEMM_PANEL, &floats) && asc_add_ok(floats, 2 * APART, &floats) &&
               asc_mul_ok(floats, POINTS * (int64_t)sizeof(float), &bytes) &&
               asc_add_ok(bytes, (int64_t)sizeof(conv_worker) + ASC_ALIGN, &bytes);
    bytes = fits ? bytes / ASC_ALIGN * ASC_ALIGN : 0;
    ASC_REQUIRE(call, fits && asc_mul_ok(bytes, call->threads, &total), "conv_winograd: the operands are too large");
    note_of(call)->scratch_bytes = bytes;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

/* All points of a block times one panel of their weights. */
static void multiply(const tiling *t, const block *b, int64_t panel) {
    const conv_run whole = {0, 0};
    int64_t depth = t->depth, size = depth * GEMM_PANEL;
    int64_t matrix = asc_ceil_div(t->c.out_channels, GEMM_PANEL) * size, groups = asc_ceil_div(b->tiles, CONV_ROWS);
    const float *weights = t->c.weights + panel * size;
    conv_tile tile = {.x_step = depth, .of = &whole, .runs = 1, .length = depth, .y_step = GEMM_PANEL};
    tile.end = (conv_ending){.low = -__builtin_inff(), .high = __builtin_inff()};
    tile.ahead_step = asc_ceil_div(GEMM_PANEL * (int64_t)sizeof(float), groups);
    for (int64_t point = 0; point < POINTS; point++) {
        const float *next = point + 1 < POINTS ? weights + (point + 1) * matrix : weights + size;
        for (int64_t column = 0; column < GEMM_PANEL; column += GEMM_TILE_COLS) {
            tile.w = weights + point * matrix + column;
            tile.columns = GEMM_TILE_COLS;
            tile.ahead = (uintptr_t)next;
            for (int64_t i = 0; i < groups; i++) {
                int64_t first = asc_split_at(b->tiles, groups, i),
                        tiles = asc_split_at(b->tiles, groups, i + 1) - first;
                tile.x = b->inputs + point * b->input_point + first * depth;
                tile.y = b->sums + point * b->sum_point + first * GEMM_PANEL + column;
                tile.next_y = tile.next_residual = (uintptr_t)tile.y;
                ASC_FN(conv_tile_run)((int)tiles, &tile);
                tile.ahead += (uintptr_t)(tile.ahead_step * depth);
            }
        }
    }
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const tiling *t = arg;
    int64_t blocks = note_of(call)->blocks, parts = note_of(call)->parts, index = chunk / parts;
    int64_t panels = asc_ceil_div(t->c.out_channels, GEMM_PANEL), part = chunk % parts;
    conv_worker *state = conv_worker_of(call, worker, note_of(call)->scratch_bytes);
    block b = {.first = asc_split_at(t->count, blocks, index), .inputs = (float *)(state + 1)};
    b.tiles = asc_split_at(t->count, blocks, index + 1) - b.first;
    b.input_point = b.tiles * t->depth + APART;
    b.sum_point = b.tiles * GEMM_PANEL + APART;
    b.sums = b.inputs + POINTS * b.input_point;
    finish f = {.end = ASC_FN(conv_ending_of)(&t->c.epilogue, 0), .after = ASC_FN(conv_after)(&t->c.epilogue)};
    f.limits = f.end.whole && !f.end.rounds;
    if (state->holds != index) ASC_FN(winograd_inputs)(t, &b);
    state->holds = index;
    for (int64_t p = asc_split_at(panels, parts, part); p < asc_split_at(panels, parts, part + 1); p++) {
        multiply(t, &b, p);
        ASC_FN(winograd_outputs)(t, &b, &f, p);
    }
}

int32_t ASC_FN(conv_winograd_run)(const asc_call *call) {
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    tiling t = note_of(call)->tiling;
    t.c = ASC_FN(conv_at)(call, &t.c);
    int64_t chunks = note_of(call)->blocks * note_of(call)->parts;
    for (int64_t i = 0; i < call->threads; i++) conv_worker_of(call, i, note_of(call)->scratch_bytes)->holds = -1;
    if (!note_of(call)->serial)
        asc_parallel(call, chunks, run_chunk, &t);
    else
        for (int64_t i = 0; i < chunks; i++) run_chunk(call, i, 0, &t);
    return ASC_OK;
}

void ASC_FN(conv_winograd_schedule)(const asc_call *call, char *text, size_t room) {
    const winograd_note *note = note_of(call);
    if (asc_numel(&call->out[0]) == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    int64_t chunks = note->blocks * note->parts;
    asc_format(text, room, "winograd_2x2_3x3 blocks=%ld parts=%ld tiles=%ld threads=%ld", note->blocks, note->parts,
               note->tiling.count, note->serial ? 1 : asc_least(chunks, call->threads));
}
