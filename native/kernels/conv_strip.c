/* The inputs of a strip of output rows, with their padding, as windows with channels last read them. */
#include "conv_last.h"
#include "gemm_pack.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Inputs that `count` windows next to each other cover; INT64_MAX on overflow. */
static int64_t covered(const conv *c, int axis, int64_t count) {
    int64_t moved, wide, all;
    if (!asc_mul_ok(count - 1, c->stride[axis], &moved)) return INT64_MAX;
    if (!asc_mul_ok(c->kernel[axis] - 1, c->dilation[axis], &wide)) return INT64_MAX;
    return asc_add_ok(moved, wide, &all) && asc_add_ok(all, 1, &all) ? all : INT64_MAX;
}

int64_t ASC_FN(conv_strip_width)(const conv *c) {
    return covered(c, WIDTH, c->out[WIDTH]);
}

int64_t ASC_FN(conv_strip_size)(const conv *c, int64_t count) {
    int64_t floats;
    if (conv_is_flat(c)) return asc_mul_ok(count, c->in_channels, &floats) ? floats : INT64_MAX;
    if (!asc_mul_ok(covered(c, HEIGHT, count), covered(c, WIDTH, c->out[WIDTH]), &floats)) return INT64_MAX;
    return asc_mul_ok(floats, c->in_channels, &floats) ? floats : INT64_MAX;
}

static void zero(float *out, int64_t pixels, int64_t channels) {
    memset(out, 0, (size_t)(pixels * channels) * sizeof *out);
}

/* `count` pixels of a row of an image, channels last, from one whose channels lie a plane apart. */
static void interleave(const float *x, int64_t plane, int64_t channels, int64_t count, float *out) {
    if (channels == 3) {
        const float *red = x, *green = x + plane, *blue = x + 2 * plane;
        for (int64_t i = 0; i < count; i++) {
            out[3 * i] = red[i];
            out[3 * i + 1] = green[i];
            out[3 * i + 2] = blue[i];
        }
        return;
    }
    ASC_FN(gemm_interleave)(x, plane, 1, channels, count, channels, out);
}

static void copy_pixels(const conv *c, int64_t image, int64_t row, int64_t column, int64_t count, float *out) {
    int64_t at = row * c->in[WIDTH] + column, channels = c->in_channels;
    if (!c->x_last)
        interleave(c->x + image * channels * c->in_size + at, c->in_size, channels, count, out);
    else
        memcpy(out, c->x + (image * c->in_size + at) * channels, (size_t)(count * channels) * sizeof *out);
}

static void fill_rows(const conv *c, int64_t image, int64_t row, int64_t rows, float *strip) {
    int64_t width = covered(c, WIDTH, c->out[WIDTH]), lines = covered(c, HEIGHT, rows), channels = c->in_channels;
    int64_t top = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    int64_t before = least(most(c->pad[WIDTH], 0), width), from = before - c->pad[WIDTH];
    int64_t count = most(least(width - before, c->in[WIDTH] - from), 0), after = width - before - count;
    for (int64_t i = 0; i < lines; i++, strip += width * channels) {
        if (top + i < 0 || top + i >= c->in[HEIGHT] || count == 0) {
            zero(strip, width, channels);
            continue;
        }
        zero(strip, before, channels);
        copy_pixels(c, image, top + i, from, count, strip + before * channels);
        zero(strip + (before + count) * channels, after, channels);
    }
}

static void fill_pixels(const conv *c, int64_t pixel, int64_t count, float *strip) {
    int64_t channels = c->in_channels;
    for (int64_t p = pixel; p < pixel + count; p++, strip += channels) {
        int64_t place = p % c->out_size;
        int64_t row = place / c->out[WIDTH] * c->stride[HEIGHT] - c->pad[HEIGHT];
        int64_t column = place % c->out[WIDTH] * c->stride[WIDTH] - c->pad[WIDTH];
        if (row < 0 || row >= c->in[HEIGHT] || column < 0 || column >= c->in[WIDTH])
            zero(strip, 1, channels);
        else
            copy_pixels(c, p / c->out_size, row, column, 1, strip);
    }
}

void ASC_FN(conv_fill_strip)(const conv *c, int64_t image, int64_t row, int64_t count, float *strip) {
    if (conv_is_flat(c))
        fill_pixels(c, row, count, strip);
    else
        fill_rows(c, image, row, count, strip);
}
