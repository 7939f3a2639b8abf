/* rows.c - rows of a tensor by their numbers: taken, and changed by what comes for them. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* How many elements lie behind the first `axes`. */
static int64_t width_of(tensor t, int axes) {
    int64_t n = 1;
    for (int i = axes; i < t.rank; i++) n *= t.dims[i];
    return n;
}

/* self, indices, whether negative ones count from behind, out: the last axis of indices names elements or slices. */
void asc_op_gather_nd(asc_run *run) {
    tensor x = asc_in(run, 0), index = asc_of(run, 1, ASC_INT64), to = asc_in(run, 3);
    ASC_STOP_UNLESS(run, index.rank >= 1 && index.dims[index.rank - 1] <= x.rank, "indices of %lld axes of %d",
                    (long long)(index.rank ? index.dims[index.rank - 1] : 0), x.rank);
    x = asc_cast(run, x, x.dtype);
    int64_t depth = index.dims[index.rank - 1], n = depth ? asc_elements(index) / depth : 0;
    int64_t width = width_of(x, (int)depth);
    ASC_STOP_UNLESS(run, n * width == asc_elements(to), "%lld elements are taken for %lld", (long long)(n * width),
                    (long long)asc_elements(to));
    tensor made = asc_like(run, to, x.dtype);
    size_t bytes = asc_dtype_bytes(x.dtype) * (size_t)width;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t place = ((const int64_t *)index.data)[i * depth + k];
            if (asc_int(run, 2) && place < 0) place += x.dims[k];
            ASC_STOP_UNLESS(run, place >= 0 && place < x.dims[k], "index %lld of an axis of %lld", (long long)place,
                            (long long)x.dims[k]);
            at = at * x.dims[k] + place;
        }
        memcpy((char *)made.data + (size_t)i * bytes, (const char *)x.data + (size_t)at * bytes, bytes);
    }
    asc_put(run, 3, made);
}

/* self, dim, index, batch axes, mode, out: each batch has its own indices. */
void asc_op_gather_rows_of_batches(asc_run *run) {
    tensor x = asc_in(run, 0), index = asc_of(run, 2, ASC_INT64), to = asc_in(run, 5);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    int64_t batches = asc_int(run, 3);
    ASC_STOP_UNLESS(run, batches >= 0 && batches <= axis && batches <= index.rank, "%lld batch axes before axis %d",
                    (long long)batches, axis);
    x = asc_cast(run, x, x.dtype);
    int64_t outer = 1, middle = 1, n = width_of(index, (int)batches), width = width_of(x, axis + 1),
            length = x.dims[axis];
    for (int i = 0; i < axis; i++) *(i < batches ? &outer : &middle) *= x.dims[i];
    ASC_STOP_UNLESS(run, asc_elements(to) == outer * middle * n * width && outer * n == asc_elements(index),
                    "%lld indices for %lld batches", (long long)asc_elements(index), (long long)outer);
    tensor made = asc_like(run, to, x.dtype);
    size_t bytes = asc_dtype_bytes(x.dtype) * (size_t)width;
    char *at = made.data;
    for (int64_t o = 0; o < outer * middle; o++)
        for (int64_t i = 0; i < n; i++, at += bytes) {
            int64_t row = ((const int64_t *)index.data)[o / (middle ? middle : 1) * n + i];
            row += row < 0 ? length : 0;
            ASC_STOP_UNLESS(run, row >= 0 && row < length, "index %lld of an axis of %lld", (long long)row,
                            (long long)length);
            memcpy(at, (const char *)x.data + (size_t)(o * length + row) * bytes, bytes);
        }
    asc_put(run, 5, made);
}

/* var, indices, updates: rows of var, in turn, become what the formula makes of them and their updates. */
void asc_op_change_rows(asc_run *run, int which) {
    static const char *const formulas[] = {"a + b", "a * b", "a / b", "max(a, b)", "min(a, b)"};
    tensor to = asc_in(run, 0), index = asc_of(run, 1, ASC_INT64), updates = asc_in(run, 2);
    ASC_STOP_UNLESS(run, to.rank >= 1, "a single number has no rows");
    int64_t n = asc_elements(index), width = width_of(to, 1), one = asc_elements(updates) == 1;
    ASC_STOP_UNLESS(run, one || asc_elements(updates) == n * width, "%lld updates for %lld rows of %lld",
                    (long long)asc_elements(updates), (long long)n, (long long)width);
    int32_t type = asc_is_float(to.dtype) ? ASC_FLOAT32 : ASC_INT64;
    const char *formula = type == ASC_INT64 && which == 2 ? "trunc(a * 1.0 / b)" : formulas[which];
    tensor held = asc_copy(run, to, type), rows = asc_cast(run, updates, type);
    rows = one ? asc_flat(run, rows) : asc_reshape(run, rows, 2, (int64_t[]){n, width});
    held = asc_reshape(run, held, 2, (int64_t[]){to.dims[0], width});
    for (int64_t i = 0; i < n; i++) {
        int64_t row = ((const int64_t *)index.data)[i];
        ASC_STOP_UNLESS(run, row >= 0 && row < to.dims[0], "row %lld of %lld", (long long)row, (long long)to.dims[0]);
        tensor place = asc_select(held, 0, row);
        asc_store(run, place, ASC_COMPUTE(run, type, formula, place, one ? rows : asc_select(rows, 0, i)));
    }
    asc_put(run, 0, held);
}

/* self, indices, largest norm, order of the norm: rows that are named and longer become as long. */
void asc_op_shorten_rows(asc_run *run) {
    tensor x = asc_in(run, 0), index = asc_of(run, 1, ASC_INT64);
    double most = asc_float(run, 2), order = asc_float(run, 3);
    ASC_STOP_UNLESS(run, x.rank == 2, "an embedding has two axes, not %d", x.rank);
    bool *done = asc_bytes(run, (size_t)x.dims[0] + 1);
    memset(done, 0, (size_t)x.dims[0] + 1);
    for (int64_t i = 0; i < asc_elements(index); i++) {
        int64_t row = ((const int64_t *)index.data)[i];
        ASC_STOP_UNLESS(run, row >= 0 && row < x.dims[0], "row %lld of %lld", (long long)row, (long long)x.dims[0]);
        if (done[row]) continue;
        done[row] = true;
        tensor place = asc_select(x, 0, row);
        tensor powers = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "pow(abs(a), p)", order, place);
        tensor norm = ASC_COMPUTE_WITH(run, ASC_FLOAT32, "pow(a, p)", 1 / order,
                                       asc_reduce_axes(run, ASC_REDUCE_SUM, powers, 0, NULL));
        asc_store(run, place,
                  ASC_COMPUTE_WITH(run, ASC_FLOAT32, "b > p ? a * p / (b + 0.0000001) : a", most, place, norm));
    }
}
