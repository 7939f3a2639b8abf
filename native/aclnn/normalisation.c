/* normalisation.c - layer, batch, group and root-mean-square norms, forwards and backwards.
 *
 * All are one computation on a tensor of three axes: y = (x - mean) rstd weight + bias, where mean and rstd are over
 * some of the axes, and weight and bias along others. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

static int32_t real_of(tensor t) {
    return t.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
}

static tensor shaped(asc_run *run, tensor t, int32_t type, int64_t a, int64_t b, int64_t c) {
    return asc_reshape(run, asc_cast(run, t, type), 3, (int64_t[]){a, b, c});
}

static tensor sum(asc_run *run, tensor t, int n, const int64_t *over) {
    return asc_reduce_axes(run, ASC_REDUCE_SUM, t, n, over);
}

tensor asc_norm_backward(asc_run *run, tensor g, tensor x, tensor mean, tensor rstd, int n, const int64_t *over) {
    int32_t type = x.dtype;
    double count = 1;
    for (int i = 0; i < n; i++) count *= (double)x.dims[over[i]];
    tensor hat = ASC_COMPUTE(run, type, "(a - b) * c", x, mean, rstd);
    tensor sum_g = sum(run, g, n, over), sum_gh = sum(run, ASC_COMPUTE(run, type, "a * b", g, hat), n, over);
    return ASC_COMPUTE_WITH(run, type, "c * (a - (d + b * e) / p)", count, g, hat, rstd, sum_g, sum_gh);
}

static bool masked(const asc_run *run, int mask, int i) {
    const asc_argument *a = asc_arg(run, mask);
    return a->count <= i || a->ints[i];
}

/* ---- layer norm --------------------------------------------------------------------------------------------- */

/* The elements that are normalised together: of the axes of argument `shape`, the last ones. */
static int64_t row_length(asc_run *run, tensor x, int shape) {
    const asc_argument *a = asc_arg(run, shape);
    int64_t n = 1;
    ASC_STOP_UNLESS(run, a->count >= 0 && a->count <= x.rank, "a norm over %d axes of %d", a->count, x.rank);
    for (int i = 0; i < a->count; i++) n *= x.dims[x.rank - a->count + i];
    return n;
}

/* input, normalizedShape, weight, bias, eps, out, mean, rstd. */
void asc_op_layer_norm(asc_run *run) {
    tensor x = asc_in(run, 0);
    int32_t type = real_of(x);
    int64_t n = row_length(run, x, 1), rows = n ? asc_elements(x) / n : 0;
    if (!asc_elements(x)) return;
    x = shaped(run, x, type, 1, rows, n);
    tensor mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, x, 1, (int64_t[]){2});
    tensor squares = ASC_COMPUTE(run, type, "(a - b) * (a - b)", x, mean);
    tensor variance = asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, 1, (int64_t[]){2});
    tensor rstd = ASC_COMPUTE_WITH(run, type, "1 / sqrt(a + p)", asc_float(run, 4), variance);
    tensor y = ASC_COMPUTE(run, type, "(a - b) * c", x, mean, rstd);
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, type, "a * b", y, shaped(run, asc_in(run, 2), type, 1, 1, n));
    if (asc_given_at(run, 3)) y = ASC_COMPUTE(run, type, "a + b", y, shaped(run, asc_in(run, 3), type, 1, 1, n));
    asc_put(run, 5, y);
    asc_put(run, 6, mean);
    asc_put(run, 7, rstd);
}

/* gradOut, input, normalizedShape, mean, rstd, weight, bias, mask, gradInput, gradWeight, gradBias. */
void asc_op_layer_norm_backward(asc_run *run) {
    tensor x = asc_in(run, 1);
    int32_t type = real_of(x);
    int64_t n = row_length(run, x, 2), rows = n ? asc_elements(x) / n : 0;
    if (!asc_elements(x)) { /* sums of nothing */
        for (int k = 0; k < 3; k++)
            if (masked(run, 7, k)) asc_fill(run, asc_in(run, 8 + k), 0);
        return;
    }
    x = shaped(run, x, type, 1, rows, n);
    tensor g = shaped(run, asc_in(run, 0), type, 1, rows, n);
    tensor mean = shaped(run, asc_in(run, 3), type, 1, rows, 1), rstd = shaped(run, asc_in(run, 4), type, 1, rows, 1);
    tensor weighed = g;
    if (asc_given_at(run, 5)) weighed = ASC_COMPUTE(run, type, "a * b", g, shaped(run, asc_in(run, 5), type, 1, 1, n));
    if (masked(run, 7, 0)) asc_put(run, 8, asc_norm_backward(run, weighed, x, mean, rstd, 1, (int64_t[]){2}));
    if (masked(run, 7, 1))
        asc_put(run, 9, sum(run, ASC_COMPUTE(run, type, "a * (b - c) * d", g, x, mean, rstd), 1, (int64_t[]){1}));
    if (masked(run, 7, 2)) asc_put(run, 10, sum(run, g, 1, (int64_t[]){1}));
}

/* x over the root of its rows' mean square, times gamma, or 1 + gamma; `rstd` is what x was multiplied by. */
static tensor rms_norm_of(asc_run *run, tensor x, tensor gamma, double epsilon, bool from_one, tensor *rstd) {
    int32_t type = real_of(x);
    int64_t n = asc_elements(gamma), rows = n ? asc_elements(x) / n : 0;
    ASC_STOP_UNLESS(run, rows * n == asc_elements(x), "gamma has %lld elements, which don't divide the %lld of x",
                    (long long)n, (long long)asc_elements(x));
    x = shaped(run, x, type, 1, rows, n);
    tensor squares = asc_reduce_axes(run, ASC_REDUCE_MEAN, ASC_COMPUTE(run, type, "a * a", x), 1, (int64_t[]){2});
    *rstd = ASC_COMPUTE_WITH(run, type, "1 / sqrt(a + p)", epsilon, squares);
    return ASC_COMPUTE(run, type, from_one ? "a * b * (1 + c)" : "a * b * c", x, *rstd,
                       shaped(run, gamma, type, 1, 1, n));
}

tensor asc_rms_norm_of(asc_run *run, tensor x, tensor gamma, double epsilon, tensor *rstd) {
    return rms_norm_of(run, x, gamma, epsilon, false, rstd);
}

/* x, gamma, eps, y, rstd. */
void asc_op_rms_norm(asc_run *run, int from_one) {
    tensor rstd, y = rms_norm_of(run, asc_in(run, 0), asc_in(run, 1), asc_float(run, 2), from_one, &rstd);
    asc_put(run, 3, y);
    asc_put(run, 4, rstd);
}

/* dy, x, rstd, gamma, dx, dgamma. */
void asc_op_rms_norm_backward(asc_run *run) {
    tensor x = asc_in(run, 1), gamma = asc_in(run, 3);
    int32_t type = real_of(x);
    int64_t n = asc_elements(gamma), rows = n ? asc_elements(x) / n : 0;
    x = shaped(run, x, type, 1, rows, n);
    tensor dy = shaped(run, asc_in(run, 0), type, 1, rows, n), rstd = shaped(run, asc_in(run, 2), type, 1, rows, 1);
    tensor g = ASC_COMPUTE(run, type, "a * b", dy, shaped(run, gamma, type, 1, 1, n));
    tensor dot = sum(run, ASC_COMPUTE(run, type, "a * b", g, x), 1, (int64_t[]){2});
    asc_put(run, 4, ASC_COMPUTE_WITH(run, type, "b * (a - c * b * b * d / p)", (double)n, g, rstd, x, dot));
    asc_put(run, 5, sum(run, ASC_COMPUTE(run, type, "a * b * c", dy, x, rstd), 1, (int64_t[]){1}));
}

/* ---- batch norm --------------------------------------------------------------------------------------------- */

#define OVER_BATCH 2, (int64_t[]){0, 2}

/* x as batch, channels, the rest. */
static tensor by_channels(asc_run *run, tensor x, int32_t type) {
    ASC_STOP_UNLESS(run, x.rank >= 2, "a batch norm of %d axes has no channels", x.rank);
    int64_t rest = 1;
    for (int i = 2; i < x.rank; i++) rest *= x.dims[i];
    return shaped(run, x, type, x.dims[0], x.dims[1], rest);
}

static tensor of_channels(asc_run *run, int i, int32_t type, int64_t channels) {
    return shaped(run, asc_in(run, i), type, 1, channels, 1);
}

static tensor affine(asc_run *run, tensor y, int weight, int bias) {
    if (asc_given_at(run, weight))
        y = ASC_COMPUTE(run, y.dtype, "a * b", y, of_channels(run, weight, y.dtype, y.dims[1]));
    if (asc_given_at(run, bias)) y = ASC_COMPUTE(run, y.dtype, "a + b", y, of_channels(run, bias, y.dtype, y.dims[1]));
    return y;
}

/* running = (1 - momentum) running + momentum value */
static void follow(asc_run *run, int i, tensor value, double momentum) {
    if (!asc_given_at(run, i)) return;
    tensor running = of_channels(run, i, value.dtype, value.dims[1]);
    asc_put(run, i, ASC_COMPUTE_WITH(run, value.dtype, "a + p * (b - a)", momentum, running, value));
}

/* input, weight, bias, runningMean, runningVar, training, momentum, eps, output, saveMean, saveInvstd. */
void asc_op_batch_norm(asc_run *run) {
    tensor in = asc_in(run, 0), mean, variance;
    int32_t type = real_of(in);
    if (!asc_elements(in)) return;
    tensor x = by_channels(run, in, type);
    double n = (double)(x.dims[0] * x.dims[2]), momentum = asc_float(run, 6);
    bool training = asc_int(run, 5) != 0;
    if (training) {
        mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, x, OVER_BATCH);
        tensor squares = ASC_COMPUTE(run, type, "(a - b) * (a - b)", x, mean);
        variance = asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, OVER_BATCH);
    } else {
        mean = of_channels(run, 3, type, x.dims[1]);
        variance = of_channels(run, 4, type, x.dims[1]);
    }
    tensor rstd = ASC_COMPUTE_WITH(run, type, "1 / sqrt(a + p)", asc_float(run, 7), variance);
    asc_put(run, 8, affine(run, ASC_COMPUTE(run, type, "(a - b) * c", x, mean, rstd), 1, 2));
    if (!training) return;
    follow(run, 3, mean, momentum);
    follow(run, 4, ASC_COMPUTE_WITH(run, type, "a * p", n > 1 ? n / (n - 1) : 1, variance), momentum);
    asc_put(run, 9, mean);
    asc_put(run, 10, rstd);
}

/* gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training, eps, mask, gradInput, gradWeight,
 * gradBias. */
void asc_op_batch_norm_backward(asc_run *run) {
    tensor in = asc_in(run, 1), mean, rstd;
    int32_t type = real_of(in);
    if (!asc_elements(in)) return;
    tensor x = by_channels(run, in, type), g = by_channels(run, asc_in(run, 0), type);
    bool training = asc_int(run, 7) != 0;
    if (training) {
        mean = of_channels(run, 5, type, x.dims[1]);
        rstd = of_channels(run, 6, type, x.dims[1]);
    } else {
        mean = of_channels(run, 3, type, x.dims[1]);
        rstd = ASC_COMPUTE_WITH(run, type, "1 / sqrt(a + p)", asc_float(run, 8), of_channels(run, 4, type, x.dims[1]));
    }
    tensor weighed = affine(run, g, 2, 2);
    if (asc_given_at(run, 2)) weighed = ASC_COMPUTE(run, type, "a * b", g, of_channels(run, 2, type, x.dims[1]));
    if (masked(run, 9, 0))
        asc_put(run, 10,
                training ? asc_norm_backward(run, weighed, x, mean, rstd, OVER_BATCH)
                         : ASC_COMPUTE(run, type, "a * b", weighed, rstd));
    if (masked(run, 9, 1))
        asc_put(run, 11, sum(run, ASC_COMPUTE(run, type, "a * (b - c) * d", g, x, mean, rstd), OVER_BATCH));
    if (masked(run, 9, 2)) asc_put(run, 12, sum(run, g, OVER_BATCH));
}

/* ---- group norm --------------------------------------------------------------------------------------------- */

/* A weight for each channel, of x as [N * groups, channels of a group, rest]. */
static tensor of_groups(asc_run *run, tensor t, int32_t type, int64_t n, int64_t groups, int64_t each) {
    tensor one = asc_reshape(run, asc_cast(run, t, type), 3, (int64_t[]){1, groups, each});
    tensor all = asc_copy(run, asc_expand(run, one, 3, (int64_t[]){n, groups, each}), type);
    return asc_reshape(run, all, 3, (int64_t[]){n * groups, each, 1});
}

/* The norm of argument 0 with gamma and beta, 1 and 2. Means and deviations go out behind `out`. */
static tensor group_norm(asc_run *run, int64_t n, int64_t channels, int64_t rest, int64_t groups, double epsilon,
                         int out) {
    tensor x = asc_in(run, 0);
    int32_t type = real_of(x);
    ASC_STOP_UNLESS(run, groups > 0 && channels % groups == 0, "%lld channels are not in %lld groups",
                    (long long)channels, (long long)groups);
    int64_t each = channels / groups, over[] = {1, 2};
    x = shaped(run, x, type, n * groups, each, rest);
    tensor mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, x, 2, over);
    tensor squares = ASC_COMPUTE(run, type, "(a - b) * (a - b)", x, mean);
    tensor rstd = ASC_COMPUTE_WITH(run, type, "1 / sqrt(a + p)", epsilon,
                                   asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, 2, over));
    tensor y = ASC_COMPUTE(run, type, "(a - b) * c", x, mean, rstd);
    if (asc_given_at(run, 1))
        y = ASC_COMPUTE(run, type, "a * b", y, of_groups(run, asc_in(run, 1), type, n, groups, each));
    if (asc_given_at(run, 2))
        y = ASC_COMPUTE(run, type, "a + b", y, of_groups(run, asc_in(run, 2), type, n, groups, each));
    asc_put(run, out + 1, mean);
    asc_put(run, out + 2, rstd);
    return y;
}

/* self, gamma, beta, N, C, HxW, group, eps, out, mean, rstd. */
void asc_op_group_norm(asc_run *run) {
    if (!asc_elements(asc_in(run, 0))) return;
    asc_put(run, 8,
            group_norm(run, asc_int(run, 3), asc_int(run, 4), asc_int(run, 5), asc_int(run, 6), asc_float(run, 7), 8));
}

/* Of [N, C, ...]: y sigmoid(p y) of the norm, or the norm. */
static void activated_group_norm(asc_run *run, int64_t groups, double epsilon, bool activate, double p, int out) {
    tensor x = asc_in(run, 0);
    ASC_STOP_UNLESS(run, x.rank >= 2, "a group norm is of two axes or more, not %d", x.rank);
    if (!asc_elements(x)) return;
    tensor y = group_norm(run, x.dims[0], x.dims[1], asc_elements(x) / (x.dims[0] * x.dims[1]), groups, epsilon, out);
    asc_put(run, out, activate ? ASC_COMPUTE_WITH(run, y.dtype, "a * sigmoid(p * a)", p, y) : y);
}

/* self, gamma, beta, group, eps, perhaps activateSilu, out, mean, rstd. */
void asc_op_group_norm_silu(asc_run *run, int out) {
    activated_group_norm(run, asc_int(run, 3), asc_float(run, 4), out == 5 || asc_int(run, 5), 1, out);
}

/* x, gamma, beta, groups, format, eps, activateSwish, swishScale, y, mean, rstd. */
void asc_op_group_norm_swish(asc_run *run) {
    const char *format = asc_arg(run, 4)->text;
    ASC_STOP_UNLESS(run, !format || !*format || strcmp(format, "NCHW") == 0, "format [%s] isn't NCHW", format);
    activated_group_norm(run, asc_int(run, 3), asc_float(run, 5), asc_int(run, 6), asc_float(run, 7), 8);
}

/* Sums of [N * groups, each, rest] over N and the rest: one for each channel. */
static tensor sum_channels(asc_run *run, tensor t, int64_t n) {
    tensor rest = sum(run, t, 1, (int64_t[]){2});
    return sum(run, asc_reshape(run, rest, 2, (int64_t[]){n, asc_elements(rest) / n}), 1, (int64_t[]){0});
}

/* gradOut, input, mean, rstd, gamma, N, C, HxW, group, mask, gradInput, gradGamma, gradBeta. */
void asc_op_group_norm_backward(asc_run *run) {
    tensor x = asc_in(run, 1);
    int32_t type = real_of(x);
    int64_t n = asc_int(run, 5), groups = asc_int(run, 8), each = asc_int(run, 6) / groups, rest = asc_int(run, 7);
    if (!asc_elements(x)) return;
    x = shaped(run, x, type, n * groups, each, rest);
    tensor g = shaped(run, asc_in(run, 0), type, n * groups, each, rest), weighed = g;
    tensor mean = shaped(run, asc_in(run, 2), type, n * groups, 1, 1);
    tensor rstd = shaped(run, asc_in(run, 3), type, n * groups, 1, 1);
    if (asc_given_at(run, 4))
        weighed = ASC_COMPUTE(run, type, "a * b", g, of_groups(run, asc_in(run, 4), type, n, groups, each));
    if (masked(run, 9, 0)) asc_put(run, 10, asc_norm_backward(run, weighed, x, mean, rstd, 2, (int64_t[]){1, 2}));
    if (masked(run, 9, 1))
        asc_put(run, 11, sum_channels(run, ASC_COMPUTE(run, type, "a * (b - c) * d", g, x, mean, rstd), n));
    if (masked(run, 9, 2)) asc_put(run, 12, sum_channels(run, g, n));
}

/* dy, mean, rstd, x, gamma, beta, groups, format, swishScale, whether dgamma and dbeta are asked for, dx, dgamma,
 * dbeta: of y sigmoid(p y), where y is the norm. */
void asc_op_group_norm_swish_backward(asc_run *run) {
    tensor x = asc_in(run, 3);
    int32_t type = real_of(x);
    int64_t groups = asc_int(run, 6), n = x.dims[0], each, rest;
    const char *format = asc_arg(run, 7)->text;
    ASC_STOP_UNLESS(run, !format || !*format || strcmp(format, "NCHW") == 0, "format [%s] isn't NCHW", format);
    ASC_STOP_UNLESS(run, x.rank >= 2 && groups > 0 && x.dims[1] % groups == 0, "%lld channels are not in %lld groups",
                    (long long)(x.rank < 2 ? 0 : x.dims[1]), (long long)groups);
    if (!asc_elements(x)) return;
    each = x.dims[1] / groups;
    rest = asc_elements(x) / (n * x.dims[1]);
    x = shaped(run, x, type, n * groups, each, rest);
    tensor mean = shaped(run, asc_in(run, 1), type, n * groups, 1, 1);
    tensor rstd = shaped(run, asc_in(run, 2), type, n * groups, 1, 1);
    tensor gamma = of_groups(run, asc_in(run, 4), type, n, groups, each);
    tensor y = ASC_COMPUTE(run, type, "(a - b) * c * d + e", x, mean, rstd, gamma,
                           of_groups(run, asc_in(run, 5), type, n, groups, each));
    tensor g = ASC_COMPUTE_WITH(run, type, "s = sigmoid(p * b); a * s * (1 + p * b * (1 - s))", asc_float(run, 8),
                                shaped(run, asc_in(run, 0), type, n * groups, each, rest), y);
    tensor weighed = ASC_COMPUTE(run, type, "a * b", g, gamma);
    asc_put(run, 11, asc_norm_backward(run, weighed, x, mean, rstd, 2, (int64_t[]){1, 2}));
    if (asc_int(run, 9))
        asc_put(run, 12, sum_channels(run, ASC_COMPUTE(run, type, "a * (b - c) * d", g, x, mean, rstd), n));
    if (asc_int(run, 10)) asc_put(run, 13, sum_channels(run, g, n));
}
