/* reduction.c - sums, extremes, norms and variances over axes. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

typedef struct axes {
    int n;
    int64_t of[ASC_MAX_RANK]; /* ascending, from the front */
} axes;

void asc_op_reduce(asc_run *run, int op);

static axes all_axes(int rank) {
    axes a = {.n = rank};
    for (int i = 0; i < rank; i++) a.of[i] = i;
    return a;
}

/* Those of an argument, an array or a number; an empty array, and NULL, name all. */
static axes axes_at(asc_run *run, int i, int rank) {
    const asc_argument *a = asc_arg(run, i);
    if (a->kind == 'I' && a->count <= 0) return all_axes(rank);
    bool named[ASC_MAX_RANK] = {false};
    int count = a->kind == 'I' ? a->count : 1;
    for (int k = 0; k < count; k++)
        if (rank) named[asc_axis(run, a->kind == 'I' ? a->ints[k] : asc_int(run, i), rank)] = true;
    axes found = {.n = 0};
    for (int k = 0; k < rank; k++)
        if (named[k]) found.of[found.n++] = k;
    return found;
}

static int64_t count_of(tensor t, const axes *a) {
    int64_t n = 1;
    for (int i = 0; i < a->n; i++) n *= t.dims[a->of[i]];
    return n;
}

/* The type that kernels reduce elements of a type in. */
static int32_t wide(int32_t dtype) {
    if (asc_is_float(dtype)) return dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    return ASC_INT64;
}

tensor asc_reduce_axes(asc_run *run, int op, tensor t, int n_axes, const int64_t *which) {
    axes a = all_axes(t.rank);
    if (n_axes) memcpy(a.of, which, (size_t)(a.n = n_axes) * sizeof *which);
    int64_t dims[ASC_MAX_RANK], ints[1 + ASC_MAX_RANK] = {op};
    memcpy(dims, t.dims, sizeof dims);
    for (int i = 0; i < a.n; i++) {
        ints[1 + i] = a.of[i];
        dims[a.of[i]] = 1;
    }
    t = asc_cast(run, t, wide(t.dtype));
    tensor out = asc_new(run, t.dtype, t.rank, dims);
    if (asc_elements(t) == 0)
        asc_fill(run, out, op == ASC_REDUCE_PROD ? 1 : 0);
    else if (a.n == 0 && op != ASC_REDUCE_L1 && op != ASC_REDUCE_L2 && op != ASC_REDUCE_SUMSQUARE)
        return t;
    else if (t.rank == 0)
        asc_evaluate(run, op == ASC_REDUCE_SUMSQUARE ? "a * a" : "abs(a)", 1, &(asc_name){.name = "a", .tensor = &t},
                     &out);
    else
        asc_call_kernel(run, "reduce", 1, &t, 1, &out, 1 + a.n, ints, 0, NULL);
    return out;
}

/* Of the axes of argument 1, or all; keepdim is in the dims of the output alone. */
void asc_op_reduce(asc_run *run, int op) {
    tensor x = asc_in(run, 0);
    int out = 0;
    while (asc_arg(run, out)->kind != 'O') out++;
    bool has_axes = out > 1 && (asc_arg(run, 1)->kind == 'I' || asc_arg(run, 1)->kind == 'i');
    axes a = has_axes ? axes_at(run, 1, x.rank) : all_axes(x.rank);
    int32_t type = asc_in(run, out).dtype;
    if (op == ASC_REDUCE_MEAN || asc_is_float(type))
        type = type == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    else
        type = ASC_INT64;
    if (op == ASC_REDUCE_MAX || op == ASC_REDUCE_MIN) type = wide(x.dtype);
    ASC_STOP_UNLESS(run, asc_elements(x) > 0 || (op != ASC_REDUCE_MAX && op != ASC_REDUCE_MIN),
                    "no elements have no extreme");
    if (op == ASC_REDUCE_MEAN && asc_elements(x) == 0) {
        tensor none = asc_reduce_axes(run, ASC_REDUCE_SUM, asc_cast(run, x, type), a.n, a.of);
        asc_fill(run, none, NAN);
        asc_put(run, out, none);
        return;
    }
    asc_put(run, out, a.n ? asc_reduce_axes(run, op, asc_cast(run, x, type), a.n, a.of) : x);
}

/* self, dims, keepdim, whether an empty list names no axis, out. */
void asc_op_reduce_some(asc_run *run, int op) {
    if (asc_int(run, 3) && asc_arg(run, 1)->count <= 0)
        asc_put(run, 4, asc_in(run, 0));
    else
        asc_op_reduce(run, op);
}

/* The same: the logarithm of the sum. */
void asc_op_log_of_sum(asc_run *run) {
    tensor x = asc_f32(run, 0);
    axes a = axes_at(run, 1, x.rank);
    bool none = asc_int(run, 3) && asc_arg(run, 1)->count <= 0;
    if (!none && a.n) x = asc_reduce_axes(run, ASC_REDUCE_SUM, x, a.n, a.of);
    asc_put(run, 4, ASC_COMPUTE(run, ASC_FLOAT32, "log(a)", x));
}

/* self, out: of all places of each channel of each image. */
void asc_op_reduce_images(asc_run *run, int op) {
    tensor x = asc_in(run, 0);
    int64_t over[ASC_MAX_RANK];
    ASC_STOP_UNLESS(run, x.rank > 2, "an image has places, of %d axes", x.rank);
    for (int i = 2; i < x.rank; i++) over[i - 2] = i;
    asc_put(run, 1, asc_reduce_axes(run, op, asc_f32(run, 0), x.rank - 2, over));
}

/* self, dims, keepdim, dtype, out: as if each NaN were 0. */
void asc_op_sum_without_nan(asc_run *run) {
    tensor x = asc_in(run, 0);
    axes a = axes_at(run, 1, x.rank);
    x = ASC_COMPUTE(run, wide(asc_in(run, 4).dtype), "a != a ? 0 : a", x);
    asc_put(run, 4, a.n ? asc_reduce_axes(run, ASC_REDUCE_SUM, x, a.n, a.of) : x);
}

/* All, Any: self, dims, keepdim, out. */
void asc_op_truth(asc_run *run, int is_all) {
    tensor x = asc_in(run, 0), t = asc_like(run, x, ASC_INT32);
    axes a = axes_at(run, 1, x.rank);
    asc_evaluate(run, "a != 0", 1, &(asc_name){.name = "a", .tensor = &x}, &t);
    if (!asc_elements(x)) {
        tensor none = asc_reduce_axes(run, ASC_REDUCE_SUM, t, a.n, a.of);
        asc_fill(run, none, is_all);
        asc_put(run, 3, none);
        return;
    }
    asc_put(run, 3, asc_reduce_axes(run, is_all ? ASC_REDUCE_MIN : ASC_REDUCE_MAX, t, a.n, a.of));
}

/* ---- positions of extremes ------------------------------------------------------------------------------------ */

static tensor position(asc_run *run, tensor x, int axis, bool largest) {
    int64_t dims[ASC_MAX_RANK];
    x = asc_cast(run, x, wide(x.dtype));
    memcpy(dims, x.dims, sizeof dims);
    if (x.rank == 0) {
        tensor zero = asc_new(run, ASC_INT64, 0, dims);
        asc_fill(run, zero, 0);
        return zero;
    }
    dims[axis] = 1;
    tensor at = asc_new(run, ASC_INT64, x.rank, dims);
    asc_call_kernel(run, largest ? "argmax" : "argmin", 1, &x, 1, &at, 2, (int64_t[]){axis, 0}, 0, NULL);
    return at;
}

/* self, dim, keepdim, out. */
void asc_op_arg_extreme(asc_run *run, int largest) {
    tensor x = asc_in(run, 0);
    asc_put(run, 3, position(run, x, (int)asc_axis(run, asc_int(run, 1), x.rank), largest));
}

/* self, dim, keepdim, values, indices. */
void asc_op_extreme_along(asc_run *run, int largest) {
    tensor x = asc_in(run, 0);
    int64_t axis = asc_axis(run, asc_int(run, 1), x.rank);
    asc_put(run, 4, position(run, x, (int)axis, largest));
    asc_put(run, 3, x.rank ? asc_reduce_axes(run, largest ? ASC_REDUCE_MAX : ASC_REDUCE_MIN, x, 1, &axis) : x);
}

/* self, then perhaps dims and keepdim, least, largest. */
void asc_op_both_extremes(asc_run *run, int n_before) {
    tensor x = asc_in(run, 0);
    axes a = n_before ? axes_at(run, 1, x.rank) : all_axes(x.rank);
    asc_put(run, 1 + n_before, asc_reduce_axes(run, ASC_REDUCE_MIN, x, a.n, a.of));
    asc_put(run, 2 + n_before, asc_reduce_axes(run, ASC_REDUCE_MAX, x, a.n, a.of));
}

/* ---- norms, variances ------------------------------------------------------------------------------------------ */

static int32_t real_of(tensor x) {
    return x.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
}

static tensor norm(asc_run *run, tensor x, double order, const axes *a) {
    int32_t type = real_of(x);
    x = asc_cast(run, x, type);
    if (order == 2) return asc_reduce_axes(run, ASC_REDUCE_L2, x, a->n, a->of);
    if (order == 1) return asc_reduce_axes(run, ASC_REDUCE_L1, x, a->n, a->of);
    if (order == 0) return asc_reduce_axes(run, ASC_REDUCE_SUM, ASC_COMPUTE(run, type, "a != 0", x), a->n, a->of);
    if (isinf(order)) {
        int op = order > 0 ? ASC_REDUCE_MAX : ASC_REDUCE_MIN;
        return asc_reduce_axes(run, op, ASC_COMPUTE(run, type, "abs(a)", x), a->n, a->of);
    }
    tensor powers = ASC_COMPUTE_WITH(run, type, "pow(abs(a), p)", order, x);
    return ASC_COMPUTE_WITH(run, type, "pow(a, p)", 1 / order,
                            asc_reduce_axes(run, ASC_REDUCE_SUM, powers, a->n, a->of));
}

/* self, order, dims, keepdim, .., out: at position `out`. */
void asc_op_norm(asc_run *run, int out) {
    tensor x = asc_in(run, 0);
    axes a = axes_at(run, 2, x.rank);
    asc_put(run, out, norm(run, x, asc_given_at(run, 1) ? asc_float(run, 1) : 2, &a));
}

/* tensors, order, out. */
void asc_op_foreach_norm(asc_run *run) {
    const asc_argument *in = asc_arg(run, 0), *out = asc_arg(run, 2);
    double order = asc_arg(run, 1)->kind == 'S' ? asc_float(run, 1) : 2;
    for (int k = 0; k < in->count; k++) {
        ASC_STOP_UNLESS(run, k < out->count, "%d norms for %d tensors", out->count, in->count);
        tensor n =
            norm(run, asc_flat(run, asc_cast(run, in->tensors[k], in->tensors[k].dtype)), order, &(axes){1, {0}});
        asc_store(run, out->tensors[k], asc_reshape(run, n, 0, n.dims));
    }
}

/* self, dims, correction, keepdim, outputs. which: 0 variance, 1 deviation; with_mean: a second output. */
static void spread(asc_run *run, bool root, bool with_mean) {
    tensor x = asc_in(run, 0);
    axes a = axes_at(run, 1, x.rank);
    int32_t type = real_of(x);
    double n = (double)count_of(x, &a), free = n - asc_float(run, 2);
    tensor mean = asc_reduce_axes(run, ASC_REDUCE_MEAN, asc_cast(run, x, type), a.n, a.of);
    tensor squares = ASC_COMPUTE(run, type, "(a - b) * (a - b)", x, mean);
    tensor sum = asc_reduce_axes(run, ASC_REDUCE_SUM, squares, a.n, a.of);
    asc_put(run, 4, ASC_COMPUTE_WITH(run, type, root ? "sqrt(a / p)" : "a / p", free > 0 ? free : 0, sum));
    if (with_mean) asc_put(run, 5, mean);
}

void asc_op_variance(asc_run *run, int root) {
    spread(run, root, false);
}

void asc_op_variance_and_mean(asc_run *run, int root) {
    spread(run, root, true);
}

/* self, dims, keepdim, out. */
void asc_op_log_sum_exp(asc_run *run) {
    tensor x = asc_in(run, 0);
    axes a = axes_at(run, 1, x.rank);
    int32_t type = real_of(x);
    tensor top = asc_reduce_axes(run, ASC_REDUCE_MAX, asc_cast(run, x, type), a.n, a.of);
    tensor e = ASC_COMPUTE(run, type, "abs(b) == inf ? exp(a) : exp(a - b)", x, top);
    tensor sum = asc_reduce_axes(run, ASC_REDUCE_SUM, e, a.n, a.of);
    asc_put(run, 3, ASC_COMPUTE(run, type, "abs(b) == inf ? log(a) : log(a) + b", sum, top));
}

/* self, dim, dtype, out: running sums, or products. */
void asc_op_running(asc_run *run, int is_product) {
    tensor x = asc_in(run, 0), to = asc_in(run, 3);
    if (x.rank == 0) {
        asc_put(run, 3, x);
        return;
    }
    x = asc_cast(run, x, wide(to.dtype));
    tensor made = asc_like(run, x, x.dtype);
    int64_t ints[] = {asc_axis(run, asc_int(run, 1), x.rank), 0, 0};
    if (asc_elements(x)) asc_call_kernel(run, is_product ? "cumprod" : "cumsum", 1, &x, 1, &made, 3, ints, 0, NULL);
    asc_put(run, 3, made);
}

tensor asc_sum_to(asc_run *run, tensor t, tensor like) {
    axes a = {.n = 0};
    int more = t.rank - like.rank;
    for (int i = 0; i < t.rank; i++)
        if (i < more || (like.dims[i - more] == 1 && t.dims[i] != 1)) a.of[a.n++] = i;
    if (a.n) t = asc_reduce_axes(run, ASC_REDUCE_SUM, t, a.n, a.of);
    return asc_reshape(run, asc_cast(run, t, t.dtype), like.rank, like.dims);
}
