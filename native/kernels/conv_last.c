/* conv_last: Y = activation(convolution of X by W + bias + residual), channels last.
 *
 * in:     X [N, spatial.., C], or [N, C, spatial..] when channels_first is 1; W; bias (absent, or [M]);
 *         residual (absent, or the dims of Y). One or two spatial axes.
 *         W is [group, taps * C / group, M / group] in ASC_LAYOUT_PANEL32, a row for each tap and channel, the
 *         channels of a tap together; or [taps, M] when each group has one input and one output channel.
 *         Or W is in ASC_LAYOUT_PAIRS32, the channels of a tap and group made even by a zero; an odd number of
 *         them takes one group. Then X is rounded to bfloat16 as well, and sums stay float32.
 *         X may be bfloat16 when W is in pairs or its channels are apart, and its own channels come last.
 * out:    Y [N, spatial.., M]; bfloat16 together with the residual, when the activation only limits.
 * ints:   group, activation, channels_first, then for each spatial axis: kernel, stride, dilation, pad before.
 *         Positions outside X read as zero, so the padding after X follows from Y's dims.
 * floats: low, high (the bounds of EPILOGUE_CLIP)
 * Y may lie where the residual does.
 *
 * A chunk is a span of output pixels by a range of weight panels. Its inputs are read where they lie, or copied
 * with their padding into a strip that stays in L2.
 */
#include "conv_last.h"

#include <math.h>

#include "conv_tile.h"

enum { SPANS, SPAN, PARTS, SCRATCH_BYTES, SERIAL };

#define STRIP_BYTES (320 << 10)     /* a strip leaves room for weights in L2 */
#define MOST_STRIP_FLOATS (1 << 26) /* of a single row */
#define WEIGHT_BYTES (384 << 10)    /* weights of a chunk that stay in L2 while tiles pass */
#define BLOCK_BYTES (16 << 10)      /* inputs that stay in L1 while weights pass */

/* What a worker keeps between chunks; the starts of the runs follow, then the strip. */
typedef struct worker_state {
    int64_t span; /* whose inputs the strip holds; -1: none */
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
    return n / parts * i + (i < n % parts ? i : n % parts);
}

static int32_t read_weights(const asc_call *call, conv *c) {
    const asc_tensor *w = &call->in[CONV_W];
    c->pairs = w->layout == ASC_LAYOUT_PAIRS32;
    c->group_depth = c->pairs ? ceil_div(c->group_in, 2) : c->group_in;
    c->depth = c->group_depth * c->groups;
    ASC_REQUIRE(call, c->pairs == (w->dtype == ASC_BFLOAT16), "conv_last: pairs are of bfloat16");
    if (conv_is_channelwise(c)) {
        ASC_REQUIRE(
            call,
            w->layout == ASC_LAYOUT_PLAIN && w->rank == 2 && w->dims[0] == c->taps && w->dims[1] == c->out_channels,
            "conv_last: the weights of channels apart are [taps, M]");
        ASC_REQUIRE(call, c->x_last, "conv_last: channels apart come last");
        return ASC_OK;
    }
    ASC_REQUIRE(call, c->pairs || !c->x_narrow, "conv_last: a bfloat16 image takes weights in pairs");
    ASC_REQUIRE(call, !c->pairs || c->groups == 1 || c->group_in % 2 == 0,
                "conv_last: pairs take an even number of channels in a group");
    int64_t rows = c->group_depth * c->taps;
    ASC_REQUIRE(call,
                (c->pairs || w->layout == ASC_LAYOUT_PANEL32) && w->rank == 3 && w->dims[0] == c->groups &&
                    w->dims[1] == (c->pairs ? 2 : 1) * rows && w->dims[2] == c->group_out,
                "conv_last: weights are packed [group, taps * C / group, M / group]");
    int64_t bytes = asc_packed_bytes(w->layout, w->dims[1], w->dims[2]);
    ASC_REQUIRE(call, bytes >= 0 && asc_mul_ok(bytes, c->groups, &bytes), "conv_last: the weights are too large");
    return ASC_OK;
}

static int32_t read_conv(const asc_call *call, conv *c) {
    ASC_REQUIRE(call, call->n_ints > 2 && (call->ints[2] == 0 || call->ints[2] == 1),
                "conv_last: channels_first is 0 or 1");
    int32_t code = ASC_FN(conv_read)(call, call->ints[2] == 0, 1, c);
    if (code) return code;
    c->x_narrow = call->in[CONV_X].dtype == ASC_BFLOAT16;
    c->y_narrow = call->out[0].dtype == ASC_BFLOAT16;
    ASC_REQUIRE(call, c->x_last || !c->x_narrow, "conv_last: a bfloat16 image has channels last");
    float low, high;
    ASC_REQUIRE(call, !c->y_narrow || ASC_FN(conv_limits)(&c->epilogue, &low, &high),
                "conv_last: this activation has a float32 result");
    ASC_REQUIRE(call, call->in[CONV_X].rank <= 4, "conv_last has one or two spatial axes");
    ASC_REQUIRE(call, c->taps <= CONV_MOST_TAPS, "conv_last: the kernel is too large");
    return read_weights(call, c);
}

int ASC_FN(conv_limits)(const epilogue *e, float *low, float *high) {
    *low = -INFINITY;
    *high = INFINITY;
    if (e->activation == EPILOGUE_RELU) *low = 0;
    if (e->activation == EPILOGUE_CLIP) {
        *low = e->low;
        *high = e->high;
    }
    if (e->rounding != ROUND_NOT) return 0;
    return e->activation == EPILOGUE_NONE || e->activation == EPILOGUE_RELU || e->activation == EPILOGUE_CLIP;
}

epilogue ASC_FN(conv_after)(const epilogue *e) {
    epilogue after = {.alpha = 1, .beta = 1, .low = e->low, .high = e->high, .activation = e->activation};
    after.rounding = e->rounding;
    return after;
}

int ASC_FN(conv_rounds)(const epilogue *e, float *low, float *high) {
    epilogue unrounded = *e;
    unrounded.rounding = ROUND_NOT;
    return e->rounding == ROUND_FLOAT16 && ASC_FN(conv_limits)(&unrounded, low, high);
}

/* Nanoseconds of one thread; only to size chunks. */
static int64_t cost(const conv *c) {
    double macs =
        (double)c->batch * (double)c->out_channels * (double)c->out_size * (double)(c->group_depth * c->taps + 4);
    double ns = macs / (ASC_VF * (c->group_in > 1 ? 7 : 2));
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

static int64_t group_panels(const conv *c) {
    return ceil_div(c->group_out, GEMM_PANEL);
}

/* Runs of the taps of a window: neighbours along the width when their channels are, too. */
static int64_t run_count(const conv *c) {
    return c->dilation[WIDTH] == 1 && c->groups == 1 ? c->kernel[HEIGHT] : c->taps;
}

/* Whether the weights leave L2 while a span passes them. */
static int is_heavy(const conv *c) {
    int64_t rows = WEIGHT_BYTES / (int64_t)sizeof(float) / GEMM_PANEL / (c->groups * group_panels(c));
    return c->group_depth * c->taps > rows;
}

/* Rows (flat: pixels) of a span: no fewer than pay for a pass of the weights, no more than a strip holds. */
static int64_t span_size(const conv *c, int64_t count, int64_t spans) {
    int flat = conv_is_flat(c);
    int64_t pixels = is_heavy(c) ? 7 * CONV_ROWS : 2 * CONV_ROWS, wide = flat ? 1 : c->out[WIDTH];
    int64_t one = ASC_FN(conv_strip_size)(c, 1), two = ASC_FN(conv_strip_size)(c, 2);
    int64_t room = STRIP_BYTES / (int64_t)sizeof(float), fit = 1;
    if (one < room && two > one) fit = 1 + (room - one) / (two - one);
    if (flat) fit = most(fit, pixels);
    int64_t size = least(most(ceil_div(count, spans), ceil_div(pixels, wide)), fit);
    if (flat) size = ceil_div(size, CONV_ROWS) * CONV_ROWS;
    return least(size, count);
}

/* Chunks: spans first, then parts of the weights. */
static int32_t prepare_dense(asc_call *call, const conv *c) {
    int64_t ns = cost(c), panels = c->groups * group_panels(c), bytes = 0, floats = 0;
    int64_t wanted = call->threads < 2 || ns < 16000 ? 1 : least(ns / 8000, call->threads * 4);
    int flat = conv_is_flat(c), strip = !conv_is_in_place(c);
    int64_t images = flat ? 1 : c->batch, count = flat ? c->batch * c->out_size : c->out[HEIGHT];
    int64_t span = span_size(c, count, ceil_div(wanted, images)), spans = images * ceil_div(count, span);
    int64_t parts = least(panels, ceil_div(wanted, spans));
    if (strip) floats = ASC_FN(conv_strip_size)(c, span);
    ASC_REQUIRE(call, floats <= MOST_STRIP_FLOATS, "conv_last: the windows of a row reach too far");
    ASC_REQUIRE(call,
                asc_mul_ok(floats, sizeof(float), &bytes) &&
                    asc_add_ok(bytes, (int64_t)sizeof(worker_state) + run_count(c) * 8 + 2 * ASC_ALIGN, &bytes),
                "conv_last: the operands are too large");
    bytes = bytes / ASC_ALIGN * ASC_ALIGN;
    int64_t total;
    ASC_REQUIRE(call, asc_mul_ok(bytes, call->threads, &total), "conv_last: the operands are too large");
    call->scratch[SPANS] = spans;
    call->scratch[SPAN] = span;
    call->scratch[PARTS] = parts;
    call->scratch[SCRATCH_BYTES] = bytes;
    call->scratch[SERIAL] = wanted == 1;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

/* Chunks of rows, and of channels when rows are few. */
static int32_t prepare_channelwise(asc_call *call, const conv *c) {
    int64_t ns = cost(c), vectors = ceil_div(c->out_channels, ASC_VF);
    int64_t wanted = call->threads < 2 || ns < 16000 ? 1 : least(ns / 8000, call->threads * 4);
    int64_t spans = least(c->out[HEIGHT], ceil_div(wanted, c->batch));
    if (c->out[HEIGHT] < 2 * wanted) spans = 1;
    call->scratch[SPAN] = ceil_div(c->out[HEIGHT], spans);
    call->scratch[SPANS] = c->batch * ceil_div(c->out[HEIGHT], call->scratch[SPAN]);
    call->scratch[PARTS] = least(vectors, ceil_div(wanted, call->scratch[SPANS]));
    call->scratch[SERIAL] = wanted == 1;
    return ASC_OK;
}

int32_t ASC_FN(conv_last_prepare)(asc_call *call) {
    conv c;
    int32_t code = read_conv(call, &c);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    return conv_is_channelwise(&c) ? prepare_channelwise(call, &c) : prepare_dense(call, &c);
}

static worker_state *state_of(const asc_call *call, int64_t worker) {
    return (worker_state *)((char *)call->workspace + worker * call->scratch[SCRATCH_BYTES]);
}

/* The places of span number `index`, and their inputs at hand. */
static conv_span find_span(const asc_call *call, const conv *c, int64_t index, worker_state *state, float *strip) {
    int64_t size = call->scratch[SPAN];
    conv_span s = {.x = strip, .pixel = c->depth * (conv_is_flat(c) ? 1 : c->stride[WIDTH])};
    if (conv_is_flat(c)) {
        s.first = index * size;
        s.lines = 1;
        s.width = least(size, c->batch * c->out_size - s.first);
        if (conv_is_in_place(c))
            s.x = c->x + s.first * c->depth;
        else if (state->span != index)
            ASC_FN(conv_fill_strip)(c, 0, s.first, s.width, strip);
    } else {
        int64_t per_image = ceil_div(c->out[HEIGHT], size), image = index / per_image, row = index % per_image * size;
        s.first = (image * c->out[HEIGHT] + row) * c->out[WIDTH];
        s.lines = least(size, c->out[HEIGHT] - row);
        s.width = c->out[WIDTH];
        s.line = ASC_FN(conv_strip_width)(c) * c->depth * c->stride[HEIGHT];
        if (state->span != index) ASC_FN(conv_fill_strip)(c, image, row, s.lines, strip);
    }
    state->span = index;
    return s;
}

static void find_runs(const conv *c, const conv_span *s, int64_t *starts) {
    int64_t pixel = c->depth, line = conv_is_flat(c) ? 0 : ASC_FN(conv_strip_width)(c) * pixel, n = run_count(c);
    int64_t step = ASC_FN(conv_strip_step)(c, s->lines), across = n == c->kernel[HEIGHT] ? 1 : c->kernel[WIDTH];
    for (int64_t i = 0; i < n; i++) starts[i] = i / across * step * line + i % across * c->dilation[WIDTH] * pixel;
}

/* What a pass of tiles brings into L2 for the next one: the next panel of heavy weights, or the inputs of the next
 * tiles, once for each block of them. */
static void look_ahead(const conv *c, const conv_span *s, const float *w, int first, int64_t tile, int64_t tiles,
                       conv_tile *t) {
    int64_t rows = c->group_depth * c->taps, bytes = 0;
    t->ahead = (uintptr_t)w;
    if (is_heavy(c)) {
        bytes = rows * GEMM_PANEL * (int64_t)sizeof(float);
        t->ahead += (uintptr_t)bytes;
    } else if (first && conv_is_in_place(c)) {
        bytes = tiles * CONV_ROWS * s->pixel * (int64_t)sizeof(float);
        t->ahead = (uintptr_t)s->x + (uintptr_t)(bytes / tiles * (tile + tiles));
    }
    t->ahead_step = ceil_div(bytes, tiles * most(1, rows));
}

/* The tiles [tile, tile + tiles) of a span against one panel of weights; `first` of those that pass them. */
static void run_panel(const conv *c, const conv_span *s, conv_tile t, int64_t panel, int first, int64_t tile,
                      int64_t tiles) {
    int64_t group = panel / group_panels(c), within = panel % group_panels(c) * GEMM_PANEL;
    int64_t rows = c->group_depth * c->taps, left = least(GEMM_PANEL, c->group_out - within);
    int64_t channel = group * c->group_out + within, per_line = ceil_div(s->width, CONV_ROWS);
    const float *w =
        c->weights + group * (asc_packed_bytes(ASC_LAYOUT_PANEL32, rows, c->group_out) / 4) + within * rows;
    epilogue after = ASC_FN(conv_after)(&c->epilogue);
    t.rounds = ASC_FN(conv_rounds)(&c->epilogue, &t.low, &t.high);
    int limits = t.rounds || ASC_FN(conv_limits)(&c->epilogue, &t.low, &t.high);
    t.narrow = c->y_narrow;
    for (int64_t column = 0; column < left; column += GEMM_TILE_COLS) {
        t.w = w + column;
        t.columns = least(GEMM_TILE_COLS, left - column);
        look_ahead(c, s, w, first && column == 0, tile, tiles, &t);
        t.bias = c->epilogue.bias.data ? c->epilogue.bias.data + channel + column : NULL;
        for (int64_t i = tile; i < tile + tiles; i++) {
            int64_t line = i / per_line, at = s->width * (i % per_line) / per_line;
            int64_t pixels = s->width * (i % per_line + 1) / per_line - at;
            int64_t out = (s->first + line * s->width + at) * c->out_channels + channel + column;
            t.x = s->x + line * s->line + at * s->pixel + group * c->group_depth;
            t.y = (void *)image_at(c->y, out, t.narrow);
            t.residual = c->epilogue.residual.data ? image_at(c->epilogue.residual.data, out, t.narrow) : NULL;
            (c->pairs ? ASC_FN(conv_tile_pairs_run) : ASC_FN(conv_tile_run))((int)pixels, &t);
            t.ahead += (uintptr_t)(t.ahead_step * rows);
            if (!limits) ASC_FN(epilogue_apply)(&after, t.y, t.y_step, 0, pixels, 0, t.columns);
        }
    }
}

static void dense_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const conv *c = arg;
    int64_t parts = call->scratch[PARTS], panels = c->groups * group_panels(c);
    int64_t first = split_at(panels, parts, chunk % parts), end = split_at(panels, parts, chunk % parts + 1);
    worker_state *state = state_of(call, worker);
    conv_tile t = {.x_step = c->depth * (conv_is_flat(c) ? 1 : c->stride[WIDTH]), .runs = run_count(c)};
    int64_t *starts = (int64_t *)(state + 1);
    float *strip = (float *)(starts + ceil_div(t.runs, 8) * 8);
    conv_span s = find_span(call, c, chunk / parts, state, strip);
    find_runs(c, &s, starts);
    t.starts = starts;
    t.length = c->group_depth * c->taps / t.runs;
    t.y_step = c->out_channels;
    int64_t tiles = s.lines * ceil_div(s.width, CONV_ROWS), block = tiles;
    if (!is_heavy(c)) block = most(1, BLOCK_BYTES / (int64_t)sizeof(float) / CONV_ROWS / most(1, t.runs * t.x_step));
    for (int64_t tile = 0; tile < tiles; tile += block)
        for (int64_t panel = first; panel < end; panel++)
            run_panel(c, &s, t, panel, panel == first, tile, least(block, tiles - tile));
}

static void channelwise_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const conv *c = arg;
    int64_t spans = call->scratch[SPANS], parts = call->scratch[PARTS], span = call->scratch[SPAN];
    int64_t per_image = spans / c->batch, part = chunk / spans, index = chunk % spans;
    int64_t vectors = ceil_div(c->out_channels, ASC_VF), row = index % per_image * span;
    int64_t first = split_at(vectors, parts, part) * ASC_VF, end = split_at(vectors, parts, part + 1) * ASC_VF;
    (void)worker;
    ASC_FN(conv_channelwise)(c, index / per_image, row, least(span, c->out[HEIGHT] - row), first,
                             least(end, c->out_channels) - first);
}

int32_t ASC_FN(conv_last_run)(const asc_call *call) {
    conv c;
    int32_t code = read_conv(call, &c);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    int channelwise = conv_is_channelwise(&c);
    asc_chunk_fn fn = channelwise ? channelwise_chunk : dense_chunk;
    if (!channelwise)
        for (int64_t i = 0; i < call->threads; i++) state_of(call, i)->span = -1;
    int64_t chunks = call->scratch[SPANS] * call->scratch[PARTS];
    if (!call->scratch[SERIAL])
        asc_parallel(call, chunks, fn, &c);
    else
        for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, &c);
    return ASC_OK;
}
