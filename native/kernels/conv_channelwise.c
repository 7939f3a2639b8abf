/* Convolution of each channel by itself, channels last: vectors of channels walk along output rows. */
#include "conv_last.h"

#define BLOCK 8 /* output pixels that share a load of weights */

/* The taps of a window that lie inside, for a run of output pixels of one row. */
typedef struct window {
    const float *x;         /* what tap (0, 0) reads for the run's first pixel; it may lie outside */
    const float *w;         /* tap (0, 0) */
    int64_t from[2], to[2]; /* taps inside, along height and width */
    int64_t line, column;   /* floats in x from a tap to the next, down and across */
    int64_t step;           /* floats in x from an output pixel to the next */
} window;

typedef struct finish {
    float low, high;
    const float *bias, *residual;
    float *y;
    int64_t channels; /* floats from a pixel to the next */
} finish;

static inline __attribute__((always_inline)) vf load(const float *p, int tail, int64_t lanes) {
    return tail ? vf_load_tail(p, lanes, 0) : vf_load(p);
}

static inline __attribute__((always_inline)) void run_block(const conv *c, const window *n, const finish *f, int pixels,
                                                            int tail, int64_t lanes) {
    vf sum[BLOCK] = {{0}};
    for (int64_t i = n->from[0]; i < n->to[0]; i++)
        for (int64_t j = n->from[1]; j < n->to[1]; j++) {
            vf w = load(n->w + (i * c->kernel[WIDTH] + j) * c->out_channels, tail, lanes);
            const float *x = n->x + i * n->line + j * n->column;
            _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[p] =
                vf_fma(w, load(x + p * n->step, tail, lanes), sum[p]);
        }
    vf bias = f->bias ? load(f->bias, tail, lanes) : vf_set(-0.0f), low = vf_set(f->low), high = vf_set(f->high);
    _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) {
        vf y = sum[p] + bias;
        if (f->residual) y += load(f->residual + p * f->channels, tail, lanes);
        y = vf_min(high, vf_max(low, y));
        if (tail)
            vf_store_tail(f->y + p * f->channels, y, lanes);
        else
            vf_store(f->y + p * f->channels, y);
    }
}

/* A run of pixels in nearly equal blocks. */
static inline __attribute__((always_inline)) void run_pixels(const conv *c, window n, finish f, int64_t pixels,
                                                             int tail, int64_t lanes) {
    for (int64_t blocks = (pixels + BLOCK - 1) / BLOCK; blocks > 0; blocks--) {
        int64_t count = pixels / blocks;
        switch (count) {
#define CASE(count) \
    case count: run_block(c, &n, &f, count, tail, lanes); break;
            CASE(1)
            CASE(2)
            CASE(3)
            CASE(4)
            CASE(5)
            CASE(6)
            CASE(7)
            CASE(8)
#undef CASE
        }
        n.x += count * n.step;
        f.y += count * f.channels;
        if (f.residual) f.residual += count * f.channels;
        pixels -= count;
    }
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
static const float *input_at(const conv *c, int64_t image, int64_t row, int64_t column, int64_t channel) {
    uint64_t pixel = ((uint64_t)image * (uint64_t)c->in[HEIGHT] + (uint64_t)row) * (uint64_t)c->in[WIDTH];
    uint64_t at = (pixel + (uint64_t)column) * (uint64_t)c->in_channels + (uint64_t)channel;
    return (const float *)((uintptr_t)c->x + at * sizeof(float));
}

/* The outputs of a row from column o on: where they and what is added to them lie. */
static void find_outputs(const conv *c, int64_t image, int64_t row, int64_t o, int64_t channel, finish *f) {
    int64_t at = ((image * c->out[HEIGHT] + row) * c->out[WIDTH] + o) * c->out_channels + channel;
    f->y = c->y + at;
    f->residual = c->epilogue.residual.data ? c->epilogue.residual.data + at : NULL;
}

static void run_alike(const conv *c, window n, finish f, int64_t pixels, int64_t lanes) {
    if (lanes == ASC_VF)
        run_pixels(c, n, f, pixels, 0, lanes);
    else
        run_pixels(c, n, f, pixels, 1, lanes);
}

/* One output row, from the image itself: taps outside are left out. */
static void run_row(const conv *c, int64_t image, int64_t row, int64_t channel, int64_t lanes, finish f) {
    int64_t m = c->out_channels, line = c->in[WIDTH] * m, top = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    window n = {.w = c->weights + channel, .line = c->dilation[HEIGHT] * line, .column = c->dilation[WIDTH] * m};
    n.step = c->stride[WIDTH] * m;
    taps_inside(c, HEIGHT, row, &n.from[0], &n.to[0]);
    for (int64_t o = 0, pixels; o < c->out[WIDTH]; o += pixels) {
        pixels = alike(c, o, c->out[WIDTH]);
        taps_inside(c, WIDTH, o, &n.from[1], &n.to[1]);
        int64_t left = o * c->stride[WIDTH] - c->pad[WIDTH];
        n.x = input_at(c, image, top, left, channel);
        find_outputs(c, image, row, o, channel, &f);
        run_alike(c, n, f, pixels, lanes);
    }
}

#define STRIP_FLOATS (6 << 10) /* a strip stays in L1 */

static int64_t strip_lines(const conv *c) {
    return (c->out[HEIGHT] - 1) * c->stride[HEIGHT] + (c->kernel[HEIGHT] - 1) * c->dilation[HEIGHT] + 1;
}

int64_t ASC_FN(conv_channelwise_strip)(const conv *c) {
    int64_t width = ASC_FN(conv_strip_width)(c), floats;
    if (c->out[HEIGHT] > STRIP_FLOATS || c->stride[HEIGHT] > STRIP_FLOATS || c->dilation[HEIGHT] > STRIP_FLOATS)
        return 0;
    if (!asc_mul_ok(width, strip_lines(c) * ASC_VF, &floats)) return 0;
    return floats <= STRIP_FLOATS ? floats : 0;
}

/* Copies the image's channels between the strip's borders, which are zero. */
static void fill_strip(const conv *c, int64_t image, int64_t channel, int64_t lanes, float *strip) {
    int64_t width = ASC_FN(conv_strip_width)(c), left = c->pad[WIDTH], top = c->pad[HEIGHT], lines = strip_lines(c);
    const float *x = c->x + image * c->in_size * c->in_channels + channel;
    for (int64_t i = top < 0 ? -top : 0; i < c->in[HEIGHT] && i + top < lines; i++)
        for (int64_t j = left < 0 ? -left : 0; j < c->in[WIDTH] && j + left < width; j++) {
            const float *from = x + (i * c->in[WIDTH] + j) * c->in_channels;
            vf_store(strip + ((i + top) * width + j + left) * ASC_VF,
                     lanes == ASC_VF ? vf_load(from) : vf_load_tail(from, lanes, 0));
        }
}

/* All rows of an image, from a strip that holds it with its padding. */
static void run_strip(const conv *c, int64_t image, int64_t channel, int64_t lanes, finish f, float *strip) {
    int64_t line = ASC_FN(conv_strip_width)(c) * ASC_VF;
    window n = {.w = c->weights + channel, .line = c->dilation[HEIGHT] * line, .column = c->dilation[WIDTH] * ASC_VF};
    n.step = c->stride[WIDTH] * ASC_VF;
    n.to[0] = c->kernel[HEIGHT];
    n.to[1] = c->kernel[WIDTH];
    fill_strip(c, image, channel, lanes, strip);
    for (int64_t row = 0; row < c->out[HEIGHT]; row++) {
        n.x = strip + row * c->stride[HEIGHT] * line;
        find_outputs(c, image, row, 0, channel, &f);
        run_alike(c, n, f, c->out[WIDTH], lanes);
    }
}

void ASC_FN(conv_channelwise)(const conv *c, int64_t image, int64_t row, int64_t rows, int64_t channel,
                              int64_t channels, float *strip) {
    finish f = {.channels = c->out_channels};
    epilogue after = {.alpha = 1, .beta = 1, .activation = c->epilogue.activation};
    int limits = ASC_FN(conv_limits)(&c->epilogue, &f.low, &f.high);
    if (strip) memset(strip, 0, (size_t)ASC_FN(conv_channelwise_strip)(c) * sizeof *strip);
    for (int64_t at = channel; at < channel + channels; at += ASC_VF) {
        int64_t lanes = channel + channels - at < ASC_VF ? channel + channels - at : ASC_VF;
        f.bias = c->epilogue.bias.data ? c->epilogue.bias.data + at : NULL;
        if (strip)
            run_strip(c, image, at, lanes, f, strip);
        else
            for (int64_t r = row; r < row + rows; r++) run_row(c, image, r, at, lanes, f);
        float *y = c->y + (image * c->out[HEIGHT] + row) * c->out[WIDTH] * c->out_channels + at;
        if (!limits) ASC_FN(epilogue_apply)(&after, y, c->out_channels, 0, rows * c->out[WIDTH], 0, lanes);
    }
}
