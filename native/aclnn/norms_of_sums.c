/* norms_of_sums.c - layer norms of sums and with scales of their own for each sequence, and their gradients; norms of
 * single images. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

#define LAST 1, (int64_t[]){1}
#define FIRST 1, (int64_t[]){0}

/* [rows, n] */
static tensor rows_of(asc_run *run, int i, int64_t n) {
    tensor t = asc_f32(run, i);
    ASC_STOP_UNLESS(run, n > 0 && asc_elements(t) % n == 0, "%s has %lld elements, which are no rows of %lld",
                    asc_run_row(run)->names[i], (long long)asc_elements(t), (long long)n);
    return asc_reshape(run, t, 2, (int64_t[]){asc_elements(t) / n, n});
}

static tensor sum(asc_run *run, tensor t, int n, const int64_t *over) {
    return asc_reduce_axes(run, ASC_REDUCE_SUM, t, n, over);
}

/* Of rows x whose statistics were kept: the gradients of x, of the weight and of the bias. */
static tensor backward(asc_run *run, tensor dy, tensor x, tensor mean, tensor rstd, tensor gamma, int dgamma,
                       int dbeta) {
    asc_put(run, dgamma, sum(run, ASC_COMPUTE(run, ASC_FLOAT32, "a * (b - c) * d", dy, x, mean, rstd), FIRST));
    asc_put(run, dbeta, sum(run, dy, FIRST));
    return asc_norm_backward(run, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", dy, gamma), x, mean, rstd, LAST);
}

/* dy, x1, x2, rstd, mean, gamma, dsum, dx, dgamma, dbeta: of the norm of x1 + x2. dsum is what came to the sum itself.
 */
void asc_op_add_layer_norm_backward(asc_run *run) {
    int64_t n = asc_elements(asc_in(run, 5));
    tensor x = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", rows_of(run, 1, n), rows_of(run, 2, n));
    tensor dx = backward(run, rows_of(run, 0, n), x, rows_of(run, 4, 1), rows_of(run, 3, 1), rows_of(run, 5, n), 8, 9);
    if (asc_has_at(run, 6)) dx = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", dx, rows_of(run, 6, n));
    asc_put(run, 7, dx);
}

/* dy, x, gx, gamma, mean, rstd, alpha, dx, dgx, dbeta, dgamma: of the norm of alpha x + gx. */
void asc_op_deep_norm_backward(asc_run *run) {
    int64_t n = asc_elements(asc_in(run, 3));
    double alpha = asc_float(run, 6);
    tensor x = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a + b", alpha, rows_of(run, 1, n), rows_of(run, 2, n));
    tensor dgx =
        backward(run, rows_of(run, 0, n), x, rows_of(run, 4, 1), rows_of(run, 5, 1), rows_of(run, 3, n), 10, 9);
    asc_put(run, 8, dgx);
    asc_put(run, 7, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "p * a", alpha, dgx));
}

/* Of [sequences, rows, n] rows, whose sequences have a row each of `i`. */
static tensor of_sequences(asc_run *run, int i, int64_t n) {
    tensor t = rows_of(run, i, n);
    return asc_reshape(run, t, 3, (int64_t[]){t.dims[0], 1, n});
}

/* x, scale, shift, weight, bias, eps, out, perhaps mean and rstd: norm(x) (1 + scale) + shift. */
void asc_op_adaptive_layer_norm(asc_run *run, int kept) {
    tensor x = asc_in(run, 0);
    ASC_STOP_UNLESS(run, x.rank >= 1, "a single number has no norm");
    int64_t n = x.dims[x.rank - 1];
    tensor scale = of_sequences(run, 1, n), shift = of_sequences(run, 2, n), rows = rows_of(run, 0, n);
    int64_t sequences = scale.dims[0];
    ASC_STOP_UNLESS(run, sequences > 0 && rows.dims[0] % sequences == 0, "%lld scales for %lld rows",
                    (long long)sequences, (long long)rows.dims[0]);
    rows = asc_reshape(run, rows, 3, (int64_t[]){sequences, rows.dims[0] / sequences, n});
    int64_t last = 2;
    tensor mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, rows, 1, &last);
    tensor squares = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b) * (a - b)", rows, mean);
    tensor rstd = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "1 / sqrt(a + p)", asc_float(run, 5),
                                   asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, 1, &last));
    tensor y = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b) * c", rows, mean, rstd);
    if (asc_given_at(run, 3)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", y, asc_f32(run, 3));
    if (asc_given_at(run, 4)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_f32(run, 4));
    asc_put(run, 6, ASC_COMPUTE(run, ASC_FLOAT32, "a * (1 + b) + c", y, scale, shift));
    if (!kept) return;
    asc_put(run, 7, mean);
    asc_put(run, 8, rstd);
}

/* x, gamma, beta, format (NCHW or NHWC), eps, y, mean, variance: each channel of each image by itself. */
void asc_op_instance_norm(asc_run *run) {
    tensor x = asc_f32(run, 0);
    const char *format = asc_arg(run, 3)->text;
    bool last = format && strcmp(format, "NHWC") == 0;
    ASC_STOP_UNLESS(run, x.rank == 4 && format && (last || strcmp(format, "NCHW") == 0),
                    "format [%s], of %d axes, is none of NCHW, NHWC", format ? format : "", x.rank);
    int64_t channels = x.dims[last ? 3 : 1],
            rest = asc_elements(x) / (x.dims[0] && channels ? x.dims[0] * channels : 1);
    int64_t dims[] = {x.dims[0], last ? rest : channels, last ? channels : rest}, over = last ? 1 : 2;
    x = asc_reshape(run, x, 3, dims);
    tensor mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, x, 1, &over);
    tensor squares = ASC_COMPUTE(run, ASC_FLOAT32, "(a - b) * (a - b)", x, mean);
    tensor variance = asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, 1, &over);
    int64_t each[] = {1, last ? 1 : channels, last ? channels : 1};
    tensor gamma = asc_reshape(run, asc_f32(run, 1), 3, each), beta = asc_reshape(run, asc_f32(run, 2), 3, each);
    asc_put(run, 5,
            ASC_COMPUTE_WITH(run, ASC_FLOAT32, "(a - b) / sqrt(c + p) * d + e", asc_float(run, 4), x, mean, variance,
                             gamma, beta));
    asc_put(run, 6, mean);
    asc_put(run, 7, variance);
}
