/* max_pool_bytes and max_pool_bytes_last: as max_pool (pooling.c) of integers of 8 bits, without positions.
 *
 * in:   X [N, C, spatial..], uint8 or int8; of max_pool_bytes_last [N, spatial.., C]
 * out:  Y likewise; the maximum of nothing is the least integer
 * ints: asc_pool_params, of which the mode is 0
 */
#include <string.h>

#include "pooling.h"

typedef struct pool_bytes_note {
    pool pool;    /* without pointers */
    int64_t step; /* planes of a chunk, or lines of outputs */
    int64_t line; /* bytes of the workspace for a line of the image with its padding */
} pool_bytes_note;
ASC_KERNEL_NOTE(max_pool_bytes, pool_bytes_note)
ASC_KERNEL_NOTE(max_pool_bytes_last, pool_bytes_note)

static pool_bytes_note *note_of(const asc_call *call) {
    return call->note;
}

/* What the windows of a line of outputs see, padding and all. */
static int64_t seen(const pool *p) {
    return (p->out[WIDTH] - 1) * p->stride[WIDTH] + (p->kernel[WIDTH] - 1) * p->dilation[WIDTH] + 1;
}

static int64_t line_count(const pool *p) {
    return p->batch * p->out[DEPTH] * p->out[HEIGHT];
}

/* What differs by layout: the items that are divided among workers, and the bytes of a place. */
static int32_t prepare(asc_call *call, int last) {
    pool p = {0};
    int64_t bytes = 0;
    int32_t code = ASC_FN(pool_read)(call, last, &p);
    if (!code) code = ASC_FN(pool_see)(call, &p);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    note_of(call)->pool = p;
    ASC_REQUIRE(call, p.mode == 0, "max_pool_bytes: the mode is 0");
    int64_t window = asc_least(p.kernel[DEPTH] * p.kernel[HEIGHT], 1 << 20) * p.kernel[WIDTH];
    int64_t items = last ? line_count(&p) : p.batch * p.channels, size = asc_numel(&call->out[0]) / items;
    int64_t cost = asc_least(window, 1 << 20) * asc_least(size, 1 << 20) / 8 + 1;
    note_of(call)->step = asc_chunk_items(call, items, cost);
    int fits = asc_mul_ok(asc_least(seen(&p), INT64_MAX / 4), last ? p.channels : 1, &bytes) && bytes < INT64_MAX / 4;
    note_of(call)->line = (bytes / 64 + 2) * 64;
    ASC_REQUIRE(call, fits && asc_mul_ok((last ? 1 : 2) * (int64_t)call->threads, note_of(call)->line, &bytes),
                "max_pool_bytes: the window is too large");
    call->workspace_bytes = (uint64_t)bytes;
    return ASC_OK;
}

int32_t ASC_FN(max_pool_bytes_prepare)(asc_call *call) {
    return prepare(call, 0);
}

int32_t ASC_FN(max_pool_bytes_last_prepare)(asc_call *call) {
    return prepare(call, 1);
}

/* A place is a byte, or with channels last those of all channels. `most`: the maxima down the taps of a line of
 * outputs, from the first place its windows see. `wide`: those along them, of each place; the outputs are every
 * stride-th. The loops over places are of whole vectors. */
#define LINES(type, nothing)                                                                                 \
    static void fold_##type(type *restrict y, const type *restrict x, int64_t n) {                           \
        for (int64_t i = 0; i < n; i++) y[i] = x[i] > y[i] ? x[i] : y[i];                                    \
    }                                                                                                        \
    static void down_##type(const pool *p, const type *x, int64_t place, int64_t d, int64_t h, type *most) { \
        taps deep = ASC_FN(pool_taps)(p, DEPTH, d), high = ASC_FN(pool_taps)(p, HEIGHT, h);                  \
        int64_t to = asc_most(p->before[WIDTH], 0), from = asc_most(-p->before[WIDTH], 0);                   \
        int64_t n = asc_least(p->in[WIDTH] - from, seen(p) - to);                                            \
        memset(most, nothing, (size_t)(seen(p) * place));                                                    \
        for (int64_t i = deep.first; i < deep.end; i++)                                                      \
            for (int64_t j = high.first; j < high.end; j++) {                                                \
                int64_t at = (pool_start(p, DEPTH, d) + i * p->dilation[DEPTH]) * p->in[HEIGHT];             \
                at += pool_start(p, HEIGHT, h) + j * p->dilation[HEIGHT];                                    \
                fold_##type(most + to * place, x + (at * p->in[WIDTH] + from) * place, n * place);           \
            }                                                                                                \
    }                                                                                                        \
    static void along_##type(const pool *p, const type *most, type *wide, type *y) {                         \
        int64_t step = p->stride[WIDTH], n = (p->out[WIDTH] - 1) * step + 1;                                 \
        type *to = step == 1 ? y : wide;                                                                     \
        memcpy(to, most, (size_t)n);                                                                         \
        for (int64_t k = 1; k < p->kernel[WIDTH]; k++) fold_##type(to, most + k * p->dilation[WIDTH], n);    \
        if (step == 2)                                                                                       \
            halve((const uint8_t *)wide, (uint8_t *)y, p->out[WIDTH]);                                       \
        else if (step > 2)                                                                                   \
            for (int64_t i = 0; i < p->out[WIDTH]; i++) y[i] = wide[i * step];                               \
    }                                                                                                        \
    static void plane_##type(const pool *p, const void *plane, void *out, char *lines, int64_t line) {       \
        type *most = (type *)lines, *wide = (type *)(lines + line), *y = out;                                \
        for (int64_t d = 0; d < p->out[DEPTH]; d++)                                                          \
            for (int64_t h = 0; h < p->out[HEIGHT]; h++, y += p->out[WIDTH]) {                               \
                down_##type(p, plane, 1, d, h, most);                                                        \
                along_##type(p, most, wide, y);                                                              \
            }                                                                                                \
    }                                                                                                        \
    static void line_##type(const pool *p, const void *image, void *out, int64_t line, char *lines) {        \
        type *most = (type *)lines, *y = out;                                                                \
        int64_t n = p->channels, tap = p->dilation[WIDTH] * n, step = p->stride[WIDTH] * n;                  \
        down_##type(p, image, n, line / p->out[HEIGHT], line % p->out[HEIGHT], most);                        \
        for (int64_t i = 0; i < p->out[WIDTH]; i++, y += n, most += step) {                                  \
            memcpy(y, most, (size_t)n);                                                                      \
            for (int64_t k = 1; k < p->kernel[WIDTH]; k++) fold_##type(y, most + k * tap, n);                \
        }                                                                                                    \
    }

/* Every second byte, each read with its neighbour: the last one's is in the line's bytes to spare. */
static void halve(const uint8_t *restrict wide, uint8_t *restrict y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t both;
        memcpy(&both, wide + 2 * i, 2);
        y[i] = (uint8_t)both; /* little-endian */
    }
}
LINES(uint8_t, 0)
LINES(int8_t, INT8_MIN)

static void run_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool_bytes_note *note = arg;
    const pool *p = &note->pool;
    int64_t first = chunk * note->step, end = asc_least(first + note->step, p->batch * p->channels);
    char *lines = (char *)call->workspace + worker * 2 * note->line;
    for (int64_t i = first; i < end; i++) {
        const uint8_t *x = (const uint8_t *)call->in[0].data + i * p->in_size;
        uint8_t *y = (uint8_t *)call->out[0].data + i * p->out_size;
        (call->in[0].dtype == ASC_INT8 ? plane_int8_t : plane_uint8_t)(p, x, y, lines, note->line);
    }
}

int32_t ASC_FN(max_pool_bytes_run)(const asc_call *call) {
    pool_bytes_note *note = note_of(call);
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    asc_parallel(call, asc_ceil_div(note->pool.batch * note->pool.channels, note->step), run_chunk, note);
    return ASC_OK;
}

static void run_lines(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const pool_bytes_note *note = arg;
    const pool *p = &note->pool;
    int64_t per_image = p->out[DEPTH] * p->out[HEIGHT], end = asc_least((chunk + 1) * note->step, line_count(p));
    char *lines = (char *)call->workspace + worker * note->line;
    for (int64_t i = chunk * note->step; i < end; i++) {
        const uint8_t *x = (const uint8_t *)call->in[0].data + i / per_image * p->in_size * p->channels;
        uint8_t *y = (uint8_t *)call->out[0].data + i * p->out[WIDTH] * p->channels;
        (call->in[0].dtype == ASC_INT8 ? line_int8_t : line_uint8_t)(p, x, y, i % per_image, lines);
    }
}

int32_t ASC_FN(max_pool_bytes_last_run)(const asc_call *call) {
    pool_bytes_note *note = note_of(call);
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    asc_parallel(call, asc_ceil_div(line_count(&note->pool), note->step), run_lines, note);
    return ASC_OK;
}
