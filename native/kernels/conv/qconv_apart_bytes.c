/* Channels apart whose sums become integers of 8 bits before they leave the registers: 64 channels at a time.
 *
 * Bytes of four taps are interleaved within quarters of a vector, so the sums of channels 16 q + 4 k + i, where q is
 * the quarter and i the lane in it, stand in vector k of four. Narrowing by saturation works within quarters, too, and
 * puts them back in order. */
#include "qconv.h"

#if defined(__AVX512VNNI__)
#include "chunks.h"
#include "quantize/saturate.h"

#define ALWAYS static inline __attribute__((always_inline))
#define TAPS 4
#define VECTORS 4 /* of sums */
#define ROWS 4    /* positions whose sums are kept at a time */

/* A group of four taps of 64 channels. */
typedef struct vnni4 {
    vi part[VECTORS];
} vnni4;

/* What the positions of a strip share. `exists`: which of the 64 channels do. */
typedef struct strip {
    const qconv *c;
    const int8_t *weights; /* of the strip's first channel, as all else here */
    __mmask64 exists;
    saturation ends;
    vi offset[VECTORS];
    vf scale[VECTORS];
} strip;

ALWAYS __m512i load(const strip *s, const void *p) {
    return _mm512_maskz_loadu_epi8(s->exists, p);
}

ALWAYS vnni4 interleaved(__m512i a, __m512i b, __m512i c, __m512i d) {
    __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    __m512i low2 = _mm512_unpacklo_epi8(c, d), high2 = _mm512_unpackhi_epi8(c, d);
    return (vnni4){{(vi)_mm512_unpacklo_epi16(low, low2), (vi)_mm512_unpackhi_epi16(low, low2),
                    (vi)_mm512_unpacklo_epi16(high, high2), (vi)_mm512_unpackhi_epi16(high, high2)}};
}

ALWAYS void add_products(vi sum[VECTORS], const vnni4 *x, const vnni4 *w) {
#pragma GCC unroll 4
    for (int k = 0; k < VECTORS; k++)
        sum[k] = (vi)_mm512_dpbusd_epi32((__m512i)sum[k], (__m512i)x->part[k], (__m512i)w->part[k]);
}

ALWAYS void start(const strip *s, vi sum[VECTORS]) {
#pragma GCC unroll 4
    for (int k = 0; k < VECTORS; k++) sum[k] = s->offset[k];
}

ALWAYS void finish(const strip *s, const vi sum[VECTORS], char *out) {
    const __m512i q[] = {scaled(sum[0], s->scale[0]), scaled(sum[1], s->scale[1]), scaled(sum[2], s->scale[2]),
                         scaled(sum[3], s->scale[3])};
    _mm512_mask_storeu_epi8(out, s->exists, saturated_in_quarters(&s->ends, q));
}

/* Three rows of a column; what lacks to four is 0. */
ALWAYS vnni4 column(const strip *s, const uint8_t *p, int64_t pitch) {
    return interleaved(load(s, p), load(s, p + pitch), load(s, p + 2 * pitch), _mm512_setzero_si512());
}

/* 3 x 3 whose columns are neighbours, one or two of them apart: a column is interleaved once for all windows that see
 * it. */
ALWAYS void three_by_three(const strip *s, const uint8_t *window, int64_t n, char *out, int64_t step,
                           const int64_t stride) {
    const int64_t channels = s->c->channels, pitch = s->c->dilation[0] * s->c->padded[1] * channels;
    vnni4 w[3], first = column(s, window, pitch), second = first;
    for (int64_t k = 0; k < 3; k++) w[k] = column(s, (const uint8_t *)s->weights + k * channels, 3 * channels);
    if (stride == 1) second = column(s, window + channels, pitch);
    for (int64_t i = 0; i < n; i++, out += step) {
        const uint8_t *x = window + i * stride * channels;
        vi sum[VECTORS];
        if (stride == 2) second = column(s, x + channels, pitch);
        vnni4 third = column(s, x + 2 * channels, pitch);
        start(s, sum);
        add_products(sum, &first, &w[0]);
        add_products(sum, &second, &w[1]);
        add_products(sum, &third, &w[2]);
        finish(s, sum, out);
        first = stride == 1 ? second : third;
        second = third;
    }
}

/* Four taps from `first` on; those that don't exist read the first one again, or nothing of the weights. */
ALWAYS vnni4 taps_of_window(const strip *s, const uint8_t *window, int64_t first) {
    const qconv *c = s->c;
    const int64_t taps = c->kernel[0] * c->kernel[1], pitch = c->padded[1] * c->channels;
    __m512i each[TAPS];
    for (int64_t k = 0; k < TAPS; k++) {
        int64_t tap = first + k < taps ? first + k : first, r = tap / c->kernel[1], q = tap % c->kernel[1];
        each[k] = load(s, window + r * c->dilation[0] * pitch + q * c->dilation[1] * c->channels);
    }
    return interleaved(each[0], each[1], each[2], each[3]);
}

ALWAYS vnni4 taps_of_weights(const strip *s, int64_t first) {
    const int64_t taps = s->c->kernel[0] * s->c->kernel[1];
    __m512i each[TAPS];
    for (int64_t k = 0; k < TAPS; k++)
        each[k] = first + k < taps ? load(s, s->weights + (first + k) * s->c->channels) : _mm512_setzero_si512();
    return interleaved(each[0], each[1], each[2], each[3]);
}

/* Any window. */
static void any_taps(const strip *s, const uint8_t *window, int64_t n, char *out, int64_t step) {
    const qconv *c = s->c;
    const int64_t taps = c->kernel[0] * c->kernel[1], across = c->stride[1] * c->channels;
    for (int64_t i = 0, rows; i < n; i += rows) {
        vi sums[ROWS][VECTORS];
        rows = n - i < ROWS ? n - i : ROWS;
        for (int64_t r = 0; r < rows; r++) start(s, sums[r]);
        for (int64_t tap = 0; tap < taps; tap += TAPS) {
            vnni4 w = taps_of_weights(s, tap);
            for (int64_t r = 0; r < rows; r++) {
                vnni4 x = taps_of_window(s, window + (i + r) * across, tap);
                add_products(sums[r], &x, &w);
            }
        }
        for (int64_t r = 0; r < rows; r++) finish(s, sums[r], out + (i + r) * step);
    }
}

/* An element of a table for each channel, in the order of the sums. */
ALWAYS void order_table(const void *table, vi ordered[VECTORS]) {
    for (int k = 0; k < VECTORS; k++)
        for (int q = 0; q < 4; q++)
            memcpy((int32_t *)&ordered[k] + 4 * q, (const int32_t *)table + 16 * q + 4 * k, 4 * sizeof(int32_t));
}

int ASC_FN(qconv_apart_bytes_can)(const qconv *c, const requantiser *r) {
    return c->y_last && r->saturates && !r->b_zero && (r->dtype == ASC_INT8 || r->dtype == ASC_UINT8);
}

void ASC_FN(qconv_apart_bytes)(const qconv *c, const requantiser *r, const uint8_t *window, const int8_t *weights,
                               int64_t col, int64_t n, char *out) {
    const int64_t width = c->channels < QCONV_BYTES ? c->channels : QCONV_BYTES;
    if (col + width > c->channels) col = c->channels - width; /* the last whole strip begins before what is left */
    strip s = {.c = c, .weights = weights + col, .ends = saturation_of(r->zero, r->dtype == ASC_INT8)};
    s.exists = width < QCONV_BYTES ? (1ull << width) - 1 : ~0ull;
    order_table(r->offset + col, s.offset);
    order_table(r->scale + col, (vi *)s.scale);
    int fits = c->kernel[0] == 3 && c->kernel[1] == 3 && c->dilation[1] == 1;
    out += col;
    window += col;
    for (; n > 0; n -= c->line, window += c->line_step, out += c->line * c->outputs) {
        int64_t count = asc_least(n, c->line);
        if (fits && c->stride[1] == 1)
            three_by_three(&s, window, count, out, c->outputs, 1);
        else if (fits && c->stride[1] == 2)
            three_by_three(&s, window, count, out, c->outputs, 2);
        else
            any_taps(&s, window, count, out, c->outputs);
    }
}

#else

int ASC_FN(qconv_apart_bytes_can)(const qconv *c, const requantiser *r) {
    (void)c, (void)r;
    return 0;
}

void ASC_FN(qconv_apart_bytes)(const qconv *c, const requantiser *r, const uint8_t *window, const int8_t *weights,
                               int64_t col, int64_t n, char *out) {
    (void)c, (void)r, (void)window, (void)weights, (void)col, (void)n, (void)out;
}

#endif
