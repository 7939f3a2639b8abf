/* squared_distances: of each row of x [rows, n] to each column of v [n, vectors] -> [rows, vectors], float32.
 * Differences are squared as they are, not by a product, which would lose those of near neighbours. */
#include <string.h>

#include "chunks.h"

#define LANES 64 /* vectors at a time */

typedef struct distance_job {
    int64_t rows, n, vectors, per_chunk;
} distance_job;
ASC_KERNEL_NOTE(squared_distances, distance_job)

int32_t ASC_FN(squared_distances_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0], *v = &call->in[1], *y = &call->out[0];
    ASC_REQUIRE(call, x->rank == 2 && v->rank == 2 && y->rank == 2, "squared_distances takes matrices");
    ASC_REQUIRE(call, x->dims[1] == v->dims[0] && y->dims[0] == x->dims[0] && y->dims[1] == v->dims[1],
                "squared_distances: the shapes don't fit");
    distance_job *job = call->note;
    *job = (distance_job){.rows = x->dims[0], .n = x->dims[1], .vectors = v->dims[1]};
    if (job->rows) job->per_chunk = asc_chunk_items(call, job->rows, (job->n + 1) * job->vectors);
    return ASC_OK;
}

/* One row to up to LANES columns, `step` apart. */
static void measure(const float *x, const float *v, int64_t n, int64_t step, int64_t lanes, float *y) {
    float sums[LANES] = {0};
    for (int64_t i = 0; i < n; i++, v += step) {
        if (lanes == LANES)
            for (int j = 0; j < LANES; j++) sums[j] += (x[i] - v[j]) * (x[i] - v[j]);
        else
            for (int64_t j = 0; j < lanes; j++) sums[j] += (x[i] - v[j]) * (x[i] - v[j]);
    }
    memcpy(y, sums, (size_t)lanes * sizeof *y);
}

static void distance_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const distance_job *job = arg;
    (void)worker;
    int64_t last = asc_least(job->rows, (chunk + 1) * job->per_chunk);
    for (int64_t row = chunk * job->per_chunk; row < last; row++) {
        const float *x = (const float *)call->in[0].data + row * job->n, *v = call->in[1].data;
        float *y = (float *)call->out[0].data + row * job->vectors;
        for (int64_t j = 0; j < job->vectors; j += LANES)
            measure(x, v + j, job->n, job->vectors, asc_least(LANES, job->vectors - j), y + j);
    }
}

int32_t ASC_FN(squared_distances_run)(const asc_call *call) {
    const distance_job *job = call->note;
    if (job->rows) asc_parallel(call, asc_ceil_div(job->rows, job->per_chunk), distance_chunk, call->note);
    return ASC_OK;
}
