/* sampling.c - which logits a sampler may choose from. */
#include <math.h>
#include <string.h>

#include "operator.h"

/* logits [rows, n], p and k of each row, out: the k largest, and of these the most likely whose sum reaches p; others
 * become -infinity. */
void asc_op_top_k_top_p(asc_run *run) {
    tensor x = asc_copy(run, asc_in(run, 0), ASC_FLOAT32), ks = {0}, ps = {0};
    ASC_STOP_UNLESS(run, x.rank == 2, "logits have two axes, not %d", x.rank);
    int64_t rows = x.dims[0], n = x.dims[1], ascending[] = {1, n, 0};
    if (asc_has_at(run, 1)) ps = asc_f32(run, 1);
    if (asc_has_at(run, 2)) ks = asc_of(run, 2, ASC_INT64);
    ASC_STOP_UNLESS(run, (!ps.data || asc_elements(ps) == rows) && (!ks.data || asc_elements(ks) == rows),
                    "not every one of %lld rows has its p and k", (long long)rows);
    tensor out[] = {asc_like(run, x, ASC_FLOAT32), asc_like(run, x, ASC_INT64)};
    if (!asc_elements(x)) return;
    asc_call_kernel(run, "topk", 1, &x, 2, out, 3, ascending, 0, NULL);
    for (int64_t i = 0; i < rows; i++) {
        float *sorted = (float *)out[0].data + i * n, *row = (float *)x.data + i * n;
        const int64_t *at = (const int64_t *)out[1].data + i * n;
        if (ks.data) {
            int64_t k = ((const int64_t *)ks.data)[i];
            ASC_STOP_UNLESS(run, k >= 1 && k <= n, "the %lld largest of %lld", (long long)k, (long long)n);
            for (int64_t j = 0, least = n - k; j < n; j++)
                if (sorted[j] < sorted[least]) sorted[j] = -INFINITY;
        }
        double sum = 0, total = 0, top = sorted[n - 1];
        for (int64_t j = 0; j < n; j++) total += exp(sorted[j] - top);
        for (int64_t j = 0; ps.data && j < n - 1; j++) {
            sum += exp(sorted[j] - top) / total;
            if (sum <= 1 - (double)((const float *)ps.data)[i]) sorted[j] = -INFINITY;
        }
        for (int64_t j = 0; j < n; j++) row[at[j]] = sorted[j];
    }
    asc_put(run, 3, x);
}
