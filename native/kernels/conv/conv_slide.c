/* Depthwise convolution by square kernels with stride 1: a few vectors of columns slide down the plane. Each input
 * is loaded once for every tap of a row, and serves all the output rows whose windows it lies in; of those, the sums
 * stay in registers. Planes are read where they lie: what is outside is left out. */
#include "conv_last.h"

#if ASC_VF == 16
#define MOST_VECTORS 2 /* that slide together: their sums and the weights of 3 x 3 are in registers */
#else
#define MOST_VECTORS 1
#endif
#define LARGEST_SIZE 5
#define ALWAYS static inline __attribute__((always_inline))

/* Keeps a loaded vector in its register: GCC would rather load it again for each use. */
#if defined(__x86_64__)
#define KEEP(x) __asm__("" : "+v"(x))
#else
#define KEEP(x) ((void)(x))
#endif

/* Output rows [row, row + rows) of one plane. */
typedef struct slide {
    const conv *conv;
    const float *x, *weights;
    float *y;
    const float *residual; /* NULL: none; as y */
    int64_t row, rows;
    float bias;
    conv_ending end;
} slide;

int ASC_FN(conv_slides)(const conv *c) {
    int flat = c->in[DEPTH] == 1 && c->out[DEPTH] == 1 && c->kernel[DEPTH] == 1 && c->pad[DEPTH] == 0;
    int near = 1;
    for (int a = HEIGHT; a <= WIDTH; a++)
        near = near && c->stride[a] == 1 && c->dilation[a] == 1 && c->kernel[a] == c->kernel[WIDTH];
    return c->group_in == 1 && flat && near && !c->transposed && !c->panels &&
           (c->kernel[WIDTH] == 3 || c->kernel[WIDTH] == LARGEST_SIZE);
}

/* The lanes of a vector that exist when its first one is column `at` of `columns`. */
ALWAYS lane_mask lanes_inside(int64_t at, int64_t columns) {
    int64_t from = at < 0 ? -at : 0, to = columns - at;
    return lanes_between(from < ASC_VF ? from : ASC_VF, to < 0 ? 0 : to < ASC_VF ? to : ASC_VF);
}

/* Finishes the sums of `vectors` vectors from place `at` of a plane on, where `left` columns of its row are left. */
ALWAYS void store_sums(const slide *s, const vf *sum, int vectors, int edge, int64_t at, int64_t left) {
    _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++, at += ASC_VF, left -= ASC_VF) {
        int tail = edge && left < ASC_VF;
        vf y = sum[v] + vf_set(s->bias);
        if (s->residual) y += tail ? vf_load_tail(s->residual + at, left, 0) : vf_load(s->residual + at);
        y = conv_end(&s->end, y);
        if (tail)
            vf_store_tail(s->y + at, y, left);
        else
            vf_store(s->y + at, y);
    }
}

/* All rows of the `vectors` vectors from output column `at` on; at an edge, some of their lanes, or of what they
 * read, don't exist. Every sum takes its products in the order of the taps, wherever it lies. */
ALWAYS void slide_columns(const conv *c, slide s, int size, int vectors, int edge, int64_t at) {
    int64_t start = at - c->pad[WIDTH], columns = c->in[WIDTH], left = c->out[WIDTH] - at, step = c->out[WIDTH];
    int64_t row = s.row - c->pad[HEIGHT], end = row + s.rows + size - 1, lines = c->in[HEIGHT];
    vf sum[LARGEST_SIZE][MOST_VECTORS] = {{{0}}}; /* of the output rows whose last `size` taps `row` is among */
    vf w[LARGEST_SIZE * LARGEST_SIZE];
    lane_mask lanes[LARGEST_SIZE][MOST_VECTORS];
    _Pragma("GCC unroll 25") for (int t = 0; t < size * size; t++) w[t] = vf_set(s.weights[t]);
    for (int j = 0; edge && j < size; j++)
        for (int v = 0; v < vectors; v++) lanes[j][v] = lanes_inside(start + j + v * ASC_VF, columns);
    uintptr_t x = (uintptr_t)s.x + (uintptr_t)(row * columns + start) * sizeof(float); /* may lie outside */
    at += (s.row - size + 1) * step;
    for (int64_t begun = 1; row < end; row++, begun++, x += (uintptr_t)columns * sizeof(float), at += step) {
        if (row >= 0 && row < lines) {
            _Pragma("GCC unroll 5") for (int j = 0; j < size; j++)
                _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) {
                const float *from = (const float *)(x + (uintptr_t)(j + v * ASC_VF) * sizeof(float));
                vf in = edge ? vf_load_lanes(from, lanes[j][v]) : vf_load(from);
                KEEP(in);
                _Pragma("GCC unroll 5") for (int k = 0; k < size; k++) sum[k][v] =
                    vf_fma(w[(size - 1 - k) * size + j], in, sum[k][v]);
            }
        }
        if (begun >= size) store_sums(&s, sum[0], vectors, edge, at, left);
        _Pragma("GCC unroll 2") for (int v = 0; v < vectors; v++) {
            _Pragma("GCC unroll 5") for (int k = 0; k < size - 1; k++) sum[k][v] = sum[k + 1][v];
            sum[size - 1][v] = (vf){0};
        }
    }
}

ALWAYS void slide_plane(const slide *s, int size) {
    const conv *c = s->conv;
    int64_t columns = c->out[WIDTH], at = 0;
    while (at < columns) {
        int64_t left = columns - at, start = at - c->pad[WIDTH], wide = MOST_VECTORS * ASC_VF;
        int inner = start >= 0 && start + size - 1 + wide <= c->in[WIDTH] && left >= wide;
        if (inner)
            slide_columns(c, *s, size, MOST_VECTORS, 0, at);
        else if (left > (MOST_VECTORS - 1) * ASC_VF)
            slide_columns(c, *s, size, MOST_VECTORS, 1, at);
        else
            slide_columns(c, *s, size, 1, 1, at);
        at += inner || left > (MOST_VECTORS - 1) * ASC_VF ? wide : ASC_VF;
    }
}

static void slide_3x3(const slide *s) {
    slide_plane(s, 3);
}

static void slide_5x5(const slide *s) {
    slide_plane(s, LARGEST_SIZE);
}

void ASC_FN(conv_slide)(const conv *c, int64_t plane, int64_t planes, int64_t row, int64_t rows) {
    slide s = {.conv = c, .row = row, .rows = rows, .end = ASC_FN(conv_ending_of)(&c->epilogue, 0)};
    epilogue after = ASC_FN(conv_after)(&c->epilogue);
    for (int64_t i = plane * c->group_out; i < (plane + planes) * c->group_out; i++) {
        int64_t channel = i % c->out_channels;
        s.x = c->x + i / c->group_out * c->in_size;
        s.y = c->y + i * c->out_size;
        s.weights = c->weights + channel * c->taps;
        s.bias = c->epilogue.bias.data ? c->epilogue.bias.data[channel] : -0.0f; /* which adds nothing */
        s.residual = c->epilogue.residual.data ? c->epilogue.residual.data + i * c->out_size : NULL;
        (c->kernel[WIDTH] == 3 ? slide_3x3 : slide_5x5)(&s);
        epilogue_rows done = epilogue_in_place(s.y + row * c->out[WIDTH], c->out_size, 1, rows * c->out[WIDTH]);
        if (!s.end.whole || s.end.rounds) ASC_FN(epilogue_apply)(&after, &done, 0, 0);
    }
}
