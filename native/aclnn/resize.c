/* resize.c - sequences, images and volumes made larger or smaller, axis by axis, forwards and backwards.
 *
 * An axis of `to` elements is a matrix of few weights times the axis it is made of; the way back is its transpose. */
#include <math.h>

#include "operator.h"

typedef enum method { NEAREST, NEAREST_EXACT, LINEAR, CUBIC, LINEAR_SMOOTH, CUBIC_SMOOTH } method;

/* The rows of such a matrix: row i has count[i] weights, from place i * most on. */
typedef struct taps {
    int64_t most, *count, *at;
    float *weight;
} taps;

static double cubic(double x, double a) {
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double triangle(double x) {
    return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

static void set_nearest(taps *t, int64_t i, int64_t from, double step, double offset) {
    int64_t at = (int64_t)floorf(((float)i + (float)offset) * (float)step);
    t->count[i] = 1;
    t->at[i * t->most] = at < from ? at : from - 1;
    t->weight[i * t->most] = 1;
}

static void set_linear(taps *t, int64_t i, int64_t from, double at) {
    if (at < 0) at = 0;
    int64_t first = (int64_t)at, k = i * t->most;
    if (first > from - 1) first = from - 1;
    t->count[i] = 2;
    t->at[k] = first;
    t->at[k + 1] = first + 1 < from ? first + 1 : first;
    t->weight[k + 1] = (float)(at - (double)first);
    t->weight[k] = 1 - t->weight[k + 1];
}

static void set_cubic(taps *t, int64_t i, int64_t from, double at) {
    int64_t first = (int64_t)floor(at);
    t->count[i] = 4;
    for (int64_t j = 0; j < 4; j++) {
        int64_t place = first - 1 + j, k = i * t->most + j;
        t->at[k] = place < 0 ? 0 : place < from ? place : from - 1;
        t->weight[k] = (float)cubic(at - (double)place, -0.75);
    }
}

/* All elements under a filter as wide as the step, so that none is left out where axes get shorter. */
static void set_smooth(taps *t, int64_t i, int64_t from, double step, bool is_cubic) {
    double wide = step > 1 ? step : 1, reach = (is_cubic ? 2 : 1) * wide, centre = step * ((double)i + 0.5), sum = 0;
    int64_t first = (int64_t)(centre - reach + 0.5), end = (int64_t)(centre + reach + 0.5);
    if (first < 0 || centre - reach + 0.5 < 0) first = 0;
    if (end > from) end = from;
    for (int64_t j = first; j < end; j++) {
        double x = ((double)j - centre + 0.5) / wide;
        sum += is_cubic ? cubic(x, -0.5) : triangle(x);
    }
    t->count[i] = end - first;
    for (int64_t j = first; j < end; j++) {
        double x = ((double)j - centre + 0.5) / wide;
        t->at[i * t->most + j - first] = j;
        t->weight[i * t->most + j - first] = (float)((is_cubic ? cubic(x, -0.5) : triangle(x)) / sum);
    }
}

/* scale: of a user, <= 0 where none was given. */
static taps taps_of(asc_run *run, method how, int64_t from, int64_t to, bool corners, double scale) {
    double step = scale > 0 ? 1 / scale : (double)from / (double)to;
    if (corners) step = to > 1 ? (double)(from - 1) / (double)(to - 1) : 0;
    ASC_STOP_UNLESS(run, step <= (double)from * 1.001, "a scale of %g leaves nothing of %lld elements", scale,
                    (long long)from);
    double reach = 2 * (step > 1 ? step : 1);
    taps t = {.most = how <= NEAREST_EXACT ? 1 : how == LINEAR ? 2 : how == CUBIC ? 4 : 2 * (int64_t)ceil(reach) + 2};
    t.count = asc_bytes(run, (size_t)to * sizeof *t.count);
    t.at = asc_bytes(run, (size_t)(to * t.most) * sizeof *t.at);
    t.weight = asc_bytes(run, (size_t)(to * t.most) * sizeof *t.weight);
    for (int64_t i = 0; i < to; i++) {
        double at = corners ? (double)i * step : ((double)i + 0.5) * step - 0.5;
        if (how <= NEAREST_EXACT)
            set_nearest(&t, i, from, step, how == NEAREST_EXACT ? 0.5 : 0);
        else if (how == LINEAR)
            set_linear(&t, i, from, at);
        else if (how == CUBIC)
            set_cubic(&t, i, from, at);
        else
            set_smooth(&t, i, from, step, how == CUBIC_SMOOTH);
    }
    return t;
}

/* y = matrix x along an axis, of `to` elements then; backwards, its transpose. x is contiguous float32. */
static tensor along(asc_run *run, tensor x, int axis, int64_t to, const taps *t, bool backwards) {
    int64_t dims[ASC_MAX_RANK] = {0}, from = x.dims[axis], inner = 1, outer = 1, rows = backwards ? from : to;
    for (int i = 0; i < x.rank; i++) {
        dims[i] = i == axis ? to : x.dims[i];
        if (i < axis) outer *= x.dims[i];
        if (i > axis) inner *= x.dims[i];
    }
    tensor y = asc_new(run, ASC_FLOAT32, x.rank, dims);
    asc_fill(run, y, 0);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = i * t->most; k < i * t->most + t->count[i]; k++) {
                int64_t source = backwards ? i : t->at[k], target = backwards ? t->at[k] : i;
                const float *in = (const float *)x.data + (o * from + source) * inner;
                float *out = (float *)y.data + (o * to + target) * inner, weight = t->weight[k];
                for (int64_t j = 0; j < inner; j++) out[j] += weight * in[j];
            }
    return y;
}

/* x made as large as the output, whose axes behind batches and channels have the scales given. */
static void resize(asc_run *run, method how, bool corners, int first_scale, int scales, int out, bool backwards) {
    tensor x = asc_f32(run, 0), y = asc_in(run, out);
    ASC_STOP_UNLESS(run, x.rank == y.rank && x.rank >= 3 && x.rank <= 5, "images have batches and channels");
    ASC_STOP_UNLESS(run, x.dims[0] == y.dims[0] && x.dims[1] == y.dims[1], "images and channels change in number");
    for (int axis = x.rank - 1; axis >= 2; axis--) {
        int64_t large = backwards ? x.dims[axis] : y.dims[axis], small = backwards ? y.dims[axis] : x.dims[axis];
        ASC_STOP_UNLESS(run, large > 0 && small > 0, "images without elements");
        double scale = scales ? asc_float(run, first_scale + axis - 2) : 0;
        taps t = taps_of(run, how, small, large, corners, scale);
        x = along(run, x, axis, y.dims[axis], &t, backwards);
    }
    asc_put(run, out, x);
}

/* self, outputSize, then `scales` numbers, out. */
void asc_op_nearest(asc_run *run, int scales) {
    resize(run, NEAREST, false, 2, scales, 2 + scales, false);
}
void asc_op_nearest_exact(asc_run *run, int scales) {
    resize(run, NEAREST_EXACT, false, 2, scales, 2 + scales, false);
}

/* gradOutput, outputSize, inputSize, then `scales` numbers, gradInput. */
void asc_op_nearest_backward(asc_run *run, int scales) {
    resize(run, NEAREST, false, 3, scales, 3 + scales, true);
}
void asc_op_nearest_exact_backward(asc_run *run, int scales) {
    resize(run, NEAREST_EXACT, false, 3, scales, 3 + scales, true);
}

/* self, outputSize, alignCorners, then `scales` numbers, out. */
void asc_op_linear(asc_run *run, int scales) {
    resize(run, LINEAR, asc_int(run, 2) != 0, 3, scales, 3 + scales, false);
}
void asc_op_cubic(asc_run *run, int scales) {
    resize(run, CUBIC, asc_int(run, 2) != 0, 3, scales, 3 + scales, false);
}
void asc_op_linear_smooth(asc_run *run, int scales) {
    resize(run, LINEAR_SMOOTH, asc_int(run, 2) != 0, 3, scales, 3 + scales, false);
}
void asc_op_cubic_smooth(asc_run *run, int scales) {
    resize(run, CUBIC_SMOOTH, asc_int(run, 2) != 0, 3, scales, 3 + scales, false);
}

/* gradOutput, outputSize, inputSize, alignCorners, then `scales` numbers, gradInput. */
void asc_op_linear_backward(asc_run *run, int scales) {
    resize(run, LINEAR, asc_int(run, 3) != 0, 4, scales, 4 + scales, true);
}
void asc_op_cubic_backward(asc_run *run, int scales) {
    resize(run, CUBIC, asc_int(run, 3) != 0, 4, scales, 4 + scales, true);
}
void asc_op_linear_smooth_backward(asc_run *run, int scales) {
    resize(run, LINEAR_SMOOTH, asc_int(run, 3) != 0, 4, scales, 4 + scales, true);
}
void asc_op_cubic_smooth_backward(asc_run *run, int scales) {
    resize(run, CUBIC_SMOOTH, asc_int(run, 3) != 0, 4, scales, 4 + scales, true);
}
