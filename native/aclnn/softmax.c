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
