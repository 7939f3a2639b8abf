/* sorting.c - order along an axis, the largest elements, distinct elements. */
#include <stdlib.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* The type in which kernels put elements in order. */
static int32_t ordered(int32_t dtype) {
    if (asc_is_float(dtype)) return dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    return ASC_INT64;
}

/* The first k in order along an axis: values, and where they are. Equal elements keep their order. */
static void order(asc_run *run, tensor x, int axis, int64_t k, bool largest, tensor *values, tensor *at) {
    int64_t dims[ASC_MAX_RANK];
    x = asc_cast(run, x, ordered(x.dtype));
    memcpy(dims, x.dims, sizeof dims);
    dims[axis] = k;
    tensor out[] = {asc_new(run, x.dtype, x.rank, dims), asc_new(run, ASC_INT64, x.rank, dims)};
    if (asc_elements(out[0])) asc_call_kernel(run, "topk", 1, &x, 2, out, 3, (int64_t[]){axis, k, largest}, 0, NULL);
    *values = out[0];
    *at = out[1];
}

/* self, k, dim, largest, sorted, .., values at position `out`, indices. */
void asc_op_topk(asc_run *run, int out) {
    tensor x = asc_in(run, 0), values, at;
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    order(run, x, (int)asc_axis(run, asc_int(run, 2), x.rank), asc_int(run, 1), asc_int(run, 3) != 0, &values, &at);
    asc_put(run, out, values);
    asc_put(run, out + 1, at);
}

/* self, stable, dim, descending, values, indices. */
void asc_op_sort(asc_run *run) {
    tensor x = asc_in(run, 0), values, at;
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 2), x.rank);
    order(run, x, axis, x.dims[axis], asc_int(run, 3) != 0, &values, &at);
    asc_put(run, 4, values);
    asc_put(run, 5, at);
}

/* self, dim, descending, out: where elements in order are. */
void asc_op_argsort(asc_run *run) {
    tensor x = asc_in(run, 0), values, at;
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    order(run, x, axis, x.dims[axis], asc_int(run, 2) != 0, &values, &at);
    asc_put(run, 3, at);
}

/* self, k, dim, keepdim, values, indices: the k-th smallest. */
void asc_op_kth(asc_run *run) {
    tensor x = asc_in(run, 0), values, at;
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 2), x.rank);
    int64_t k = asc_int(run, 1);
    ASC_STOP_UNLESS(run, k >= 1 && k <= x.dims[axis], "element %lld of %lld", (long long)k, (long long)x.dims[axis]);
    order(run, x, axis, k, false, &values, &at);
    asc_put(run, 4, asc_select(values, axis, k - 1));
    asc_put(run, 5, asc_select(at, axis, k - 1));
}

/* self, out: of an even number of elements the lower of the two in the middle. */
void asc_op_median(asc_run *run) {
    tensor x = asc_flat(run, asc_in(run, 0)), values, at;
    int64_t n = asc_elements(x);
    ASC_STOP_UNLESS(run, n > 0, "no elements have no median");
    order(run, x, 0, n, false, &values, &at);
    bool has_nan = asc_is_float(values.dtype) &&
                   *(int32_t *)ASC_COMPUTE(run, ASC_INT32, "a != a", asc_select(values, 0, n - 1)).data;
    asc_put(run, 1, asc_select(values, 0, has_nan ? n - 1 : (n - 1) / 2));
}

/* Where the median of n elements in order is; `nans` stand at the end: with any, NaN is it, unless they don't count. */
static int64_t middle(int64_t n, int64_t nans, bool ignores) {
    if (ignores && n > nans) return (n - nans - 1) / 2;
    return nans && !ignores ? n - nans : (n - 1) / 2;
}

static int64_t nans_of(asc_run *run, tensor t) {
    if (!asc_is_float(t.dtype)) return 0;
    tensor is = ASC_COMPUTE(run, ASC_INT32, "a != a", t);
    int64_t n = 0;
    for (int64_t i = 0; i < asc_elements(t); i++) n += ((int32_t *)is.data)[i];
    return n;
}

/* self, dim, keepdim, values, indices: the lower of two in the middle. */
void asc_op_median_along(asc_run *run, int ignores_nan) {
    tensor x = asc_in(run, 0), values, at;
    if (x.rank == 0) x = asc_unsqueeze(x, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    int64_t n = x.dims[axis];
    ASC_STOP_UNLESS(run, n > 0, "no elements have no median");
    x = asc_cast(run, asc_swap(x, axis, x.rank - 1), x.dtype);
    order(run, x, x.rank - 1, n, false, &values, &at);
    tensor v = asc_narrow(values, x.rank - 1, 0, 1), i = asc_narrow(at, x.rank - 1, 0, 1);
    v = asc_copy(run, v, v.dtype);
    i = asc_copy(run, i, i.dtype);
    size_t bytes = asc_dtype_bytes(v.dtype);
    for (int64_t row = 0; row < asc_elements(v); row++) {
        tensor own = values;
        own.data = (char *)values.data + (size_t)(row * n) * bytes;
        own.rank = 1;
        own.dims[0] = n;
        asc_set_strides(&own);
        int64_t place = row * n + middle(n, nans_of(run, own), ignores_nan != 0);
        memcpy((char *)v.data + (size_t)row * bytes, (char *)values.data + (size_t)place * bytes, bytes);
        ((int64_t *)i.data)[row] = ((int64_t *)at.data)[place];
    }
    v = asc_swap(v, axis, x.rank - 1);
    i = asc_swap(i, axis, x.rank - 1);
    asc_put(run, 3, asc_select(v, axis, 0));
    asc_put(run, 4, asc_select(i, axis, 0));
}

/* self, out. */
void asc_op_nan_median(asc_run *run) {
    tensor x = asc_flat(run, asc_in(run, 0)), values, at;
    int64_t n = asc_elements(x);
    ASC_STOP_UNLESS(run, n > 0, "no elements have no median");
    order(run, x, 0, n, false, &values, &at);
    asc_put(run, 1, asc_select(values, 0, middle(n, nans_of(run, values), true)));
}

/* self, sorted, returnInverse, returnCounts, values, inverse, counts: in order. */
void asc_op_unique(asc_run *run, int counts) {
    tensor x = asc_flat(run, asc_in(run, 0)), values, at;
    int64_t n = asc_elements(x), distinct = 0;
    order(run, x, 0, n, false, &values, &at);
    tensor inverse = asc_new(run, ASC_INT64, 1, &n), often = asc_new(run, ASC_INT64, 1, &n);
    size_t bytes = asc_dtype_bytes(values.dtype);
    char *v = values.data;
    for (int64_t i = 0; i < n; i++) {
        if (!i || memcmp(v + (size_t)i * bytes, v + (size_t)(distinct - 1) * bytes, bytes) != 0) {
            memmove(v + (size_t)distinct * bytes, v + (size_t)i * bytes, bytes);
            ((int64_t *)often.data)[distinct++] = 0;
        }
        ((int64_t *)often.data)[distinct - 1]++;
        ((int64_t *)inverse.data)[((int64_t *)at.data)[i]] = distinct - 1;
    }
    int out = counts ? 4 : 3;
    asc_put_sized(run, out, asc_narrow(values, 0, 0, distinct));
    if (asc_given_at(run, out + 1) && asc_int(run, 2)) {
        tensor shape = asc_in(run, 0);
        asc_put_sized(run, out + 1, asc_reshape(run, inverse, shape.rank, shape.dims));
    }
    if (counts && asc_given_at(run, 6) && asc_int(run, 3)) asc_put_sized(run, 6, asc_narrow(often, 0, 0, distinct));
}
