/* Convolution of each channel by itself, channels last: vectors of channels walk along output rows. */
#include "conv_last.h"
#include "float16.h"

#define BLOCK 8 /* output pixels that share a load of weights */
#ifdef __AVX512BF16__
#define NARROWS 1 /* an instruction rounds to bfloat16 */
#else
#define NARROWS 0
#endif

/* Windows of a run of output pixels of a row whose taps inside are the same. */
typedef struct window {
    const void *x;          /* what tap (0, 0) reads for the first pixel; it may lie outside */
    const float *w;         /* tap (0, 0) */
    int64_t from[2], to[2]; /* taps inside, along height and width */
    int64_t line, column;   /* floats in x from a tap to the next, down and across */
    int64_t step, pixels;   /* floats in x from a pixel of the run to the next; how many there are */
} window;

/* Where sums go, and what is done to them first. */
typedef struct target {
    float low, high;
    const float *bias;
    const void *residual; /* as y */
    void *y;
    int narrow;   /* y is bfloat16 */
    int rounds;   /* y is float32 rounded to float16 */
    int64_t step; /* floats in y from a pixel to the next */
} target;

static inline __attribute__((always_inline)) vf load(const float *p, int tail, int64_t lanes) {
    return tail ? vf_load_tail(p, lanes, 0) : vf_load(p);
}

static inline __attribute__((always_inline)) void finish_as(const target *t, int64_t at, const vf *sum, int pixels,
                                                            vf bias, int narrow, int rounds, int tail, int64_t lanes) {
    vf low = vf_set(t->low), high = vf_set(t->high);
    _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++, at += t->step) {
        vf y = sum[p] + bias;
        if (t->residual) y += image_load(t->residual, at, narrow, tail, lanes);
        y = vf_min(high, vf_max(low, y));
        image_store(t->y, at, rounds ? vf_round_f16(y) : y, narrow, tail, lanes);
    }
}

/* Apart from the loops: rounding is long where no instruction does it. */
static __attribute__((noinline)) void finish_apart(const target *t, int64_t at, const vf *sum, int pixels,
                                                   const vf *bias, int tail, int64_t lanes) {
    if (t->narrow)
        finish_as(t, at, sum, pixels, *bias, 1, 0, tail, lanes);
    else
        finish_as(t, at, sum, pixels, *bias, 0, 1, tail, lanes);
}

static inline __attribute__((always_inline)) void finish(const target *t, int64_t at, const vf *sum, int pixels,
                                                         vf bias, int tail, int64_t lanes) {
    if (t->rounds || (t->narrow && !NARROWS)) {
        vf sums[BLOCK], copy = bias; /* sums whose address were taken would lie in memory all the time */
        for (int i = 0; i < pixels; i++) sums[i] = sum[i];
        finish_apart(t, at, sums, pixels, &copy, tail, lanes);
    } else if (t->narrow) {
        finish_as(t, at, sum, pixels, bias, 1, 0, tail, lanes);
    } else {
        finish_as(t, at, sum, pixels, bias, 0, 0, tail, lanes);
    }
}

/* The sums of a 3 x 3 kernel over bfloat16 pixels that lie as far apart as its taps: each is widened once a row of
 * taps. Every sum takes its products in the order of the taps, as elsewhere. */
static inline __attribute__((always_inline)) void slide(const conv *c, const window *n, int pixels, int64_t v,
                                                        vf *sum) {
    for (int64_t i = 0; i < 3; i++) {
        const void *row = image_at(n->x, v + i * n->line, 1);
        const float *w = n->w + v + i * 3 * c->out_channels;
        vf x[BLOCK + 2];
        _Pragma("GCC unroll 10") for (int p = 0; p < pixels + 2; p++) x[p] = image_load(row, p * n->step, 1, 0, 0);
        _Pragma("GCC unroll 3") for (int j = 0; j < 3; j++, w += c->out_channels) {
            vf tap = vf_load(w);
            _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[p] = vf_fma(tap, x[p + j], sum[p]);
        }
    }
}

/* A block of pixels, for the vector that starts at channel v. `size` is 3 for all taps of a 3 x 3 kernel, 0 for any
 * others. */
static inline __attribute__((always_inline)) void run_block(const conv *c, const window *n, const target *t, int pixels,
                                                            int size, int narrow, int64_t v, int tail, int64_t lanes) {
    vf sum[BLOCK] = {{0}};
    vf bias = t->bias ? load(t->bias + v, tail, lanes) : vf_set(-0.0f); /* adds nothing, to zeros of either sign */
    if (size == 3 && narrow && n->step == n->column) {
        slide(c, n, pixels, v, sum);
        finish(t, v, sum, pixels, bias, tail, lanes);
        return;
    }
    int64_t down = size ? size : n->to[0], across = size ? size : n->to[1], wide = size ? size : c->kernel[WIDTH];
    for (int64_t i = size ? 0 : n->from[0]; i < down; i++)
        for (int64_t j = size ? 0 : n->from[1]; j < across; j++) {
            vf w = load(n->w + v + (i * wide + j) * c->out_channels, tail, lanes);
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
        run_block(c, n, t, pixels, 0, 1, v, 1, lanes);
    else
        run_block(c, n, t, pixels, 0, 0, v, 1, lanes);
}

static inline __attribute__((always_inline)) void run_vectors(const conv *c, const window *n, const target *t,
                                                              int pixels, int narrow, int64_t channels) {
    int64_t v = 0;
    int square = n->from[0] == 0 && n->to[0] == 3 && n->from[1] == 0 && n->to[1] == 3 && c->kernel[WIDTH] == 3;
    if (square)
        for (; v + ASC_VF <= channels; v += ASC_VF) run_block(c, n, t, pixels, 3, narrow, v, 0, 0);
    for (; v + ASC_VF <= channels; v += ASC_VF) run_block(c, n, t, pixels, 0, narrow, v, 0, 0);
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

/* The outputs of a row from column o on: where they, and what is added to them, lie. */
static void find_outputs(const conv *c, int64_t image, int64_t row, int64_t o, int64_t channel, target *t) {
    int64_t at = ((image * c->out[HEIGHT] + row) * c->out[WIDTH] + o) * c->out_channels + channel;
    t->y = (void *)image_at(c->y, at, t->narrow);
    t->bias = c->epilogue.bias.data ? c->epilogue.bias.data + channel : NULL;
    t->residual = c->epilogue.residual.data ? image_at(c->epilogue.residual.data, at, t->narrow) : NULL;
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
    for (int64_t r = row; r < row + rows; r++) run_row(c, image, r, channel, channels, t);
    float *y = c->y + (image * c->out[HEIGHT] + row) * c->out[WIDTH] * c->out_channels + channel;
    if (!limits) /* then y is float32 */
        ASC_FN(epilogue_apply)(&after, y, c->out_channels, 0, rows * c->out[WIDTH], 0, channels);
}
