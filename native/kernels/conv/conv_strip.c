/* The inputs of a strip of output rows, with their padding, as windows with channels last read them: the lines of
 * each plane of taps in turn. */
#include "conv_last.h"
#include "matmul/gemm_pack.h"
#include "vnni2.h"

/* Columns that one tap reads for a row of output; both factors are below 2^31. */
static int64_t tap_columns(const conv *c) {
    return (c->out[WIDTH] - 1) * c->stride[WIDTH] + 1;
}

int64_t ASC_FN(conv_strip_across)(const conv *c) {
    return asc_least(c->dilation[WIDTH], tap_columns(c));
}

/* INT64_MAX on overflow. */
int64_t ASC_FN(conv_strip_width)(const conv *c) {
    int64_t wide, all;
    if (!asc_mul_ok(c->kernel[WIDTH] - 1, ASC_FN(conv_strip_across)(c), &wide)) return INT64_MAX;
    return asc_add_ok(tap_columns(c), wide, &all) ? all : INT64_MAX;
}

/* Input rows that one row of taps reads for `count` rows of output. */
static int64_t tap_rows(const conv *c, int64_t count) {
    return (count - 1) * c->stride[HEIGHT] + 1;
}

int64_t ASC_FN(conv_strip_step)(const conv *c, int64_t count) {
    return asc_least(c->dilation[HEIGHT], tap_rows(c, count));
}

int64_t ASC_FN(conv_strip_lines)(const conv *c, int64_t count) {
    return (c->kernel[HEIGHT] - 1) * ASC_FN(conv_strip_step)(c, count) + tap_rows(c, count);
}

int64_t ASC_FN(conv_strip_size)(const conv *c, int64_t count) {
    int64_t floats;
    if (conv_is_flat(c)) return asc_mul_ok(count, c->depth, &floats) ? floats : INT64_MAX;
    if (!asc_mul_ok(ASC_FN(conv_strip_lines)(c, count), ASC_FN(conv_strip_width)(c), &floats)) return INT64_MAX;
    if (!asc_mul_ok(floats, c->kernel[DEPTH], &floats)) return INT64_MAX;
    return asc_mul_ok(floats, c->depth, &floats) ? floats : INT64_MAX;
}

static void zero(const conv *c, float *out, int64_t pixels) {
    memset(out, 0, (size_t)(pixels * c->depth) * sizeof *out);
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

/* Two vectors, a lane of each in turn. */
static inline void store_in_turn(float *out, vf even, vf odd) {
#if defined(__AVX512F__)
    __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    vf_store(out, (vf)_mm512_permutex2var_ps((__m512)even, low, (__m512)odd));
    vf_store(out + ASC_VF, (vf)_mm512_permutex2var_ps((__m512)even, high, (__m512)odd));
#else
    for (int i = 0; i < ASC_VF; i++) {
        memcpy(out + 2 * i, (const char *)&even + i * (int)sizeof *out, sizeof *out);
        memcpy(out + 2 * i + 1, (const char *)&odd + i * (int)sizeof *out, sizeof *out);
    }
#endif
}

/* Pixels in two rounded pairs, of three or four channels: whole vectors of pixels. Returns how many. */
static int64_t interleave_two_vnni2(const float *x, int64_t plane, int64_t channels, int64_t count, float *out) {
    int64_t i = 0;
    for (; i + ASC_VF <= count; i += ASC_VF, x += ASC_VF) {
        vf last = channels == 4 ? vf_load(x + 3 * plane) : (vf){0};
        vf first = vnni2_zip(vf_load(x), vf_load(x + plane)), second = vnni2_zip(vf_load(x + 2 * plane), last);
        store_in_turn(out + 2 * i, first, second);
    }
    return i;
}

/* The same, rounded, two channels at a time. */
static void interleave_vnni2(const float *x, int64_t plane, int64_t channels, int64_t count, float *out) {
    int64_t depth = (channels + 1) / 2, whole = 0;
    if (depth == 2) whole = interleave_two_vnni2(x, plane, channels, count, out);
    for (int64_t d = 0; d < depth; d++) {
        const float *first = x + 2 * d * plane, *second = first + plane;
        int alone = 2 * d + 1 == channels;
        for (int64_t i = whole; i < count; i += ASC_VF) {
            int64_t lanes = asc_least(count - i, ASC_VF);
            float pairs[ASC_VF];
            vf left = image_load(first, i, 0, lanes < ASC_VF, lanes);
            vf right = alone ? (vf){0} : image_load(second, i, 0, lanes < ASC_VF, lanes);
            vf_store(pairs, vnni2_zip(left, right));
            for (int64_t j = 0; j < lanes; j++) memcpy(out + (i + j) * depth + d, &pairs[j], sizeof *pairs);
        }
    }
}

/* Neighbouring pixels that have channels last, two channels at a time. */
static void pair_pixels(const conv *c, int64_t pixel, int64_t count, float *out) {
    int64_t channels = c->in_channels, even = channels % 2 == 0;
    const void *x = image_at(c->x, pixel * channels, c->x_narrow);
    if (even) {
        if (c->x_narrow)
            memcpy(out, x, (size_t)(count * channels) * sizeof(uint16_t));
        else
            vnni2_from(x, count * channels, out);
        return;
    }
    for (int64_t i = 0; i < count; i++, out += c->depth) {
        if (c->x_narrow) {
            out[c->depth - 1] = 0;
            memcpy(out, image_at(x, i * channels, 1), (size_t)channels * sizeof(uint16_t));
        } else {
            vnni2_from((const float *)x + i * channels, channels, out);
        }
    }
}

/* Neighbours of a row of a plane of an image, which all exist. */
static void copy_pixels(const conv *c, int64_t image, int64_t plane, int64_t row, int64_t column, int64_t count,
                        float *out) {
    int64_t at = (plane * c->in[HEIGHT] + row) * c->in[WIDTH] + column, channels = c->in_channels;
    if (c->joined)
        ASC_FN(conv_join_pixels)(c, image * c->in_size + at, count, out);
    else if (!c->x_last)
        (c->vnni2 ? interleave_vnni2 : interleave)(c->x + image * channels * c->in_size + at, c->in_size, channels,
                                                   count, out);
    else if (c->vnni2)
        pair_pixels(c, image * c->in_size + at, count, out);
    else
        memcpy(out, c->x + (image * c->in_size + at) * channels, (size_t)(count * channels) * sizeof *out);
}

/* `width` pixels of a row of a plane of an image from one on that may be padding. */
static void fill_line(const conv *c, int64_t image, int64_t plane, int64_t row, int64_t column, int64_t width,
                      float *out) {
    int64_t before = asc_least(asc_most(-column, 0), width), from = column + before;
    int64_t count = asc_most(asc_least(width - before, c->in[WIDTH] - from), 0), after = width - before - count;
    zero(c, out, before);
    if (count) copy_pixels(c, image, plane, row, from, count, out + before * c->depth);
    zero(c, out + (before + count) * c->depth, after);
}

/* What one plane of taps reads, from a plane of an image. */
static void fill_lines(const conv *c, int64_t image, int64_t plane, int64_t row, int64_t rows, float *strip) {
    int64_t width = ASC_FN(conv_strip_width)(c), lines = ASC_FN(conv_strip_lines)(c, rows);
    int64_t top = row * c->stride[HEIGHT] - c->pad[HEIGHT], step = ASC_FN(conv_strip_step)(c, rows);
    int64_t across = ASC_FN(conv_strip_across)(c), dilation = c->dilation[WIDTH];
    int64_t pieces = across == dilation ? 1 : c->kernel[WIDTH], wide = width / pieces;
    for (int64_t i = 0; i < lines; i++, strip += width * c->depth) {
        int64_t tap = asc_least(i / step, c->kernel[HEIGHT] - 1), at = top + tap * c->dilation[HEIGHT] + i - tap * step;
        if (at < 0 || at >= c->in[HEIGHT]) {
            if (c->tile_lines > 1) zero(c, strip, width);
            continue;
        }
        for (int64_t k = 0; k < pieces; k++)
            fill_line(c, image, plane, at, k * dilation - c->pad[WIDTH], wide, strip + k * wide * c->depth);
    }
}

static void fill_rows(const conv *c, int64_t image, int64_t place, int64_t row, int64_t rows, float *strip) {
    int64_t pixels = ASC_FN(conv_strip_lines)(c, rows) * ASC_FN(conv_strip_width)(c);
    for (int64_t k = 0; k < c->kernel[DEPTH]; k++, strip += pixels * c->depth) {
        int64_t plane = place * c->stride[DEPTH] - c->pad[DEPTH] + k * c->dilation[DEPTH];
        if (plane >= 0 && plane < c->in[DEPTH]) fill_lines(c, image, plane, row, rows, strip);
    }
}

/* Whether each output has the input at its own place. */
static int reads_its_place(const conv *c) {
    int same = c->x_last;
    for (int a = 0; a < AXES; a++) same = same && c->stride[a] == 1 && c->pad[a] == 0 && c->in[a] == c->out[a];
    return same;
}

static void fill_pixels(const conv *c, int64_t pixel, int64_t count, float *strip) {
    if ((c->vnni2 || c->joined) && reads_its_place(c)) {
        (c->joined ? ASC_FN(conv_join_pixels) : pair_pixels)(c, pixel, count, strip);
        return;
    }
    for (int64_t p = pixel; p < pixel + count; p++, strip += c->depth) {
        int64_t line = p % c->out_size / c->out[WIDTH];
        int64_t plane = line / c->out[HEIGHT] * c->stride[DEPTH] - c->pad[DEPTH];
        int64_t row = line % c->out[HEIGHT] * c->stride[HEIGHT] - c->pad[HEIGHT];
        int64_t column = p % c->out[WIDTH] * c->stride[WIDTH] - c->pad[WIDTH];
        int inside = plane >= 0 && plane < c->in[DEPTH] && row >= 0 && row < c->in[HEIGHT];
        if (!inside || column < 0 || column >= c->in[WIDTH])
            zero(c, strip, 1);
        else
            copy_pixels(c, p / c->out_size, plane, row, column, 1, strip);
    }
}

void ASC_FN(conv_fill_strip)(const conv *c, int64_t plane, int64_t row, int64_t count, float *strip) {
    if (conv_is_flat(c))
        fill_pixels(c, row, count, strip);
    else
        fill_rows(c, plane / c->out[DEPTH], plane % c->out[DEPTH], row, count, strip);
}
