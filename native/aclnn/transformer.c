/* transformer.c - what transformers do to a row in one operator: a sum and its norm, and the rotation by positions. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

static int32_t real_of(tensor t) {
    return t.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
}

/* ---- norms of sums ------------------------------------------------------------------------------------------ */

static tensor sum_of_two(asc_run *run, int i) {
    tensor a = asc_in(run, i);
    return ASC_COMPUTE(run, real_of(a), "a + b", a, asc_in(run, i + 1));
}

/* x1, x2, gamma, eps, y, rstd, x: the norm is of the sum before that is rounded. */
void asc_op_add_rms_norm(asc_run *run) {
    tensor x = sum_of_two(run, 0), rstd, y = asc_rms_norm_of(run, x, asc_in(run, 2), asc_float(run, 3), &rstd);
    asc_put(run, 4, y);
    asc_put(run, 5, rstd);
    asc_put(run, 6, x);
}

/* x1, x2, gamma, eps, y (float32), y (as x), rstd, x. */
void asc_op_add_rms_norm_cast(asc_run *run) {
    tensor x = sum_of_two(run, 0), rstd, y = asc_rms_norm_of(run, x, asc_in(run, 2), asc_float(run, 3), &rstd);
    asc_put(run, 4, y);
    asc_put(run, 5, y);
    asc_put(run, 6, rstd);
    asc_put(run, 7, x);
}

/* x1 (becomes y), x2 (becomes x), gamma, eps, rstd. */
void asc_op_add_rms_norm_inplace(asc_run *run) {
    tensor x = sum_of_two(run, 0), rstd, y = asc_rms_norm_of(run, x, asc_in(run, 2), asc_float(run, 3), &rstd);
    asc_put(run, 0, y);
    asc_put(run, 1, x);
    asc_put(run, 4, rstd);
}

/* Rows of as many elements as gamma has, with their mean taken away, over their deviation: times gamma, plus beta. */
static tensor layer_norm_of(asc_run *run, tensor x, tensor gamma, tensor beta, double epsilon, tensor *mean,
                            tensor *rstd) {
    int32_t type = x.dtype;
    int64_t n = asc_elements(gamma), last = 1, dims[] = {n ? asc_elements(x) / n : 0, n};
    ASC_STOP_UNLESS(run, dims[0] * n == asc_elements(x) && asc_elements(beta) == n,
                    "rows of %lld elements have a gamma of %lld and a beta of %lld", (long long)asc_elements(x),
                    (long long)n, (long long)asc_elements(beta));
    x = asc_reshape(run, x, 2, dims);
    *mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, x, 1, &last);
    tensor squares = ASC_COMPUTE(run, type, "(a - b) * (a - b)", x, *mean);
    *rstd = ASC_COMPUTE_WITH(run, type, "1 / sqrt(a + p)", epsilon,
                             asc_reduce_axes(run, ASC_REDUCE_MEAN, squares, 1, &last));
    return ASC_COMPUTE(run, type, "(a - b) * c * d + e", x, *mean, *rstd, asc_flat(run, gamma), asc_flat(run, beta));
}

/* x1, x2, gamma, beta, bias, eps, additionalOutput, y, mean, rstd, x. */
void asc_op_add_layer_norm(asc_run *run) {
    tensor x = sum_of_two(run, 0), mean, rstd;
    if (asc_given_at(run, 4)) x = ASC_COMPUTE(run, x.dtype, "a + b", x, asc_in(run, 4));
    asc_put(run, 7, layer_norm_of(run, x, asc_in(run, 2), asc_in(run, 3), asc_float(run, 5), &mean, &rstd));
    asc_put(run, 8, mean);
    asc_put(run, 9, rstd);
    if (asc_int(run, 6)) asc_put(run, 10, x);
}

/* x, gx, beta, gamma, alpha, eps, mean, rstd, y: of alpha x + gx. */
void asc_op_deep_norm(asc_run *run) {
    tensor x = asc_in(run, 0), mean, rstd;
    x = ASC_COMPUTE_WITH(run, real_of(x), "p * a + b", asc_float(run, 4), x, asc_in(run, 1));
    asc_put(run, 8, layer_norm_of(run, x, asc_in(run, 3), asc_in(run, 2), asc_float(run, 5), &mean, &rstd));
    asc_put(run, 6, mean);
    asc_put(run, 7, rstd);
}

/* ---- rotation by positions ---------------------------------------------------------------------------------- */

enum { HALVES, PAIRS, QUARTERS, HALVES_OF_PAIRS };

/* Every second element of the last axis, from `first` on. */
static tensor every_second(tensor t, int64_t first) {
    int last = t.rank - 1;
    t = asc_narrow(t, last, first, t.dims[last] / 2);
    t.strides[last] *= 2;
    return t;
}

/* The part k of n of the last axis. */
static tensor part(tensor t, int64_t k, int64_t n) {
    return asc_narrow(t, t.rank - 1, k * (t.dims[t.rank - 1] / n), t.dims[t.rank - 1] / n);
}

/* Two elements (a, b) that turn together become (-b, a), or with `back` (b, -a). */
static void turn(asc_run *run, tensor to_a, tensor to_b, tensor a, tensor b, bool back) {
    asc_store(run, to_a, ASC_COMPUTE(run, a.dtype, back ? "a" : "-a", b));
    asc_store(run, to_b, ASC_COMPUTE(run, a.dtype, back ? "-a" : "a", a));
}

static tensor rotated(asc_run *run, tensor x, int64_t mode, bool back) {
    tensor y = asc_like(run, x, x.dtype);
    switch (mode) {
        case PAIRS:
            turn(run, every_second(y, 0), every_second(y, 1), every_second(x, 0), every_second(x, 1), back);
            break;
        case QUARTERS:
            for (int k = 0; k < 4; k += 2)
                turn(run, part(y, k, 4), part(y, k + 1, 4), part(x, k, 4), part(x, k + 1, 4), back);
            break;
        default: turn(run, part(y, 0, 2), part(y, 1, 2), part(x, 0, 2), part(x, 1, 2), back);
    }
    return y;
}

/* Even elements first, then odd ones; or, back, from these. */
static tensor sorted_pairs(asc_run *run, tensor x, bool back) {
    tensor y = asc_like(run, x, x.dtype);
    for (int k = 0; k < 2; k++)
        asc_store(run, back ? every_second(y, k) : part(y, k, 2), back ? part(x, k, 2) : every_second(x, k));
    return y;
}

static void check_parts(asc_run *run, int64_t mode, tensor x) {
    int64_t parts = mode == QUARTERS ? 4 : 2;
    ASC_STOP_UNLESS(run, x.rank > 0 && x.dims[x.rank - 1] % parts == 0, "rows have no %lld equal parts",
                    (long long)parts);
}

static int64_t mode_of(asc_run *run, int i, tensor x) {
    int64_t mode = asc_int(run, i);
    ASC_STOP_UNLESS(run, mode >= 0 && mode <= 3, "mode %lld is none of 0 to 3", (long long)mode);
    check_parts(run, mode, x);
    return mode;
}

/* x, cos, sin, mode, out: x cos + rotated x sin. */
void asc_op_rotary(asc_run *run) {
    tensor x = asc_in(run, 0);
    int64_t mode = mode_of(run, 3, x);
    x = asc_cast(run, x, real_of(x));
    if (mode == HALVES_OF_PAIRS) x = sorted_pairs(run, x, false);
    asc_put(
        run, 4,
        ASC_COMPUTE(run, x.dtype, "a * b + c * d", x, asc_in(run, 1), rotated(run, x, mode, false), asc_in(run, 2)));
}

/* dy, cos, sin, x, mode, dx, dcos, dsin: the last two only with x. */
void asc_op_rotary_backward(asc_run *run) {
    tensor g = asc_in(run, 0);
    int64_t mode = mode_of(run, 4, g);
    g = asc_cast(run, g, real_of(g));
    tensor by_sin = ASC_COMPUTE(run, g.dtype, "a * b", g, asc_in(run, 2));
    tensor dx = ASC_COMPUTE(run, g.dtype, "a * b + c", g, asc_in(run, 1), rotated(run, by_sin, mode, true));
    asc_put(run, 5, mode == HALVES_OF_PAIRS ? sorted_pairs(run, dx, true) : dx);
    if (!asc_given_at(run, 3)) return;
    tensor x = asc_cast(run, asc_in(run, 3), g.dtype);
    if (mode == HALVES_OF_PAIRS) x = sorted_pairs(run, x, false);
    if (asc_given_at(run, 6))
        asc_put(run, 6, asc_sum_to(run, ASC_COMPUTE(run, g.dtype, "a * b", g, x), asc_in(run, 6)));
    if (asc_given_at(run, 7))
        asc_put(run, 7,
                asc_sum_to(run, ASC_COMPUTE(run, g.dtype, "a * b", g, rotated(run, x, mode, false)), asc_in(run, 7)));
}

/* Both in place, in `mode`: cos and sin broadcast. */
static void rotate_both(asc_run *run, int64_t mode) {
    for (int k = 0; k < 2; k++) {
        tensor x = asc_in(run, k), to = x;
        check_parts(run, mode, x);
        x = asc_copy(run, x, real_of(x));
        asc_store(run, to,
                  ASC_COMPUTE(run, x.dtype, "a * b + c * d", x, asc_in(run, 2), rotated(run, x, mode, false),
                              asc_in(run, 3)));
    }
}

/* query, key, cos, sin, layout: axes are as cos and sin have them, so the layout says nothing more. */
void asc_op_rotate_both(asc_run *run) {
    rotate_both(run, HALVES);
}

/* query, key, cos, sin, layout, mode. */
void asc_op_rotate_both_either(asc_run *run) {
    static const char *const names[] = {"half", "interleave", "quarter"};
    const char *mode = asc_arg(run, 5)->text;
    int k = 0;
    while (mode && *mode && k < 3 && strcmp(mode, names[k]) != 0) k++;
    ASC_STOP_UNLESS(run, k < 3, "rotaryMode [%s] is none of half, interleave, quarter", mode);
    rotate_both(run, k);
}

/* x, cos, sin, out: pairs part into halves, which turn. */
void asc_op_rotate_interleaved(asc_run *run) {
    tensor x = asc_in(run, 0);
    check_parts(run, HALVES_OF_PAIRS, x);
    x = sorted_pairs(run, asc_cast(run, x, real_of(x)), false);
    asc_put(run, 3,
            ASC_COMPUTE(run, x.dtype, "a * b + c * d", x, asc_in(run, 1), rotated(run, x, HALVES_OF_PAIRS, false),
                        asc_in(run, 2)));
}
