/* volume.c - largest and mean values of windows of volumes, and of adaptive windows of images, float32.
 *
 * Images are volumes of one layer. */
#include <math.h>
#include <string.h>

#include "operator.h"

typedef struct windows {
    bool adaptive;
    int64_t planes, in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
} windows;

/* Elements from, from + step, .. < to of an axis, and how many a mean counts. */
typedef struct window {
    int64_t from, to, step, counts;
} window;

static void read_three(asc_run *run, int i, int64_t *to, const int64_t *otherwise) {
    const asc_argument *a = asc_arg(run, i);
    ASC_STOP_UNLESS(run, a->count <= 1 || a->count == 3, "%lld numbers for three axes", (long long)a->count);
    for (int k = 0; k < 3; k++) to[k] = a->count > 0 ? a->ints[a->count > 1 ? k : 0] : otherwise ? otherwise[k] : 0;
}

/* The last `axes` of x and y are pooled. */
static windows planes_of(asc_run *run, tensor x, tensor y, int axes) {
    windows w = {.planes = 1, .in = {1, 1, 1}, .out = {1, 1, 1}, .dilation = {1, 1, 1}};
    ASC_STOP_UNLESS(run, x.rank == y.rank && x.rank >= axes, "pooling takes %d axes", axes);
    for (int i = 0; i < x.rank - axes; i++) {
        ASC_STOP_UNLESS(run, x.dims[i] == y.dims[i], "%lld planes become %lld", (long long)x.dims[i],
                        (long long)y.dims[i]);
        w.planes *= x.dims[i];
    }
    for (int i = 0; i < axes; i++) {
        w.in[3 - axes + i] = x.dims[x.rank - axes + i];
        w.out[3 - axes + i] = y.dims[y.rank - axes + i];
    }
    return w;
}

static windows adaptive_of(asc_run *run, tensor x, tensor y, int axes) {
    windows w = planes_of(run, x, y, axes);
    w.adaptive = true;
    return w;
}

/* `kernel` is the position of kernelSize, stride, padding and perhaps dilation behind it. */
static windows windows_of(asc_run *run, tensor x, tensor y, int kernel, bool dilated) {
    windows w = planes_of(run, x, y, 3);
    read_three(run, kernel, w.kernel, NULL);
    read_three(run, kernel + 1, w.stride, w.kernel);
    read_three(run, kernel + 2, w.padding, NULL);
    if (dilated) read_three(run, kernel + 3, w.dilation, NULL);
    for (int i = 0; i < 3; i++)
        ASC_STOP_UNLESS(run, w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0, "a window without elements");
    return w;
}

static window window_of(const windows *w, int axis, int64_t i, bool with_padding) {
    int64_t n = w->in[axis];
    if (w->adaptive) {
        int64_t from = i * n / w->out[axis], to = ((i + 1) * n + w->out[axis] - 1) / w->out[axis];
        return (window){from, to, 1, to - from};
    }
    int64_t step = w->dilation[axis], from = i * w->stride[axis] - w->padding[axis];
    int64_t to = from + (w->kernel[axis] - 1) * step + 1, most = n + w->padding[axis];
    int64_t padded = (to < most ? to : most) - from;
    if (from < 0) from += (-from + step - 1) / step * step;
    if (to > n) to = n;
    if (to < from) to = from;
    return (window){from, to, step, with_padding ? padded : to - from};
}

/* The windows of element i of a plane of the output. */
static void windows_at(const windows *w, int64_t i, bool with_padding, window *to) {
    for (int axis = 2; axis >= 0; axis--) {
        to[axis] = window_of(w, axis, i % w->out[axis], with_padding);
        i /= w->out[axis];
    }
}

static int64_t volume(const int64_t *dims) {
    return dims[0] * dims[1] * dims[2];
}

/* Where a window's largest element is in its plane; -1: no element is inside. */
static int64_t largest(const windows *w, const float *plane, const window *at) {
    int64_t best = -1;
    for (int64_t d = at[0].from; d < at[0].to; d += at[0].step)
        for (int64_t h = at[1].from; h < at[1].to; h += at[1].step)
            for (int64_t c = at[2].from; c < at[2].to; c += at[2].step) {
                int64_t here = (d * w->in[1] + h) * w->in[2] + c;
                if (best < 0 || plane[here] > plane[best] || plane[here] != plane[here]) best = here;
            }
    return best;
}

static void max_pool(asc_run *run, const windows *w, tensor x, int out) {
    tensor y = asc_like(run, asc_in(run, out), ASC_FLOAT32), index = asc_like(run, y, ASC_INT64);
    int64_t each = volume(w->out);
    window at[3];
    for (int64_t i = 0; i < w->planes * each; i++) {
        const float *plane = (const float *)x.data + i / each * volume(w->in);
        windows_at(w, i % each, false, at);
        int64_t best = largest(w, plane, at);
        ((float *)y.data)[i] = best < 0 ? -INFINITY : plane[best];
        ((int64_t *)index.data)[i] = best;
    }
    asc_put(run, out, y);
    asc_put(run, out + 1, index);
}

/* self, kernelSize, stride, padding, dilation, ceilMode, out, indices. */
void asc_op_max_pool_volume(asc_run *run) {
    tensor x = asc_f32(run, 0);
    windows w = windows_of(run, x, asc_in(run, 6), 1, true);
    max_pool(run, &w, x, 6);
}

/* self, outputSize, out, indices. */
void asc_op_adaptive_max_pool(asc_run *run, int axes) {
    tensor x = asc_f32(run, 0);
    windows w = adaptive_of(run, x, asc_in(run, 2), axes);
    max_pool(run, &w, x, 2);
}

/* Each value goes to its index in a plane of the output; `adds` where several may. */
static void spread(asc_run *run, int values, int indices, int axes, bool adds, int out) {
    tensor g = asc_f32(run, values), at = asc_of(run, indices, ASC_INT64), to = asc_in(run, out);
    tensor made = asc_like(run, to, ASC_FLOAT32);
    windows w = planes_of(run, made, g, axes);
    ASC_STOP_UNLESS(run, asc_elements(at) == asc_elements(g), "an index for each element is needed");
    asc_fill(run, made, 0);
    int64_t plane = volume(w.in), each = volume(w.out);
    for (int64_t i = 0; i < asc_elements(g); i++) {
        int64_t place = ((int64_t *)at.data)[i];
        ASC_STOP_UNLESS(run, place < plane, "index %lld of a plane of %lld elements", (long long)place,
                        (long long)plane);
        if (place < 0) continue;
        float *cell = &((float *)made.data)[i / each * plane + place], value = ((float *)g.data)[i];
        *cell = adds ? *cell + value : value;
    }
    asc_put(run, out, made);
}

/* gradOutput, self, indices, kernelSize, stride, padding, dilation, ceilMode, gradInput. */
void asc_op_max_pool_volume_backward(asc_run *run) {
    spread(run, 0, 2, 3, true, 8);
}

/* gradOutput, self, indices, gradInput. */
void asc_op_adaptive_max_pool_backward(asc_run *run, int axes) {
    spread(run, 0, 2, axes, true, 3);
}

/* self, indices, outputSize, out. */
void asc_op_max_unpool(asc_run *run) {
    spread(run, 0, 1, 2, false, 3);
}

/* self, indices, outputSize, stride, padding, out. */
void asc_op_max_unpool_volume(asc_run *run) {
    spread(run, 0, 1, 3, false, 5);
}

/* Means of x in y; or, backwards, the gradient y spread over x. */
static void average(const windows *w, float *x, float *y, bool with_padding, int64_t divisor, bool backwards) {
    int64_t each = volume(w->out);
    window at[3];
    for (int64_t i = 0; i < w->planes * each; i++) {
        float *plane = x + i / each * volume(w->in), sum = 0;
        windows_at(w, i % each, with_padding, at);
        float n = (float)(divisor ? divisor : at[0].counts * at[1].counts * at[2].counts);
        for (int64_t d = at[0].from; d < at[0].to; d++)
            for (int64_t h = at[1].from; h < at[1].to; h++)
                for (int64_t c = at[2].from; c < at[2].to; c++) {
                    float *cell = &plane[(d * w->in[1] + h) * w->in[2] + c];
                    if (backwards)
                        *cell += y[i] / n;
                    else
                        sum += *cell;
                }
        if (!backwards) y[i] = sum / n;
    }
}

/* self, kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride, out. */
void asc_op_average_volume(asc_run *run) {
    tensor x = asc_f32(run, 0), y = asc_like(run, asc_in(run, 7), ASC_FLOAT32);
    windows w = windows_of(run, x, y, 1, false);
    average(&w, x.data, y.data, asc_int(run, 5) != 0, asc_int(run, 6), false);
    asc_put(run, 7, y);
}

/* gradOutput, self, kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride, gradInput. */
void asc_op_average_volume_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), made = asc_like(run, asc_in(run, 1), ASC_FLOAT32);
    windows w = windows_of(run, made, g, 2, false);
    asc_fill(run, made, 0);
    average(&w, made.data, g.data, asc_int(run, 6) != 0, asc_int(run, 7), true);
    asc_put(run, 8, made);
}

/* self, outputSize, out. */
void asc_op_adaptive_volume(asc_run *run) {
    tensor x = asc_f32(run, 0), y = asc_like(run, asc_in(run, 2), ASC_FLOAT32);
    windows w = adaptive_of(run, x, y, 3);
    average(&w, x.data, y.data, false, 0, false);
    asc_put(run, 2, y);
}

/* gradOutput, self, out. */
void asc_op_adaptive_volume_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), made = asc_like(run, asc_in(run, 1), ASC_FLOAT32);
    windows w = adaptive_of(run, made, g, 3);
    asc_fill(run, made, 0);
    average(&w, made.data, g.data, false, 0, true);
    asc_put(run, 2, made);
}
