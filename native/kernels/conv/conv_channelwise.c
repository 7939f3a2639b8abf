/* Convolution of each channel by itself, channels last: vectors of channels walk along output rows. */
#include "conv_channelwise.h"

/* Windows of a run of output pixels of a row whose taps inside are the same. */
typedef struct window {
    const void *x;        /* what the first tap reads for the first pixel; it may lie outside */
    const float *w;       /* the first tap */
    inside taps[AXES];    /* that are inside */
    int64_t step[AXES];   /* floats in x from a tap to the next */
    int64_t next, pixels; /* floats in x from a pixel of the run to the next; how many there are */
} window;

/* A block of pixels, for the vector that starts at channel v. */
static inline __attribute__((always_inline)) void run_block(const conv *c, const window *n, const target *t, int pixels,
                                                            int narrow, int64_t v, int tail, int64_t lanes) {
    vf sum[BLOCK] = {{0}};
    vf bias =
        t->bias ? load_lanes(t->bias + v, tail, lanes) : vf_set(-0.0f); /* adds nothing, to zeros of either sign */
    for (int64_t d = n->taps[DEPTH].from; d < n->taps[DEPTH].to; d++)
        for (int64_t h = n->taps[HEIGHT].from; h < n->taps[HEIGHT].to; h++)
            for (int64_t k = n->taps[WIDTH].from; k < n->taps[WIDTH].to; k++) {
                int64_t tap = (d * c->kernel[HEIGHT] + h) * c->kernel[WIDTH] + k;
                vf w = load_lanes(n->w + v + tap * c->out_channels, tail, lanes);
                int64_t at = v + d * n->step[DEPTH] + h * n->step[HEIGHT] + k * n->step[WIDTH];
                const void *x = image_at(n->x, at, narrow);
                _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[p] =
                    vf_fma(w, image_load(x, p * n->next, narrow, tail, lanes), sum[p]);
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

/* A function for each number of pixels, as GCC is slow with all of them in one. */
typedef void run_vectors_of(const conv *c, const window *n, const target *t, int64_t channels);
#define VECTORS(pixels, narrow)                                                                                      \
    static void run_vectors_##pixels##_##narrow(const conv *c, const window *n, const target *t, int64_t channels) { \
        run_vectors(c, n, t, pixels, narrow, channels);                                                              \
    }
#define EACH(of, narrow) \
    of(1, narrow) of(2, narrow) of(3, narrow) of(4, narrow) of(5, narrow) of(6, narrow) of(7, narrow) of(8, narrow)
#define NAME(pixels, narrow) run_vectors_##pixels##_##narrow,
EACH(VECTORS, 0)
EACH(VECTORS, 1)
static run_vectors_of *const vectors_of[2][BLOCK] = {{EACH(NAME, 0)}, {EACH(NAME, 1)}};

/* Nearly equal blocks, without a division. */
static int64_t block_size(int64_t pixels) {
    return pixels >= 2 * BLOCK ? BLOCK : pixels > BLOCK ? (pixels + 1) / 2 : pixels;
}

/* `channels` from those on that n and t point to. */
static void run_pixels(const conv *c, window n, target t, int64_t channels) {
    int narrow = c->x_narrow != 0;
    for (int64_t left = n.pixels, count; left > 0; left -= count) {
        count = block_size(left);
        vectors_of[narrow][count - 1](c, &n, &t, channels);
        n.x = image_at(n.x, count * n.next, narrow);
        t.y = (void *)image_at(t.y, count * t.step, t.narrow);
        if (t.residual) t.residual = image_at(t.residual, count * t.step, t.narrow);
    }
}

/* Pixels of a row from `o` on whose taps are the same as o's, within [o, end). */
static int64_t alike(const conv *c, int64_t o, int64_t end) {
    inside taps = taps_inside(c, WIDTH, o);
    int64_t n = 1, start = o * c->stride[WIDTH] - c->pad[WIDTH], wide = (c->kernel[WIDTH] - 1) * c->dilation[WIDTH];
    if (start >= 0 && start + wide < c->in[WIDTH]) {
        int64_t whole = (c->in[WIDTH] - 1 - wide - start) / c->stride[WIDTH] + 1;
        return whole < end - o ? whole : end - o;
    }
    for (; o + n < end; n++) {
        inside next = taps_inside(c, WIDTH, o + n);
        if (next.from != taps.from || next.to != taps.to) break;
    }
    return n;
}

/* One output row, from the image itself: taps outside are left out. */
static void run_row(const conv *c, int64_t plane, int64_t row, int64_t channel, int64_t channels, target t) {
    int64_t m = c->out_channels, image = plane / c->out[DEPTH], place = plane % c->out[DEPTH];
    int64_t near = place * c->stride[DEPTH] - c->pad[DEPTH], top = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    window n = {.w = c->weights + channel, .next = c->stride[WIDTH] * m};
    n.step[DEPTH] = c->dilation[DEPTH] * c->in[HEIGHT] * c->in[WIDTH] * m;
    n.step[HEIGHT] = c->dilation[HEIGHT] * c->in[WIDTH] * m;
    n.step[WIDTH] = c->dilation[WIDTH] * m;
    n.taps[DEPTH] = taps_inside(c, DEPTH, place);
    n.taps[HEIGHT] = taps_inside(c, HEIGHT, row);
    for (int64_t o = 0; o < c->out[WIDTH]; o += n.pixels) {
        n.pixels = alike(c, o, c->out[WIDTH]);
        n.taps[WIDTH] = taps_inside(c, WIDTH, o);
        n.x = input_at(c, image, near, top, o * c->stride[WIDTH] - c->pad[WIDTH], channel);
        find_outputs(c, plane, row, o, channel, &t);
        run_pixels(c, n, t, channels);
    }
}

void ASC_FN(conv_channelwise)(const conv *c, int64_t plane, int64_t row, int64_t rows, int64_t channel,
                              int64_t channels) {
    target t = {
        .step = c->out_channels, .narrow = c->y_narrow, .end = ASC_FN(conv_ending_of)(&c->epilogue, c->y_narrow)};
    epilogue after = ASC_FN(conv_after)(&c->epilogue);
    if (ASC_FN(conv_is_channelwise_3x3)(c))
        ASC_FN(conv_channelwise_3x3)(c, &t, plane, row, rows, channel, channels);
    else
        for (int64_t r = row; r < row + rows; r++) run_row(c, plane, r, channel, channels, t);
    float *y = c->y + (plane * c->out[HEIGHT] + row) * c->out[WIDTH] * c->out_channels + channel;
    epilogue_rows done = epilogue_in_place(y, c->out_channels, rows * c->out[WIDTH], channels);
    if (!t.end.whole) ASC_FN(epilogue_apply)(&after, &done, 0, 0); /* then y is float32 */
}
