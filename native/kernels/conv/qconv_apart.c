/* Channels apart: each output channel sums the taps of one input channel, as many taps a step as the ISA level
 * multiplies at once. */
#include "qconv.h"
#include "simd.h"

#if defined(__SSE4_1__) && !defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))

typedef uint8_t vb __attribute__((vector_size(ASC_VF)));
typedef int8_t vc __attribute__((vector_size(ASC_VF)));

/* A group is TAPS bytes of each channel: `group_bytes` and `group_weights` have the taps of a channel in its lane. */
#if defined(__AVX512VNNI__)
#define TAPS 4
ALWAYS vi group_bytes(const uint8_t *const p[TAPS]) {
    const __m512i channels = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i taps = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p[0]));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const __m128i *)p[1]));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const __m128i *)p[2]));
    v = _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const __m128i *)p[3]));
    return (vi)_mm512_shuffle_epi8(_mm512_permutexvar_epi32(channels, v), taps);
}
ALWAYS vi group_weights(const int8_t *const p[TAPS]) {
    return group_bytes((const uint8_t *const *)p);
}
ALWAYS vi multiply(vi sum, vi x, vi w) {
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}
#elif defined(__ARM_FEATURE_DOTPROD)
#define TAPS 4
ALWAYS vi group_bytes(const uint8_t *const p[TAPS]) {
    const uint8x16_t order = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    uint8x16_t bytes;
    for (int k = 0; k < TAPS; k++) memcpy((uint8_t *)&bytes + 4 * k, p[k], 4);
    return (vi)vqtbl1q_u8(bytes, order);
}
ALWAYS vi group_weights(const int8_t *const p[TAPS]) {
    const uint8_t *bytes[TAPS];
    for (int k = 0; k < TAPS; k++) bytes[k] = (const uint8_t *)p[k];
    return group_bytes(bytes);
}
ALWAYS vi multiply(vi sum, vi x, vi w) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    return (vi)vusdotq_s32((int32x4_t)sum, (uint8x16_t)x, (int8x16_t)w);
#else
    /* Bytes less 128 are signed; what that takes from the sum doesn't depend on them. */
    int32x4_t taken = vdotq_s32(vdupq_n_s32(0), (int8x16_t)w, vdupq_n_s8(-128));
    int8x16_t less = (int8x16_t)veorq_u8((uint8x16_t)x, vdupq_n_u8(128));
    return (vi)vsubq_s32(vdotq_s32((int32x4_t)sum, less, (int8x16_t)w), taken);
#endif
}
#else
ALWAYS vi wide_byte(const uint8_t *p) {
    vb x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vi);
}
ALWAYS vi wide_weight(const int8_t *p) {
    vc w;
    memcpy(&w, p, sizeof w);
    return __builtin_convertvector(w, vi);
}
#if defined(__SSE4_1__)
#define TAPS 2
#if defined(__AVX2__) && !defined(__AVX512F__)
/* The bytes of two taps beside each other. */
ALWAYS __m128i zipped(const void *first, const void *second) {
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)first), _mm_loadl_epi64((const __m128i *)second));
}
ALWAYS vi group_bytes(const uint8_t *const p[TAPS]) {
    return (vi)_mm256_cvtepu8_epi16(zipped(p[0], p[1]));
}
ALWAYS vi group_weights(const int8_t *const p[TAPS]) {
    return (vi)_mm256_cvtepi8_epi16(zipped(p[0], p[1]));
}
#else
ALWAYS vi group_bytes(const uint8_t *const p[TAPS]) {
    return wide_byte(p[0]) | wide_byte(p[1]) << 16;
}
ALWAYS vi group_weights(const int8_t *const p[TAPS]) {
    return (wide_weight(p[0]) & 0xffff) | (vi)((vw)wide_weight(p[1]) << 16);
}
#endif
ALWAYS vi multiply(vi sum, vi x, vi w) {
#if defined(__AVX512F__)
    return sum + (vi)_mm512_madd_epi16((__m512i)x, (__m512i)w);
#elif defined(__AVX2__)
    return sum + (vi)_mm256_madd_epi16((__m256i)x, (__m256i)w);
#else
    return sum + (vi)_mm_madd_epi16((__m128i)x, (__m128i)w);
#endif
}
#else
#define TAPS 1
ALWAYS vi group_bytes(const uint8_t *const p[TAPS]) {
    return wide_byte(p[0]);
}
ALWAYS vi group_weights(const int8_t *const p[TAPS]) {
    return wide_weight(p[0]);
}
ALWAYS vi multiply(vi sum, vi x, vi w) {
    return sum + x * w;
}
#endif
#endif

#define STEPS 8 /* groups whose weights are kept at a time */

/* Groups of taps of a vector of channels: where their bytes are, their weights, and a 1 for each tap that exists. */
typedef struct groups {
    int64_t n, at[STEPS * TAPS];
    vi weights[STEPS], ones[STEPS];
} groups;

/* The groups from tap `from` on. What a group lacks to be whole has weight 0, and reads its first tap again. */
ALWAYS void find_groups(const qconv *c, const int8_t *weights, int64_t from, groups *g) {
    static const int8_t zeros[ASC_VF];
    int8_t units[ASC_VF];
    memset(units, 1, sizeof units);
    int64_t taps = c->kernel[0] * c->kernel[1], pitch = c->padded[1] * c->channels;
    g->n = 0;
    for (int64_t first = from; g->n < STEPS && first < taps; first += TAPS, g->n++) {
        const int8_t *w[TAPS], *one[TAPS];
        for (int64_t k = 0; k < TAPS; k++) {
            int64_t tap = first + k < taps ? first + k : first, r = tap / c->kernel[1], s = tap % c->kernel[1];
            g->at[g->n * TAPS + k] = r * c->dilation[0] * pitch + s * c->dilation[1] * c->channels;
            w[k] = first + k < taps ? weights + tap * c->channels : zeros;
            one[k] = first + k < taps ? units : zeros;
        }
        g->weights[g->n] = group_weights(w);
        g->ones[g->n] = group_weights(one);
    }
}

/* What the groups add to the sum at one position; with a zero point less that times the sum of the bytes. */
ALWAYS vi add_groups(const groups *g, const uint8_t *window, vi sum, const vi *zero, const int64_t n) {
    vi bytes = {0};
    for (int64_t q = 0; q < n; q++) {
        const uint8_t *p[TAPS];
        for (int k = 0; k < TAPS; k++) p[k] = window + g->at[q * TAPS + k];
        vi x = group_bytes(p);
        sum = multiply(sum, x, g->weights[q]);
        if (zero) bytes = multiply(bytes, x, g->ones[q]);
    }
    return zero ? (vi)((vw)sum - (vw)bytes * (vw)*zero) : sum;
}

/* A vector of channels at n positions, of which lanes [from, ASC_VF) are stored. */
ALWAYS void one_vector(const qconv *c, const uint8_t *window, const int8_t *weights, const int32_t *zero, int64_t n,
                       int32_t *sums, int64_t from) {
    const int64_t step = c->stride[1] * c->channels, taps = c->kernel[0] * c->kernel[1];
    const size_t bytes = (size_t)(ASC_VF - from) * sizeof *sums;
    groups g;
    vi z = {0};
    if (zero) memcpy(&z, zero, sizeof z);
    for (int64_t tap = 0; tap < taps; tap += STEPS * TAPS) {
        find_groups(c, weights, tap, &g);
        for (int64_t i = 0; i < n; i++) {
            const uint8_t *x = window + i * step;
            int32_t *out = sums + i * QGEMM_COLUMNS;
            vi sum = {0};
            if (tap) memcpy((int32_t *)&sum + from, out, bytes);
            sum = zero ? add_groups(&g, x, sum, &z, g.n) : add_groups(&g, x, sum, NULL, g.n);
            memcpy(out, (int32_t *)&sum + from, bytes);
        }
    }
}

#if TAPS == 4
/* The bytes of a column of three rows; the fourth reads the last again. */
ALWAYS vi column(const uint8_t *p, int64_t pitch) {
    const uint8_t *const rows[TAPS] = {p, p + pitch, p + 2 * pitch, p + 2 * pitch};
    return group_bytes(rows);
}

/* 3 x 3 whose columns are neighbours, one or two of them apart: a column is grouped once for all windows that see it.
 */
ALWAYS void three_by_three(const qconv *c, const uint8_t *window, const int8_t *weights, const int32_t *zero, int64_t n,
                           int32_t *sums, const int64_t from, const int64_t stride) {
    static const int8_t zeros[ASC_VF];
    const int64_t channels = c->channels, pitch = c->dilation[0] * c->padded[1] * channels;
    const vi ones = vi_set(0x00010101);
    vi w[3], z = {0};
    for (int64_t s = 0; s < 3; s++) {
        const int8_t *const rows[TAPS] = {weights + s * channels, weights + (3 + s) * channels,
                                          weights + (6 + s) * channels, zeros};
        w[s] = group_weights(rows);
    }
    if (zero) memcpy(&z, zero, sizeof z);
    vi first = column(window, pitch), second = first;
    if (stride == 1) second = column(window + channels, pitch);
    for (int64_t i = 0; i < n; i++, sums += QGEMM_COLUMNS) {
        const uint8_t *x = window + i * stride * channels;
        if (stride == 2) second = column(x + channels, pitch);
        vi third = column(x + 2 * channels, pitch), sum = multiply((vi){0}, first, w[0]);
        sum = multiply(multiply(sum, second, w[1]), third, w[2]);
        if (zero) {
            vi bytes = multiply(multiply(multiply((vi){0}, first, ones), second, ones), third, ones);
            sum = (vi)((vw)sum - (vw)bytes * (vw)z);
        }
        memcpy(sums, (int32_t *)&sum + from, (size_t)(ASC_VF - from) * sizeof *sums);
        first = stride == 1 ? second : third;
        second = third;
    }
}
#endif

/* As one_vector. */
ALWAYS void few_taps(const qconv *c, const uint8_t *window, const int8_t *weights, const int32_t *zero, int64_t n,
                     int32_t *sums, const int64_t from) {
#if TAPS == 4
    int fits = c->kernel[0] == 3 && c->kernel[1] == 3 && c->dilation[1] == 1;
    if (fits && c->stride[1] == 1) {
        three_by_three(c, window, weights, zero, n, sums, from, 1);
        return;
    }
    if (fits && c->stride[1] == 2) {
        three_by_three(c, window, weights, zero, n, sums, from, 2);
        return;
    }
#endif
    one_vector(c, window, weights, zero, n, sums, from);
}

static void one_channel(const qconv *c, const uint8_t *window, const int8_t *weights, int32_t zero, int64_t n,
                        int32_t *sums) {
    const int64_t step = c->stride[1] * c->channels, pitch = c->padded[1] * c->channels;
    for (int64_t i = 0; i < n; i++) {
        const int8_t *w = weights;
        int32_t sum = 0;
        for (int64_t r = 0; r < c->kernel[0]; r++)
            for (int64_t s = 0; s < c->kernel[1]; s++, w += c->channels)
                sum += window[i * step + r * c->dilation[0] * pitch + s * c->dilation[1] * c->channels] * (*w - zero);
        sums[i * QGEMM_COLUMNS] = sum;
    }
}

void ASC_FN(qconv_apart)(const qconv *c, const uint8_t *window, const int8_t *weights, const int32_t *zero, int64_t col,
                         int64_t n, int32_t *sums) {
    int64_t end = c->channels - col < QGEMM_COLUMNS ? c->channels - col : QGEMM_COLUMNS, j = 0;
    for (; j + ASC_VF <= end; j += ASC_VF)
        few_taps(c, window + col + j, weights + col + j, zero ? zero + col + j : NULL, n, sums + j, 0);
    if (j < end && c->channels >= ASC_VF) { /* the last whole vector, which begins before what is left */
        int64_t at = c->channels - ASC_VF;
        few_taps(c, window + at, weights + at, zero ? zero + at : NULL, n, sums + j, ASC_VF - (end - j));
        return;
    }
    for (; j < end; j++) one_channel(c, window + col + j, weights + col + j, zero ? zero[col + j] : 0, n, sums + j);
}
