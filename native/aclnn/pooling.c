/* pooling.c - largest and mean values of windows of images, forwards and backwards, float32. */
#include <math.h>
#include <string.h>

#include "operator.h"

typedef struct windows {
    int64_t planes, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
} windows;

static void read_pair(asc_run *run, int i, int64_t *to, const int64_t *otherwise) {
    const asc_argument *a = asc_arg(run, i);
    for (int k = 0; k < 2; k++) to[k] = a->count > 0 ? a->ints[a->count > 1 ? k : 0] : otherwise ? otherwise[k] : 0;
}

static void set_planes(asc_run *run, windows *w, tensor x, tensor y) {
    ASC_STOP_UNLESS(run, x.rank == y.rank && x.rank >= 2, "pooling takes images");
    for (int i = 0; i < x.rank - 2; i++) {
        ASC_STOP_UNLESS(run, x.dims[i] == y.dims[i], "%lld images, or channels, become %lld", (long long)x.dims[i],
                        (long long)y.dims[i]);
        w->planes *= x.dims[i];
    }
    memcpy(w->in, x.dims + x.rank - 2, sizeof w->in);
    memcpy(w->out, y.dims + y.rank - 2, sizeof w->out);
}

/* `kernel` is the position of kernelSize, stride, padding and perhaps dilation behind it. */
static windows windows_of(asc_run *run, tensor x, tensor y, int kernel, bool dilated) {
    windows w = {.planes = 1, .dilation = {1, 1}};
    set_planes(run, &w, x, y);
    read_pair(run, kernel, w.kernel, NULL);
    read_pair(run, kernel + 1, w.stride, w.kernel);
    read_pair(run, kernel + 2, w.padding, NULL);
    if (dilated) read_pair(run, kernel + 3, w.dilation, NULL);
    for (int i = 0; i < 2; i++)
        ASC_STOP_UNLESS(run, w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0, "a window without elements");
    return w;
}

/* ---- the largest -------------------------------------------------------------------------------------------- */

/* Where a window's largest element is in its plane, and which tap it is of; -1: no element is inside. */
static int64_t largest(const windows *w, const float *plane, int64_t row, int64_t column, int64_t *tap) {
    int64_t best = -1;
    for (int64_t i = 0; i < w->kernel[0]; i++)
        for (int64_t j = 0; j < w->kernel[1]; j++) {
            int64_t y = row * w->stride[0] + i * w->dilation[0] - w->padding[0];
            int64_t x = column * w->stride[1] + j * w->dilation[1] - w->padding[1];
            if (y < 0 || y >= w->in[0] || x < 0 || x >= w->in[1]) continue;
            int64_t here = y * w->in[1] + x;
            if (best < 0 || plane[here] > plane[best] || plane[here] != plane[here]) {
                best = here;
                *tap = i * w->kernel[1] + j;
            }
        }
    return best;
}

/* The bytes of a plane of the mask: for each tap a bit for each window, in blocks of 32 bytes with one to spare. */
static int64_t mask_row(const windows *w) {
    return ((w->out[0] * w->out[1] + 15) / 16 + 1) * 32;
}

/* self, kernelSize, stride, padding, dilation, ceilMode, out, mask: one bit for each tap and window. */
void asc_op_max_pool_mask(asc_run *run) {
    tensor x = asc_f32(run, 0), to = asc_in(run, 6), mask = asc_in(run, 7);
    windows w = windows_of(run, x, to, 1, true);
    tensor y = asc_like(run, to, ASC_FLOAT32);
    int64_t row = mask_row(&w), taps = w.kernel[0] * w.kernel[1];
    ASC_STOP_UNLESS(
        run,
        asc_is_contiguous(mask) && asc_elements(mask) * (int64_t)asc_dtype_bytes(mask.dtype) >= w.planes * taps * row,
        "the mask has no room for a bit of each tap and window");
    memset(mask.data, 0, (size_t)(w.planes * taps * row));
    for (int64_t p = 0; p < w.planes; p++) {
        const float *plane = (const float *)x.data + p * w.in[0] * w.in[1];
        float *out = (float *)y.data + p * w.out[0] * w.out[1];
        for (int64_t i = 0; i < w.out[0] * w.out[1]; i++) {
            int64_t tap = 0, at = largest(&w, plane, i / w.out[1], i % w.out[1], &tap);
            out[i] = at < 0 ? -INFINITY : plane[at];
            if (at >= 0) ((uint8_t *)mask.data)[(p * taps + tap) * row + i / 8] |= (uint8_t)(1 << i % 8);
        }
    }
    asc_put(run, 6, y);
}

/* self, kernelShape, strides, autoPad, pads (before each axis, then behind; or one for all), dilations, ceilMode, out.
 */
void asc_op_max_pool(asc_run *run) {
    tensor x = asc_f32(run, 0), to = asc_in(run, 7), y = asc_like(run, to, ASC_FLOAT32);
    windows w = {.planes = 1, .dilation = {1, 1}};
    ASC_STOP_UNLESS(run, asc_int(run, 3) == 0, "autoPad %lld is not 0", (long long)asc_int(run, 3));
    set_planes(run, &w, x, to);
    read_pair(run, 1, w.kernel, NULL);
    read_pair(run, 2, w.stride, w.kernel);
    read_pair(run, 4, w.padding, NULL);
    if (asc_arg(run, 5)->count > 0) read_pair(run, 5, w.dilation, NULL);
    for (int i = 0; i < 2; i++)
        ASC_STOP_UNLESS(run, w.kernel[i] > 0 && w.stride[i] > 0 && w.dilation[i] > 0, "a window without elements");
    for (int64_t i = 0, n = w.out[0] * w.out[1]; i < w.planes * n; i++) {
        const float *plane = (const float *)x.data + i / n * w.in[0] * w.in[1];
        int64_t tap = 0, at = largest(&w, plane, i % n / w.out[1], i % n % w.out[1], &tap);
        ((float *)y.data)[i] = at < 0 ? -INFINITY : plane[at];
    }
    asc_put(run, 7, y);
}

/* gradOutput, self, mask, kernelSize, stride, padding, dilation, ceilMode, gradInput. */
void asc_op_max_pool_mask_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), self = asc_in(run, 1), mask = asc_in(run, 2);
    windows w = windows_of(run, self, g, 3, true);
    tensor made = asc_like(run, self, ASC_FLOAT32);
    asc_fill(run, made, 0);
    int64_t row = mask_row(&w), taps = w.kernel[0] * w.kernel[1];
    ASC_STOP_UNLESS(
        run,
        asc_is_contiguous(mask) && asc_elements(mask) * (int64_t)asc_dtype_bytes(mask.dtype) >= w.planes * taps * row,
        "the mask has no bit for each tap and window");
    for (int64_t p = 0; p < w.planes; p++)
        for (int64_t tap = 0; tap < taps; tap++) {
            const uint8_t *bits = (const uint8_t *)mask.data + (p * taps + tap) * row;
            for (int64_t i = 0; i < w.out[0] * w.out[1]; i++) {
                if (!(bits[i / 8] >> i % 8 & 1)) continue;
                int64_t y = i / w.out[1] * w.stride[0] + tap / w.kernel[1] * w.dilation[0] - w.padding[0];
                int64_t x = i % w.out[1] * w.stride[1] + tap % w.kernel[1] * w.dilation[1] - w.padding[1];
                if (y < 0 || y >= w.in[0] || x < 0 || x >= w.in[1]) continue;
                ((float *)made.data)[(p * w.in[0] + y) * w.in[1] + x] +=
                    ((const float *)g.data)[p * w.out[0] * w.out[1] + i];
            }
        }
    asc_put(run, 8, made);
}

/* self, kernelSize, stride, padding, dilation, ceilMode, out, indices: positions in the plane. */
void asc_op_max_pool_indices(asc_run *run) {
    tensor x = asc_f32(run, 0), to = asc_in(run, 6);
    windows w = windows_of(run, x, to, 1, true);
    tensor y = asc_like(run, to, ASC_FLOAT32), at = asc_like(run, to, ASC_INT64);
    for (int64_t i = 0; i < asc_elements(y); i++) {
        int64_t p = i / (w.out[0] * w.out[1]), k = i % (w.out[0] * w.out[1]), tap = 0;
        const float *plane = (const float *)x.data + p * w.in[0] * w.in[1];
        int64_t best = largest(&w, plane, k / w.out[1], k % w.out[1], &tap);
        ((float *)y.data)[i] = best < 0 ? -INFINITY : plane[best];
        ((int64_t *)at.data)[i] = best;
    }
    asc_put(run, 6, y);
    asc_put(run, 7, at);
}

/* gradOutput, self, indices, .., gradInput. */
void asc_op_max_pool_indices_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), self = asc_in(run, 1), at = asc_of(run, 2, ASC_INT64),
           made = asc_like(run, self, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, self.rank >= 2 && g.rank == self.rank && asc_elements(at) == asc_elements(g),
                    "an index for each element is needed");
    int64_t plane = self.dims[self.rank - 1] * self.dims[self.rank - 2];
    int64_t each = g.dims[g.rank - 1] * g.dims[g.rank - 2];
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < asc_elements(g); i++) {
        int64_t to = ((int64_t *)at.data)[i];
        ASC_STOP_UNLESS(run, to < plane, "index %lld of a plane of %lld elements", (long long)to, (long long)plane);
        if (to >= 0) ((float *)made.data)[i / each * plane + to] += ((float *)g.data)[i];
    }
    asc_put(run, 8, made);
}

/* ---- means ---------------------------------------------------------------------------------------------------- */

/* Elements [from, to) of an axis, and how many count. */
typedef struct window {
    int64_t from, to, counts;
} window;

static window average_window(const windows *w, int axis, int64_t i, bool with_padding) {
    int64_t from = i * w->stride[axis] - w->padding[axis], to = from + w->kernel[axis];
    int64_t most = w->in[axis] + w->padding[axis], padded = (to < most ? to : most) - from;
    if (from < 0) from = 0;
    if (to > w->in[axis]) to = w->in[axis];
    if (to < from) to = from;
    return (window){from, to, with_padding ? padded : to - from};
}

static window adaptive_window(const windows *w, int axis, int64_t i) {
    int64_t from = i * w->in[axis] / w->out[axis], to = ((i + 1) * w->in[axis] + w->out[axis] - 1) / w->out[axis];
    return (window){from, to, to - from};
}

/* Means of x in y; or, backwards, the gradient y spread over x. kernel[0] 0: adaptive windows. */
static void average(const windows *w, float *x, float *y, bool with_padding, int64_t divisor, bool backwards) {
    for (int64_t p = 0; p < w->planes; p++, x += w->in[0] * w->in[1], y += w->out[0] * w->out[1])
        for (int64_t i = 0; i < w->out[0]; i++)
            for (int64_t j = 0; j < w->out[1]; j++) {
                bool adaptive = w->kernel[0] == 0;
                window a = adaptive ? adaptive_window(w, 0, i) : average_window(w, 0, i, with_padding);
                window b = adaptive ? adaptive_window(w, 1, j) : average_window(w, 1, j, with_padding);
                float n = (float)(divisor ? divisor : a.counts * b.counts), sum = 0;
                float *value = &y[i * w->out[1] + j];
                for (int64_t k = a.from; k < a.to; k++)
                    for (int64_t l = b.from; l < b.to; l++) {
                        if (backwards)
                            x[k * w->in[1] + l] += *value / n;
                        else
                            sum += x[k * w->in[1] + l];
                    }
                if (!backwards) *value = sum / n;
            }
}

/* self, kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride, cubeMathType, out. */
void asc_op_average_pool(asc_run *run) {
    tensor x = asc_f32(run, 0), to = asc_in(run, 8), y = asc_like(run, to, ASC_FLOAT32);
    windows w = windows_of(run, x, to, 1, false);
    average(&w, x.data, y.data, asc_int(run, 5) != 0, asc_int(run, 6), false);
    asc_put(run, 8, y);
}

/* gradOutput, self, kernelSize, stride, padding, ceilMode, countIncludePad, divisorOverride, cubeMathType, gradInput.
 */
void asc_op_average_pool_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), self = asc_in(run, 1), made = asc_like(run, self, ASC_FLOAT32);
    windows w = windows_of(run, self, g, 2, false);
    asc_fill(run, made, 0);
    average(&w, made.data, g.data, asc_int(run, 6) != 0, asc_int(run, 7), true);
    asc_put(run, 9, made);
}

static windows adaptive(asc_run *run, tensor x, tensor y) {
    windows w = {.planes = 1};
    set_planes(run, &w, x, y);
    return w;
}

/* self, outputSize, out. */
void asc_op_adaptive_pool(asc_run *run) {
    tensor x = asc_f32(run, 0), to = asc_in(run, 2), y = asc_like(run, to, ASC_FLOAT32);
    windows w = adaptive(run, x, to);
    average(&w, x.data, y.data, false, 0, false);
    asc_put(run, 2, y);
}

/* gradOutput, self, out. */
void asc_op_adaptive_pool_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), self = asc_in(run, 1), made = asc_like(run, self, ASC_FLOAT32);
    windows w = adaptive(run, self, g);
    asc_fill(run, made, 0);
    average(&w, made.data, g.data, false, 0, true);
    asc_put(run, 2, made);
}
