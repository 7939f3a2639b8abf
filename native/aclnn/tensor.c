/* tensor.c - tensors of a run: made, viewed, converted and written back. */
#include <string.h>

#include "operator.h"

int64_t asc_elements(tensor t) {
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++) n *= t.dims[i];
    return n;
}

static void set_strides(tensor *t) {
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        t->strides[i] = step;
        step *= t->dims[i];
    }
}

bool asc_is_contiguous(tensor t) {
    int64_t step = 1;
    for (int i = t.rank - 1; i >= 0; i--) {
        if (t.dims[i] == 0) return true;
        if (t.dims[i] != 1 && t.strides[i] != step) return false;
        step *= t.dims[i];
    }
    return true;
}

tensor asc_new(asc_run *run, int32_t dtype, int rank, const int64_t *dims) {
    tensor t = {.dtype = dtype, .rank = rank};
    ASC_STOP_UNLESS(run, rank <= ASC_MAX_RANK, "a tensor of %d axes; at most %d are possible", rank, ASC_MAX_RANK);
    size_t bytes = asc_dtype_bytes(dtype);
    for (int i = 0; i < rank; i++) {
        t.dims[i] = dims[i];
        ASC_STOP_UNLESS(run, dims[i] >= 0 && !__builtin_mul_overflow(bytes, (size_t)dims[i], &bytes),
                        "a tensor of a size that is none");
    }
    set_strides(&t);
    t.data = asc_bytes(run, bytes);
    return t;
}

tensor asc_like(asc_run *run, tensor t, int32_t dtype) {
    return asc_new(run, dtype, t.rank, t.dims);
}

/* ---- converting ---------------------------------------------------------------------------------------------- */

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
    set_strides(&t);
    return t;
}

#define SCATTER(type)                                                                 \
    static void scatter_##type(type *to, const type *from, int64_t n, int64_t step) { \
        for (int64_t i = 0; i < n; i++) to[i * step] = from[i];                       \
    }
SCATTER(uint8_t)
SCATTER(uint16_t)
SCATTER(uint32_t)
SCATTER(uint64_t)

/* Contiguous elements to a view. */
static void scatter(tensor to, const char *from) {
    size_t bytes = asc_dtype_bytes(to.dtype);
    int64_t index[ASC_MAX_RANK] = {0}, rows = 1, last = to.rank - 1, length = to.rank ? to.dims[last] : 1;
    int64_t step = to.rank ? to.strides[last] : 1, offset = 0;
    for (int i = 0; i < last; i++) rows *= to.dims[i];
    for (int64_t row = 0; row < rows; row++, from += (size_t)length * bytes) {
        char *at = (char *)to.data + (size_t)offset * bytes;
        if (step == 1)
            memcpy(at, from, (size_t)length * bytes);
        else if (bytes == 1)
            scatter_uint8_t((void *)at, (const void *)from, length, step);
        else if (bytes == 2)
            scatter_uint16_t((void *)at, (const void *)from, length, step);
        else if (bytes == 4)
            scatter_uint32_t((void *)at, (const void *)from, length, step);
        else
            scatter_uint64_t((void *)at, (const void *)from, length, step);
        for (int64_t i = last - 1; i >= 0; i--) {
            offset += to.strides[i];
            if (++index[i] < to.dims[i]) break;
            offset -= index[i] * to.strides[i];
            index[i] = 0;
        }
    }
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
        set_strides(&to);
        if (to.dtype == value.dtype)
            asc_call_kernel(run, "copy", 1, &value, 1, &to, 0, NULL, 0, NULL);
        else
            asc_evaluate(run, "a", 1, &(asc_name){.name = "a", .tensor = &value}, &to);
        return;
    }
    tensor made = overlap(to, value) ? asc_copy(run, value, to.dtype) : asc_cast(run, value, to.dtype);
    if (asc_is_contiguous(to))
        memcpy(to.data, made.data, (size_t)asc_elements(to) * asc_dtype_bytes(to.dtype));
    else
        scatter(to, made.data);
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

/* ---- views --------------------------------------------------------------------------------------------------- */

int64_t asc_axis(asc_run *run, int64_t axis, int rank) {
    int64_t n = rank ? rank : 1;
    ASC_STOP_UNLESS(run, axis >= -n && axis < n, "axis %lld of a tensor with %d", (long long)axis, rank);
    return axis < 0 ? axis + n : axis;
}

tensor asc_reshape(asc_run *run, tensor t, int rank, const int64_t *dims) {
    int64_t n = asc_elements(t);
    if (!asc_is_contiguous(t)) t = asc_cast(run, t, t.dtype);
    t.rank = rank;
    memmove(t.dims, dims, (size_t)rank * sizeof *dims);
    set_strides(&t);
    ASC_STOP_UNLESS(run, asc_elements(t) == n, "%lld elements don't fit %lld", (long long)n,
                    (long long)asc_elements(t));
    return t;
}

tensor asc_flat(asc_run *run, tensor t) {
    int64_t n = asc_elements(t);
    return asc_reshape(run, t, 1, &n);
}

tensor asc_swap(tensor t, int a, int b) {
    int64_t dim = t.dims[a], stride = t.strides[a];
    t.dims[a] = t.dims[b];
    t.strides[a] = t.strides[b];
    t.dims[b] = dim;
    t.strides[b] = stride;
    return t;
}

tensor asc_narrow(tensor t, int axis, int64_t start, int64_t length) {
    t.data = (char *)t.data + start * t.strides[axis] * (int64_t)asc_dtype_bytes(t.dtype);
    t.dims[axis] = length;
    return t;
}

tensor asc_select(tensor t, int axis, int64_t index) {
    t = asc_narrow(t, axis, index, 1);
    size_t behind = (size_t)(t.rank - axis - 1) * sizeof *t.dims;
    memmove(t.dims + axis, t.dims + axis + 1, behind);
    memmove(t.strides + axis, t.strides + axis + 1, behind);
    t.rank--;
    return t;
}

tensor asc_unsqueeze(tensor t, int axis) {
    size_t behind = (size_t)(t.rank - axis) * sizeof *t.dims;
    memmove(t.dims + axis + 1, t.dims + axis, behind);
    memmove(t.strides + axis + 1, t.strides + axis, behind);
    t.dims[axis] = 1;
    t.strides[axis] = axis < t.rank ? t.dims[axis + 1] * t.strides[axis + 1] : 1;
    t.rank++;
    return t;
}

tensor asc_expand(asc_run *run, tensor t, int rank, const int64_t *dims) {
    tensor made = {.data = t.data, .dtype = t.dtype, .rank = rank};
    ASC_STOP_UNLESS(run, t.rank <= rank, "a tensor of %d axes doesn't broadcast to %d", t.rank, rank);
    for (int i = 0; i < rank; i++) {
        int k = i - (rank - t.rank);
        made.dims[i] = dims[i];
        if (k < 0 || (t.dims[k] == 1 && dims[i] != 1)) continue;
        ASC_STOP_UNLESS(run, t.dims[k] == dims[i], "an axis of %lld doesn't broadcast to %lld", (long long)t.dims[k],
                        (long long)dims[i]);
        made.strides[i] = t.strides[k];
    }
    return made;
}
