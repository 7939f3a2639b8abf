/* singular.c - singular values and vectors, by turns of pairs of columns until all are at right angles. */
#include <math.h>
#include <string.h>

#include "operator.h"

enum { SWEEPS = 60 };

/* Columns of a [m, n] with m >= n become U * sigma, v [n, n] the turns that did it. */
static void turn_columns(double *a, double *v, int64_t m, int64_t n) {
    for (int64_t i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    for (int sweep = 0, changed = 1; changed && sweep < SWEEPS; sweep++) {
        changed = 0;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double pp = 0, qq = 0, pq = 0;
                for (int64_t i = 0; i < m; i++) {
                    double x = a[i * n + p], y = a[i * n + q];
                    pp += x * x;
                    qq += y * y;
                    pq += x * y;
                }
                if (!(fabs(pq) > 1e-15 * sqrt(pp * qq))) continue;
                changed = 1;
                double zeta = (qq - pp) / (2 * pq), t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + hypot(1, zeta));
                double c = 1 / hypot(1, t), s = c * t;
                for (int64_t i = 0; i < m + n; i++) {
                    double *row = i < m ? a + i * n : v + (i - m) * n, x = row[p], y = row[q];
                    row[p] = c * x - s * y;
                    row[q] = s * x + c * y;
                }
            }
    }
}

/* Column k of u [m, width] as one at right angles to those before it. */
static void complete(double *u, int64_t m, int64_t width, int64_t k) {
    double best = 0;
    for (int64_t axis = 0; axis < m && best < 0.5; axis++) {
        double *column = u + k, size = 0;
        for (int64_t i = 0; i < m; i++) column[i * width] = i == axis;
        for (int twice = 0; twice < 2; twice++)
            for (int64_t j = 0; j < k; j++) {
                double dot = 0;
                for (int64_t i = 0; i < m; i++) dot += u[i * width + j] * column[i * width];
                for (int64_t i = 0; i < m; i++) column[i * width] -= dot * u[i * width + j];
            }
        for (int64_t i = 0; i < m; i++) size += column[i * width] * column[i * width];
        size = sqrt(size);
        if (size <= 0.5 / sqrt((double)m)) continue; /* it lies among the others */
        for (int64_t i = 0; i < m; i++) column[i * width] /= size;
        best = 1;
    }
}

/* a [m, n], m >= n: descending singular values, u [m, wide], v [n, n]. a is used up. */
static void decompose(asc_run *run, double *a, int64_t m, int64_t n, double *sigma, double *u, int64_t wide,
                      double *v) {
    double *turns = asc_bytes(run, (size_t)(n * n) * sizeof *turns), top = 0;
    int64_t *at = asc_bytes(run, (size_t)(n + 1) * sizeof *at);
    turn_columns(a, turns, m, n);
    for (int64_t k = 0; k < n; k++) {
        double size = 0;
        for (int64_t i = 0; i < m; i++) size += a[i * n + k] * a[i * n + k];
        int64_t place = k;
        size = sqrt(size);
        for (; place > 0 && sigma[place - 1] < size; place--)
            sigma[place] = sigma[place - 1], at[place] = at[place - 1];
        sigma[place] = size;
        at[place] = k;
        top = size > top ? size : top;
    }
    for (int64_t k = 0; k < wide; k++) {
        bool is_there = k < n && sigma[k] > top * 1e-14;
        for (int64_t i = 0; is_there && i < m; i++) u[i * wide + k] = a[i * n + at[k]] / sigma[k];
        if (!is_there) complete(u, m, wide, k);
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) v[i * n + k] = turns[i * n + at[k]];
}

/* self, fullMatrices, computeUV, sigma, u, v: self = u sigma v'. */
void asc_op_singular_values(asc_run *run) {
    tensor x = asc_copy(run, asc_in(run, 0), ASC_FLOAT64);
    ASC_STOP_UNLESS(run, x.rank >= 2, "singular values are of matrices, not of %d axes", x.rank);
    int64_t m = x.dims[x.rank - 2], n = x.dims[x.rank - 1], k = m < n ? m : n, most = m < n ? n : m;
    int64_t area = m * n, count = area ? asc_elements(x) / area : 0, wide = asc_int(run, 1) ? most : k;
    tensor flat = asc_new(run, ASC_FLOAT64, 3, (int64_t[]){count, most, k});
    if (count) asc_store(run, m < n ? asc_swap(flat, 1, 2) : flat, asc_reshape(run, x, 3, (int64_t[]){count, m, n}));
    tensor sigma = asc_new(run, ASC_FLOAT64, 2, (int64_t[]){count, k});
    tensor tall = asc_new(run, ASC_FLOAT64, 3, (int64_t[]){count, most, wide});
    tensor small = asc_new(run, ASC_FLOAT64, 3, (int64_t[]){count, k, k});
    for (int64_t i = 0; i < count; i++)
        decompose(run, (double *)flat.data + i * most * k, most, k, (double *)sigma.data + i * k,
                  (double *)tall.data + i * most * wide, wide, (double *)small.data + i * k * k);
    asc_put(run, 3, sigma);
    if (!asc_int(run, 2)) return;
    for (int which = 0; which < 2; which++) { /* a wide matrix was taken by its transpose */
        tensor to = asc_in(run, 4 + which), made = (m < n) == which ? tall : small;
        ASC_STOP_UNLESS(run, asc_elements(to) == asc_elements(made), "%s has %lld elements, not %lld",
                        asc_run_row(run)->names[4 + which], (long long)asc_elements(to), (long long)asc_elements(made));
        asc_put(run, 4 + which, made);
    }
}
