/* Convolution of each channel by itself with planes of 3 x 3 taps, channels last: a block of output pixels, of one row
 * or of two below each other, loads (and widens) each input once for all the windows it lies in. Columns beside the
 * image are zeros, rows and planes outside are left out; every sum takes its products in the order of the taps. */
#include "conv_channelwise.h"

#define ALWAYS static inline __attribute__((always_inline))
#if ASC_VF == 16
#define MOST_PIXELS BLOCK
#define MOST_ROWS 2
#else /* half the registers */
#define MOST_PIXELS 4
#define MOST_ROWS 1
#endif
#define MOST_COLUMNS (2 * MOST_PIXELS + 1) /* of inputs */

/* Outputs of `rows` rows from one pixel on; what tap (0, 0) of the first reads may lie outside. */
typedef struct patch {
    uintptr_t x;
    const float *w;
    int64_t pixel, line, out_line; /* elements from an input pixel to the next, and from a row to the next */
    int64_t taps;                  /* floats from a tap to the next */
    int64_t plane;                 /* elements from what a plane of taps reads to what the next one does */
    inside planes;                 /* of taps, that exist */
    int64_t from, to;              /* input rows that exist, counted from the first tap's */
    int left, right;               /* whether the first column, or the last, lies beside the image */
} patch;

int ASC_FN(conv_is_channelwise_3x3)(const conv *c) {
    int64_t step = c->stride[WIDTH];
    int square = c->kernel[HEIGHT] == 3 && c->kernel[WIDTH] == 3 && c->dilation[HEIGHT] == 1 && c->dilation[WIDTH] == 1;
    int64_t end = (c->out[WIDTH] - 1) * step + 3 - c->pad[WIDTH]; /* of the columns that are read */
    return square && (step == 1 || step == 2) && c->stride[HEIGHT] == step && c->pad[WIDTH] >= 0 &&
           c->pad[WIDTH] <= 1 && end <= c->in[WIDTH] + 1 && c->in[WIDTH] > 1;
}

/* Adds a plane of taps, whose first one reads x for the first pixel and has the weights w, to the sums. */
ALWAYS void run_plane(const patch *n, int step, int rows, int pixels, int narrow, uintptr_t first, const float *taps,
                      int tail, int64_t lanes, vf sum[MOST_ROWS][BLOCK]) {
    int columns = (pixels - 1) * step + 3;
    int64_t bytes = narrow ? sizeof(uint16_t) : sizeof(float);
    _Pragma("GCC unroll 5") for (int i = 0; i < (rows - 1) * step + 3; i++) {
        if (i < n->from || i >= n->to) continue;
        const void *line = (const void *)(first + (uintptr_t)(i * n->line * bytes));
        vf x[MOST_COLUMNS];
        x[0] = n->left ? (vf){0} : image_load(line, 0, narrow, tail, lanes);
        _Pragma("GCC unroll 17") for (int q = 1; q < columns - 1; q++) x[q] =
            image_load(line, q * n->pixel, narrow, tail, lanes);
        x[columns - 1] = n->right ? (vf){0} : image_load(line, (columns - 1) * n->pixel, narrow, tail, lanes);
        _Pragma("GCC unroll 2") for (int r = 0; r < rows; r++) {
            int tap = i - r * step;
            if (tap < 0 || tap > 2) continue;
            _Pragma("GCC unroll 3") for (int j = 0; j < 3; j++) {
                vf w = load_lanes(taps + (tap * 3 + j) * n->taps, tail, lanes);
                _Pragma("GCC unroll 8") for (int p = 0; p < pixels; p++) sum[r][p] =
                    vf_fma(w, x[p * step + j], sum[r][p]);
            }
        }
    }
}

/* For the vector that starts at channel v; of a tail, for its first lanes. */
ALWAYS void run_block(const patch *n, const target *t, int step, int rows, int pixels, int narrow, int64_t v, int tail,
                      int64_t lanes) {
    int64_t bytes = narrow ? sizeof(uint16_t) : sizeof(float);
    vf sum[MOST_ROWS][BLOCK] = {{{0}}};
    vf bias =
        t->bias ? load_lanes(t->bias + v, tail, lanes) : vf_set(-0.0f); /* adds nothing, to zeros of either sign */
    for (int64_t d = n->planes.from; d < n->planes.to; d++)
        run_plane(n, step, rows, pixels, narrow, n->x + (uintptr_t)((d * n->plane + v) * bytes),
                  n->w + d * 9 * n->taps + v, tail, lanes, sum);
    _Pragma("GCC unroll 2") for (int r = 0; r < rows; r++)
        finish(t, v + r * n->out_line, sum[r], pixels, bias, tail, lanes);
}

ALWAYS void run_vectors(const patch *n, const target *t, int step, int rows, int pixels, int narrow, int64_t channels) {
    int64_t v = 0;
    for (; v + ASC_VF <= channels; v += ASC_VF) run_block(n, t, step, rows, pixels, narrow, v, 0, 0);
    if (v < channels) run_block(n, t, step, rows, pixels, narrow, v, 1, channels - v);
}

/* A function for each number of pixels: in one function of all of them, GCC's passes take three times as long. */
typedef void run_pixels(const patch *n, const target *t, int64_t channels);
#define PATCH(step, rows, pixels, narrow)                                                                      \
    static void run_##step##x##rows##_##pixels##_##narrow(const patch *n, const target *t, int64_t channels) { \
        run_vectors(n, t, step, rows, pixels, narrow, channels);                                               \
    }
#if MOST_PIXELS > 4
#define EACH(of, step, rows, narrow)                                                                        \
    of(step, rows, 1, narrow) of(step, rows, 2, narrow) of(step, rows, 3, narrow) of(step, rows, 4, narrow) \
        of(step, rows, 5, narrow) of(step, rows, 6, narrow) of(step, rows, 7, narrow) of(step, rows, 8, narrow)
#else
#define EACH(of, step, rows, narrow) \
    of(step, rows, 1, narrow) of(step, rows, 2, narrow) of(step, rows, 3, narrow) of(step, rows, 4, narrow)
#endif
#define NAME(step, rows, pixels, narrow) run_##step##x##rows##_##pixels##_##narrow,
#define PATCHES(step, rows)                                                                      \
    EACH(PATCH, step, rows, 0)                                                                   \
    EACH(PATCH, step, rows, 1)                                                                   \
    static run_pixels *const run_##step##x##rows[2][MOST_PIXELS] = {{EACH(NAME, step, rows, 0)}, \
                                                                    {EACH(NAME, step, rows, 1)}};
PATCHES(1, 1)
PATCHES(2, 1)
#if MOST_ROWS > 1
PATCHES(1, 2)
#else
#define run_1x2 run_1x1 /* never called */
#endif

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
    run_pixels *const *run_with = (step == 2 ? run_2x1 : rows == 2 ? run_1x2 : run_1x1)[c->x_narrow != 0];
    for (int64_t b = 0, end, o = 0; b < blocks; b++, o = end) {
        end = width * (b + 1) / blocks;
        int64_t first = o * step - c->pad[WIDTH], last = (end - 1) * step - c->pad[WIDTH] + 2;
        n.left = first < 0;
        n.right = last >= c->in[WIDTH];
        n.x = (uintptr_t)input_at(c, image, near, top, first, channel);
        find_outputs(c, plane, row, o, channel, &t);
        run_with[end - o - 1](&n, &t, channels);
    }
}

void ASC_FN(conv_channelwise_3x3)(const conv *c, const target *t, int64_t plane, int64_t row, int64_t rows,
                                  int64_t channel, int64_t channels) {
    int64_t together = c->stride[WIDTH] == 1 ? MOST_ROWS : 1;
    for (int64_t r = row, end = row + rows; r < end; r += together)
        run_rows(c, *t, plane, r, r + together <= end ? together : end - r, channel, channels);
}
