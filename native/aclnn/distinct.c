/* distinct.c - neighbours that are equal become one, and whole slices of an axis that are. */
#include <string.h>

#include "operator.h"

enum { NO_AXIS = 1000 }; /* what torch_npu gives for none */

/* Contiguous, with the axis in front, as rows; one row for each element without an axis. */
static tensor rows_along(asc_run *run, tensor x, int64_t axis, size_t *bytes) {
    if (axis == NO_AXIS) {
        x = asc_flat(run, asc_cast(run, x, x.dtype));
    } else {
        int at = (int)asc_axis(run, axis, x.rank);
        for (; at > 0; at--) x = asc_swap(x, at, at - 1); /* the order of the others stays */
        x = asc_copy(run, x, x.dtype);
    }
    *bytes = (x.dims[0] ? (size_t)(asc_elements(x) / x.dims[0]) : 0) * asc_dtype_bytes(x.dtype);
    return x;
}

/* Rows as they came back, the axis where it was. */
static void put_rows(asc_run *run, int i, tensor rows, int64_t axis) {
    if (axis != NO_AXIS)
        for (int at = 0, to = (int)asc_axis(run, axis, rows.rank); at < to; at++) rows = asc_swap(rows, at, at + 1);
    asc_put_sized(run, i, asc_copy(run, rows, rows.dtype));
}

/* The distinct rows of x in the order `order` (or their own), where each row went, and how many went there. */
static void put_distinct(asc_run *run, tensor x, size_t bytes, const int64_t *order, int64_t axis, int out, bool where,
                         bool often) {
    int64_t n = x.dims[0], distinct = 0;
    tensor made = asc_like(run, x, x.dtype), inverse = asc_new(run, ASC_INT64, 1, &n),
           counts = asc_like(run, inverse, ASC_INT64);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = order ? order[i] : i;
        const char *from = (const char *)x.data + (size_t)row * bytes,
                   *last = (char *)made.data + (size_t)(distinct - 1) * bytes;
        if (!i || memcmp(from, last, bytes) != 0) {
            memcpy((char *)made.data + (size_t)distinct * bytes, from, bytes);
            ((int64_t *)counts.data)[distinct++] = 0;
        }
        ((int64_t *)counts.data)[distinct - 1]++;
        ((int64_t *)inverse.data)[row] = distinct - 1;
    }
    put_rows(run, out, asc_narrow(made, 0, 0, distinct), axis);
    tensor self = asc_in(run, 0);
    if (where && asc_given_at(run, out + 1))
        asc_put_sized(run, out + 1, axis == NO_AXIS ? asc_reshape(run, inverse, self.rank, self.dims) : inverse);
    if (often && asc_given_at(run, out + 2)) asc_put_sized(run, out + 2, asc_narrow(counts, 0, 0, distinct));
}

/* self, returnInverse, returnCounts, dim, values, inverse, counts. */
void asc_op_unique_neighbours(asc_run *run) {
    size_t bytes;
    int64_t axis = asc_int(run, 3);
    tensor x = rows_along(run, asc_in(run, 0), axis, &bytes);
    put_distinct(run, x, bytes, NULL, axis, 4, asc_int(run, 1), asc_int(run, 2));
}

/* Rows in order, merged from halves: places a and b are compared by their numbers, the first column first. */
static void sort_rows(const double *x, int64_t width, int64_t *order, int64_t *room, int64_t n) {
    if (n < 2) return;
    int64_t half = n / 2, i = 0, j = half, k = 0;
    sort_rows(x, width, order, room, half);
    sort_rows(x, width, order + half, room, n - half);
    while (i < half && j < n) {
        const double *a = x + order[i] * width, *b = x + order[j] * width;
        int64_t c = 0;
        while (c < width && a[c] == b[c]) c++;
        room[k++] = c < width && b[c] < a[c] ? order[j++] : order[i++];
    }
    while (i < half) room[k++] = order[i++];
    while (j < n) room[k++] = order[j++];
    memcpy(order, room, (size_t)n * sizeof *order);
}

/* self, sorted, returnInverse, dim, values, inverse, counts. */
void asc_op_unique_slices(asc_run *run) {
    size_t bytes;
    int64_t axis = asc_int(run, 3);
    tensor x = rows_along(run, asc_in(run, 0), axis, &bytes), numbers = asc_cast(run, x, ASC_FLOAT64);
    int64_t n = x.dims[0], *order = asc_bytes(run, 2 * (size_t)(n + 1) * sizeof *order);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    sort_rows(numbers.data, n ? asc_elements(x) / n : 0, order, order + n, n);
    put_distinct(run, x, bytes, order, axis, 4, asc_int(run, 2), true);
}
