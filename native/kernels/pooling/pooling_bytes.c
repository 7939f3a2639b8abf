/* max_pool_bytes: as max_pool (pooling.c) of integers of 8 bits, without positions.
 *
 * in:   X [N, C, spatial..], uint8 or int8
 * out:  Y [N, C, spatial..], likewise; the maximum of nothing is the least integer
 * ints: asc_pool_params, of which the mode is 0
 */
#include <string.h>

#include "pooling.h"

typedef struct pool_bytes_note {
    int64_t step; /* planes of a chunk */
} pool_bytes_note;
ASC_KERNEL_NOTE(max_pool_bytes, pool_bytes_note)

static pool_bytes_note *note_of(const asc_call *call) {
    return call->note;
}

int32_t ASC_FN(max_pool_bytes_prepare)(asc_call *call) {
    pool p = {0};
    int32_t code = ASC_FN(pool_read)(call, 0, &p);
    if (code) return code;
    ASC_REQUIRE(call, p.mode == 0, "max_pool_bytes: the mode is 0");
    int64_t window = asc_least(p.kernel[DEPTH] * p.kernel[HEIGHT], 1 << 20) * p.kernel[WIDTH];
    int64_t size = asc_least(p.out_size, 1 << 20), cost = asc_least(window, 1 << 20) * size / 16 + 1;
    note_of(call)->step = asc_chunk_items(call, p.batch * p.channels, cost);
    return ASC_OK;
}

/* y[i] = max(y[i], x[i * step]); constant steps become whole vectors. */
#define FOLD(type)                                                                                           \
    static inline __attribute__((always_inline)) void fold_##type(type *restrict y, const type *restrict x,  \
                                                                  int64_t step, int64_t n) {                 \
        for (int64_t i = 0; i < n; i++) y[i] = x[i * step] > y[i] ? x[i * step] : y[i];                      \
    }                                                                                                        \
    static void line_##type(const pool *p, const void *row, void *out) {                                     \
        const type *x = row;                                                                                 \
        type *y = out;                                                                                       \
        int64_t step = p->stride[WIDTH];                                                                     \
        for (int64_t k = 0; k < p->kernel[WIDTH]; k++) {                                                     \
            int64_t shift = k * p->dilation[WIDTH] - p->before[WIDTH]; /* output o reads o * step + shift */ \
            int64_t low = pool_steps(-shift, step);                                                          \
            int64_t n = asc_least(pool_steps(p->in[WIDTH] - shift, step), p->out[WIDTH]) - low;              \
            if (n <= 0) continue;                                                                            \
            if (step == 1)                                                                                   \
                fold_##type(y + low, x + low + shift, 1, n);                                                 \
            else if (step == 2)                                                                              \
                fold_##type(y + low, x + low * 2 + shift, 2, n);                                             \
            else                                                                                             \
                fold_##type(y + low, x + low * step + shift, step, n);                                       \
        }                                                                                                    \
    }
FOLD(uint8_t)
FOLD(int8_t)

static void pool_plane(const pool *p, int is_signed, const uint8_t *x, uint8_t *y) {
    for (int64_t d = 0; d < p->out[DEPTH]; d++)
        for (int64_t h = 0; h < p->out[HEIGHT]; h++, y += p->out[WIDTH]) {
            taps deep = ASC_FN(pool_taps)(p, DEPTH, d), high = ASC_FN(pool_taps)(p, HEIGHT, h);
            memset(y, is_signed ? INT8_MIN : 0, (size_t)p->out[WIDTH]);
            for (int64_t i = deep.first; i < deep.end; i++)
                for (int64_t j = high.first; j < high.end; j++) {
                    int64_t at_d = pool_start(p, DEPTH, d) + i * p->dilation[DEPTH];
                    int64_t at_h = pool_start(p, HEIGHT, h) + j * p->dilation[HEIGHT];
                    const uint8_t *row = x + (at_d * p->in[HEIGHT] + at_h) * p->in[WIDTH];
                    if (is_signed)
                        line_int8_t(p, row, y);
                    else
                        line_uint8_t(p, row, y);
                }
        }
}

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool *p = arg;
    int64_t first = chunk * note_of(call)->step, end = asc_least(first + note_of(call)->step, p->batch * p->channels);
    (void)worker;
    for (int64_t i = first; i < end; i++)
        pool_plane(p, call->in[0].dtype == ASC_INT8, (const uint8_t *)call->in[0].data + i * p->in_size,
                   (uint8_t *)call->out[0].data + i * p->out_size);
}

int32_t ASC_FN(max_pool_bytes_run)(const asc_call *call) {
    pool p = {0};
    int32_t code = ASC_FN(pool_read)(call, 0, &p);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    asc_parallel(call, asc_ceil_div(p.batch * p.channels, note_of(call)->step), run_chunk, &p);
    return ASC_OK;
}
