/* tensor.c - tensors of a run: made, viewed, and written in their strides. */
#include <string.h>

#include "operator.h"

int64_t asc_elements(tensor t) {
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++) n *= t.dims[i];
    return n;
}

void asc_set_strides(tensor *t) {
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
    asc_set_strides(&t);
    t.data = asc_bytes(run, bytes);
    return t;
}

tensor asc_like(asc_run *run, tensor t, int32_t dtype) {
    return asc_new(run, dtype, t.rank, t.dims);
}

/* ---- written ------------------------------------------------------------------------------------------------- */

#define SCATTER(type)                                                                 \
    static void scatter_##type(type *to, const type *from, int64_t n, int64_t step) { \
        for (int64_t i = 0; i < n; i++) to[i * step] = from[i];                       \
    }
SCATTER(uint8_t)
SCATTER(uint16_t)
SCATTER(uint32_t)
SCATTER(uint64_t)

void asc_write(tensor to, tensor value) {
    const char *from = value.data;
    size_t bytes = asc_dtype_bytes(to.dtype);
    int64_t index[ASC_MAX_RANK] = {0}, rows = 1, last = to.rank - 1, length = to.rank ? to.dims[last] : 1;
    int64_t step = to.rank ? to.strides[last] : 1, offset = 0;
    for (int i = 0; i < last; i++) rows *= to.dims[i];
    if (asc_elements(to) == 0) return;
    if (asc_is_contiguous(to)) {
        memcpy(to.data, from, (size_t)asc_elements(to) * bytes);
        return;
    }
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

bool asc_has_at(const asc_run *run, int i) {
    return i >= 0 && asc_given_at(run, i) &&
           (!strchr("TORLM", asc_arg(run, i)->kind) || asc_elements(asc_arg(run, i)->tensors[0]));
}

/* ---- views --------------------------------------------------------------------------------------------------- */

int64_t asc_axis(asc_run *run, int64_t axis, int rank) {
    int64_t n = rank ? rank : 1;
    ASC_STOP_UNLESS(run, axis >= -n && axis < n, "axis %lld of a tensor with %d", (long long)axis, rank);
    return axis < 0 ? axis + n : axis;
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
