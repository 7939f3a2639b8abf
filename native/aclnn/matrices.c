/* matrices.c - decompositions of matrices, and systems of triangular ones, in float64. */
#include <math.h>
#include <string.h>

#include "operator.h"

/* A copy in float64, and the rows and columns of its matrices. */
static tensor matrices_of(asc_run *run, int i, int64_t *rows, int64_t *columns) {
    tensor x = asc_copy(run, asc_in(run, i), ASC_FLOAT64);
    ASC_STOP_UNLESS(run, x.rank >= 2, "a matrix has two axes, not %d", x.rank);
    *rows = x.dims[x.rank - 2];
    *columns = x.dims[x.rank - 1];
    return x;
}

static int64_t count_of(tensor t, int64_t each) {
    return each ? asc_elements(t) / each : 0;
}

/* ---- Cholesky ------------------------------------------------------------------------------------------------- */

/* The lower factor in place, zeros above. False: the matrix is not positive definite. */
static bool cholesky(double *a, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            if (j > i) {
                a[i * n + j] = 0;
                continue;
            }
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    return true;
}

/* self, upper, out. */
void asc_op_cholesky(asc_run *run) {
    int64_t n, columns;
    tensor x = matrices_of(run, 0, &n, &columns);
    bool upper = asc_int(run, 1) != 0;
    ASC_STOP_UNLESS(run, n == columns, "a factor is of square matrices");
    if (upper) x = asc_copy(run, asc_swap(x, x.rank - 1, x.rank - 2), ASC_FLOAT64);
    for (int64_t i = 0; i < count_of(x, n * n); i++)
        ASC_STOP_UNLESS(run, cholesky((double *)x.data + i * n * n, n), "matrix %lld is not positive definite",
                        (long long)i);
    asc_put(run, 2, upper ? asc_swap(x, x.rank - 1, x.rank - 2) : x);
}

/* ---- triangular systems ---------------------------------------------------------------------------------------- */

/* b [n, width] becomes the solution of a x = b. */
static void solve(const double *a, double *b, int64_t n, int64_t width, bool upper, bool unit) {
    for (int64_t step = 0; step < n; step++) {
        int64_t i = upper ? n - 1 - step : step;
        for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); k++)
            for (int64_t c = 0; c < width; c++) b[i * width + c] -= a[i * n + k] * b[k * width + c];
        for (int64_t c = 0; c < width && !unit; c++) b[i * width + c] /= a[i * n + i];
    }
}

/* self, A, upper, transpose, unitriangular, x, m: x of A x = self, and a copy of A. */
void asc_op_triangular_solve(asc_run *run) {
    int64_t rows, width, n, columns;
    tensor b = matrices_of(run, 0, &rows, &width), a = matrices_of(run, 1, &n, &columns);
    bool upper = asc_int(run, 2) != 0, transposed = asc_int(run, 3) != 0;
    ASC_STOP_UNLESS(run, n == columns && n == rows && count_of(b, n * width) == (width ? count_of(a, n * n) : 0),
                    "a square matrix for each right side is needed");
    asc_put(run, 6, asc_in(run, 1));
    if (transposed) a = asc_copy(run, asc_swap(a, a.rank - 1, a.rank - 2), ASC_FLOAT64);
    for (int64_t i = 0; i < count_of(b, n * width); i++)
        solve((double *)a.data + i * n * n, (double *)b.data + i * n * width, n, width, upper != transposed,
              asc_int(run, 4) != 0);
    asc_put(run, 5, b);
}

/* ---- QR -------------------------------------------------------------------------------------------------------- */

/* Householder's reflections: a [rows, columns] becomes R, and q [rows, rows], which begins as one, Q. */
static void reflect(double *a, double *q, double *v, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows * rows; i++) q[i] = i / rows == i % rows;
    for (int64_t k = 0; k < columns && k + 1 < rows; k++) {
        double norm = 0, length = 0;
        for (int64_t i = k; i < rows; i++) norm += a[i * columns + k] * a[i * columns + k];
        norm = a[k * columns + k] > 0 ? -sqrt(norm) : sqrt(norm);
        for (int64_t i = k; i < rows; i++) {
            v[i] = a[i * columns + k] - (i == k ? norm : 0);
            length += v[i] * v[i];
        }
        if (length == 0) continue;
        for (int64_t c = k; c < columns; c++) {
            double dot = 0;
            for (int64_t i = k; i < rows; i++) dot += v[i] * a[i * columns + c];
            for (int64_t i = k; i < rows; i++) a[i * columns + c] -= 2 * dot / length * v[i];
        }
        for (int64_t r = 0; r < rows; r++) {
            double dot = 0;
            for (int64_t i = k; i < rows; i++) dot += q[r * rows + i] * v[i];
            for (int64_t i = k; i < rows; i++) q[r * rows + i] -= 2 * dot / length * v[i];
        }
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t c = 0; c < columns && c < i; c++) a[i * columns + c] = 0;
}

/* self, mode, Q, R: as many columns of Q and rows of R as the outputs have; Q without elements isn't wanted. */
void asc_op_qr(asc_run *run) {
    int64_t rows, columns;
    tensor a = matrices_of(run, 0, &rows, &columns);
    tensor q = asc_copy(run, a, ASC_FLOAT64), to_q = asc_in(run, 2), to_r = asc_in(run, 3);
    ASC_STOP_UNLESS(run, to_r.rank == a.rank && to_q.rank >= 1, "R has %d axes, not %d", to_r.rank, a.rank);
    q.dims[q.rank - 1] = rows;
    q = asc_like(run, q, ASC_FLOAT64);
    double *v = asc_bytes(run, (size_t)(rows + 1) * sizeof *v);
    for (int64_t i = 0; i < count_of(q, rows * rows); i++)
        reflect((double *)a.data + i * rows * columns, (double *)q.data + i * rows * rows, v, rows, columns);
    int64_t kept = to_r.dims[to_r.rank - 2];
    ASC_STOP_UNLESS(run, kept <= rows, "R has more rows than the matrix");
    if (asc_elements(to_q)) asc_put(run, 2, asc_narrow(q, q.rank - 1, 0, to_q.dims[to_q.rank - 1]));
    asc_put(run, 3, asc_narrow(a, a.rank - 2, 0, kept));
}

/* ---- determinants ----------------------------------------------------------------------------------------------- */

/* self, sign, log: of the absolute determinant. */
void asc_op_log_determinant(asc_run *run) {
    int64_t n, columns;
    tensor x = matrices_of(run, 0, &n, &columns);
    tensor sign = asc_copy(run, asc_in(run, 1), ASC_FLOAT64), log_of = asc_like(run, sign, ASC_FLOAT64);
    ASC_STOP_UNLESS(run, n == columns && asc_elements(sign) == (n ? count_of(x, n * n) : asc_elements(sign)),
                    "determinants are of square matrices");
    for (int64_t i = 0; i < asc_elements(sign); i++) {
        double *a = (double *)x.data + i * n * n, s = 1, sum = 0;
        for (int64_t c = 0; c < n; c++) {
            int64_t pivot = c;
            for (int64_t r = c + 1; r < n; r++)
                if (fabs(a[r * n + c]) > fabs(a[pivot * n + c])) pivot = r;
            double p = a[pivot * n + c];
            if (pivot != c) s = -s;
            s *= p < 0 ? -1 : p == 0 ? 0 : 1;
            sum += log(fabs(p));
            for (int64_t k = c; k < n; k++) {
                double held = a[c * n + k];
                a[c * n + k] = a[pivot * n + k];
                a[pivot * n + k] = held;
            }
            for (int64_t r = c + 1; r < n && p != 0; r++) {
                double times = a[r * n + c] / p;
                for (int64_t k = c; k < n; k++) a[r * n + k] -= times * a[c * n + k];
            }
        }
        ((double *)sign.data)[i] = s;
        ((double *)log_of.data)[i] = sum;
    }
    asc_put(run, 1, sign);
    asc_put(run, 2, log_of);
}

/* self, other, dim, out: the cross product of vectors of three. */
void asc_op_cross(asc_run *run) {
    tensor x = asc_in(run, 0), y = asc_in(run, 1), to = asc_in(run, 3);
    int axis = (int)asc_axis(run, asc_int(run, 2), to.rank);
    x = asc_expand(run, x, to.rank, to.dims);
    y = asc_expand(run, y, to.rank, to.dims);
    ASC_STOP_UNLESS(run, to.rank && to.dims[axis] == 3, "cross products are of vectors of 3");
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        asc_store(run, asc_select(to, axis, i),
                  ASC_COMPUTE(run, to.dtype, "a * b - c * d", asc_select(x, axis, j), asc_select(y, axis, k),
                              asc_select(x, axis, k), asc_select(y, axis, j)));
    }
}
