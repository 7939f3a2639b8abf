/* Winograd's transformations: of the inputs of tiles, and of their sums. */
#include "conv_winograd.h"

#define ALWAYS static inline __attribute__((always_inline))

/* Where a tile's inputs begin: they may lie partly outside the image. */
typedef struct patch {
    const float *at; /* of the element at [row, column]; only valid inside */
    int64_t row, column;
    int inside;
} patch;

/* Of a plane of the batch. */
static patch find_patch(const tiling *t, int64_t plane, int64_t within) {
    const conv *c = &t->c;
    patch p = {.row = within / t->columns * 2 - c->pad[HEIGHT], .column = within % t->columns * 2 - c->pad[WIDTH]};
    p.inside = p.row >= 0 && p.column >= 0 && p.row + 4 <= c->in[HEIGHT] && p.column + 4 <= c->in[WIDTH];
    p.at = c->x + plane * c->in[HEIGHT] * c->in[WIDTH] * c->in_channels;
    if (p.inside) p.at += (p.row * c->in[WIDTH] + p.column) * c->in_channels;
    return p;
}

ALWAYS vf load_input(const conv *c, const patch *p, int64_t i, int64_t j, int64_t channel, int tail, int64_t lanes) {
    const float *at = p->at + channel;
    if (p->inside) {
        at += (i * c->in[WIDTH] + j) * c->in_channels;
    } else {
        int64_t row = p->row + i, column = p->column + j;
        if (row < 0 || column < 0 || row >= c->in[HEIGHT] || column >= c->in[WIDTH]) return (vf){0};
        at += (row * c->in[WIDTH] + column) * c->in_channels;
    }
    return tail ? vf_load_tail(at, lanes, 0) : vf_load(at);
}

ALWAYS void store_input(float *out, vf v, int tail, int64_t lanes) {
    if (tail)
        vf_store_tail(out, v, lanes);
    else
        vf_store(out, v);
}

/* B^T d B of up to ASC_VF channels. */
ALWAYS void transform_channels(const conv *c, const patch *p, int64_t channel, int tail, int64_t lanes, float *out,
                               int64_t point) {
    vf down[4][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        vf d[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) d[i] = load_input(c, p, i, j, channel, tail, lanes);
        down[0][j] = d[0] - d[2];
        down[1][j] = d[1] + d[2];
        down[2][j] = d[2] - d[1];
        down[3][j] = d[1] - d[3];
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, out += 4 * point) {
        store_input(out, down[i][0] - down[i][2], tail, lanes);
        store_input(out + point, down[i][1] + down[i][2], tail, lanes);
        store_input(out + 2 * point, down[i][2] - down[i][1], tail, lanes);
        store_input(out + 3 * point, down[i][1] - down[i][3], tail, lanes);
    }
}

static void transform_patch(const conv *c, const patch *p, float *out, int64_t point) {
    int64_t channel = 0;
    for (; channel + ASC_VF <= c->in_channels; channel += ASC_VF)
        transform_channels(c, p, channel, 0, ASC_VF, out + channel, point);
    if (channel < c->in_channels) transform_channels(c, p, channel, 1, c->in_channels - channel, out + channel, point);
}

void ASC_FN(winograd_inputs)(const tiling *t, const block *b) {
    const conv *c = &t->c;
    int64_t per_plane = t->rows * t->columns;
    float *out = b->inputs;
    for (int64_t i = 0; i < b->tiles; i++) {
        int64_t of = (b->first + i) / per_plane, within = (b->first + i) % per_plane;
        int64_t image = of / c->out[DEPTH], first = of % c->out[DEPTH] * c->stride[DEPTH] - c->pad[DEPTH];
        for (int64_t k = 0; k < c->kernel[DEPTH]; k++, out += c->in_channels) {
            int64_t plane = first + k * c->dilation[DEPTH];
            if (plane >= 0 && plane < c->in[DEPTH]) {
                patch p = find_patch(t, image * c->in[DEPTH] + plane, within);
                transform_patch(c, &p, out, b->input_point);
            } else {
                for (int64_t point = 0; point < POINTS; point++)
                    memset(out + point * b->input_point, 0, (size_t)c->in_channels * sizeof *out);
            }
        }
    }
}

/* Up to ASC_VF channels of the output at one place. */
ALWAYS void store_output(const conv *c, const finish *f, int64_t at, int64_t channel, vf sum, int tail, int64_t lanes) {
    const float *bias = c->epilogue.bias.data, *residual = c->epilogue.residual.data;
    if (bias) sum += tail ? vf_load_tail(bias + channel, lanes, 0) : vf_load(bias + channel);
    if (residual) sum += tail ? vf_load_tail(residual + at + channel, lanes, 0) : vf_load(residual + at + channel);
    store_input(c->y + at + channel, conv_end(&f->end, sum), tail, lanes);
}

/* A^T m A of up to ASC_VF channels of one tile, where `rows` x `columns` of its outputs exist from `at` on. */
ALWAYS void transform_sums(const conv *c, const finish *f, const float *sums, int64_t point, int64_t at, int64_t rows,
                           int64_t columns, int64_t channel, int tail, int64_t lanes) {
    vf across[2][4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        vf m[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) m[i] = vf_load(sums + (4 * i + j) * point);
        across[0][j] = m[0] + m[1] + m[2];
        across[1][j] = m[1] - m[2] - m[3];
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++, at += c->out[WIDTH] * c->out_channels) {
        const vf *m = across[i];
        if (i >= rows) break;
        store_output(c, f, at, channel, m[0] + m[1] + m[2], tail, lanes);
        if (columns > 1) store_output(c, f, at + c->out_channels, channel, m[1] - m[2] - m[3], tail, lanes);
    }
}

void ASC_FN(winograd_outputs)(const tiling *t, const block *b, const finish *f, int64_t panel) {
    const conv *c = &t->c;
    int64_t from = panel * GEMM_PANEL, width = asc_least(GEMM_PANEL, c->out_channels - from);
    int64_t per_plane = t->rows * t->columns;
    for (int64_t i = 0; i < b->tiles; i++) {
        int64_t plane = (b->first + i) / per_plane, within = (b->first + i) % per_plane;
        int64_t row = within / t->columns * 2, column = within % t->columns * 2, channel = 0;
        int64_t rows = asc_least(2, c->out[HEIGHT] - row), columns = asc_least(2, c->out[WIDTH] - column);
        int64_t at = ((plane * c->out[HEIGHT] + row) * c->out[WIDTH] + column) * c->out_channels;
        const float *sums = b->sums + i * GEMM_PANEL;
        for (; channel + ASC_VF <= width; channel += ASC_VF)
            transform_sums(c, f, sums + channel, b->sum_point, at, rows, columns, from + channel, 0, ASC_VF);
        if (channel < width)
            transform_sums(c, f, sums + channel, b->sum_point, at, rows, columns, from + channel, 1, width - channel);
        for (int64_t k = 0; !f->limits && k < rows; k++, at += c->out[WIDTH] * c->out_channels) {
            epilogue_rows done = epilogue_in_place(c->y + at + from, c->out_channels, columns, width);
            ASC_FN(epilogue_apply)(&f->after, &done, 0, 0);
        }
    }
}
