/* distance.c - what is computed of whole matrices and sequences: traces, inverses, distances, counts, searches. */
#include <math.h>
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* self, other, out: whether all elements, and the dims, are equal. */
void asc_op_equal(asc_run *run) {
    tensor a = asc_in(run, 0), b = asc_in(run, 1), made = asc_new(run, ASC_FLOAT32, 0, NULL);
    bool same = a.rank == b.rank && memcmp(a.dims, b.dims, (size_t)a.rank * sizeof *a.dims) == 0;
    if (same && asc_elements(a)) {
        tensor each = ASC_COMPUTE(run, ASC_BOOL, "a == b", a, b);
        same = memchr(each.data, 0, (size_t)asc_elements(each)) == NULL;
    }
    *(float *)made.data = same;
    asc_put(run, 2, made);
}

/* self, out. */
void asc_op_trace(asc_run *run) {
    tensor x = asc_in(run, 0), diagonal = x;
    ASC_STOP_UNLESS(run, x.rank == 2, "a trace of %d axes", x.rank);
    diagonal.rank = 1;
    diagonal.dims[0] = x.dims[0] < x.dims[1] ? x.dims[0] : x.dims[1];
    diagonal.strides[0] = x.strides[0] + x.strides[1];
    asc_put(run, 1, asc_reduce_axes(run, ASC_REDUCE_SUM, diagonal, 0, NULL));
}

/* Gauss and Jordan with the largest pivot, in place: a becomes garbage, b the inverse. */
static bool invert(double *a, double *b, int64_t n) {
    for (int64_t i = 0; i < n * n; i++) b[i] = i / n == i % n;
    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(a[r * n + c]) > fabs(a[pivot * n + c])) pivot = r;
        if (a[pivot * n + c] == 0) return false;
        for (int64_t k = 0; k < n; k++) {
            double x = a[c * n + k], y = b[c * n + k];
            a[c * n + k] = a[pivot * n + k], a[pivot * n + k] = x;
            b[c * n + k] = b[pivot * n + k], b[pivot * n + k] = y;
        }
        double scale = 1 / a[c * n + c];
        for (int64_t k = 0; k < n; k++) a[c * n + k] *= scale, b[c * n + k] *= scale;
        for (int64_t r = 0; r < n; r++) {
            double times = r == c ? 0 : a[r * n + c];
            for (int64_t k = 0; k < n && times != 0; k++) {
                a[r * n + k] -= times * a[c * n + k];
                b[r * n + k] -= times * b[c * n + k];
            }
        }
    }
    return true;
}

/* self, out: of each matrix of a batch. */
void asc_op_inverse(asc_run *run) {
    tensor x = asc_copy(run, asc_in(run, 0), ASC_FLOAT64), made = asc_like(run, x, ASC_FLOAT64);
    int64_t n = x.rank ? x.dims[x.rank - 1] : 0;
    ASC_STOP_UNLESS(run, x.rank >= 2 && x.dims[x.rank - 2] == n, "an inverse is of square matrices");
    for (int64_t i = 0; n && i < asc_elements(x) / (n * n); i++)
        ASC_STOP_UNLESS(run, invert((double *)x.data + i * n * n, (double *)made.data + i * n * n, n),
                        "matrix %lld has no inverse", (long long)i);
    asc_put(run, 1, made);
}

/* The norm of order p of the difference of two rows, in float64. NaN stays. */
static float distance(const float *a, const float *b, int64_t width, double p) {
    double sum = 0;
    for (int64_t k = 0; k < width && !isnan(sum); k++) {
        double d = fabs((double)a[k] - b[k]);
        if (isinf(p))
            sum = d <= sum ? sum : d;
        else
            sum += p == 2 ? d * d : p == 1 ? d : p == 0 ? (isnan(d) ? d : d != 0) : pow(d, p);
    }
    return (float)(p == 2 ? sqrt(sum) : p == 1 || p == 0 || isinf(p) ? sum : pow(sum, 1 / p));
}

/* Rows of width elements, contiguous, in the batches of `out`. */
static tensor rows_of(asc_run *run, tensor t, tensor out) {
    int64_t dims[ASC_MAX_RANK];
    for (int i = 0; i < out.rank; i++) dims[i] = i < out.rank - 2 ? out.dims[i] : t.dims[t.rank - out.rank + i];
    return asc_copy(run, asc_expand(run, t, out.rank, dims), ASC_FLOAT32);
}

/* x1, x2, p, mode, out: between all rows of each batch. */
void asc_op_distances(asc_run *run) {
    tensor a = asc_in(run, 0), b = asc_in(run, 1), out = asc_in(run, 4);
    ASC_STOP_UNLESS(run, a.rank >= 2 && b.rank >= 2 && out.rank >= a.rank && out.rank >= b.rank,
                    "distances are of rows");
    int64_t n = a.dims[a.rank - 2], m = b.dims[b.rank - 2], width = a.dims[a.rank - 1];
    ASC_STOP_UNLESS(run, width == b.dims[b.rank - 1], "rows of %lld elements have no distance from rows of %lld",
                    (long long)width, (long long)b.dims[b.rank - 1]);
    ASC_STOP_UNLESS(run, out.dims[out.rank - 2] == n && out.dims[out.rank - 1] == m,
                    "%lld rows and %lld have %lld by %lld distances", (long long)n, (long long)m,
                    (long long)out.dims[out.rank - 2], (long long)out.dims[out.rank - 1]);
    a = rows_of(run, a, out);
    b = rows_of(run, b, out);
    tensor made = asc_like(run, out, ASC_FLOAT32);
    const float *x = a.data, *y = b.data;
    double p = asc_float(run, 2);
    for (int64_t i = 0; i < asc_elements(made); i++) {
        int64_t row = i / m, batch = row / n;
        ((float *)made.data)[i] = distance(x + row * width, y + (batch * m + i % m) * width, width, p);
    }
    asc_put(run, 4, made);
}

/* self, p, out: between each row and those behind it. */
void asc_op_pair_distances(asc_run *run) {
    tensor x = asc_f32(run, 0);
    ASC_STOP_UNLESS(run, x.rank == 2, "distances are of rows, and self has %d axes", x.rank);
    int64_t n = x.dims[0], width = x.dims[1], pairs = n * (n - 1) / 2, at = 0;
    ASC_STOP_UNLESS(run, asc_elements(asc_in(run, 2)) == pairs, "%lld rows have %lld pairs", (long long)n,
                    (long long)pairs);
    tensor made = asc_new(run, ASC_FLOAT32, 1, &pairs);
    const float *rows = x.data;
    for (int64_t i = 0; i + 1 < n; i++)
        for (int64_t k = i + 1; k < n; k++)
            ((float *)made.data)[at++] = distance(rows + i * width, rows + k * width, width, asc_float(run, 1));
    asc_put(run, 2, made);
}

/* The norm of order p over the axes. */
static tensor norm_over(asc_run *run, tensor x, double p, int n, const int64_t *axes) {
    if (isinf(p)) return asc_reduce_axes(run, ASC_REDUCE_MAX, ASC_COMPUTE(run, ASC_FLOAT32, "abs(a)", x), n, axes);
    tensor powers = p == 0 ? ASC_COMPUTE(run, ASC_FLOAT32, "a != 0", x)
                           : ASC_COMPUTE_WITH(run, ASC_FLOAT32, "pow(abs(a), p)", p, x);
    tensor sum = asc_reduce_axes(run, ASC_REDUCE_SUM, powers, n, axes);
    return p == 0 ? sum : ASC_COMPUTE_WITH(run, ASC_FLOAT32, "pow(a, p)", 1 / p, sum);
}

/* self, p, dim, maxNorm, and out at `out`: each part along the axis, no longer than maxNorm. */
void asc_op_renorm(asc_run *run, int out) {
    tensor x = asc_in(run, 0);
    int64_t axis = asc_axis(run, asc_int(run, 2), x.rank), axes[ASC_MAX_RANK];
    int n = 0;
    ASC_STOP_UNLESS(run, x.rank >= 2 && asc_float(run, 1) > 0 && asc_float(run, 3) >= 0,
                    "self has %d axes, p is %g and maxNorm %g", x.rank, asc_float(run, 1), asc_float(run, 3));
    for (int64_t i = 0; i < x.rank; i++)
        if (i != axis) axes[n++] = i;
    if (!asc_elements(x)) return;
    tensor norm = norm_over(run, x, asc_float(run, 1), n, axes);
    asc_put(run, out,
            ASC_COMPUTE_WITH(run, ASC_FLOAT32, "b > p ? a * (p / (b + 1e-7)) : a", asc_float(run, 3), x, norm));
}

/* self, weights, minlength, out. */
void asc_op_bincount(asc_run *run) {
    tensor x = asc_of(run, 0, ASC_INT64), to = asc_in(run, 3), made = asc_like(run, to, ASC_FLOAT64), w = {0};
    bool weighed = asc_given_at(run, 1) && asc_elements(asc_in(run, 1)) > 0;
    if (weighed) w = asc_of(run, 1, ASC_FLOAT64);
    ASC_STOP_UNLESS(run, !weighed || asc_elements(w) == asc_elements(x), "a weight for each value is needed");
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < asc_elements(x); i++) {
        int64_t at = ((int64_t *)x.data)[i];
        ASC_STOP_UNLESS(run, at >= 0 && at < asc_elements(made), "value %lld has no bin", (long long)at);
        ((double *)made.data)[at] += weighed ? ((double *)w.data)[i] : 1;
    }
    asc_put(run, 3, made);
}

/* The range of a histogram: as given, or that of the values where its ends are equal; NaN where a value is. */
static void range_of(tensor x, double *low, double *high) {
    const double *values = x.data;
    if (*low == *high && asc_elements(x)) {
        *low = *high = values[0];
        for (int64_t i = 1; i < asc_elements(x); i++) {
            if (values[i] < *low || isnan(values[i])) *low = values[i];
            if (values[i] > *high || isnan(values[i])) *high = values[i];
        }
    }
    if (*low == *high) *low -= 1, *high += 1;
}

/* self, bins, min, max, out: how many values lie in each part of the range; its upper end belongs to the last. */
void asc_op_histc(asc_run *run) {
    tensor x = asc_of(run, 0, ASC_FLOAT64), made = asc_like(run, asc_in(run, 4), ASC_FLOAT64);
    int64_t bins = asc_int(run, 1);
    double low = asc_float(run, 2), high = asc_float(run, 3);
    range_of(x, &low, &high);
    ASC_STOP_UNLESS(run, bins > 0 && asc_elements(made) == bins, "there are %lld bins", (long long)bins);
    ASC_STOP_UNLESS(run, low < high && isfinite(low) && isfinite(high), "the range is %g to %g", low, high);
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < asc_elements(x); i++) {
        double value = ((double *)x.data)[i];
        if (!(value >= low && value <= high)) continue;
        int64_t at = asc_in(run, 0).dtype == ASC_FLOAT64
                         ? (int64_t)((value - low) * (double)bins / (high - low))
                         : (int64_t)(((float)value - (float)low) * (float)bins / ((float)high - (float)low));
        ((double *)made.data)[at < bins ? at : bins - 1] += 1;
    }
    asc_put(run, 4, made);
}

/* Whether element i of a comes before element k of b, or is equal to it: both float64, or both int64. Nothing comes
 * behind NaN. */
static bool before(tensor a, int64_t i, tensor b, int64_t k, bool or_equal) {
    if (a.dtype == ASC_INT64) {
        int64_t x = ((int64_t *)a.data)[i], y = ((int64_t *)b.data)[k];
        return or_equal ? x <= y : x < y;
    }
    double x = ((double *)a.data)[i], y = ((double *)b.data)[k];
    return or_equal ? !(x > y) : !(x >= y);
}

/* What values and sorted rows are compared in: integers as they are, which float64 can't tell apart beyond 2^53. */
static int32_t compared_in(tensor a, tensor b) {
    return asc_is_float(a.dtype) || asc_is_float(b.dtype) ? ASC_FLOAT64 : ASC_INT64;
}

/* Positions of the sorted row of n from `start` before which element i of v goes: of equal elements the first, or
 * behind the last. */
static int64_t position(tensor rows, int64_t start, const int64_t *order, int64_t n, tensor v, int64_t i, bool right) {
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (before(rows, start + (order ? order[middle] : middle), v, i, right))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* sequence, self, outInt32, right, sorter, out: a row for all, or one for each of the other axes. */
void asc_op_search(asc_run *run) {
    tensor sought = {0};
    if (asc_arg(run, 1)->kind == 'S') { /* a number */
        asc_number value = asc_arg(run, 1)->numbers[0];
        sought = asc_new(run, asc_is_float(value.dtype) ? ASC_FLOAT64 : ASC_INT64, 0, NULL);
        memcpy(sought.data, asc_is_float(value.dtype) ? (void *)&value.d : (void *)&value.i, sizeof value.d);
    } else {
        sought = asc_in(run, 1);
    }
    int32_t type = compared_in(asc_in(run, 0), sought);
    tensor rows = asc_of(run, 0, type), v = asc_cast(run, sought, type), made = asc_like(run, v, ASC_INT64);
    ASC_STOP_UNLESS(run, rows.rank >= 1, "a sequence has an axis");
    ASC_STOP_UNLESS(run, !asc_given_at(run, 4) || asc_elements(asc_in(run, 4)) == asc_elements(rows),
                    "the order is of other sequences");
    const int64_t *order = asc_given_at(run, 4) ? asc_of(run, 4, ASC_INT64).data : NULL;
    int64_t n = rows.dims[rows.rank - 1], each = v.rank ? v.dims[v.rank - 1] : 1;
    ASC_STOP_UNLESS(run, rows.rank == 1 || (each > 0 && asc_elements(v) / each == asc_elements(rows) / (n > 0 ? n : 1)),
                    "a sequence for each row is needed");
    for (int64_t i = 0; i < asc_elements(v); i++) {
        int64_t row = rows.rank > 1 ? i / each * n : 0;
        ((int64_t *)made.data)[i] = position(rows, row, order ? order + row : NULL, n, v, i, asc_int(run, 3) != 0);
    }
    asc_put(run, 5, made);
}

/* self, boundaries, outInt32, right, out. */
void asc_op_bucketize(asc_run *run) {
    int32_t type = compared_in(asc_in(run, 0), asc_in(run, 1));
    tensor v = asc_of(run, 0, type), rows = asc_of(run, 1, type), made = asc_like(run, v, ASC_INT64);
    ASC_STOP_UNLESS(run, rows.rank == 1, "boundaries have one axis, not %d", rows.rank);
    for (int64_t i = 0; i < asc_elements(v); i++)
        ((int64_t *)made.data)[i] = position(rows, 0, NULL, rows.dims[0], v, i, asc_int(run, 3) != 0);
    asc_put(run, 4, made);
}

/* grad, x1, x2, distances, p, out: of x1, by rows of the last axis. */
void asc_op_distances_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), x = asc_f32(run, 1), y = asc_f32(run, 2), d = asc_f32(run, 3);
    tensor to = asc_in(run, 5), made = asc_like(run, to, ASC_FLOAT32);
    double p = asc_float(run, 4);
    int64_t width = x.rank ? x.dims[x.rank - 1] : 0, n = x.rank > 1 ? x.dims[x.rank - 2] : 0,
            m = y.rank > 1 ? y.dims[y.rank - 2] : 0;
    int64_t batches = n > 0 && width > 0 ? asc_elements(x) / (n * width) : 0;
    ASC_STOP_UNLESS(run,
                    asc_elements(g) == batches * n * m && asc_elements(d) == asc_elements(g) &&
                        asc_elements(y) == batches * m * width && asc_elements(made) == asc_elements(x),
                    "%lld gradients of %lld by %lld distances", (long long)asc_elements(g), (long long)n, (long long)m);
    asc_fill(run, made, 0);
    for (int64_t i = 0; i < asc_elements(g); i++) {
        int64_t batch = i / (n * m), row = i / m % n, column = i % m;
        const float *a = (const float *)x.data + (batch * n + row) * width,
                    *b = (const float *)y.data + (batch * m + column) * width;
        double up = (double)((const float *)g.data)[i], far = (double)((const float *)d.data)[i];
        float *at = (float *)made.data + (batch * n + row) * width;
        for (int64_t k = 0; far != 0 && k < width; k++) {
            double apart = (double)a[k] - b[k], sign = apart > 0 ? 1 : apart < 0 ? -1 : 0, share;
            if (isinf(p))
                share = (float)fabs(apart) == (float)far ? sign : 0; /* it was kept so */
            else
                share = p == 1 ? sign : p == 0 || sign == 0 ? 0 : sign * pow(fabs(apart) / far, p - 1);
            at[k] += (float)(up * share);
        }
    }
    asc_put(run, 5, made);
}
