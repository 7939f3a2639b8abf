/* Convolution of each channel by itself, channels last: vectors of channels walk along output rows. */
#include "conv_channelwise.h"

#include <string.h>

#define MOST_TAPS 32 /* of a row, where pixels with other taps inside share a block */

/* Windows of a block of output pixels of a row. */
typedef struct window {
    const void *x;            /* what the first tap reads for the first pixel; it may lie outside */
    const float *w;           /* the first tap */
    inside taps[AXES];        /* that are inside, for some pixel of the block */
    int64_t step[AXES];       /* floats in x from a tap to the next */
    int64_t next;             /* floats in x from a pixel of the block to the next */
    uint8_t reads[MOST_TAPS]; /* at a side of the image, per tap of a row: the pixels for which it is inside, as bits */
} window;

#define ALWAYS static inline __attribute__((always_inline))

/* Adds the taps to the sums of a block of pixels, for the vector that starts at channel v; at a side of the image,
 * those that each pixel reads. */
ALWAYS void add_taps(const conv *c, const window *n, int pixels, int side, int narrow, int64_t v, int tail,
                     int64_t lanes, vf sum[BLOCK]) {
    for (int64_t d = n->taps[DEPTH].from; d < n->taps[DEPTH].to; d++)
        for (int64_t h = n->taps[HEIGHT].from; h < n->taps[HEIGHT].to; h++)
            for (int64_t k = n->taps[WIDTH].from; k < n->taps[WIDTH].to; k++) {
                int64_t tap = (d * c->kernel[HEIGHT] + h) * c->kernel[WIDTH] + k;
                vf w = load_lanes(n->w + v + tap * c->out_channels, tail, lanes);
                int64_t at = v + d * n->step[DEPTH] + h * n->step[HEIGHT] + k * n->step[WIDTH];
                const void *x = image_at(n->x, at, narrow);
                unsigned reads = side ? n->reads[k] : ~0u;
                _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) {
                    if (reads >> p & 1) sum[p] = vf_fma(w, image_load(x, p * n->next, narrow, tail, lanes), sum[p]);
                }
            }
}

ALWAYS vf bias_at(const target *t, int64_t v, int tail, int64_t lanes) {
    return t->bias ? load_lanes(t->bias + v, tail, lanes) : vf_set(-0.0f); /* adds nothing, to zeros of either sign */
}

ALWAYS void run_block(const conv *c, const window *n, const target *t, int pixels, int narrow, int64_t v, int tail,
                      int64_t lanes) {
    vf sum[BLOCK] = {{0}}, bias = bias_at(t, v, tail, lanes);
    add_taps(c, n, pixels, 0, narrow, v, tail, lanes, sum);
    finish(t, v, sum, pixels, bias, tail, lanes);
}

/* At a side of the image, for any number of pixels. */
ALWAYS void run_side(const conv *c, const window *n, const target *t, int pixels, int narrow, int64_t v, int tail,
                     int64_t lanes) {
    vf sum[BLOCK] = {{0}}, bias = bias_at(t, v, tail, lanes);
    add_taps(c, n, BLOCK, 1, narrow, v, tail, lanes, sum);
    vf sums[BLOCK]; /* the others stay in registers */
    _Pragma("GCC unroll 8") for (int p = 0; p < BLOCK; p++) sums[p] = sum[p];
    target one = *t;
    for (int p = 0; p < pixels; p++) {
        finish(&one, v, sums + p, 1, bias, tail, lanes);
        one.y = (void *)image_at(one.y, t->step, t->narrow);
        if (one.residual) one.residual = image_at(one.residual, t->step, t->narrow);
    }
}

ALWAYS void run_sides(const conv *c, const window *n, const target *t, int pixels, int narrow, int64_t channels) {
    int64_t v = 0;
    for (; v + ASC_VF <= channels; v += ASC_VF) run_side(c, n, t, pixels, narrow, v, 0, 0);
    if (v < channels) run_side(c, n, t, pixels, narrow, v, 1, channels - v);
}

static __attribute__((noinline)) void run_sides_wide(const conv *c, const window *n, const target *t, int pixels,
                                                     int64_t channels) {
    run_sides(c, n, t, pixels, 0, channels);
}

static __attribute__((noinline)) void run_sides_narrow(const conv *c, const window *n, const target *t, int pixels,
                                                       int64_t channels) {
    run_sides(c, n, t, pixels, 1, channels);
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

/* The taps of `pixels` pixels from column o on that are inside, by pixel. */
static void find_reads(const conv *c, int64_t o, int64_t pixels, window *n) {
    memset(n->reads, 0, (size_t)c->kernel[WIDTH]);
    n->taps[WIDTH] = (inside){c->kernel[WIDTH], 0};
    for (int64_t p = 0; p < pixels; p++) {
        inside taps = taps_inside(c, WIDTH, o + p);
        if (taps.from >= taps.to) continue;
        n->taps[WIDTH].from = asc_least(n->taps[WIDTH].from, taps.from);
        n->taps[WIDTH].to = asc_most(n->taps[WIDTH].to, taps.to);
        for (int64_t k = taps.from; k < taps.to; k++) n->reads[k] |= (uint8_t)(1u << p);
    }
}

/* `count` pixels from column o on, which n and t point to. */
static void run_pixels(const conv *c, window *n, const target *t, int64_t o, int64_t count, int64_t channels) {
    int narrow = c->x_narrow != 0;
    if (alike(c, o, o + count) == count) {
        n->taps[WIDTH] = taps_inside(c, WIDTH, o);
        vectors_of[narrow][count - 1](c, n, t, channels);
        return;
    }
    find_reads(c, o, count, n);
    (narrow ? run_sides_narrow : run_sides_wide)(c, n, t, (int)count, channels);
}

/* One output row, from the image itself: taps outside are left out. Blocks are nearly equal. */
static void run_row(const conv *c, int64_t plane, int64_t row, int64_t channel, int64_t channels, target t) {
    int64_t m = c->out_channels, image = plane / c->out[DEPTH], place = plane % c->out[DEPTH];
    int64_t near = place * c->stride[DEPTH] - c->pad[DEPTH], top = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    window n = {.w = c->weights + channel, .next = c->stride[WIDTH] * m};
    n.step[DEPTH] = c->dilation[DEPTH] * c->in[HEIGHT] * c->in[WIDTH] * m;
    n.step[HEIGHT] = c->dilation[HEIGHT] * c->in[WIDTH] * m;
    n.step[WIDTH] = c->dilation[WIDTH] * m;
    n.taps[DEPTH] = taps_inside(c, DEPTH, place);
    n.taps[HEIGHT] = taps_inside(c, HEIGHT, row);
    int64_t blocks = asc_ceil_div(c->out[WIDTH], BLOCK);
    for (int64_t b = 0, o = 0, end; b < blocks; b++, o = end) {
        end = asc_split_at(c->out[WIDTH], blocks, b + 1);
        for (int64_t from = o, count; from < end;
             from += count) { /* of pixels with the same taps, where a row has many */
            count = c->kernel[WIDTH] <= MOST_TAPS ? end - from : alike(c, from, end);
            n.x = input_at(c, image, near, top, from * c->stride[WIDTH] - c->pad[WIDTH], channel);
            find_outputs(c, plane, row, from, channel, &t);
            run_pixels(c, &n, &t, from, count, channels);
        }
    }
}

void ASC_FN(conv_channelwise)(const conv *c, int64_t plane, int64_t row, int64_t rows, int64_t channel,
                              int64_t channels) {
    target t = {
        .step = c->out_channels, .narrow = c->y_narrow, .end = ASC_FN(conv_ending_of)(&c->epilogue, c->y_narrow)};
    epilogue after = ASC_FN(conv_after)(&c->epilogue);
    if (ASC_FN(conv_is_channelwise_square)(c))
        ASC_FN(conv_channelwise_square)(c, &t, plane, row, rows, channel, channels);
    else
        for (int64_t r = row; r < row + rows; r++) run_row(c, plane, r, channel, channels, t);
    float *y = c->y + (plane * c->out[HEIGHT] + row) * c->out[WIDTH] * c->out_channels + channel;
    epilogue_rows done = epilogue_in_place(y, c->out_channels, rows * c->out[WIDTH], channels);
    if (!t.end.whole) ASC_FN(epilogue_apply)(&after, &done, 0, 0); /* then y is float32 */
}
