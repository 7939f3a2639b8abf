/* Recurrent products of int8 weights: in every step each row of the state, or all of few rows, become uint8 with one
 * scale, are multiplied exactly, and scaled back. As onnxruntime's DynamicQuantizeLSTM does it, rounding for rounding;
 * of many rows it quantises as many together as there are rows for a thread. */
#include <string.h>

#include "matmul/qgemm.h"
#include "quantize/quantise_row.h"
#include "recurrent.h"

/* A row of the state as it is multiplied. */
typedef struct byte_row {
    float scale;
    int32_t zero, sum;
} byte_row;

static int64_t row_bytes(const layer *l) {
    return asc_ceil_div(l->hidden, 4) * 4;
}

int64_t ASC_FN(recurrent_bytes_room)(const layer *l, int64_t rows) {
    int64_t bytes;
    if (!asc_mul_ok(rows, row_bytes(l) + (int64_t)sizeof(byte_row), &bytes) || !asc_add_ok(bytes, 63, &bytes)) return 0;
    return bytes / 64 * 64;
}

/* The scale and zero point of n floats, as dynamic_quantize has them (quantize/dynamic_quantize.c). */
static byte_row scale_of(const float *x, int64_t n) {
    vf lows = {0}, highs = {0};
    int64_t i = 0;
    for (; i + ASC_VF <= n; i += ASC_VF) {
        lows = vf_min(vf_load(x + i), lows);
        highs = vf_max(vf_load(x + i), highs);
    }
    float low = -vf_maximum(-lows), high = vf_maximum(highs);
    for (; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    byte_row r = {.scale = (high - low) / 255.0f};
    if (!(r.scale != 0)) r.scale = 1;
    float zero = rintf(0.0f - low / r.scale);
    r.zero = (int32_t)(zero > 0 ? (zero < 255 ? zero : 255) : 0);
    return r;
}

static void quantise(const layer *l, const float *state, int64_t rows, byte_row *quantised, uint8_t *bytes) {
    int64_t n = l->hidden, each = row_bytes(l);
    for (int64_t i = 0; i < rows; i++, bytes += each) {
        const float *x = state + i * n;
        quantised[i] = !l->shared ? scale_of(x, n) : i > 0 ? quantised[0] : scale_of(x, rows * n);
        quantise_row(x, n, quantised[i].scale, (float)quantised[i].zero, 0, 255, bytes);
        memset(bytes + n, 0, (size_t)(each - n));
        quantised[i].sum = 0;
        for (int64_t j = 0; j < n; j++) quantised[i].sum += bytes[j];
    }
}

typedef struct bytes_product {
    const layer *layer;
    qgemm g;
    const byte_row *rows;
    int64_t d, columns, x_row; /* direction; columns of a chunk; floats from a row of x to the next */
    const float *x;
    float *sums;
} bytes_product;

/* sums of a row = x + (row - its zero point) (weights - theirs), scaled, + bias */
static void finish(const bytes_product *p, int64_t row, int64_t col, int64_t n, const int32_t *found) {
    const layer *l = p->layer;
    byte_row r = p->rows[row];
    int64_t at = p->d * l->columns + col;
    const int32_t *column_sums = l->r_sums + at;
    const float *scale = l->r_scale + at, *x = p->x + row * p->x_row + col, *bias = l->bias ? l->bias + at : NULL;
    const int8_t *zeros = l->r_zero ? l->r_zero + at : NULL;
    float *sums = p->sums + row * l->columns + col;
    uint32_t zero = (uint32_t)r.zero, rest = (uint32_t)r.sum - (uint32_t)l->hidden * zero;
    for (int64_t j = 0; j < n; j++) {
        uint32_t exact = (uint32_t)found[j] - zero * (uint32_t)column_sums[j];
        if (zeros) exact -= (uint32_t)(int32_t)zeros[j] * rest;
        float sum = x[j] + (float)(int32_t)exact * (r.scale * scale[j]);
        sums[j] = bias ? sum + bias[j] : sum;
    }
}

static void product_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const bytes_product *p = arg;
    (void)call;
    (void)worker;
    int32_t found[QGEMM_ROWS * QGEMM_COLUMNS];
    int64_t from = chunk * p->columns, end = from + p->columns < p->g.n ? from + p->columns : p->g.n;
    for (int64_t col = from; col < end; col += QGEMM_COLUMNS) {
        int64_t n = end - col < QGEMM_COLUMNS ? end - col : QGEMM_COLUMNS;
        for (int64_t row = 0; row < p->g.m; row += QGEMM_ROWS) {
            int rows = (int)(p->g.m - row < QGEMM_ROWS ? p->g.m - row : QGEMM_ROWS);
            ASC_FN(qgemm_tile)(&p->g, row, rows, col, found);
            for (int i = 0; i < rows; i++) finish(p, row + i, col, n, found + i * QGEMM_COLUMNS);
        }
    }
}

void ASC_FN(recurrent_bytes_multiply)(const layer *l, int64_t d, const float *state, int64_t rows, const float *x,
                                      int64_t x_row, float *sums, void *room) {
    int64_t each = row_bytes(l), none = 0;
    byte_row *quantised = room;
    uint8_t *bytes = (uint8_t *)(quantised + rows);
    quantise(l, state, rows, quantised, bytes);
    bytes_product p = {.layer = l, .rows = quantised, .d = d, .x = x, .x_row = x_row, .sums = sums};
    p.g = (qgemm){.m = rows, .n = l->columns, .a = bytes, .a_row = each, .segments = &none, .n_segments = 1};
    p.g.vnni4 = each / 4;
    p.g.b_panel = QGEMM_PANEL * each;
    p.g.b = l->bytes + d * l->r_step;
    p.columns = recurrent_share(l->call, l->columns);
    int64_t chunks = asc_ceil_div(l->columns, p.columns);
    if (chunks > 1)
        asc_parallel(l->call, chunks, product_chunk, &p);
    else
        product_chunk(l->call, 0, 0, &p);
}
