/* Sums of integer products become the elements of a result.
 *
 * To 8 bits as onnxruntime's CPU provider does it: the sum as float32 times the scale, cut to the bounds, rounded
 * half to even, plus the zero point. No product is contracted with a sum here: CMakeLists.txt.
 */
#include "qgemm.h"
#include "simd.h"

#if defined(__SSE4_1__) && !defined(__AVX512F__)
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS vi load_sums(const int32_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Sums wrap, as int32 does in ONNX. */
ALWAYS vi corrected(const requantiser *r, const int32_t *sums, int32_t row_sum, int64_t col) {
    vw sum = (vw)load_sums(sums) + (vw)load_sums(r->offset + col);
    if (r->b_zero) sum -= (vw)load_sums(r->b_zero + col) * (uint32_t)row_sum;
    return (vi)sum;
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

ALWAYS vc narrowed(const requantiser *r, vi sum, int64_t col) {
    vf x = __builtin_convertvector(sum, vf) * vf_load(r->scale + col);
    x = vf_min(vf_set(r->high), vf_max(vf_set(r->low), x));
    vi q = round_to_int(x) + r->zero;
#if defined(__AVX512F__)
    return (vc)_mm512_cvtepi32_epi8((__m512i)q);
#else
    return __builtin_convertvector(q, vc);
#endif
}

/* The tables go on past the last column, to whole vectors; `out` doesn't. */
ALWAYS void store(void *out, const void *vector, int64_t n, int64_t element) {
    if (n >= ASC_VF)
        memcpy(out, vector, (size_t)(ASC_VF * element));
    else
        memcpy(out, vector, (size_t)(n * element));
}

void ASC_FN(requantise)(const requantiser *r, const int32_t *sums, int32_t row_sum, int64_t col, int64_t n, void *out) {
    char *to = out;
    for (int64_t j = 0; j < n; j += ASC_VF, col += ASC_VF) {
        vi sum = corrected(r, sums + j, row_sum, col);
        if (r->dtype == ASC_INT32) {
            store(to + 4 * j, &sum, n - j, 4);
        } else if (r->dtype == ASC_FLOAT32) {
            vf y = __builtin_convertvector(sum, vf) * vf_load(r->scale + col);
            if (r->bias) y += vf_load(r->bias + col);
            store(to + 4 * j, &y, n - j, 4);
        } else {
            vc y = narrowed(r, sum, col);
            store(to + j, &y, n - j, 1);
        }
    }
}
