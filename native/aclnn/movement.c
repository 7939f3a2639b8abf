/* movement.c - operators that place elements: joined, repeated, cut, padded, permuted, and sequences made anew. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* tensors, dim, out: behind each other; a tensor without elements and of one axis adds nothing. */
void asc_op_cat(asc_run *run) {
    const asc_argument *in = asc_arg(run, 0);
    tensor to = asc_in(run, 2);
    int axis = (int)asc_axis(run, asc_int(run, 1), to.rank);
    ASC_STOP_UNLESS(run, to.rank > 0, "single numbers are not joined");
    int64_t start = 0;
    for (int k = 0; k < in->count; k++) {
        tensor t = in->tensors[k];
        if (t.rank == 1 && t.dims[0] == 0) continue;
        ASC_STOP_UNLESS(run, t.rank == to.rank && start + t.dims[axis] <= to.dims[axis],
                        "tensor %d does not fit the others", k);
        asc_store(run, asc_narrow(to, axis, start, t.dims[axis]), t);
        start += t.dims[axis];
    }
}

/* tensors, dim, out: side by side along a new axis. */
void asc_op_stack(asc_run *run) {
    const asc_argument *in = asc_arg(run, 0);
    tensor to = asc_in(run, 2);
    int axis = (int)asc_axis(run, asc_int(run, 1), to.rank);
    ASC_STOP_UNLESS(run, to.dims[axis] == in->count, "%d tensors don't fill an axis of %lld", in->count,
                    (long long)to.dims[axis]);
    for (int k = 0; k < in->count; k++) asc_store(run, asc_select(to, axis, k), in->tensors[k]);
}

/* self, sizes, dim, outputs. */
void asc_op_split(asc_run *run) {
    tensor x = asc_in(run, 0);
    const asc_argument *out = asc_arg(run, 3);
    int axis = (int)asc_axis(run, asc_int(run, 2), x.rank);
    int64_t start = 0;
    for (int k = 0; k < out->count; k++) {
        ASC_STOP_UNLESS(run, out->tensors[k].rank == x.rank, "piece %d has %d axes, not %d", k, out->tensors[k].rank,
                        x.rank);
        int64_t length = out->tensors[k].dims[axis];
        ASC_STOP_UNLESS(run, start + length <= x.dims[axis], "the pieces are more than the axis has");
        asc_store(run, out->tensors[k], asc_narrow(x, axis, start, length));
        start += length;
    }
}

/* self, dim, start, end, step, out: places from the end where they are negative, and no further than the axis. */
void asc_op_slice(asc_run *run) {
    tensor x = asc_in(run, 0);
    int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
    ASC_STOP_UNLESS(run, x.rank > 0 && asc_int(run, 4) > 0, "a slice takes steps forward along an axis");
    int64_t n = x.dims[axis], step = asc_int(run, 4), ends[2];
    for (int i = 0; i < 2; i++) {
        int64_t end = asc_int(run, 2 + i) + (asc_int(run, 2 + i) < 0 ? n : 0);
        ends[i] = end < 0 ? 0 : end > n ? n : end;
    }
    x = asc_narrow(x, axis, ends[0], ends[1] > ends[0] ? (ends[1] - ends[0] - 1) / step + 1 : 0);
    x.strides[axis] *= step;
    asc_put(run, 5, asc_cast(run, x, x.dtype));
}

/* self, repeats, out. */
void asc_op_repeat(asc_run *run) {
    tensor x = asc_in(run, 0), to = asc_in(run, 2);
    const asc_argument *repeats = asc_arg(run, 1);
    while (x.rank < to.rank) x = asc_unsqueeze(x, 0);
    ASC_STOP_UNLESS(run, repeats->count == to.rank, "%d repeats for %d axes", repeats->count, to.rank);
    for (int i = to.rank - 1; i >= 0; i--) {
        if (repeats->ints[i] == 1) continue;
        int64_t dims[ASC_MAX_RANK], length = x.dims[i];
        memcpy(dims, x.dims, sizeof dims);
        dims[i] *= repeats->ints[i];
        tensor made = asc_new(run, x.dtype, x.rank, dims);
        for (int64_t k = 0; k < repeats->ints[i]; k++) asc_store(run, asc_narrow(made, i, k * length, length), x);
        x = made;
    }
    asc_put(run, 2, x);
}

/* self, pad, value, out: pads from the last axis on, before and behind. */
void asc_op_constant_pad(asc_run *run) {
    tensor x = asc_in(run, 0), to = asc_in(run, 3);
    const asc_argument *pad = asc_arg(run, 1);
    double value = asc_float(run, 2);
    asc_fill(run, to, value);
    for (int i = 0; i < pad->count / 2; i++) {
        int axis = x.rank - 1 - i;
        int64_t before = pad->ints[2 * i], behind = pad->ints[2 * i + 1];
        ASC_STOP_UNLESS(run, axis >= 0, "more pads than axes");
        x = asc_narrow(x, axis, before < 0 ? -before : 0,
                       x.dims[axis] + (before < 0 ? before : 0) + (behind < 0 ? behind : 0));
        to = asc_narrow(to, axis, before > 0 ? before : 0, x.dims[axis]);
    }
    asc_store(run, to, x);
}

/* self, dims, out. */
void asc_op_flip(asc_run *run) {
    tensor x = asc_in(run, 0);
    const asc_argument *dims = asc_arg(run, 1);
    for (int k = 0; k < dims->count; k++) {
        int axis = (int)asc_axis(run, dims->ints[k], x.rank);
        tensor made = asc_like(run, x, x.dtype);
        int64_t n = x.rank ? x.dims[axis] : 0;
        for (int64_t i = 0; i < n; i++) asc_store(run, asc_select(made, axis, n - 1 - i), asc_select(x, axis, i));
        if (x.rank) x = made;
    }
    asc_put(run, 2, x);
}

/* self, shifts, dims, out. */
void asc_op_roll(asc_run *run) {
    tensor x = asc_in(run, 0);
    const asc_argument *shifts = asc_arg(run, 1), *dims = asc_arg(run, 2);
    bool flat = dims->count <= 0;
    if (flat) x = asc_flat(run, x);
    for (int k = 0; k < shifts->count && asc_elements(x); k++) {
        int axis = flat ? 0 : (int)asc_axis(run, dims->ints[k], x.rank);
        int64_t n = x.dims[axis], shift = (shifts->ints[k] % n + n) % n;
        tensor made = asc_like(run, x, x.dtype);
        asc_store(run, asc_narrow(made, axis, shift, n - shift), asc_narrow(x, axis, 0, n - shift));
        asc_store(run, asc_narrow(made, axis, 0, shift), asc_narrow(x, axis, n - shift, shift));
        x = made;
    }
    asc_put(run, 3, x);
}

/* self, dims, out. */
void asc_op_permute(asc_run *run) {
    tensor x = asc_in(run, 0), permuted = x;
    const asc_argument *dims = asc_arg(run, 1);
    ASC_STOP_UNLESS(run, dims->count == x.rank, "%d dims for %d axes", dims->count, x.rank);
    for (int i = 0; i < x.rank; i++) {
        int axis = (int)asc_axis(run, dims->ints[i], x.rank);
        permuted.dims[i] = x.dims[axis];
        permuted.strides[i] = x.strides[axis];
    }
    asc_store(run, asc_in(run, 2), permuted);
}

/* self, diagonal, then the output unless it is self. */
static void triangle(asc_run *run, bool upper, int out) {
    tensor x = asc_in(run, 0), to = asc_in(run, out);
    ASC_STOP_UNLESS(run, x.rank >= 2, "a triangle of %d axes", x.rank);
    x = asc_cast(run, x, to.dtype);
    tensor made = asc_like(run, x, x.dtype);
    if (asc_elements(x))
        asc_call_kernel(run, "trilu", 1, &x, 1, &made, 2, (int64_t[]){upper, asc_int(run, 1)}, 0, NULL);
    asc_store(run, to, made);
}

void asc_op_triangle(asc_run *run, int upper) {
    triangle(run, upper, asc_arg(run, 0)->kind == 'R' ? 0 : 2);
}

/* self, index count of equal pieces .. each element, or row of an axis, as often as `repeats` says. */
static void repeat_each(asc_run *run, tensor x, int axis, const int64_t *repeats, int64_t n, tensor to) {
    int64_t at = 0;
    for (int64_t i = 0; i < x.dims[axis]; i++) {
        int64_t times = repeats[n == 1 ? 0 : i];
        ASC_STOP_UNLESS(run, times >= 0 && at + times <= to.dims[axis], "more repeats than the output has room for");
        for (int64_t k = 0; k < times; k++) asc_store(run, asc_select(to, axis, at++), asc_select(x, axis, i));
    }
}

/* self, repeats (a tensor or a number), perhaps dim, outputSize, out. */
void asc_op_repeat_interleave(asc_run *run, int has_axis) {
    int out = has_axis ? 4 : 3;
    tensor x = asc_in(run, 0), to = asc_in(run, out);
    if (!has_axis) x = asc_flat(run, x);
    int axis = has_axis ? (int)asc_axis(run, asc_int(run, 2), x.rank) : 0;
    int64_t once = asc_int(run, 1);
    if (asc_arg(run, 1)->kind == 'T') {
        tensor repeats = asc_of(run, 1, ASC_INT64);
        repeat_each(run, x, axis, repeats.data, asc_elements(repeats), to);
    } else {
        repeat_each(run, x, axis, &once, 1, to);
    }
}

/* yGrad, repeats (one for each piece of out, or one for all), axis, out: the sum of what came from a piece. */
void asc_op_repeat_interleave_grad(asc_run *run) {
    int32_t type = asc_in(run, 0).dtype == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    tensor g = asc_of(run, 0, type), repeats = asc_of(run, 1, ASC_INT64), made = asc_like(run, asc_in(run, 3), type);
    int64_t axis = asc_axis(run, asc_int(run, 2), g.rank), at = 0, n = asc_elements(repeats);
    ASC_STOP_UNLESS(run, made.rank == g.rank && (n == 1 || n == made.dims[axis]),
                    "a number of repeats for each piece is needed, or one for all");
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < made.dims[axis]; i++) {
        int64_t times = ((int64_t *)repeats.data)[n == 1 ? 0 : i];
        ASC_STOP_UNLESS(run, times >= 0 && times <= g.dims[axis] - at, "more repeats than the gradient has pieces");
        if (times && asc_elements(g))
            asc_store(run, asc_narrow(made, (int)axis, i, 1),
                      asc_reduce_axes(run, ASC_REDUCE_SUM, asc_narrow(g, (int)axis, at, times), 1, &axis));
        at += times;
    }
    ASC_STOP_UNLESS(run, at == g.dims[axis], "fewer repeats than the gradient has pieces");
    asc_put(run, 3, made);
}

/* ---- sequences ------------------------------------------------------------------------------------------------ */

/* start, end, step, out. */
void asc_op_arange(asc_run *run) {
    tensor to = asc_in(run, 3);
    asc_number start = asc_arg(run, 0)->numbers[0], step = asc_arg(run, 2)->numbers[0];
    bool whole = !asc_is_float(start.dtype) && !asc_is_float(step.dtype);
    tensor made = asc_new(run, whole ? ASC_INT64 : ASC_FLOAT64, to.rank, to.dims);
    for (int64_t i = 0; i < asc_elements(to); i++) {
        if (whole)
            ((int64_t *)made.data)[i] = start.i + i * step.i;
        else
            ((double *)made.data)[i] = start.d + (double)i * step.d;
    }
    asc_put(run, 3, made);
}

/* start, end, steps, out. */
void asc_op_linspace(asc_run *run) {
    tensor to = asc_in(run, 3), made = asc_new(run, ASC_FLOAT64, to.rank, to.dims);
    double start = asc_float(run, 0), end = asc_float(run, 1);
    int64_t n = asc_elements(to);
    double step = n > 1 ? (end - start) / (double)(n - 1) : 0;
    for (int64_t i = 0; i < n; i++)
        ((double *)made.data)[i] = 2 * i < n ? start + (double)i * step : end - (double)(n - 1 - i) * step;
    asc_put(run, 3, made);
}

/* start, end, steps, base, out: powers. */
void asc_op_logspace(asc_run *run) {
    tensor to = asc_in(run, 4), made = asc_new(run, ASC_FLOAT64, to.rank, to.dims);
    double start = asc_float(run, 0), end = asc_float(run, 1), base = asc_float(run, 3);
    int64_t n = asc_elements(to);
    double step = n > 1 ? (end - start) / (double)(n - 1) : 0;
    for (int64_t i = 0; i < n; i++)
        ((double *)made.data)[i] = pow(base, 2 * i < n ? start + (double)i * step : end - (double)(n - 1 - i) * step);
    asc_put(run, 4, made);
}

/* n, m, out. */
void asc_op_eye(asc_run *run) {
    tensor to = asc_in(run, 2), made = asc_new(run, ASC_FLOAT32, to.rank, to.dims);
    ASC_STOP_UNLESS(run, to.rank == 2, "a matrix has two axes, not %d", to.rank);
    for (int64_t i = 0; i < asc_elements(to); i++) ((float *)made.data)[i] = i / to.dims[1] == i % to.dims[1];
    asc_put(run, 2, made);
}
