/* Convolution of each channel by itself, channels last: vectors of channels walk along output rows. */
#include "conv_channelwise.h"

/* Windows of a run of output pixels of a row whose taps inside are the same. */
typedef struct window {
    const void *x;          /* what tap (0, 0) reads for the first pixel; it may lie outside */
    const float *w;         /* tap (0, 0) */
    int64_t from[2], to[2]; /* taps inside, along height and width */
    int64_t line, column;   /* floats in x from a tap to the next, down and across */
    int64_t step, pixels;   /* floats in x from a pixel of the run to the next; how many there are */
} window;

static inline __attribute__((always_inline)) vf load(const float *p, int tail, int64_t lanes) {
    return tail ? vf_load_tail(p, lanes, 0) : vf_load(p);
}

/* A block of pixels, for the vector that starts at channel v. */
static inline __attribute__((always_inline)) void run_block(const conv *c, const window *n, const target *t, int pixels,
                                                            int narrow, int64_t v, int tail, int64_t lanes) {
    vf sum[BLOCK] = {{0}};
    vf bias = t->bias ? load(t->bias + v, tail, lanes) : vf_set(-0.0f); /* adds nothing, to zeros of either sign */
    for (int64_t i = n->from[0]; i < n->to[0]; i++)
        for (int64_t j = n->from[1]; j < n->to[1]; j++) {
            vf w = load(n->w + v + (i * c->kernel[WIDTH] + j) * c->out_channels, tail, lanes);
            const void *x = image_at(n->x, v + i * n->line + j * n->column, narrow);
            _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[p] =
                vf_fma(w, image_load(x, p * n->step, narrow, tail, lanes), sum[p]);
        }
    finish(t, v, sum, pixels, bias, tail, lanes);
}

/* The last channels, apart from the loops that matter. */
static __attribute__((noinline)) void run_tail(const conv *c, const window *n, const target *t, int pixels, int64_t v,
                                               int64_t lanes) {
    if (c->x_narrow)
        run_block(c, n, t, pixels, 1, v, 1, lanes);
    else
        run_block(c, n, t, pixels, 0, v, 1, lanes);
}

static inline __attribute__((always_inline)) void run_vectors(const conv *c, const window *n, const target *t,
                                                              int pixels, int narrow, int64_t channels) {
    int64_t v = 0;
    for (; v + ASC_VF <= channels; v += ASC_VF) run_block(c, n, t, pixels, narrow, v, 0, 0);
    if (v < channels) run_tail(c, n, t, pixels, v, channels - v);
}

/* Nearly equal blocks, without a division. */
static int64_t block_size(int64_t pixels) {
    return pixels >= 2 * BLOCK ? BLOCK : pixels > BLOCK ? (pixels + 1) / 2 : pixels;
}

/* `channels` from those on that n and t point to. */
static inline __attribute__((always_inline)) void run_pixels_as(const conv *c, window n, target t, int narrow,
                                                                int64_t channels) {
    for (int64_t left = n.pixels, count; left > 0; left -= count) {
        count = block_size(left);
        switch (count) {
#define CASE(count) \
    case count: run_vectors(c, &n, &t, count, narrow, channels); break;
            CASE(1)
            CASE(2)
            CASE(3)
            CASE(4)
            CASE(5)
            CASE(6)
            CASE(7)
            CASE(8)
#undef CASE
            default: break;
        }
        n.x = image_at(n.x, count * n.step, narrow);
        t.y = (void *)image_at(t.y, count * t.step, t.narrow);
        if (t.residual) t.residual = image_at(t.residual, count * t.step, t.narrow);
    }
}

static void run_pixels(const conv *c, window n, target t, int64_t channels) {
    if (c->x_narrow)
        run_pixels_as(c, n, t, 1, channels);
    else
        run_pixels_as(c, n, t, 0, channels);
}

/* Taps of an axis that lie inside for output place o. */
static void taps_inside(const conv *c, int axis, int64_t o, int64_t *from, int64_t *to) {
    int64_t start = o * c->stride[axis] - c->pad[axis], d = c->dilation[axis];
    int64_t first = start < 0 ? (-start + d - 1) / d : 0;
    int64_t end = start < c->in[axis] ? (c->in[axis] - start + d - 1) / d : 0;
    *to = end < c->kernel[axis] ? end : c->kernel[axis];
    *from = first < *to ? first : *to;
}

/* Pixels of a row from `o` on whose taps are the same as o's, within [o, end). */
static int64_t alike(const conv *c, int64_t o, int64_t end) {
    int64_t from, to, n = 1, next_from, next_to;
    taps_inside(c, WIDTH, o, &from, &to);
    int64_t start = o * c->stride[WIDTH] - c->pad[WIDTH], wide = (c->kernel[WIDTH] - 1) * c->dilation[WIDTH];
    if (start >= 0 && start + wide < c->in[WIDTH]) {
        int64_t whole = (c->in[WIDTH] - 1 - wide - start) / c->stride[WIDTH] + 1;
        return whole < end - o ? whole : end - o;
    }
    for (; o + n < end; n++) {
        taps_inside(c, WIDTH, o + n, &next_from, &next_to);
        if (next_from != from || next_to != to) break;
    }
    return n;
}

/* The address of an input, which may lie outside; then it is only a base for those that don't. */
static const void *input_at(const conv *c, int64_t image, int64_t row, int64_t column, int64_t channel) {
    uint64_t pixel = ((uint64_t)image * (uint64_t)c->in[HEIGHT] + (uint64_t)row) * (uint64_t)c->in[WIDTH];
    uint64_t at = (pixel + (uint64_t)column) * (uint64_t)c->in_channels + (uint64_t)channel;
    return (const void *)((uintptr_t)c->x + at * (c->x_narrow ? sizeof(uint16_t) : sizeof(float)));
}

/* One output row, from the image itself: taps outside are left out. */
static void run_row(const conv *c, int64_t image, int64_t row, int64_t channel, int64_t channels, target t) {
    int64_t m = c->out_channels, top = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    window n = {.w = c->weights + channel, .line = c->dilation[HEIGHT] * c->in[WIDTH] * m};
    n.column = c->dilation[WIDTH] * m;
    n.step = c->stride[WIDTH] * m;
    taps_inside(c, HEIGHT, row, &n.from[0], &n.to[0]);
    for (int64_t o = 0; o < c->out[WIDTH]; o += n.pixels) {
        n.pixels = alike(c, o, c->out[WIDTH]);
        taps_inside(c, WIDTH, o, &n.from[1], &n.to[1]);
        n.x = input_at(c, image, top, o * c->stride[WIDTH] - c->pad[WIDTH], channel);
        find_outputs(c, image, row, o, channel, &t);
        run_pixels(c, n, t, channels);
    }
}

void ASC_FN(conv_channelwise)(const conv *c, int64_t image, int64_t row, int64_t rows, int64_t channel,
                              int64_t channels) {
    target t = {.step = c->out_channels, .narrow = c->y_narrow};
    epilogue after = ASC_FN(conv_after)(&c->epilogue);
    t.rounds = ASC_FN(conv_rounds)(&c->epilogue, &t.low, &t.high);
    int limits = t.rounds || ASC_FN(conv_limits)(&c->epilogue, &t.low, &t.high);
    int64_t squares = ASC_FN(conv_is_channelwise_3x3)(c) ? channels / ASC_VF * ASC_VF : 0;
    if (squares) ASC_FN(conv_channelwise_3x3)(c, &t, image, row, rows, channel, squares);
    for (int64_t r = row; r < row + rows && squares < channels; r++)
        run_row(c, image, r, channel + squares, channels - squares, t);
    float *y = c->y + (image * c->out[HEIGHT] + row) * c->out[WIDTH] * c->out_channels + channel;
    epilogue_rows done = epilogue_in_place(y, c->out_channels, rows * c->out[WIDTH], channels);
    if (!limits) ASC_FN(epilogue_apply)(&after, &done, 0, 0); /* then y is float32 */
}
