/* synchronised.c - batch norms over several devices, in the steps between which they talk: statistics, norm, sums of
 * gradients, gradients. Of an x of [batch, channels, ...]. */
#include "asc_plan.h"
#include "operator.h"

#define OVER_BATCH 2, (int64_t[]){0, 2}

static tensor by_channels(asc_run *run, int i) {
    tensor x = asc_f32(run, i);
    ASC_STOP_UNLESS(run, x.rank >= 2, "a batch norm of %d axes has no channels", x.rank);
    int64_t channels = x.dims[1], batch = x.dims[0];
    int64_t rest = channels && batch ? asc_elements(x) / (channels * batch) : 0;
    return asc_reshape(run, x, 3, (int64_t[]){batch, channels, rest});
}

static tensor of_channels(asc_run *run, tensor t, tensor x) {
    ASC_STOP_UNLESS(run, asc_elements(t) == x.dims[1], "%lld numbers for %lld channels", (long long)asc_elements(t),
                    (long long)x.dims[1]);
    return asc_reshape(run, asc_cast(run, t, ASC_FLOAT32), 3, (int64_t[]){1, x.dims[1], 1});
}

static tensor at(asc_run *run, int i, tensor x) {
    return of_channels(run, asc_in(run, i), x);
}

static tensor sum(asc_run *run, tensor t) {
    return asc_reduce_axes(run, ASC_REDUCE_SUM, t, OVER_BATCH);
}

/* input, eps, mean, invstd. */
void asc_op_batch_norm_stats(asc_run *run) {
    tensor x = by_channels(run, 0), mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, x, OVER_BATCH);
    tensor squares = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b) * (a - b)", x, mean);
    tensor variance = asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, OVER_BATCH);
    asc_put(run, 2, mean);
    asc_put(run, 3, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "1 / sqrt(a + p)", asc_float(run, 1), variance));
}

/* x, sum, sum of squares. */
void asc_op_batch_norm_sums(asc_run *run) {
    tensor x = by_channels(run, 0);
    asc_put(run, 1, sum(run, x));
    asc_put(run, 2, sum(run, ASC_COMPUTE(run, ASC_FLOAT32, "a * a", x)));
}

/* input, weight, bias, mean, invstd, eps, output. */
void asc_op_batch_norm_by(asc_run *run) {
    tensor x = by_channels(run, 0), y = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b) * c", x, at(run, 3, x), at(run, 4, x));
    if (asc_given_at(run, 1)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", y, at(run, 1, x));
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, at(run, 2, x));
    asc_put(run, 6, y);
}

/* running = (1 - momentum) running + momentum value */
static void follow(asc_run *run, int i, tensor value, double momentum) {
    if (asc_given_at(run, i))
        asc_put(run, i,
                ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a + p * (b - a)", momentum, asc_flat(run, asc_f32(run, i)),
                                 asc_flat(run, value)));
}

/* input, means and invstds of each device, running mean, running variance, momentum, eps, counts, mean, invstd. */
void asc_op_batch_norm_gathered(asc_run *run) {
    tensor means = asc_f32(run, 1), invstds = asc_f32(run, 2), counts = asc_f32(run, 7);
    int64_t devices = means.dims[0];
    ASC_STOP_UNLESS(run, means.rank == 2 && asc_elements(counts) == devices, "%lld counts for %lld devices",
                    (long long)asc_elements(counts), (long long)devices);
    counts = asc_reshape(run, counts, 2, (int64_t[]){devices, 1});
    int64_t first = 0;
    tensor n = asc_reduce_axes(run, ASC_REDUCE_SUM, counts, 1, &first);
    tensor mean =
        asc_reduce_axes(run, ASC_REDUCE_SUM, ASC_COMPUTE(run, ASC_FLOAT32, "a * b / c", means, counts, n), 1, &first);
    const char *about = "b * (1 / (c * c) - p + (a - d) * (a - d)) / e";
    tensor variance = asc_reduce_axes(
        run, ASC_REDUCE_SUM,
        ASC_COMPUTE_WITH(run, ASC_FLOAT32, about, asc_float(run, 6), means, counts, invstds, mean, n), 1, &first);
    asc_put(run, 8, mean);
    asc_put(run, 9, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "1 / sqrt(a + p)", asc_float(run, 6), variance));
    follow(run, 3, mean, asc_float(run, 5));
    follow(run, 4, ASC_COMPUTE(run, ASC_FLOAT32, "a * b / (b - 1)", variance, n), asc_float(run, 5));
}

/* Sums and sums of squares of each device, their counts, running mean, running variance, momentum, eps, mean, invstd.
 */
void asc_op_batch_norm_of_sums(asc_run *run) {
    tensor sums = asc_f32(run, 0), squares = asc_f32(run, 1), counts = asc_f32(run, 2);
    int64_t first = 0, devices = sums.rank == 2 ? sums.dims[0] : 1;
    ASC_STOP_UNLESS(run, sums.rank <= 2 && asc_elements(counts) == devices, "%lld counts for %lld devices",
                    (long long)asc_elements(counts), (long long)devices);
    int64_t dims[] = {devices, asc_elements(sums) / (devices ? devices : 1)};
    sums = asc_reduce_axes(run, ASC_REDUCE_SUM, asc_reshape(run, sums, 2, dims), 1, &first);
    squares = asc_reduce_axes(run, ASC_REDUCE_SUM, asc_reshape(run, squares, 2, dims), 1, &first);
    tensor n = asc_reduce_axes(run, ASC_REDUCE_SUM, asc_reshape(run, counts, 2, (int64_t[]){devices, 1}), 1, &first);
    tensor mean = ASC_COMPUTE(run, ASC_FLOAT32, "a / b", sums, n);
    tensor variance = ASC_COMPUTE(run, ASC_FLOAT32, "a / b - c * c", squares, n, mean);
    asc_put(run, 7, mean);
    asc_put(run, 8, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "1 / sqrt(a + p)", asc_float(run, 6), variance));
    follow(run, 3, mean, asc_float(run, 5));
    follow(run, 4, ASC_COMPUTE(run, ASC_FLOAT32, "a * b / (b - 1)", variance, n), asc_float(run, 5));
}

/* gradOut, input, mean, invstd, weight, which are asked for (three), sumDy, sumDyXmu, gradWeight, gradBias. */
void asc_op_batch_norm_sums_backward(asc_run *run) {
    tensor g = by_channels(run, 0), x = by_channels(run, 1);
    tensor of_g = sum(run, g), of_both = sum(run, ASC_COMPUTE(run, ASC_FLOAT32, "a * (b - c)", g, x, at(run, 2, x)));
    if (asc_int(run, 5)) {
        asc_put(run, 8, of_g);
        asc_put(run, 9, of_both);
    }
    if (asc_int(run, 6)) asc_put(run, 10, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", of_both, at(run, 3, x)));
    if (asc_int(run, 7)) asc_put(run, 11, of_g);
}

/* gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counts, gradInput. */
void asc_op_batch_norm_by_backward(asc_run *run) {
    tensor g = by_channels(run, 0), x = by_channels(run, 1), invstd = at(run, 3, x);
    tensor counts = asc_f32(run, 7), n = asc_reduce_axes(run, ASC_REDUCE_SUM, asc_flat(run, counts), 0, NULL);
    tensor hat = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b) * c * c * d / e", x, at(run, 2, x), invstd, at(run, 6, x), n);
    tensor made = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b / c - d) * e", g, at(run, 5, x), n, hat, invstd);
    if (asc_given_at(run, 4)) made = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", made, at(run, 4, x));
    asc_put(run, 8, made);
}
