/* Sums of integer products become the elements of a result.
 *
 * To 8 bits as onnxruntime's CPU provider does it: the sum as float32 times the scale, cut to the bounds, rounded
 * half to even, plus the zero point. Then perhaps the sum with an image, each step rounded as byte_binary.c does. No
 * product is contracted with a sum here: CMakeLists.txt.
 */
#include "byte_sum_vectors.h"
#include "matmul/qgemm.h"
#include "quotient.h"
#include "simd.h"

#if defined(__SSE4_1__)
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS vi load_sums(const int32_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

ALWAYS vi round_to_int(vf x) {
#if defined(__AVX512F__)
    return (vi)_mm512_cvtps_epi32((__m512)x);
#elif defined(__AVX2__)
    return (vi)_mm256_cvtps_epi32((__m256)x);
#elif defined(__SSE4_1__)
    return (vi)_mm_cvtps_epi32((__m128)x);
#else
    return __builtin_convertvector(vf_round(x), vi);
#endif
}

typedef int8_t vc __attribute__((vector_size(ASC_VF)));

/* The tables of a vector of columns. */
typedef struct tables {
    vw offset, zero;
    vf scale, bias;
} tables;

ALWAYS tables tables_at(const requantiser *r, int64_t col, int zeros) {
    tables t = {.offset = (vw)load_sums(r->offset + col)};
    if (zeros) t.zero = (vw)load_sums(r->b_zero + col);
    if (r->scale) t.scale = vf_load(r->scale + col);
    if (r->bias) t.bias = vf_load(r->bias + col);
    return t;
}

/* Sums wrap, as int32 does in ONNX. */
ALWAYS vi corrected(const tables *t, const int32_t *sums, const int32_t *row_sum) {
    vw sum = (vw)load_sums(sums) + t->offset;
    return (vi)(row_sum ? sum - t->zero * (uint32_t)*row_sum : sum);
}

ALWAYS vf bounded(const requantiser *r, vf scale, vi sum) {
    return vf_min(vf_set(r->high), vf_max(vf_set(r->low), __builtin_convertvector(sum, vf) * scale));
}

ALWAYS vc low_bytes(vi q) {
#if defined(__AVX512F__)
    return (vc)_mm512_cvtepi32_epi8((__m512i)q);
#elif defined(__AVX2__)
    return (vc)vi_low_bytes(q);
#else
    return __builtin_convertvector(q, vc);
#endif
}

ALWAYS vc narrowed(const requantiser *r, const tables *t, vi sum) {
    return low_bytes(round_to_int(bounded(r, t->scale, sum)) + r->zero);
}

ALWAYS vi wide_bytes(const void *p) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
#else
    typedef uint8_t vb __attribute__((vector_size(ASC_VF)));
    vb v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, vi);
#endif
}

/* `n` unsigned bytes; behind them anything. */
ALWAYS vi some_bytes(const char *p, int64_t n) {
    if (n >= ASC_VF) return wide_bytes(p);
    uint8_t bytes[16] = {0};
    memcpy(bytes, p, (size_t)n);
    return wide_bytes(bytes);
}

/* The result's vector at `out`, of which `n` elements exist, plus the image's. */
ALWAYS vc added(const requantiser *r, const byte_sum *s, const tables *t, vi sum, const char *out, int64_t n) {
    vf addend = __builtin_convertvector(some_bytes(s->addend + (out - s->y), n) ^ s->flip, vf);
    vf x = (vf_round(bounded(r, t->scale, sum)) + s->shift) * s->scale;
    vf z = x + (addend - s->addend_zero) * s->addend_scale;
    vf q = s->inverse > 0 ? vf_quotient(z, vf_set(s->y_scale), vf_set(s->inverse)) : z / s->y_scale;
    q = vf_round(q) + s->y_zero;
    return low_bytes(round_to_int(vf_min(vf_set((float)s->most), vf_max(vf_set((float)s->least), q))));
}

ALWAYS void store(void *out, const void *vector, int64_t n, int64_t element) {
    if (n >= ASC_VF)
        memcpy(out, vector, (size_t)(ASC_VF * element));
    else
        memcpy(out, vector, (size_t)(n * element));
}

/* One vector of columns of every row; `n` of them exist. */
ALWAYS void run(const requantiser *r, const tables *t, const int32_t *sums, const int32_t *row_sums, int64_t rows,
                int64_t n, char *out, int64_t step, const int32_t dtype) {
    const requantiser own = *r; /* what stores to `out` don't change */
    const byte_sum s = r->sum ? *r->sum : (byte_sum){0};
    for (int64_t i = 0; i < rows; i++, sums += QGEMM_COLUMNS, out += step) {
        vi sum = corrected(t, sums, row_sums ? row_sums + i : NULL);
        if (dtype == ASC_INT32) {
            store(out, &sum, n, 4);
        } else if (dtype == ASC_FLOAT32) {
            vf y = __builtin_convertvector(sum, vf) * t->scale;
            if (own.bias) y += t->bias;
            store(out, &y, n, 4);
        } else {
            vc y = own.sum ? added(&own, &s, t, sum, out, n) : narrowed(&own, t, sum);
            store(out, &y, n, 1);
        }
    }
}

#if ASC_VF == 16
/* All columns of a tile, two rows at a time; the bounds are those of the type. */
ALWAYS void saturate(const requantiser *r, const tables t[2], const int32_t *sums, const int32_t *row_sums,
                     int64_t rows, char *out, int64_t step) {
    const saturation s = saturation_of(r->zero, r->dtype == ASC_INT8);
    for (int64_t i = 0; i < rows; i += 2) {
        int64_t other = i + 1 < rows ? i + 1 : i;
        __m512i q[4];
        for (int k = 0; k < 4; k++) {
            const int64_t row = k < 2 ? i : other;
            const int32_t *from = sums + row * QGEMM_COLUMNS + k % 2 * ASC_VF;
            q[k] = scaled(corrected(&t[k % 2], from, row_sums ? row_sums + row : NULL), t[k % 2].scale);
        }
        __m512i both = saturated(&s, q);
        _mm256_storeu_si256((__m256i *)(out + i * step), _mm512_castsi512_si256(both));
        _mm256_storeu_si256((__m256i *)(out + other * step), _mm512_extracti64x4_epi64(both, 1));
    }
}

/* As saturate, of results that are added to an image; `n` columns exist. */
static void add_image(const requantiser *r, const tables t[2], const int32_t *sums, const int32_t *row_sums,
                      int64_t rows, int64_t n, char *out, int64_t step) {
    const sum_vectors v = sum_vectors_of(r);
    const __mmask32 exist = n >= QGEMM_COLUMNS ? ~0u : (1u << n) - 1;
    const char *addend = r->sum->addend + (out - r->sum->y);
    for (int64_t i = 0; i < rows; i += 2) {
        int64_t other = i + 1 < rows ? i + 1 : i;
        __m512i bytes = _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(exist, addend + i * step));
        bytes = _mm512_inserti64x4(bytes, _mm256_maskz_loadu_epi8(exist, addend + other * step), 1);
        bytes = in_quarters(&v, bytes);
        __m512i q[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            const int64_t row = k < 2 ? i : other;
            const int32_t *from = sums + row * QGEMM_COLUMNS + k % 2 * ASC_VF;
            vi sum = corrected(&t[k % 2], from, row_sums ? row_sums + row : NULL);
            q[k] = steps_of_sum(&v, result_of(&v, product_of(sum, t[k % 2].scale)), addend_of(&v, bytes, k));
        }
        __m512i both = bytes_of_sum(&v, q);
        _mm256_mask_storeu_epi8(out + i * step, exist, _mm512_castsi512_si256(both));
        _mm256_mask_storeu_epi8(out + other * step, exist, _mm512_extracti64x4_epi64(both, 1));
    }
}
#endif

/* The tables go on past the last column, to whole vectors; `out` doesn't. */
void ASC_FN(requantise)(const requantiser *r, const int32_t *sums, const int32_t *row_sums, int64_t rows, int64_t col,
                        int64_t n, void *out, int64_t step) {
    if (!r->b_zero) row_sums = NULL;
#if ASC_VF == 16
    if (r->sum && r->sum->inverse > 0) {
        tables t[2] = {tables_at(r, col, row_sums != NULL), tables_at(r, col + ASC_VF, row_sums != NULL)};
        add_image(r, t, sums, row_sums, rows, n, out, step);
        return;
    }
    if (r->saturates && !r->sum && n >= QGEMM_COLUMNS) {
        tables t[2] = {tables_at(r, col, row_sums != NULL), tables_at(r, col + ASC_VF, row_sums != NULL)};
        saturate(r, t, sums, row_sums, rows, out, step);
        return;
    }
#endif
    for (int64_t j = 0; j < n; j += ASC_VF) {
        tables t = tables_at(r, col + j, row_sums != NULL);
        if (r->dtype == ASC_INT32)
            run(r, &t, sums + j, row_sums, rows, n - j, (char *)out + 4 * j, step, ASC_INT32);
        else if (r->dtype == ASC_FLOAT32)
            run(r, &t, sums + j, row_sums, rows, n - j, (char *)out + 4 * j, step, ASC_FLOAT32);
        else
            run(r, &t, sums + j, row_sums, rows, n - j, (char *)out + j, step, ASC_INT8);
    }
}
