/* Convolution of each channel by itself with planes of 3 x 3 or 5 x 5 taps, channels last: a block of output pixels, of
 * one row or of two below each other, loads (and widens) each input once for all the windows it lies in. Columns beside
 * the image are zeros, rows and planes outside are left out; every sum takes its products in the order of the taps. */
#include "conv_channelwise.h"

#define ALWAYS static inline __attribute__((always_inline))
#if ASC_VF == 16
#define MOST_PIXELS BLOCK
#define MOST_ROWS 2
#else /* half the registers */
#define MOST_PIXELS 4
#define MOST_ROWS 1
#endif
#define MOST_COLUMNS (2 * MOST_PIXELS + 3) /* of inputs */

/* Outputs of `rows` rows from one pixel on; what tap (0, 0) of the first reads may lie outside. */
typedef struct patch {
    uintptr_t x;
    const float *w;
    int64_t pixel, line, out_line; /* elements from an input pixel to the next, and from a row to the next */
    int64_t taps;                  /* floats from a tap to the next */
    int64_t plane;                 /* elements from what a plane of taps reads to what the next one does */
    inside planes;                 /* of taps, that exist */
    int64_t from, to;              /* input rows that exist, counted from the first tap's */
    int64_t first, last;           /* columns that exist, counted from the first tap's */
} patch;

int ASC_FN(conv_is_channelwise_square)(const conv *c) {
    int64_t step = c->stride[WIDTH], size = c->kernel[WIDTH];
    int square =
        (size == 3 || size == 5) && c->kernel[HEIGHT] == size && c->dilation[HEIGHT] == 1 && c->dilation[WIDTH] == 1;
    int64_t end = (c->out[WIDTH] - 1) * step + size - c->pad[WIDTH]; /* of the columns that are read */
    return square && (step == 1 || step == 2) && c->stride[HEIGHT] == step && c->pad[WIDTH] >= 0 &&
           c->pad[WIDTH] <= size / 2 && end <= c->in[WIDTH] + size / 2 && c->in[WIDTH] > 1;
}

/* Column q of the row of inputs; those at the sides may lie beside the image. */
ALWAYS vf column(const patch *n, const void *line, int q, int columns, int size, int narrow, int tail, int64_t lanes) {
    int beside = (q < size / 2 && q < n->first) || (q >= columns - size / 2 && q >= n->last);
    return beside ? (vf){0} : image_load(line, q * n->pixel, narrow, tail, lanes);
}

/* Adds what the taps make of line i of the inputs to the sums. */
ALWAYS void run_line(const patch *n, int i, int size, int step, int rows, int pixels, int narrow, uintptr_t first,
                     const float *taps, int tail, int64_t lanes, vf sum[MOST_ROWS][BLOCK]) {
    if (i < n->from || i >= n->to) return;
    int columns = (pixels - 1) * step + size;
    int64_t bytes = narrow ? sizeof(uint16_t) : sizeof(float);
    const void *line = (const void *)(first + (uintptr_t)(i * n->line * bytes));
    vf x[MOST_COLUMNS];
    _Pragma("GCC unroll 19") for (int q = 0; q < columns; q++) x[q] =
        column(n, line, q, columns, size, narrow, tail, lanes);
    _Pragma("GCC unroll 2") for (int r = 0; r < rows; r++) {
        int from = i - r * step;
        if (from < 0 || from >= size) continue;
        _Pragma("GCC unroll 5") for (int j = 0; j < size; j++) {
            vf w = load_lanes(taps + (from * size + j) * n->taps, tail, lanes);
            _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[r][p] = vf_fma(w, x[p * step + j], sum[r][p]);
        }
    }
}

/* Adds a plane of taps, whose first one reads x for the first pixel and has the weights w, to the sums. */
ALWAYS void run_plane(const patch *n, int size, int step, int rows, int pixels, int narrow, uintptr_t first,
                      const float *taps, int tail, int64_t lanes, vf sum[MOST_ROWS][BLOCK]) {
    if (size == 3)
        _Pragma("GCC unroll 5") for (int i = 0; i < (rows - 1) * step + 3; i++)
            run_line(n, i, 3, step, rows, pixels, narrow, first, taps, tail, lanes, sum);
    else
        for (int i = 0; i < size; i++) run_line(n, i, size, step, 1, pixels, narrow, first, taps, tail, lanes, sum);
}

/* For the vector that starts at channel v; of a tail, for its first lanes. */
ALWAYS void run_block(const patch *n, const target *t, int size, int step, int rows, int pixels, int narrow, int64_t v,
                      int tail, int64_t lanes) {
    int64_t bytes = narrow ? sizeof(uint16_t) : sizeof(float);
    vf sum[MOST_ROWS][BLOCK] = {{{0}}};
    vf bias =
        t->bias ? load_lanes(t->bias + v, tail, lanes) : vf_set(-0.0f); /* adds nothing, to zeros of either sign */
    for (int64_t d = n->planes.from; d < n->planes.to; d++)
        run_plane(n, size, step, rows, pixels, narrow, n->x + (uintptr_t)((d * n->plane + v) * bytes),
                  n->w + d * size * size * n->taps + v, tail, lanes, sum);
    _Pragma("GCC unroll 2") for (int r = 0; r < rows; r++)
        finish(t, v + r * n->out_line, sum[r], pixels, bias, tail, lanes);
}

ALWAYS void run_vectors(const patch *n, const target *t, int size, int step, int rows, int pixels, int narrow,
                        int64_t channels) {
    int64_t v = 0;
    for (; v + ASC_VF <= channels; v += ASC_VF) run_block(n, t, size, step, rows, pixels, narrow, v, 0, 0);
    if (v < channels) run_block(n, t, size, step, rows, pixels, narrow, v, 1, channels - v);
}

/* A function for each number of pixels: in one function of all of them, GCC's passes take three times as long. */
typedef void run_pixels(const patch *n, const target *t, int64_t channels);
#define PATCH(size, step, rows, pixels, narrow)                                                     \
    static void run_##size##_##step##x##rows##_##pixels##_##narrow(const patch *n, const target *t, \
                                                                   int64_t channels) {              \
        run_vectors(n, t, size, step, rows, pixels, narrow, channels);                              \
    }
#define FOUR(of, size, step, rows, narrow)                                                          \
    of(size, step, rows, 1, narrow) of(size, step, rows, 2, narrow) of(size, step, rows, 3, narrow) \
        of(size, step, rows, 4, narrow)
#if MOST_PIXELS > 4
#define EACH(of, size, step, rows, narrow)                                                          \
    FOUR(of, size, step, rows, narrow)                                                              \
    of(size, step, rows, 5, narrow) of(size, step, rows, 6, narrow) of(size, step, rows, 7, narrow) \
        of(size, step, rows, 8, narrow)
#else
#define EACH FOUR
#endif
#define NAME(size, step, rows, pixels, narrow) run_##size##_##step##x##rows##_##pixels##_##narrow,
#define PATCHES(size, step, rows)                                                                               \
    EACH(PATCH, size, step, rows, 0)                                                                            \
    EACH(PATCH, size, step, rows, 1)                                                                            \
    static run_pixels *const run_##size##_##step##x##rows[2][MOST_PIXELS] = {{EACH(NAME, size, step, rows, 0)}, \
                                                                             {EACH(NAME, size, step, rows, 1)}};
PATCHES(3, 1, 1)
PATCHES(3, 2, 1)
PATCHES(5, 1, 1)
PATCHES(5, 2, 1)
#if MOST_ROWS > 1
PATCHES(3, 1, 2)
#else
#define run_3_1x2 run_3_1x1 /* never called */
#endif

/* The functions for output rows of this number together, by pixels. */
static run_pixels *const *functions(const conv *c, int64_t rows) {
    int small = c->kernel[WIDTH] == 3, narrow = c->x_narrow != 0;
    if (c->stride[WIDTH] == 2) return (small ? run_3_2x1 : run_5_2x1)[narrow];
    return (!small ? run_5_1x1 : rows == 2 ? run_3_1x2 : run_3_1x1)[narrow];
}

/* Output rows [row, row + rows) of a plane, all their pixels. */
static void run_rows(const conv *c, target t, int64_t plane, int64_t row, int64_t rows, int64_t channel,
                     int64_t channels) {
    int64_t step = c->stride[WIDTH], width = c->out[WIDTH], blocks = asc_ceil_div(width, MOST_PIXELS);
    int64_t image = plane / c->out[DEPTH], place = plane % c->out[DEPTH];
    int64_t near = place * c->stride[DEPTH] - c->pad[DEPTH], top = row * step - c->pad[HEIGHT];
    patch n = {.w = c->weights + channel, .pixel = c->in_channels, .taps = c->out_channels};
    n.line = c->in[WIDTH] * c->in_channels;
    n.plane = c->dilation[DEPTH] * c->in[HEIGHT] * n.line;
    n.planes = taps_inside(c, DEPTH, place);
    n.out_line = width * c->out_channels;
    n.from = -top;
    n.to = c->in[HEIGHT] - top;
    run_pixels *const *run_with = functions(c, rows);
    for (int64_t b = 0, end, o = 0; b < blocks; b++, o = end) {
        end = width * (b + 1) / blocks;
        int64_t first = o * step - c->pad[WIDTH];
        n.first = -first;
        n.last = c->in[WIDTH] - first;
        n.x = (uintptr_t)input_at(c, image, near, top, first, channel);
        find_outputs(c, plane, row, o, channel, &t);
        run_with[end - o - 1](&n, &t, channels);
    }
}

void ASC_FN(conv_channelwise_square)(const conv *c, const target *t, int64_t plane, int64_t row, int64_t rows,
                                     int64_t channel, int64_t channels) {
    int64_t together = c->stride[WIDTH] == 1 && c->kernel[WIDTH] == 3 ? MOST_ROWS : 1;
    for (int64_t r = row, end = row + rows; r < end; r += together)
        run_rows(c, *t, plane, r, r + together <= end ? together : end - r, channel, channels);
}
