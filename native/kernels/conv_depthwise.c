/* Depthwise convolution: a strip of the input plane is copied into a zero-bordered buffer in which
 * every stride-th column is a neighbour, so that each tap of a row is one run of whole vectors. */
#include "conv.h"

#define STRIP_FLOATS (24 << 10)   /* a strip's buffer should stay in L1 or near it */
#define LARGEST_BUFFER (16 << 20) /* floats; beyond it the general path is used */

/* Columns of output in whole vectors, and the length of one phase: the columns pc = phase + stride * i. */
static int64_t whole_columns(const conv *c) {
    return (c->out[WIDTH] + ASC_VF - 1) / ASC_VF * ASC_VF;
}
static int64_t phase_length(const conv *c) {
    return whole_columns(c) + (c->kernel[WIDTH] - 1) * c->dilation[WIDTH] / c->stride[WIDTH] + 1;
}
static int64_t input_rows(const conv *c, int64_t rows) {
    return (rows - 1) * c->stride[HEIGHT] + (c->kernel[HEIGHT] - 1) * c->dilation[HEIGHT] + 1;
}

int64_t ASC_FN(conv_strip_floats)(const conv *c, int64_t rows) {
    int64_t row, floats;
    if (!asc_mul_ok(phase_length(c), c->stride[WIDTH], &row)) return INT64_MAX;
    return asc_mul_ok(row, input_rows(c, rows), &floats) ? floats : INT64_MAX;
}

int ASC_FN(conv_is_depthwise)(const conv *c) {
    int flat = c->in[DEPTH] == 1 && c->out[DEPTH] == 1 && c->kernel[DEPTH] == 1 && c->pad[DEPTH] == 0;
    return c->group_in == 1 && flat && !c->transposed && !c->panels && c->out_size > 0 &&
           ASC_FN(conv_strip_floats)(c, 1) <= LARGEST_BUFFER;
}

int64_t ASC_FN(conv_strip_rows)(const conv *c) {
    int64_t one = ASC_FN(conv_strip_floats)(c, 1), row = phase_length(c) * c->stride[WIDTH] * c->stride[HEIGHT];
    int64_t rows = one < STRIP_FLOATS ? 1 + (STRIP_FLOATS - one) / row : 1;
    return rows < c->out[HEIGHT] ? rows : c->out[HEIGHT];
}

/* One bordered row: phase p, element i is input column i * stride + p - pad. */
static void fill_row(const conv *c, const float *in, float *out) {
    int64_t length = phase_length(c), step = c->stride[WIDTH];
    for (int64_t p = 0; p < step; p++, out += length) {
        int64_t before = c->pad[WIDTH] - p, after = c->in[WIDTH] + before;
        int64_t low = before > 0 ? (before + step - 1) / step : 0, high = after > 0 ? (after + step - 1) / step : 0;
        if (low > length) low = length;
        if (high > length) high = length;
        if (high < low) high = low;
        memset(out, 0, (size_t)low * sizeof *out);
        const float *from = in - before;
        if (step == 1)
            memcpy(out + low, from + low, (size_t)(high - low) * sizeof *out);
        else if (step == 2)
            for (int64_t i = low; i < high; i++) out[i] = from[2 * i];
        else
            for (int64_t i = low; i < high; i++) out[i] = from[step * i];
        memset(out + high, 0, (size_t)(length - high) * sizeof *out);
    }
}

static void fill_strip(const conv *c, const float *plane, int64_t row, int64_t rows, float *out) {
    int64_t line = phase_length(c) * c->stride[WIDTH], first = row * c->stride[HEIGHT] - c->pad[HEIGHT];
    for (int64_t i = first; i < first + input_rows(c, rows); i++, out += line) {
        if (i >= 0 && i < c->in[HEIGHT])
            fill_row(c, plane + i * c->in[WIDTH], out);
        else
            memset(out, 0, (size_t)line * sizeof *out);
    }
}

/* `vectors` vectors of one output row. */
static inline __attribute__((always_inline)) void run_columns(const conv *c, int64_t tall, int64_t wide, int vectors,
                                                              const float *in, const float *weights, float *out,
                                                              int64_t left) {
    int64_t length = phase_length(c), line = length * c->stride[WIDTH];
    vf sum[4] = {0};
    for (int64_t i = 0; i < tall; i++)
        for (int64_t j = 0; j < wide; j++) {
            int64_t column = j * c->dilation[WIDTH];
            const float *from =
                in + i * c->dilation[HEIGHT] * line + column % c->stride[WIDTH] * length + column / c->stride[WIDTH];
            vf w = vf_set(weights[i * wide + j]);
            for (int v = 0; v < vectors; v++) sum[v] = vf_fma(w, vf_load(from + v * ASC_VF), sum[v]);
        }
    for (int v = 0; v < vectors; v++, left -= ASC_VF) {
        if (left >= ASC_VF)
            vf_store(out + v * ASC_VF, sum[v]);
        else if (left > 0)
            vf_store_tail(out + v * ASC_VF, sum[v], left);
    }
}

static inline __attribute__((always_inline)) void run_rows(const conv *c, int64_t tall, int64_t wide, const float *in,
                                                           const float *weights, float *out, int64_t rows) {
    int64_t line = phase_length(c) * c->stride[WIDTH] * c->stride[HEIGHT], columns = c->out[WIDTH];
    for (int64_t r = 0; r < rows; r++, in += line, out += columns) {
        int64_t at = 0;
        for (; columns - at > 3 * ASC_VF; at += 4 * ASC_VF)
            run_columns(c, tall, wide, 4, in + at, weights, out + at, columns - at);
        for (; at < columns; at += ASC_VF) run_columns(c, tall, wide, 1, in + at, weights, out + at, columns - at);
    }
}

void ASC_FN(conv_depthwise_strip)(const conv *c, int64_t plane, int64_t row, int64_t rows, float *scratch) {
    int64_t channel = plane % c->groups, image = plane / c->groups, columns = c->out[WIDTH];
    int64_t tall = c->kernel[HEIGHT], wide = c->kernel[WIDTH];
    fill_strip(c, c->x + plane * c->in_size, row, rows, scratch);
    for (int64_t m = 0; m < c->group_out; m++) {
        int64_t oc = channel * c->group_out + m, channels = c->groups * c->group_out;
        float *y = c->y + (image * channels + oc) * c->out_size + row * columns;
        const float *weights = c->weights + oc * c->taps;
        if (tall == 3 && wide == 3)
            run_rows(c, 3, 3, scratch, weights, y, rows);
        else if (tall == 5 && wide == 5)
            run_rows(c, 5, 5, scratch, weights, y, rows);
        else
            run_rows(c, tall, wide, scratch, weights, y, rows);
        epilogue e = c->epilogue;
        if (e.residual.data) e.residual.data += image * channels * c->out_size;
        if (!epilogue_is_plain(&e)) ASC_FN(epilogue_apply)(&e, y, c->out_size, oc, 1, row * columns, rows * columns);
    }
}
