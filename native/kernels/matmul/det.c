/* det: determinants of float32 matrices [.., n, n] -> [..], by elimination in float64 with partial pivoting. */
#include <math.h>

#include "chunks.h"

int32_t ASC_FN(det_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    ASC_REQUIRE(call, x->rank >= 2 && y->rank == x->rank - 2, "det: the ranks don't fit");
    ASC_REQUIRE(call, x->dims[x->rank - 1] == x->dims[x->rank - 2], "det: the matrices are not square");
    for (int i = 0; i < y->rank; i++) ASC_REQUIRE(call, y->dims[i] == x->dims[i], "det: the batches differ");
    int64_t n = x->dims[x->rank - 1], bytes;
    ASC_REQUIRE(call, asc_mul_ok(n, n, &bytes) && asc_mul_ok(bytes, 8 * (int64_t)call->threads, &bytes),
                "det: the matrices are too large");
    call->workspace_bytes = (uint64_t)bytes;
    return ASC_OK;
}

static double eliminate(double *a, int64_t n) {
    double det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        double head = a[pivot * n + k];
        det *= pivot == k ? head : -head;
        if (head == 0) return det;
        for (int64_t j = k; j < n; j++) {
            double moved = a[pivot * n + j];
            a[pivot * n + j] = a[k * n + j];
            a[k * n + j] = moved;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / head;
            for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return det;
}

static void det_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    int64_t n = *(const int64_t *)arg;
    const float *x = (const float *)call->in[0].data + chunk * n * n;
    double *a = (double *)call->workspace + worker * n * n;
    for (int64_t i = 0; i < n * n; i++) a[i] = x[i];
    ((float *)call->out[0].data)[chunk] = (float)eliminate(a, n);
}

int32_t ASC_FN(det_run)(const asc_call *call) {
    int64_t n = call->in[0].dims[call->in[0].rank - 1];
    asc_parallel(call, asc_numel(&call->out[0]), det_chunk, &n);
    return ASC_OK;
}
