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
#define VECTORS 4         /* of sums */
#define MOST_TAPS 64      /* whose weights are kept */
#define LEAST_CHANNELS 17 /* for which a vector of 64 pays, beside one of 16 */

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

/* Groups of four taps: where they are from a window's first byte, and their weights. A tap that doesn't exist reads the
 * first of its group again, and weighs nothing. */
typedef struct groups {
    int64_t n, at[MOST_TAPS];
    vnni4 weights[MOST_TAPS / TAPS];
} groups;

static void find_groups(const strip *s, groups *g) {
    const qconv *c = s->c;
    const int64_t taps = c->kernel[0] * c->kernel[1], pitch = c->padded[1] * c->channels;
    g->n = asc_ceil_div(taps, TAPS);
    for (int64_t first = 0; first < taps; first += TAPS) {
        __m512i w[TAPS];
        for (int64_t k = 0; k < TAPS; k++) {
            int64_t tap = first + k < taps ? first + k : first, row = tap / c->kernel[1], column = tap % c->kernel[1];
            g->at[first + k] = row * c->dilation[0] * pitch + column * c->dilation[1] * c->channels;
            w[k] = first + k < taps ? load(s, s->weights + tap * c->channels) : _mm512_setzero_si512();
        }
        g->weights[first / TAPS] = interleaved(w[0], w[1], w[2], w[3]);
    }
}

/* Any window of up to MOST_TAPS. */
static void any_taps(const strip *s, const groups *g, const uint8_t *window, int64_t n, char *out, int64_t step) {
    const int64_t across = s->c->stride[1] * s->c->channels;
    for (int64_t i = 0; i < n; i++, window += across, out += step) {
        const int64_t *at = g->at;
        vi sum[VECTORS];
        start(s, sum);
        for (int64_t q = 0; q < g->n; q++, at += TAPS) {
            vnni4 x = interleaved(load(s, window + at[0]), load(s, window + at[1]), load(s, window + at[2]),
                                  load(s, window + at[3]));
            add_products(sum, &x, &g->weights[q]);
        }
        finish(s, sum, out);
    }
}

/* An element of a table for each channel, in the order of the sums. */
ALWAYS void order_table(const void *table, vi ordered[VECTORS]) {
    for (int k = 0; k < VECTORS; k++)
        for (int q = 0; q < 4; q++)
            memcpy((int32_t *)&ordered[k] + 4 * q, (const int32_t *)table + 16 * q + 4 * k, 4 * sizeof(int32_t));
}

int ASC_FN(qconv_apart_bytes_can)(const qconv *c, const requantiser *r) {
    const int is_byte = r->dtype == ASC_INT8 || r->dtype == ASC_UINT8;
    return c->y_last && is_byte && r->saturates && !r->b_zero && c->channels >= LEAST_CHANNELS &&
           c->kernel[0] * c->kernel[1] <= MOST_TAPS;
}

void ASC_FN(qconv_apart_bytes)(const qconv *c, const requantiser *r, const uint8_t *window, const int8_t *weights,
                               int64_t col, int64_t n, char *out) {
    const int64_t width = c->channels < QCONV_BYTES ? c->channels : QCONV_BYTES;
    if (col + width > c->channels) col = c->channels - width; /* the last whole strip begins before what is left */
    strip s = {.c = c, .weights = weights + col, .ends = saturation_of(r->zero, r->dtype == ASC_INT8)};
    s.exists = width < QCONV_BYTES ? (1ull << width) - 1 : ~0ull;
    order_table(r->offset + col, s.offset);
    order_table(r->scale + col, (vi *)s.scale);
    groups g;
    const int is_square = c->kernel[0] == 3 && c->kernel[1] == 3 && c->dilation[1] == 1 && c->stride[1] <= 2;
    if (!is_square) find_groups(&s, &g);
    out += col;
    window += col;
    for (; n > 0; n -= c->line, window += c->line_step, out += c->line * c->outputs) {
        int64_t count = asc_least(n, c->line);
        if (!is_square)
            any_taps(&s, &g, window, count, out, c->outputs);
        else if (c->stride[1] == 1)
            three_by_three(&s, window, count, out, c->outputs, 1);
        else
            three_by_three(&s, window, count, out, c->outputs, 2);
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
