/* convolution.c - convolutions and transposed ones, forwards and backwards. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* Attributes of a convolution: one number for each spatial axis. */
typedef struct geometry {
    int64_t stride[3], padding[3], dilation[3];
    int64_t groups;
    bool transposed;
    int spatial;
} geometry;

static void read_array(asc_run *run, int i, int64_t *to, int spatial) {
    const asc_argument *a = asc_arg(run, i);
    for (int k = 0; k < spatial; k++) to[k] = a->count == 1 ? a->ints[0] : k < a->count ? a->ints[k] : 0;
    ASC_STOP_UNLESS(run, a->count == 1 || a->count == spatial, "%s has %d numbers for %d axes",
                    asc_run_row(run)->names[i], a->count, spatial);
}

/* `first` is the position of stride; padding, dilation, transposed, outputPadding and groups follow. */
static geometry geometry_of(asc_run *run, int first, tensor weight) {
    geometry g = {.spatial = weight.rank - 2};
    ASC_STOP_UNLESS(run, g.spatial >= 1 && g.spatial <= 3, "a convolution over %d axes", g.spatial);
    read_array(run, first, g.stride, g.spatial);
    read_array(run, first + 1, g.padding, g.spatial);
    read_array(run, first + 2, g.dilation, g.spatial);
    g.transposed = asc_int(run, first + 3) != 0;
    g.groups = asc_int(run, first + 5);
    return g;
}

/* Weights [C, M / groups, taps] of a transposed convolution as the kernel takes them, [M, C / groups, taps]. */
static tensor with_channels_swapped(asc_run *run, tensor w, int64_t groups) {
    ASC_STOP_UNLESS(run, groups > 0 && w.dims[0] % groups == 0, "%lld groups of %lld channels", (long long)groups,
                    (long long)w.dims[0]);
    int64_t dims[ASC_MAX_RANK + 1] = {groups, w.dims[0] / groups},
                                back[ASC_MAX_RANK] = {groups * w.dims[1], w.dims[0] / groups};
    memcpy(dims + 2, w.dims + 1, (size_t)(w.rank - 1) * sizeof *dims);
    memcpy(back + 2, w.dims + 2, (size_t)(w.rank - 2) * sizeof *dims);
    tensor apart = asc_swap(asc_reshape(run, w, w.rank + 1, dims), 1, 2);
    return asc_reshape(run, asc_cast(run, apart, w.dtype), w.rank, back);
}

/* float32, contiguous; the result has the dims given. */
static tensor convolve(asc_run *run, tensor x, tensor w, tensor bias, const geometry *g, const int64_t *dims) {
    tensor out = asc_new(run, ASC_FLOAT32, x.rank, dims);
    int64_t ints[3 + 4 * 3] = {g->groups, ASC_ACTIVATION_NONE, g->transposed};
    for (int i = 0; i < g->spatial; i++) {
        asc_conv_axis axis = {w.dims[2 + i], g->stride[i], g->dilation[i], g->padding[i]};
        memcpy(ints + 3 + 4 * i, &axis, sizeof axis);
    }
    tensor in[] = {x, g->transposed ? with_channels_swapped(run, w, g->groups) : w, bias};
    if (asc_elements(out) == 0) return out;
    if (asc_elements(x) == 0)
        asc_fill(run, out, 0);
    else
        asc_call_kernel(run, "conv", bias.dtype ? 3 : 2, in, 1, &out, 3 + 4 * g->spatial, ints, 2, (double[]){0, 0});
    return out;
}

/* An image without a batch is one of a batch of one. */
static tensor batched(tensor t, int rank) {
    return t.rank < rank ? asc_unsqueeze(t, 0) : t;
}

/* input, weight, bias, stride, padding, dilation, transposed, outputPadding, groups, output. */
void asc_op_convolution(asc_run *run) {
    tensor w = asc_f32(run, 1), x = batched(asc_f32(run, 0), w.rank), bias = {.dtype = ASC_UNDEFINED};
    geometry g = geometry_of(run, 3, w);
    ASC_STOP_UNLESS(run, x.rank == w.rank && batched(asc_in(run, 9), w.rank).rank == w.rank,
                    "images of %d axes, weights of %d", x.rank, w.rank);
    if (asc_given_at(run, 2)) bias = asc_flat(run, asc_f32(run, 2));
    asc_put(run, 9, convolve(run, x, w, bias, &g, batched(asc_in(run, 9), w.rank).dims));
}

/* ---- backwards -------------------------------------------------------------------------------------------- */

/* Image axes, the missing ones in front with length 1. */
typedef struct sizes {
    int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
} sizes;

static sizes sizes_of(const geometry *g, tensor x, tensor w, tensor y) {
    sizes s = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
    for (int i = 0; i < g->spatial; i++) {
        int to = 3 - g->spatial + i;
        s.in[to] = x.dims[2 + i];
        s.out[to] = y.dims[2 + i];
        s.kernel[to] = w.dims[2 + i];
        s.stride[to] = g->stride[i];
        s.padding[to] = g->padding[i];
        s.dilation[to] = g->dilation[i];
    }
    return s;
}

/* A row of columns: what one tap of one channel meets at each position of the output; zeros outside the image. */
static void gather_tap(const sizes *s, const float *image, const int64_t *tap, float *to) {
    for (int64_t d = 0; d < s->out[0]; d++)
        for (int64_t h = 0; h < s->out[1]; h++) {
            int64_t z = d * s->stride[0] + tap[0] * s->dilation[0] - s->padding[0];
            int64_t y = h * s->stride[1] + tap[1] * s->dilation[1] - s->padding[1];
            bool inside = z >= 0 && z < s->in[0] && y >= 0 && y < s->in[1];
            const float *row = inside ? image + (z * s->in[1] + y) * s->in[2] : NULL;
            for (int64_t w = 0; w < s->out[2]; w++) {
                int64_t x = w * s->stride[2] + tap[2] * s->dilation[2] - s->padding[2];
                *to++ = inside && x >= 0 && x < s->in[2] ? row[x] : 0;
            }
        }
}

/* [channels * taps, positions] of one image. */
static void gather_columns(const sizes *s, const float *x, int64_t channels, float *to) {
    int64_t image = s->in[0] * s->in[1] * s->in[2], positions = s->out[0] * s->out[1] * s->out[2];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t i = 0; i < s->kernel[0] * s->kernel[1] * s->kernel[2]; i++, to += positions) {
            int64_t tap[] = {i / (s->kernel[1] * s->kernel[2]), i / s->kernel[2] % s->kernel[1], i % s->kernel[2]};
            gather_tap(s, x + c * image, tap, to);
        }
}

static tensor at(tensor t, int64_t offset, int64_t rows, int64_t columns) {
    return (tensor){.data = (float *)t.data + offset,
                    .dtype = ASC_FLOAT32,
                    .rank = 2,
                    .dims = {rows, columns},
                    .strides = {columns, 1}};
}

/* The gradient of the weight [m, k, taps] of a convolution that is not transposed: of each group and image the product
 * of g [m, positions] and the columns of x, transposed. */
static tensor backward_weight(asc_run *run, const geometry *geo, tensor x, tensor w, tensor g) {
    sizes s = sizes_of(geo, x, w, g);
    tensor made = asc_like(run, w, ASC_FLOAT32);
    asc_fill(run, made, 0);
    int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2], positions = s.out[0] * s.out[1] * s.out[2];
    ASC_STOP_UNLESS(
        run,
        geo->groups > 0 && g.dims[0] == x.dims[0] && g.dims[1] == w.dims[0] && x.dims[1] == w.dims[1] * geo->groups,
        "the channels of the input, the weight and the gradient don't fit");
    int64_t image = s.in[0] * s.in[1] * s.in[2], m = w.dims[0] / geo->groups, k = w.dims[1];
    if (!asc_elements(made) || !positions) return made;
    tensor columns = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){k * taps, positions});
    asc_matmul_params params = {.trans_b = 1};
    asc_matmul_floats floats = {.alpha = 1, .beta = 1};
    for (int64_t n = 0; n < x.dims[0]; n++)
        for (int64_t q = 0; q < geo->groups; q++) {
            gather_columns(&s, (float *)x.data + (n * x.dims[1] + q * k) * image, k, columns.data);
            tensor sum = at(made, q * m * k * taps, m, k * taps), part = asc_new(run, ASC_FLOAT32, 2, sum.dims);
            tensor in[] = {at(g, (n * g.dims[1] + q * m) * positions, m, positions), columns};
            asc_call_kernel(run, "matmul", 2, in, 1, &part, 3, &params.trans_a, 4, &floats.alpha);
            float *to = sum.data;
            for (int64_t i = 0; i < m * k * taps; i++) to[i] += ((float *)part.data)[i];
        }
    return made;
}

/* gradOutput, input, weight, biasSizes, stride, padding, dilation, transposed, outputPadding, groups, outputMask,
 * cubeMathType, gradInput, gradWeight, gradBias. */
void asc_op_convolution_backward(asc_run *run) {
    tensor w = asc_f32(run, 2), x = batched(asc_f32(run, 1), w.rank), g = batched(asc_f32(run, 0), w.rank);
    geometry geo = geometry_of(run, 4, w), back = geo;
    const int64_t *mask = asc_arg(run, 10)->ints;
    ASC_STOP_UNLESS(run, asc_arg(run, 10)->count == 3 && x.rank == w.rank && g.rank == w.rank,
                    "the mask is of 3, the tensors of %d axes", w.rank);
    back.transposed = !geo.transposed;
    if (mask[0]) asc_put(run, 12, convolve(run, g, w, (tensor){.dtype = ASC_UNDEFINED}, &back, x.dims));
    if (mask[1])
        asc_put(run, 13, geo.transposed ? backward_weight(run, &back, g, w, x) : backward_weight(run, &geo, x, w, g));
    if (mask[2]) {
        int64_t over[ASC_MAX_RANK] = {0, 2, 3, 4};
        asc_put(run, 14, asc_reduce_axes(run, ASC_REDUCE_SUM, g, 1 + geo.spatial, over));
    }
}

/* Adds the columns of one image to it: the transpose of gather_columns. */
static void scatter_columns(const sizes *s, const float *from, int64_t channels, float *x) {
    int64_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2], positions = s->out[0] * s->out[1] * s->out[2];
    int64_t image = s->in[0] * s->in[1] * s->in[2];
    for (int64_t k = 0; k < channels * taps; k++) {
        int64_t i = k % taps;
        int64_t tap[] = {i / (s->kernel[1] * s->kernel[2]), i / s->kernel[2] % s->kernel[1], i % s->kernel[2]};
        for (int64_t p = 0; p < positions; p++) {
            int64_t at[] = {p / (s->out[1] * s->out[2]), p / s->out[2] % s->out[1], p % s->out[2]}, place = 0;
            bool inside = true;
            for (int a = 0; a < 3; a++) {
                int64_t y = at[a] * s->stride[a] + tap[a] * s->dilation[a] - s->padding[a];
                inside = inside && y >= 0 && y < s->in[a];
                place = place * s->in[a] + y;
            }
            if (inside) x[k / taps * image + place] += from[k * positions + p];
        }
    }
}

/* self [N, channels * taps, positions] or without N, outputSize, kernelSize, dilation, padding, stride, out. */
void asc_op_col2im(asc_run *run) {
    tensor columns = asc_f32(run, 0), out = asc_in(run, 6), x = batched(out, 4);
    geometry g = {.spatial = 2};
    int64_t kernel[2];
    read_array(run, 2, kernel, 2);
    read_array(run, 3, g.dilation, 2);
    read_array(run, 4, g.padding, 2);
    read_array(run, 5, g.stride, 2);
    tensor w = {.rank = 4, .dims = {1, 1, kernel[0], kernel[1]}}, y = {.rank = 4};
    for (int i = 0; i < 2; i++) {
        ASC_STOP_UNLESS(run, g.stride[i] > 0 && x.rank == 4, "images have 4 axes, and steps are positive");
        y.dims[2 + i] = (x.dims[2 + i] + 2 * g.padding[i] - g.dilation[i] * (kernel[i] - 1) - 1) / g.stride[i] + 1;
    }
    sizes s = sizes_of(&g, x, w, y);
    int64_t image = x.dims[1] * x.dims[2] * x.dims[3], each = x.dims[1] * kernel[0] * kernel[1] * y.dims[2] * y.dims[3];
    tensor made = asc_like(run, out, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, asc_elements(columns) == x.dims[0] * each, "the columns don't fit the image");
    asc_fill(run, made, 0);
    for (int64_t n = 0; n < x.dims[0]; n++)
        scatter_columns(&s, (const float *)columns.data + n * each, x.dims[1], (float *)made.data + n * image);
    asc_put(run, 6, made);
}

/* self, kernelSize, dilation, padding, stride, out. */
void asc_op_im2col(asc_run *run) {
    tensor x = batched(asc_f32(run, 0), 4), out = asc_in(run, 5);
    geometry g = {.spatial = 2};
    int64_t kernel[2];
    read_array(run, 1, kernel, 2);
    read_array(run, 2, g.dilation, 2);
    read_array(run, 3, g.padding, 2);
    read_array(run, 4, g.stride, 2);
    tensor w = {.rank = 4, .dims = {1, 1, kernel[0], kernel[1]}}, y = {.rank = 4};
    for (int i = 0; i < 2; i++)
        ASC_STOP_UNLESS(run, g.stride[i] > 0 && x.rank == 4, "images have 4 axes, and steps are positive");
    for (int i = 0; i < 2; i++)
        y.dims[2 + i] = (x.dims[2 + i] + 2 * g.padding[i] - g.dilation[i] * (kernel[i] - 1) - 1) / g.stride[i] + 1;
    sizes s = sizes_of(&g, x, w, y);
    int64_t each = x.dims[1] * kernel[0] * kernel[1] * y.dims[2] * y.dims[3];
    tensor made = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){x.dims[0], each});
    ASC_STOP_UNLESS(run, asc_elements(made) == asc_elements(out), "the columns don't fit the output");
    for (int64_t n = 0; n < x.dims[0]; n++)
        gather_columns(&s, (float *)x.data + n * x.dims[1] * x.dims[2] * x.dims[3], x.dims[1],
                       (float *)made.data + n * each);
    asc_put(run, 5, made);
}

/* self [times, batch, channels], weight [taps, channels, outputs], bias, pad, out. */
void asc_op_convolve_times(asc_run *run) {
    tensor x = asc_f32(run, 0), w = asc_f32(run, 1), to = asc_in(run, 4), sum = asc_like(run, to, ASC_FLOAT32);
    int64_t pad = asc_int(run, 3);
    ASC_STOP_UNLESS(run,
                    x.rank == 3 && w.rank == 3 && to.rank == 3 && w.dims[1] == x.dims[2] && pad >= 0 &&
                        to.dims[0] == x.dims[0] + 2 * pad - w.dims[0] + 1,
                    "%lld times for %lld with %lld taps", (long long)to.dims[0], (long long)x.dims[0],
                    (long long)w.dims[0]);
    asc_fill(run, sum, 0);
    if (asc_given_at(run, 2)) asc_store(run, sum, asc_in(run, 2));
    for (int64_t k = 0; k < w.dims[0]; k++) {
        int64_t first = k < pad ? pad - k : 0, end = x.dims[0] + pad - k;
        if (end > to.dims[0]) end = to.dims[0];
        if (end <= first) continue;
        tensor place = asc_narrow(sum, 0, first, end - first);
        tensor part = asc_multiply(run, asc_narrow(x, 0, first + k - pad, end - first), asc_select(w, 0, k));
        asc_store(run, place, ASC_COMPUTE(run, ASC_FLOAT32, "a + b", place, part));
    }
    asc_put(run, 4, sum);
}
