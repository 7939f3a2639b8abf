/* convert.c - tensors of a run in other types and shapes, and outputs given back. */
#include <string.h>

#include "operator.h"

tensor asc_copy(asc_run *run, tensor t, int32_t dtype) {
    tensor made = asc_like(run, t, dtype);
    if (asc_elements(t) == 0) return made;
    if (t.dtype == dtype) {
        asc_call_kernel(run, "copy", 1, &t, 1, &made, 0, NULL, 0, NULL);
        return made;
    }
    asc_evaluate(run, "a", 1, &(asc_name){.name = "a", .tensor = &t}, &made);
    return made;
}

tensor asc_cast(asc_run *run, tensor t, int32_t dtype) {
    if (t.dtype != dtype || !asc_is_contiguous(t)) return asc_copy(run, t, dtype);
    asc_set_strides(&t);
    return t;
}

static bool overlap(tensor a, tensor b) {
    const char *p = a.data, *q = b.data;
    int64_t m = 1, n = 1;
    for (int i = 0; i < a.rank; i++) m += (a.dims[i] - 1) * a.strides[i];
    for (int i = 0; i < b.rank; i++) n += (b.dims[i] - 1) * b.strides[i];
    return p < q + n * (int64_t)asc_dtype_bytes(b.dtype) && q < p + m * (int64_t)asc_dtype_bytes(a.dtype);
}

void asc_store(asc_run *run, tensor to, tensor value) {
    if (asc_elements(to) == 0) return;
    value = asc_expand(run, value, to.rank, to.dims);
    if (asc_is_contiguous(to) && !overlap(to, value)) {
        asc_set_strides(&to);
        if (to.dtype == value.dtype)
            asc_call_kernel(run, "copy", 1, &value, 1, &to, 0, NULL, 0, NULL);
        else
            asc_evaluate(run, "a", 1, &(asc_name){.name = "a", .tensor = &value}, &to);
        return;
    }
    tensor made = overlap(to, value) ? asc_copy(run, value, to.dtype) : asc_cast(run, value, to.dtype);
    asc_write(to, made);
}

tensor asc_reshape(asc_run *run, tensor t, int rank, const int64_t *dims) {
    int64_t n = asc_elements(t);
    if (!asc_is_contiguous(t)) t = asc_cast(run, t, t.dtype);
    t.rank = rank;
    memmove(t.dims, dims, (size_t)rank * sizeof *dims);
    asc_set_strides(&t);
    ASC_STOP_UNLESS(run, asc_elements(t) == n, "%lld elements don't fit %lld", (long long)n,
                    (long long)asc_elements(t));
    return t;
}

tensor asc_rows_of(asc_run *run, tensor t) {
    ASC_STOP_UNLESS(run, t.rank > 0, "a tensor of rows has an axis");
    int64_t width = t.dims[t.rank - 1], n = asc_elements(t);
    return asc_reshape(run, asc_cast(run, t, ASC_FLOAT32), 2, (int64_t[]){width ? n / width : 0, width});
}

tensor asc_flat(asc_run *run, tensor t) {
    int64_t n = asc_elements(t);
    return asc_reshape(run, t, 1, &n);
}

tensor asc_of(asc_run *run, int i, int32_t dtype) {
    return asc_cast(run, asc_in(run, i), dtype);
}

tensor asc_f32(asc_run *run, int i) {
    return asc_of(run, i, ASC_FLOAT32);
}

void asc_put(asc_run *run, int i, tensor value) {
    if (!asc_given_at(run, i)) return;
    tensor to = asc_in(run, i);
    if (to.dtype == ASC_UNDEFINED) return;
    ASC_STOP_UNLESS(run, asc_elements(to) == asc_elements(value), "%s has %lld elements; the result has %lld",
                    asc_run_row(run)->names[i], (long long)asc_elements(to), (long long)asc_elements(value));
    value = asc_is_contiguous(value) ? value : asc_cast(run, value, value.dtype);
    asc_store(run, to, asc_reshape(run, value, to.rank, to.dims));
}

void asc_put_sized(asc_run *run, int i, tensor value) {
    tensor to = asc_in(run, i);
    ASC_STOP_UNLESS(run, asc_elements(to) >= asc_elements(value) && asc_is_contiguous(to),
                    "%s has room for %lld elements; the result has %lld", asc_run_row(run)->names[i],
                    (long long)asc_elements(to), (long long)asc_elements(value));
    value = asc_cast(run, value, to.dtype);
    if (asc_elements(value)) memcpy(to.data, value.data, (size_t)asc_elements(value) * asc_dtype_bytes(to.dtype));
    asc_operator_resize(asc_arg(run, i), value.rank, value.dims);
}

void asc_fill(asc_run *run, tensor t, double value) {
    if (asc_elements(t) == 0) return;
    asc_number number = {.dtype = ASC_BOOL, .i = (int64_t)value, .d = value};
    number.dtype = value == (double)number.i ? ASC_INT64 : ASC_FLOAT64;
    asc_evaluate(run, "p", 1, &(asc_name){.name = "p", .number = number}, &t);
}
