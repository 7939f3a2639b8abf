/* places.c - values into places that indices, or slices, name. */
#include <string.h>

#include "operator.h"

/* Into `to`, which is contiguous: updates [..., rest] at indices [..., k] of its first k axes. */
static void scatter_nd(asc_run *run, tensor to, int indices_at, int updates_at) {
    tensor index = asc_of(run, indices_at, ASC_INT64), from = asc_in(run, updates_at);
    ASC_STOP_UNLESS(run, index.rank > 0 && index.dims[index.rank - 1] <= to.rank, "indices of %lld of %d axes",
                    (long long)(index.rank ? index.dims[index.rank - 1] : 0), to.rank);
    int64_t k = index.dims[index.rank - 1], n = k ? asc_elements(index) / k : 1, rest = 1;
    for (int64_t i = k; i < to.rank; i++) rest *= to.dims[i];
    ASC_STOP_UNLESS(run, asc_elements(from) == n * rest, "%lld updates for %lld places of %lld",
                    (long long)asc_elements(from), (long long)n, (long long)rest);
    from = asc_cast(run, from, to.dtype);
    size_t bytes = (size_t)rest * asc_dtype_bytes(to.dtype);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int64_t j = 0; j < k; j++) {
            int64_t p = ((const int64_t *)index.data)[i * k + j];
            p += p < 0 ? to.dims[j] : 0;
            ASC_STOP_UNLESS(run, p >= 0 && p < to.dims[j], "index %lld is out of an axis of %lld elements",
                            (long long)p, (long long)to.dims[j]);
            at = at * to.dims[j] + p;
        }
        memcpy((char *)to.data + (size_t)at * bytes, (const char *)from.data + (size_t)i * bytes, bytes);
    }
}

/* data, indices, updates, out. */
void asc_op_scatter_nd(asc_run *run) {
    tensor made = asc_copy(run, asc_in(run, 0), asc_in(run, 0).dtype);
    scatter_nd(run, made, 1, 2);
    asc_put(run, 3, made);
}

/* self (written), indices, updates. */
void asc_op_scatter_nd_update(asc_run *run) {
    tensor made = asc_copy(run, asc_in(run, 0), asc_in(run, 0).dtype);
    scatter_nd(run, made, 1, 2);
    asc_put(run, 0, made);
}

/* self (written), value, begin, end, strides, axes. */
void asc_op_assign_slice(asc_run *run) {
    tensor to = asc_in(run, 0);
    const asc_argument *axes = asc_arg(run, 5), *begin = asc_arg(run, 2);
    int count = begin->count;
    ASC_STOP_UNLESS(run,
                    asc_arg(run, 3)->count == count && asc_arg(run, 4)->count == count &&
                        (axes->count < 1 || axes->count == count) && count <= to.rank,
                    "a slice of %d axes with %d ends", count, asc_arg(run, 3)->count);
    for (int i = 0; i < count; i++) {
        int axis = (int)asc_axis(run, axes->count > 0 ? axes->ints[i] : i, to.rank);
        int64_t n = to.dims[axis], step = asc_arg(run, 4)->ints[i], ends[2];
        ASC_STOP_UNLESS(run, step > 0, "a slice takes steps forward, not %lld", (long long)step);
        for (int k = 0; k < 2; k++) {
            int64_t end = asc_arg(run, 2 + k)->ints[i];
            end += end < 0 ? n : 0;
            ends[k] = end < 0 ? 0 : end > n ? n : end;
        }
        to = asc_narrow(to, axis, ends[0], ends[1] > ends[0] ? (ends[1] - ends[0] - 1) / step + 1 : 0);
        to.strides[axis] *= step;
    }
    asc_store(run, to, asc_in(run, 1));
}

/* self (written), value, whether the diagonal goes on behind the last column. */
void asc_op_fill_diagonal(asc_run *run) {
    tensor x = asc_in(run, 0);
    ASC_STOP_UNLESS(run, x.rank >= 2, "a diagonal is of two axes or more, not %d", x.rank);
    int64_t n = x.dims[0], step = 0;
    for (int i = 0; i < x.rank; i++) {
        ASC_STOP_UNLESS(run, x.rank == 2 || x.dims[i] == x.dims[0], "a tensor of %d axes has equal ones", x.rank);
        n = x.dims[i] < n ? x.dims[i] : n;
        step += x.strides[i];
    }
    bool wrap = asc_int(run, 2) && x.rank == 2 && x.dims[0] > x.dims[1];
    for (int64_t start = 0; start == 0 || (wrap && start < x.dims[0]); start += x.dims[1] + 1) {
        int64_t left = x.dims[0] - start;
        tensor line = {.data = (char *)x.data + start * x.strides[0] * (int64_t)asc_dtype_bytes(x.dtype),
                       .dtype = x.dtype,
                       .rank = 1,
                       .dims = {n < left ? n : left},
                       .strides = {step}};
        asc_store(run, line,
                  asc_evaluate(run, "v", 1, (asc_name[]){{.name = "v", .number = asc_arg(run, 1)->numbers[0]}},
                               &(tensor){.dtype = ASC_FLOAT64}));
    }
}

/* repeats, size, out: each place as often as it is repeated. */
void asc_op_repeated_places(asc_run *run) {
    tensor repeats = asc_of(run, 0, ASC_INT64), to = asc_in(run, 2);
    int64_t n = asc_elements(to), at = 0;
    tensor made = asc_new(run, ASC_INT64, 1, &n);
    for (int64_t i = 0; i < asc_elements(repeats); i++) {
        int64_t often = ((const int64_t *)repeats.data)[i];
        ASC_STOP_UNLESS(run, often >= 0 && at + often <= n, "%lld repeats don't fill %lld places",
                        (long long)(at + often), (long long)n);
        for (int64_t k = 0; k < often; k++) ((int64_t *)made.data)[at++] = i;
    }
    ASC_STOP_UNLESS(run, at == n, "%lld repeats don't fill %lld places", (long long)at, (long long)n);
    asc_put(run, 2, made);
}

/* self (written), places, updates, axis: updates of item i go behind the place that it has along the axis. Places are a
 * number for each item, or an item and its place. */
void asc_op_scatter_update(asc_run *run) {
    tensor to = asc_in(run, 0), at = asc_of(run, 1, ASC_INT64), from = asc_in(run, 2);
    int axis = (int)asc_axis(run, asc_int(run, 3), to.rank), pairs = at.rank == 2;
    int64_t n = at.rank ? at.dims[0] : 0;
    ASC_STOP_UNLESS(
        run, axis > 0 && from.rank == to.rank && (at.rank == 1 || (pairs && at.dims[1] == 2)) && n <= from.dims[0],
        "%lld places along axis %d for %lld updates", (long long)n, axis, (long long)from.dims[0]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t *p = (const int64_t *)at.data + (pairs ? 2 * i : i);
        int64_t item = pairs ? p[0] : i, start = p[pairs], length = from.dims[axis];
        ASC_STOP_UNLESS(run, item >= 0 && item < to.dims[0] && start >= 0 && start + length <= to.dims[axis],
                        "item %lld of %lld, places %lld to %lld of %lld", (long long)item, (long long)to.dims[0],
                        (long long)start, (long long)(start + length), (long long)to.dims[axis]);
        asc_store(run, asc_narrow(asc_select(to, 0, item), axis - 1, start, length), asc_select(from, 0, i));
    }
}
