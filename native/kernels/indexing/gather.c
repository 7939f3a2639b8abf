/* gather: out = data with one axis indexed by a tensor of any rank.
 *   data [outer..., n, inner...], indices [m...] (int32, int64) -> out [outer..., m..., inner...]
 * ints: asc_gather_params. Indices in [-n, n); any other fails with ASC_E_RUN before a byte is read. */
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"
#include "indexing.h"

int32_t ASC_FN(gather_prepare)(asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1], *out = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_gather_params), "gather takes one int: the axis");
    int64_t axis = ASC_INTS_AS(asc_gather_params, call)->axis;
    ASC_REQUIRE(call, axis >= 0 && axis < data->rank, "gather: the axis is outside the rank");
    ASC_REQUIRE(call, data->dtype == out->dtype, "gather: types differ");
    ASC_REQUIRE(call, out->rank == data->rank - 1 + indices->rank, "gather: the output's rank is wrong");
    int a = (int)axis, after = data->rank - 1 - a;
    ASC_REQUIRE(call,
                asc_dims_match(out, 0, data, 0, a) && asc_dims_match(out, a, indices, 0, indices->rank) &&
                    asc_dims_match(out, a + indices->rank, data, a + 1, after),
                "gather: the output's dims are wrong");
    return ASC_OK;
}

static int32_t check_indices(const asc_call *call, const asc_tensor *indices, int64_t n) {
    int64_t count = asc_numel(indices);
    for (int64_t i = 0; i < count; i++) {
        int64_t index = asc_index_at(indices, i);
        if (index < -n || index >= n) return asc_fail_index(call, index, n);
    }
    return ASC_OK;
}

typedef struct gather_job {
    int64_t n, m, bytes; /* axis length, indices, bytes of one slice */
    int64_t items, per_chunk;
} gather_job;

static void gather_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const gather_job *job = arg;
    const char *data = call->in[0].data;
    char *out = call->out[0].data;
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t index = asc_index_at(&call->in[1], i % job->m);
        if (index < 0) index += job->n;
        const char *from = data + (i / job->m * job->n + index) * job->bytes;
        if (job->bytes == 4)
            memcpy(out + i * 4, from, 4);
        else
            memcpy(out + i * job->bytes, from, (size_t)job->bytes);
    }
}

int32_t ASC_FN(gather_run)(const asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1];
    int axis = (int)ASC_INTS_AS(asc_gather_params, call)->axis;
    gather_job job = {.n = data->dims[axis], .m = asc_numel(indices)};
    job.bytes = asc_count(data, axis + 1, data->rank) * (int64_t)asc_dtype_bytes(data->dtype);
    int32_t code = check_indices(call, indices, job.n);
    if (code != ASC_OK) return code;
    job.items = asc_count(data, 0, axis) * job.m;
    if (job.items == 0 || job.bytes == 0) return ASC_OK;
    job.per_chunk = asc_chunk_items(call, job.items, job.bytes + 8);
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), gather_chunk, &job);
    return ASC_OK;
}
