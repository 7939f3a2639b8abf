/* Convolution of each channel by itself, channels last: vectors of channels walk along output rows. */
#include "conv_last.h"

#define BLOCK 8 /* output pixels that share a load of weights */

/* Windows of a rectangle of output pixels whose taps inside are the same. */
typedef struct window {
    const float *x;         /* what tap (0, 0) reads for the first pixel; it may lie outside */
    const float *w;         /* tap (0, 0) */
    int64_t from[2], to[2]; /* taps inside, along height and width */
    int64_t line, column;   /* floats in x from a tap to the next, down and across */
    int64_t row, step;      /* floats in x from an output pixel to the next, down and across */
    int64_t rows, pixels;   /* of the rectangle */
} window;

typedef struct finish {
    float low, high;
    const float *bias, *residual;
    float *y;
    int64_t channels, row; /* floats in y from a pixel to the next, across and down */
} finish;

static inline __attribute__((always_inline)) vf load(const float *p, int tail, int64_t lanes) {
    return tail ? vf_load_tail(p, lanes, 0) : vf_load(p);
}

static inline __attribute__((always_inline)) void finish_block(const finish *f, int64_t at, const vf *sum, int pixels,
                                                               vf bias, int tail, int64_t lanes) {
    vf low = vf_set(f->low), high = vf_set(f->high);
    _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) {
        vf y = sum[p] + bias;
        if (f->residual) y += load(f->residual + at + p * f->channels, tail, lanes);
        y = vf_min(high, vf_max(low, y));
        if (tail)
            vf_store_tail(f->y + at + p * f->channels, y, lanes);
        else
            vf_store(f->y + at + p * f->channels, y);
    }
}

/* A column of blocks. */
static inline __attribute__((always_inline)) void run_blocks(const conv *c, const window *n, const finish *f,
                                                             int pixels, int tail, int64_t lanes) {
    vf bias = f->bias ? load(f->bias, tail, lanes) : vf_set(-0.0f); /* -0 adds nothing, to zeros of either sign */
    for (int64_t r = 0; r < n->rows; r++) {
        vf sum[BLOCK] = {{0}};
        for (int64_t i = n->from[0]; i < n->to[0]; i++)
            for (int64_t j = n->from[1]; j < n->to[1]; j++) {
                vf w = load(n->w + (i * c->kernel[WIDTH] + j) * c->out_channels, tail, lanes);
                const float *x = n->x + r * n->row + i * n->line + j * n->column;
                _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[p] =
                    vf_fma(w, load(x + p * n->step, tail, lanes), sum[p]);
            }
        finish_block(f, r * f->row, sum, pixels, bias, tail, lanes);
    }
}

/* The same with all taps of a 3 x 3 kernel, whose weights stay in registers. */
static inline __attribute__((always_inline)) void run_3x3(const conv *c, const window *n, const finish *f, int pixels) {
    vf bias = f->bias ? vf_load(f->bias) : vf_set(-0.0f), w[9];
    _Pragma("GCC unroll 9") for (int t = 0; t < 9; t++) w[t] = vf_load(n->w + t * c->out_channels);
    const float *row = n->x;
    for (int64_t r = 0; r < n->rows; r++, row += n->row) {
        vf sum[BLOCK] = {{0}};
        _Pragma("GCC unroll 3") for (int i = 0; i < 3; i++) {
            const float *x = row + i * n->line;
            _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++, x += n->step)
                _Pragma("GCC unroll 3") for (int j = 0; j < 3; j++) sum[p] =
                    vf_fma(w[3 * i + j], vf_load(x + j * n->column), sum[p]);
        }
        finish_block(f, r * f->row, sum, pixels, bias, 0, 0);
    }
}

/* Nearly equal blocks, without a division. */
static int64_t block_size(int64_t pixels) {
    return pixels >= 2 * BLOCK ? BLOCK : pixels > BLOCK ? (pixels + 1) / 2 : pixels;
}

static void run_rectangle(const conv *c, window n, finish f, int64_t lanes) {
    int square = n.from[0] == 0 && n.to[0] == 3 && n.from[1] == 0 && n.to[1] == 3 && c->kernel[WIDTH] == 3;
    for (int64_t left = n.pixels, count; left > 0; left -= count) {
        count = block_size(left);
        switch (count) {
#define CASE(count)                                 \
    case count:                                     \
        if (lanes != ASC_VF)                        \
            run_blocks(c, &n, &f, count, 1, lanes); \
        else if (square)                            \
            run_3x3(c, &n, &f, count);              \
        else                                        \
            run_blocks(c, &n, &f, count, 0, 0);     \
        break;
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
        n.x += count * n.step;
        f.y += count * f.channels;
        if (f.residual) f.residual += count * f.channels;
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

/* One output row, from the image itself: taps outside are left out. */
static void run_row(const conv *c, int64_t image, int64_t row, int64_t channel, int64_t lanes, finish f) {
    int64_t m = c->out_channels, top = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    window n = {.w = c->weights + channel, .line = c->dilation[HEIGHT] * c->in[WIDTH] * m, .rows = 1};
    n.column = c->dilation[WIDTH] * m;
    n.step = c->stride[WIDTH] * m;
    taps_inside(c, HEIGHT, row, &n.from[0], &n.to[0]);
    for (int64_t o = 0; o < c->out[WIDTH]; o += n.pixels) {
        n.pixels = alike(c, o, c->out[WIDTH]);
        taps_inside(c, WIDTH, o, &n.from[1], &n.to[1]);
        n.x = input_at(c, image, top, o * c->stride[WIDTH] - c->pad[WIDTH], channel);
        find_outputs(c, image, row, o, channel, &f);
        run_rectangle(c, n, f, lanes);
    }
}

#define STRIP_FLOATS (8 << 10) /* a strip stays in L1 */
#define STRIP_VECTORS 4        /* channel vectors that are copied together, whose lines are neighbours */
#define LEAST_ROWS 4           /* of output in a strip; with fewer, the image is better read in place */

/* Output rows that fit a strip; 0 when strips don't pay. */
static int64_t strip_rows(const conv *c) {
    int64_t width = ASC_FN(conv_strip_width)(c), lines, rows;
    if (width > STRIP_FLOATS || c->dilation[HEIGHT] > STRIP_FLOATS) return 0;
    lines = STRIP_FLOATS / (width * ASC_VF) - (c->kernel[HEIGHT] - 1) * c->dilation[HEIGHT];
    if (lines < 1) return 0;
    rows = 1 + (lines - 1) / c->stride[HEIGHT];
    if (rows > c->out[HEIGHT]) rows = c->out[HEIGHT];
    return rows >= LEAST_ROWS || rows == c->out[HEIGHT] ? rows : 0;
}

static int64_t strip_lines(const conv *c, int64_t rows) {
    return (rows - 1) * c->stride[HEIGHT] + (c->kernel[HEIGHT] - 1) * c->dilation[HEIGHT] + 1;
}

static int64_t plane_floats(const conv *c) {
    return strip_lines(c, strip_rows(c)) * ASC_FN(conv_strip_width)(c) * ASC_VF;
}

static int64_t strip_vectors(const conv *c) {
    int64_t fit = STRIP_FLOATS / plane_floats(c);
    return fit < STRIP_VECTORS ? fit : STRIP_VECTORS;
}

int64_t ASC_FN(conv_channelwise_strip)(const conv *c) {
    return strip_rows(c) ? plane_floats(c) * strip_vectors(c) : 0;
}

static void zero(float *out, int64_t pixels) {
    if (pixels > 0) memset(out, 0, (size_t)(pixels * ASC_VF) * sizeof *out);
}

/* One line of a plane: input row i, padded; all zero when that lies outside. */
static void fill_line(const conv *c, int64_t image, int64_t i, int64_t channel, int64_t lanes, float *out) {
    int64_t width = ASC_FN(conv_strip_width)(c), left = c->pad[WIDTH], from = left < 0 ? -left : 0;
    int64_t end = width - left < c->in[WIDTH] ? width - left : c->in[WIDTH];
    if (i < 0 || i >= c->in[HEIGHT] || from >= end) {
        zero(out, width);
        return;
    }
    const float *x = c->x + ((image * c->in[HEIGHT] + i) * c->in[WIDTH] + from) * c->in_channels + channel;
    zero(out, from + left);
    zero(out + (end + left) * ASC_VF, width - end - left);
    out += (from + left) * ASC_VF;
    for (; from < end; from++, x += c->in_channels, out += ASC_VF)
        vf_store(out, lanes == ASC_VF ? vf_load(x) : vf_load_tail(x, lanes, 0));
}

/* Rows [row, row + rows) of `channels`, from planes that hold their inputs with the padding. */
static void run_strip(const conv *c, int64_t image, int64_t row, int64_t rows, int64_t channel, int64_t channels,
                      finish f, float *strip) {
    int64_t line = ASC_FN(conv_strip_width)(c) * ASC_VF, plane = plane_floats(c);
    window n = {.line = c->dilation[HEIGHT] * line, .column = c->dilation[WIDTH] * ASC_VF, .rows = rows};
    n.row = c->stride[HEIGHT] * line;
    n.step = c->stride[WIDTH] * ASC_VF;
    n.to[0] = c->kernel[HEIGHT];
    n.to[1] = c->kernel[WIDTH];
    n.pixels = c->out[WIDTH];
    for (int64_t l = 0; l < strip_lines(c, rows); l++)
        for (int64_t v = 0; v < channels; v += ASC_VF)
            fill_line(c, image, row * c->stride[HEIGHT] - c->pad[HEIGHT] + l, channel + v,
                      channels - v < ASC_VF ? channels - v : ASC_VF, strip + v / ASC_VF * plane + l * line);
    for (int64_t v = 0; v < channels; v += ASC_VF) {
        n.x = strip + v / ASC_VF * plane;
        n.w = c->weights + channel + v;
        f.bias = c->epilogue.bias.data ? c->epilogue.bias.data + channel + v : NULL;
        find_outputs(c, image, row, 0, channel + v, &f);
        run_rectangle(c, n, f, channels - v < ASC_VF ? channels - v : ASC_VF);
    }
}

void ASC_FN(conv_channelwise)(const conv *c, int64_t image, int64_t row, int64_t rows, int64_t channel,
                              int64_t channels, float *strip) {
    finish f = {.channels = c->out_channels, .row = c->out[WIDTH] * c->out_channels};
    epilogue after = {.alpha = 1, .beta = 1, .activation = c->epilogue.activation};
    int limits = ASC_FN(conv_limits)(&c->epilogue, &f.low, &f.high);
    int64_t group = strip ? strip_vectors(c) * ASC_VF : ASC_VF, band = strip ? strip_rows(c) : 1;
    for (int64_t at = channel; at < channel + channels; at += group) {
        int64_t some = channel + channels - at < group ? channel + channels - at : group;
        f.bias = c->epilogue.bias.data ? c->epilogue.bias.data + at : NULL;
        for (int64_t r = row; r < row + rows; r += band)
            if (strip)
                run_strip(c, image, r, row + rows - r < band ? row + rows - r : band, at, some, f, strip);
            else
                run_row(c, image, r, at, some, f);
        float *y = c->y + (image * c->out[HEIGHT] + row) * c->out[WIDTH] * c->out_channels + at;
        if (!limits) ASC_FN(epilogue_apply)(&after, y, c->out_channels, 0, rows * c->out[WIDTH], 0, some);
    }
}
