/* trilu: keeps one triangle of the last two axes, zero elsewhere.
 * ints: asc_trilu_params */
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"
#include "indexing.h"

int32_t ASC_FN(trilu_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_trilu_params), "trilu takes two ints: upper and k");
    ASC_REQUIRE(call, !asc_has_input(call, 1) || asc_numel(&call->in[1]) == 1, "trilu: k is not one element");
    ASC_REQUIRE(call, call->in[0].rank >= 2, "trilu: the input has no matrix axes");
    ASC_REQUIRE(call, call->in[0].dtype == call->out[0].dtype, "trilu: types differ");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "trilu: shapes differ");
    return ASC_OK;
}

typedef struct trilu_job {
    int64_t upper, k, rows, cols, size, items, per_chunk;
} trilu_job;

/* First column of row r that an upper triangle keeps, and one past the last that a lower one does. */
static int64_t clamp_column(int64_t r, int64_t k, int64_t cols) {
    int64_t c;
    if (__builtin_add_overflow(r, k, &c)) c = k < 0 ? 0 : cols;
    return c < 0 ? 0 : c > cols ? cols : c;
}

static void trilu_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const trilu_job *job = arg;
    int64_t upper = job->upper, k = job->k;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t r = i % job->rows, from, to;
        if (upper) {
            from = clamp_column(r, k, job->cols);
            to = job->cols;
        } else {
            from = 0;
            to = clamp_column(r + 1, k, job->cols);
        }
        const char *x = (const char *)call->in[0].data + i * job->cols * job->size;
        char *y = (char *)call->out[0].data + i * job->cols * job->size;
        memset(y, 0, (size_t)(from * job->size));
        memmove(y + from * job->size, x + from * job->size, (size_t)((to - from) * job->size));
        memset(y + to * job->size, 0, (size_t)((job->cols - to) * job->size));
    }
}

int32_t ASC_FN(trilu_run)(const asc_call *call) {
    const asc_tensor *in = &call->in[0];
    if (asc_numel(in) == 0) return ASC_OK;
    const asc_trilu_params *p = ASC_INTS_AS(asc_trilu_params, call);
    trilu_job job = {.upper = p->upper != 0, .rows = in->dims[in->rank - 2], .cols = in->dims[in->rank - 1]};
    job.k = asc_has_input(call, 1) ? asc_index_at(&call->in[1], 0) : p->k;
    job.size = (int64_t)asc_dtype_bytes(in->dtype);
    job.items = asc_count(in, 0, in->rank - 1);
    job.per_chunk = asc_chunk_items(call, job.items, job.cols * job.size);
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), trilu_chunk, &job);
    return ASC_OK;
}
