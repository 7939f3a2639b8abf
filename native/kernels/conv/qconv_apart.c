/* Channels apart: each output channel sums the taps of one input channel. */
#include "qconv.h"
#include "simd.h"

#define ALWAYS static inline __attribute__((always_inline))

typedef uint8_t vb __attribute__((vector_size(ASC_VF)));
typedef int8_t vc __attribute__((vector_size(ASC_VF)));

ALWAYS void one_vector(const qconv *c, const uint8_t *window, const int8_t *weights, vi zero, int64_t n,
                       int32_t *sums) {
    const int64_t step = c->stride[1] * c->channels, pitch = c->padded[1] * c->channels;
    for (int64_t i = 0; i < n; i++, window += step, sums += QGEMM_COLUMNS) {
        const int8_t *w = weights;
        vi sum = {0};
        for (int64_t r = 0; r < c->kernel[0]; r++)
            for (int64_t s = 0; s < c->kernel[1]; s++, w += c->channels) {
                vb x;
                vc tap;
                memcpy(&x, window + r * c->dilation[0] * pitch + s * c->dilation[1] * c->channels, sizeof x);
                memcpy(&tap, w, sizeof tap);
                sum += __builtin_convertvector(x, vi) * (__builtin_convertvector(tap, vi) - zero);
            }
        memcpy(sums, &sum, sizeof sum);
    }
}

void ASC_FN(qconv_apart)(const qconv *c, const uint8_t *window, const int8_t *weights, const int32_t *zero, int64_t col,
                         int64_t n, int32_t *sums) {
    const int64_t step = c->stride[1] * c->channels, pitch = c->padded[1] * c->channels;
    int64_t end = c->channels - col < QGEMM_COLUMNS ? c->channels - col : QGEMM_COLUMNS, j = 0;
    for (; j + ASC_VF <= end; j += ASC_VF) {
        vi z = {0};
        if (zero) memcpy(&z, zero + col + j, sizeof z);
        one_vector(c, window + col + j, weights + col + j, z, n, sums + j);
    }
    for (; j < end; j++)
        for (int64_t i = 0; i < n; i++) {
            const int8_t *w = weights + col + j;
            int32_t sum = 0, z = zero ? zero[col + j] : 0;
            for (int64_t r = 0; r < c->kernel[0]; r++)
                for (int64_t s = 0; s < c->kernel[1]; s++, w += c->channels)
                    sum += window[i * step + col + j + r * c->dilation[0] * pitch + s * c->dilation[1] * c->channels] *
                           (*w - z);
            sums[i * QGEMM_COLUMNS + j] = sum;
        }
}
