/* resize.c - images made larger or smaller, by the nearest element or by weights of two, forwards and backwards. */
#include <math.h>

#include "operator.h"

/* Where an element of a result of `to` elements reads an axis of `from`: two elements and the weight of the second. */
typedef struct tap {
    int64_t first, second;
    float weight;
} tap;

typedef enum method { NEAREST, LINEAR } method;

/* scale: of a user, <= 0 where none was given. */
static tap tap_of(method how, int64_t i, int64_t from, int64_t to, bool corners, double scale) {
    double step = scale > 0 ? 1 / scale : (double)from / (double)to;
    if (how == NEAREST) {
        int64_t at = (int64_t)floorf((float)i * (float)step);
        at = at < from ? at : from - 1;
        return (tap){at, at, 0};
    }
    double at =
        corners ? (to > 1 ? (double)i * (double)(from - 1) / (double)(to - 1) : 0) : ((double)i + 0.5) * step - 0.5;
    if (at < 0) at = 0;
    int64_t first = (int64_t)at;
    if (first > from - 1) first = from - 1;
    return (tap){first, first + 1 < from ? first + 1 : first, (float)(at - (double)first)};
}

/* Over the last two axes (one of them with length 1 for sequences): y from x, or the gradient of x from that of y. */
static void resize(asc_run *run, method how, tensor x, tensor y, bool corners, const double *scales, bool backwards) {
    int64_t h = x.dims[x.rank - 2], w = x.dims[x.rank - 1], to_h = y.dims[y.rank - 2], to_w = y.dims[y.rank - 1];
    int64_t planes = h > 0 && w > 0 ? asc_elements(x) / (h * w) : 0;
    ASC_STOP_UNLESS(run, x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1], "images and channels change in number");
    tap *columns = asc_bytes(run, (size_t)to_w * sizeof *columns);
    for (int64_t j = 0; j < to_w; j++) columns[j] = tap_of(how, j, w, to_w, corners, scales[1]);
    for (int64_t p = 0; p < planes; p++)
        for (int64_t i = 0; i < to_h; i++) {
            tap r = tap_of(how, i, h, to_h, corners, scales[0]);
            float *a = (float *)x.data + (p * h + r.first) * w, *b = (float *)x.data + (p * h + r.second) * w;
            float *to = (float *)y.data + (p * to_h + i) * to_w;
            for (int64_t j = 0; j < to_w; j++) {
                tap c = columns[j];
                float weights[] = {(1 - r.weight) * (1 - c.weight), (1 - r.weight) * c.weight,
                                   r.weight * (1 - c.weight), r.weight * c.weight};
                if (!backwards) {
                    to[j] = weights[0] * a[c.first] + weights[1] * a[c.second] + weights[2] * b[c.first] +
                            weights[3] * b[c.second];
                    continue;
                }
                a[c.first] += weights[0] * to[j];
                a[c.second] += weights[1] * to[j];
                b[c.first] += weights[2] * to[j];
                b[c.second] += weights[3] * to[j];
            }
        }
}

/* A sequence as an image of one line. */
static tensor image(tensor t) {
    return t.rank == 3 ? asc_unsqueeze(t, 2) : t;
}

static void forward(asc_run *run, method how, bool corners, const double *scales, int out) {
    tensor x = image(asc_f32(run, 0)), y = image(asc_like(run, asc_in(run, out), ASC_FLOAT32));
    ASC_STOP_UNLESS(run, x.rank == 4 && y.rank == 4, "images have batches and channels");
    resize(run, how, x, y, corners, scales, false);
    asc_put(run, out, y);
}

static void backward(asc_run *run, method how, bool corners, const double *scales, int out) {
    tensor g = image(asc_f32(run, 0)), x = image(asc_like(run, asc_in(run, out), ASC_FLOAT32));
    ASC_STOP_UNLESS(run, x.rank == 4 && g.rank == 4, "images have batches and channels");
    asc_fill(run, x, 0);
    resize(run, how, x, g, corners, scales, true);
    asc_put(run, out, x);
}

/* self, outputSize, then `scales` numbers, out. */
void asc_op_nearest(asc_run *run, int scales) {
    double s[2] = {0, 0};
    for (int i = 0; i < scales; i++) s[2 - scales + i] = asc_float(run, 2 + i);
    forward(run, NEAREST, false, s, 2 + scales);
}

/* gradOutput, outputSize, inputSize, then `scales` numbers, gradInput. */
void asc_op_nearest_backward(asc_run *run, int scales) {
    double s[2] = {0, 0};
    for (int i = 0; i < scales; i++) s[2 - scales + i] = asc_float(run, 3 + i);
    backward(run, NEAREST, false, s, 3 + scales);
}

/* self, outputSize, alignCorners, then `scales` numbers, out. */
void asc_op_linear(asc_run *run, int scales) {
    double s[2] = {0, 0};
    for (int i = 0; i < scales; i++) s[2 - scales + i] = asc_float(run, 3 + i);
    forward(run, LINEAR, asc_int(run, 2) != 0, s, 3 + scales);
}

/* gradOutput, outputSize, inputSize, alignCorners, then `scales` numbers, gradInput. */
void asc_op_linear_backward(asc_run *run, int scales) {
    double s[2] = {0, 0};
    for (int i = 0; i < scales; i++) s[2 - scales + i] = asc_float(run, 4 + i);
    backward(run, LINEAR, asc_int(run, 3) != 0, s, 4 + scales);
}
