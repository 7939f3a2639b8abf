/* softmax.c - softmax and its logarithm along an axis, forwards and backwards. */
#include "asc_plan.h"
#include "operator.h"

static tensor softmax(asc_run *run, tensor x, int64_t axis, bool logarithm) {
    if (x.rank == 0) return ASC_COMPUTE(run, x.dtype, logarithm ? "a - a" : "a - a + 1", x);
    if (x.dtype == ASC_FLOAT64) {
        tensor top = asc_reduce_axes(run, ASC_REDUCE_MAX, x, 1, &axis);
        tensor e = ASC_COMPUTE(run, x.dtype, "exp(a - b)", x, top);
        tensor sum = asc_reduce_axes(run, ASC_REDUCE_SUM, e, 1, &axis);
        return logarithm ? ASC_COMPUTE(run, x.dtype, "a - b - log(c)", x, top, sum)
                         : ASC_COMPUTE(run, x.dtype, "a / b", e, sum);
    }
    x = asc_cast(run, x, ASC_FLOAT32);
    tensor y = asc_like(run, x, ASC_FLOAT32);
    if (asc_elements(x))
        asc_call_kernel(run, logarithm ? "log_softmax" : "softmax", 1, &x, 1, &y, 2, (int64_t[]){axis, 1}, 0, NULL);
    return y;
}

tensor asc_softmax_of(asc_run *run, tensor t, int axis) {
    return softmax(run, t, axis, false);
}

/* self, dim, out. */
void asc_op_softmax(asc_run *run, int logarithm) {
    tensor x = asc_in(run, 0);
    asc_put(run, 2, softmax(run, x, asc_axis(run, asc_int(run, 1), x.rank), logarithm));
}

/* gradOutput, output, dim, gradInput. */
void asc_op_softmax_backward(asc_run *run, int logarithm) {
    tensor g = asc_in(run, 0), y = asc_in(run, 1);
    int32_t type = y.dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    int64_t axis = asc_axis(run, asc_int(run, 2), y.rank);
    g = asc_cast(run, g, type);
    tensor weighed = logarithm ? g : ASC_COMPUTE(run, type, "a * b", g, y);
    tensor sum = y.rank ? asc_reduce_axes(run, ASC_REDUCE_SUM, weighed, 1, &axis) : weighed;
    asc_put(run, 3, ASC_COMPUTE(run, type, logarithm ? "a - exp(b) * c" : "b * (a - c)", g, y, sum));
}

/* x times scale, with -10000 where the mask hides, or above the diagonal with `triangle`. */
static tensor masked(asc_run *run, tensor x, int mask, double scale, bool triangle) {
    x = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a * p", scale, x);
    if (!triangle)
        return asc_given_at(run, mask) ? ASC_COMPUTE(run, ASC_FLOAT32, "b != 0 ? 0 - 10000 : a", x, asc_in(run, mask))
                                       : x;
    ASC_STOP_UNLESS(run, x.rank >= 2, "a triangle is of two axes, not %d", x.rank);
    int64_t n = x.dims[x.rank - 1], rows = n ? asc_elements(x) / n : 0, each = x.dims[x.rank - 2];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i % each + 1; j < n; j++) ((float *)x.data)[i * n + j] = -10000;
    return x;
}

/* x, mask, scale, fixTriuMask, y. */
void asc_op_masked_softmax(asc_run *run) {
    tensor x = asc_in(run, 0);
    asc_put(run, 4, softmax(run, masked(run, x, 1, asc_float(run, 2), asc_int(run, 3)), x.rank - 1, false));
}

/* gradOutput, y, mask, scale, fixTriuMask, gradInput: nothing goes back where the mask hides. */
void asc_op_masked_softmax_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), y = asc_in(run, 1);
    int64_t last = y.rank - 1;
    tensor sum = asc_reduce_axes(run, ASC_REDUCE_SUM, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", g, y), 1, &last);
    tensor made = ASC_COMPUTE(run, ASC_FLOAT32, "b * (a - c)", g, y, sum);
    made = masked(run, made, 2, asc_float(run, 3), asc_int(run, 4));
    asc_put(run, 5, ASC_COMPUTE(run, ASC_FLOAT32, "a == 0 - 10000 ? 0 : a", made));
}
