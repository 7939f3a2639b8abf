/* rearranged.c - pieces of tensors in another order: slices with masks, diagonals, chunks, windows, circles. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* self, starts, ends, axes, steps, out. */
void asc_op_slice_axes(asc_run *run) {
    tensor x = asc_in(run, 0);
    const asc_argument *starts = asc_arg(run, 1), *ends = asc_arg(run, 2), *axes = asc_arg(run, 3),
                       *steps = asc_arg(run, 4);
    ASC_STOP_UNLESS(run, starts->count == ends->count && starts->count == axes->count && starts->count == steps->count,
                    "%d starts, %d ends, %d axes, %d steps", starts->count, ends->count, axes->count, steps->count);
    for (int i = 0; i < starts->count; i++) {
        int axis = (int)asc_axis(run, axes->ints[i], x.rank);
        int64_t n = x.dims[axis], first = starts->ints[i], end = ends->ints[i], step = steps->ints[i];
        ASC_STOP_UNLESS(run, step > 0, "a step of %lld", (long long)step);
        if (first < 0) first = first + n < 0 ? 0 : first + n;
        if (end < 0) end += n;
        if (first > n) first = n;
        if (end > n) end = n;
        x = asc_narrow(x, axis, first, end > first ? (end - first + step - 1) / step : 0);
        x.strides[axis] *= step;
    }
    asc_store(run, asc_in(run, 5), x);
}

/* What masks of TensorFlow's strided slices say of entry k. */
static bool bit(const asc_run *run, int mask, int k) {
    return asc_int(run, mask) >> k & 1;
}

/* One axis of a strided slice: where it begins, how many, how far apart. */
static tensor sliced(asc_run *run, tensor x, int axis, int k) {
    int64_t n = x.dims[axis], step = asc_arg(run, 3)->ints[k], first = asc_arg(run, 1)->ints[k],
            end = asc_arg(run, 2)->ints[k];
    ASC_STOP_UNLESS(run, step != 0, "a step of 0");
    if (bit(run, 8, k)) { /* one element, whose axis goes */
        first += first < 0 ? n : 0;
        ASC_STOP_UNLESS(run, first >= 0 && first < n, "index %lld of %lld", (long long)first, (long long)n);
        return asc_select(x, axis, first);
    }
    int64_t least = step > 0 ? 0 : -1, most = step > 0 ? n : n - 1;
    first += first < 0 ? n : 0;
    end += end < 0 ? n : 0;
    if (bit(run, 4, k)) first = step > 0 ? 0 : n - 1;
    if (bit(run, 5, k)) end = step > 0 ? n : -1;
    first = first < least ? least : first > most ? most : first;
    end = end < least ? least : end > most ? most : end;
    int64_t count = step > 0 ? (end - first + step - 1) / step : (first - end - step - 1) / -step;
    if (count <= 0) return asc_narrow(x, axis, 0, 0);
    x.data = (char *)x.data + first * x.strides[axis] * (int64_t)asc_dtype_bytes(x.dtype);
    x.dims[axis] = count;
    x.strides[axis] *= step;
    return x;
}

/* self, begin, end, strides, masks: begin, end, ellipsis, new axes, axes that go; out. */
void asc_op_strided_slice(asc_run *run) {
    tensor x = asc_in(run, 0);
    const asc_argument *begin = asc_arg(run, 1);
    int n = begin->count, axis = 0;
    ASC_STOP_UNLESS(run, n == asc_arg(run, 2)->count && n == asc_arg(run, 3)->count, "%d begins, %d ends, %d strides",
                    n, asc_arg(run, 2)->count, asc_arg(run, 3)->count);
    for (int k = 0; k < n; k++) {
        if (bit(run, 6, k)) {
            int left = 0; /* entries behind it that take an axis */
            for (int j = k + 1; j < n; j++) left += !bit(run, 7, j);
            axis = x.rank - left;
        } else if (bit(run, 7, k)) {
            x = asc_unsqueeze(x, axis++);
        } else {
            ASC_STOP_UNLESS(run, axis < x.rank, "more entries than axes");
            int before = x.rank;
            x = sliced(run, x, axis, k);
            axis += x.rank == before;
        }
    }
    asc_store(run, asc_in(run, 9), asc_copy(run, x, x.dtype));
}

/* self, sections (a length), dim, outputs. */
void asc_op_split_evenly(asc_run *run) {
    tensor x = asc_in(run, 0);
    const asc_argument *to = asc_arg(run, 3);
    int axis = (int)asc_axis(run, asc_int(run, 2), x.rank);
    int64_t each = asc_int(run, 1), at = 0;
    for (int k = 0; k < to->count; k++) {
        int64_t length = x.dims[axis] - at < each ? x.dims[axis] - at : each;
        ASC_STOP_UNLESS(run, length >= 0, "%d pieces of %lld are more than there is", to->count, (long long)each);
        asc_store(run, to->tensors[k], asc_narrow(x, axis, at, length));
        at += length;
    }
}

/* A view of the diagonal of two axes, the last ones, `offset` to the right. */
static tensor diagonal_of(tensor x, int64_t offset) {
    int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
    int64_t rows = x.dims[x.rank - 2] - down, columns = x.dims[x.rank - 1] - right;
    int64_t length = rows < columns ? rows : columns;
    x.data = (char *)x.data +
             (down * x.strides[x.rank - 2] + right * x.strides[x.rank - 1]) * (int64_t)asc_dtype_bytes(x.dtype);
    x.strides[x.rank - 2] += x.strides[x.rank - 1];
    x.dims[x.rank - 2] = length < 0 ? 0 : length;
    x.rank--;
    return x;
}

/* A matrix with x on its diagonal. */
static void put_on_diagonal(asc_run *run, tensor x, int64_t offset, int out) {
    tensor to = asc_in(run, out), line;
    ASC_STOP_UNLESS(run, to.rank == 2, "the output has %d axes, not 2", to.rank);
    asc_fill(run, to, 0);
    line = diagonal_of(to, offset);
    ASC_STOP_UNLESS(run, line.dims[0] == asc_elements(x), "a diagonal of %lld for %lld elements",
                    (long long)line.dims[0], (long long)asc_elements(x));
    asc_store(run, line, asc_flat(run, asc_cast(run, x, x.dtype)));
}

/* self, diagonal, out: of a vector a matrix, of a matrix its diagonal. */
void asc_op_diagonal(asc_run *run) {
    tensor x = asc_in(run, 0);
    ASC_STOP_UNLESS(run, x.rank == 1 || x.rank == 2, "a diagonal of %d axes", x.rank);
    if (x.rank == 1)
        put_on_diagonal(run, x, asc_int(run, 1), 2);
    else
        asc_store(run, asc_in(run, 2), diagonal_of(x, asc_int(run, 1)));
}

/* The same, of all elements in turn. */
void asc_op_flat_diagonal(asc_run *run) {
    put_on_diagonal(run, asc_in(run, 0), asc_int(run, 1), 2);
}

/* self, then something that the dims of the output have, out. */
void asc_op_reshaped(asc_run *run, int out) {
    tensor x = asc_in(run, 0), to = asc_in(run, out);
    ASC_STOP_UNLESS(run, asc_elements(x) == asc_elements(to), "%lld elements for %lld", (long long)asc_elements(x),
                    (long long)asc_elements(to));
    asc_store(run, to, asc_reshape(run, asc_cast(run, x, x.dtype), to.rank, to.dims));
}

static tensor permuted(asc_run *run, tensor x, const asc_argument *order) {
    tensor made = x;
    ASC_STOP_UNLESS(run, order->count == x.rank, "%d axes in order for %d", order->count, x.rank);
    for (int i = 0; i < x.rank; i++) {
        int axis = (int)asc_axis(run, order->ints[i], x.rank);
        made.dims[i] = x.dims[axis];
        made.strides[i] = x.strides[axis];
    }
    return made;
}

/* x, order of axes, shape, whether the order comes first, out. */
void asc_op_permute_and_reshape(asc_run *run) {
    tensor x = asc_in(run, 0), to = asc_in(run, 4);
    const asc_argument *shape = asc_arg(run, 2);
    if (asc_int(run, 3)) {
        x = permuted(run, x, asc_arg(run, 1));
        x = asc_copy(run, x, x.dtype);
    } else {
        int64_t n = 1;
        for (int i = 0; i < shape->count; i++) n *= shape->ints[i];
        ASC_STOP_UNLESS(run, n == asc_elements(x) && shape->count <= ASC_MAX_RANK, "a shape of %lld elements for %lld",
                        (long long)n, (long long)asc_elements(x));
        x = permuted(run, asc_reshape(run, asc_cast(run, x, x.dtype), shape->count, shape->ints), asc_arg(run, 1));
        x = asc_copy(run, x, x.dtype);
    }
    ASC_STOP_UNLESS(run, asc_elements(x) == asc_elements(to), "the output has another number of elements");
    asc_store(run, to, asc_reshape(run, x, to.rank, to.dims));
}

/* self, groups, out: channels of groups in turn. */
void asc_op_shuffle_channels(asc_run *run) {
    tensor x = asc_in(run, 0), to = asc_in(run, 2);
    int64_t groups = asc_int(run, 1);
    ASC_STOP_UNLESS(run, x.rank >= 2 && groups > 0 && x.dims[1] % groups == 0, "%lld channels are not in %lld groups",
                    (long long)(x.rank < 2 ? 0 : x.dims[1]), (long long)groups);
    int64_t each = x.dims[1] / groups, rest = 1;
    for (int i = 2; i < x.rank; i++) rest *= x.dims[i];
    tensor parts = asc_reshape(run, asc_cast(run, x, x.dtype), 4, (int64_t[]){x.dims[0], groups, each, rest});
    parts = asc_copy(run, asc_swap(parts, 1, 2), x.dtype);
    asc_store(run, to, asc_reshape(run, parts, to.rank, to.dims));
}

/* tensors, dim, number of chunks, out: each in chunks of equal size, with zeros behind, side by side. */
void asc_op_chunk_and_join(asc_run *run) {
    const asc_argument *list = asc_arg(run, 0);
    tensor to = asc_in(run, 3);
    int64_t chunks = asc_int(run, 2), at = 0;
    asc_fill(run, to, 0);
    for (int k = 0; k < list->count; k++) {
        tensor x = list->tensors[k];
        int axis = (int)asc_axis(run, asc_int(run, 1), x.rank);
        ASC_STOP_UNLESS(run, chunks > 0 && to.rank == axis + 2 && to.dims[axis] == chunks,
                        "the output has no %lld chunks of one axis each", (long long)chunks);
        int64_t each = (x.dims[axis] + chunks - 1) / chunks, rest = 1;
        for (int i = axis + 1; i < x.rank; i++) rest *= x.dims[i];
        ASC_STOP_UNLESS(run, at + each * rest <= to.dims[axis + 1], "chunks of tensor %d are beyond the output", k);
        for (int64_t c = 0; c < chunks && c * each < x.dims[axis]; c++) {
            int64_t length = x.dims[axis] - c * each < each ? x.dims[axis] - c * each : each;
            tensor part = asc_narrow(x, axis, c * each, length),
                   place = asc_narrow(asc_select(to, axis, c), axis, at, length * rest);
            part = asc_copy(run, part, x.dtype);
            asc_store(run, place, asc_reshape(run, part, place.rank, place.dims));
        }
        at += each * rest;
    }
}

/* gradOut, sizes of the input, dim, size, step, gradIn: sums of what windows gave. */
void asc_op_unfold_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), to = asc_in(run, 5), made = asc_like(run, to, ASC_FLOAT32);
    int axis = (int)asc_axis(run, asc_int(run, 2), to.rank), last = g.rank - 1;
    int64_t size = asc_int(run, 3), step = asc_int(run, 4);
    ASC_STOP_UNLESS(run, g.rank == to.rank + (to.rank > 0) && g.dims[last] == size && step > 0,
                    "the gradient has %d axes, the last of %lld", g.rank, (long long)(g.rank ? g.dims[last] : 0));
    asc_fill(run, made, 0);
    for (int64_t w = 0; w < g.dims[axis]; w++) {
        tensor window = asc_select(g, axis, w); /* [.., size], whose last axis belongs at `axis` */
        tensor place = asc_narrow(made, axis, w * step, size);
        for (int i = window.rank - 1; i > axis; i--) window = asc_swap(window, i, i - 1);
        asc_store(run, place, ASC_COMPUTE(run, ASC_FLOAT32, "a + b", place, window));
    }
    asc_put(run, 5, made);
}

/* ---- circles: what lies beyond an edge is what lies behind the other one ------------------------------------- */

/* self (or gradOut, self), padding of the last axes first, out. */
static void circle(asc_run *run, bool backward) {
    const asc_argument *pads = asc_arg(run, backward ? 2 : 1);
    tensor small = asc_in(run, backward ? 1 : 0), x = backward ? asc_f32(run, 0) : small;
    for (int axis = small.rank - 1, k = 0; 2 * k + 1 < pads->count && axis >= 0; axis--, k++) {
        int64_t before = pads->ints[2 * k], n = small.dims[axis], whole = n + before + pads->ints[2 * k + 1];
        ASC_STOP_UNLESS(run, n > 0 && whole >= 0, "a circle of %lld elements", (long long)n);
        tensor made = x;
        made.dims[axis] = backward ? n : whole;
        made = asc_like(run, made, x.dtype);
        if (backward) asc_fill(run, made, 0);
        for (int64_t i = 0; i < whole; i++) {
            int64_t from = ((i - before) % n + n) % n;
            tensor a = asc_select(x, axis, backward ? i : from), b = asc_select(made, axis, backward ? from : i);
            asc_store(run, b, backward ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", b, a) : a);
        }
        x = made;
    }
    asc_put(run, backward ? 3 : 2, x);
}

void asc_op_circular_pad(asc_run *run) {
    circle(run, false);
}

void asc_op_circular_pad_backward(asc_run *run) {
    circle(run, true);
}
