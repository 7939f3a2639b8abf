/* lookup: x -> the value of the key that each element equals, or the default.
 *   x, keys [n], values [n], default [1] -> y, of x's dims
 * Keys have x's type (float32, float64, int16, int32, int64), ascend, and don't repeat; NaN may be the last, and equals
 * NaN. Values have y's type, which is any. */
#include <string.h>

#include "chunks.h"

typedef struct lookup_job {
    int64_t n, keys, size, per_chunk;
} lookup_job;
ASC_KERNEL_NOTE(lookup, lookup_job)

enum { X, KEYS, VALUES, DEFAULT };

/* The first of n keys that is not below x; NaN is above all. */
#define LOOKUP_TYPE(name, T)                                                    \
    static int64_t find_##name(const T *keys, int64_t n, T x) {                 \
        int64_t low = 0, high = n;                                              \
        while (low < high) {                                                    \
            int64_t middle = low + (high - low) / 2;                            \
            if (keys[middle] < x || (x != x && keys[middle] == keys[middle]))   \
                low = middle + 1;                                               \
            else                                                                \
                high = middle;                                                  \
        }                                                                       \
        if (low == n) return -1;                                                \
        return keys[low] == x || (x != x && keys[low] != keys[low]) ? low : -1; \
    }
LOOKUP_TYPE(f32, float)
LOOKUP_TYPE(f64, double)
LOOKUP_TYPE(i16, int16_t)
LOOKUP_TYPE(i32, int32_t)
LOOKUP_TYPE(i64, int64_t)

static int64_t find(const asc_tensor *x, const void *keys, int64_t n, int64_t i) {
    if (x->dtype == ASC_FLOAT32) return find_f32(keys, n, ((const float *)x->data)[i]);
    if (x->dtype == ASC_FLOAT64) return find_f64(keys, n, ((const double *)x->data)[i]);
    if (x->dtype == ASC_INT16) return find_i16(keys, n, ((const int16_t *)x->data)[i]);
    if (x->dtype == ASC_INT32) return find_i32(keys, n, ((const int32_t *)x->data)[i]);
    return find_i64(keys, n, ((const int64_t *)x->data)[i]);
}

int32_t ASC_FN(lookup_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[X], *keys = &call->in[KEYS], *values = &call->in[VALUES], *y = &call->out[0];
    int32_t type = x->dtype;
    ASC_REQUIRE(call,
                keys->dtype == type && (type == ASC_FLOAT32 || type == ASC_FLOAT64 || type == ASC_INT16 ||
                                        type == ASC_INT32 || type == ASC_INT64),
                "lookup: x and its keys have different types, or none that it knows");
    ASC_REQUIRE(call, values->dtype == y->dtype && call->in[DEFAULT].dtype == y->dtype,
                "lookup: the values have another type than the output");
    ASC_REQUIRE(call,
                keys->rank == 1 && values->rank == 1 && values->dims[0] == keys->dims[0] &&
                    asc_numel(&call->in[DEFAULT]) == 1 && asc_numel(x) == asc_numel(y),
                "lookup: the shapes don't fit");
    lookup_job *job = call->note;
    *job = (lookup_job){.n = asc_numel(x), .keys = keys->dims[0], .size = asc_dtype_bytes(y->dtype)};
    if (job->n) job->per_chunk = asc_chunk_items(call, job->n, 64);
    return ASC_OK;
}

static void lookup_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const lookup_job *job = arg;
    (void)worker;
    int64_t last = asc_least(job->n, (chunk + 1) * job->per_chunk);
    for (int64_t i = chunk * job->per_chunk; i < last; i++) {
        int64_t at = find(&call->in[X], call->in[KEYS].data, job->keys, i);
        const char *value = at < 0 ? call->in[DEFAULT].data : (const char *)call->in[VALUES].data + at * job->size;
        memcpy((char *)call->out[0].data + i * job->size, value, (size_t)job->size);
    }
}

int32_t ASC_FN(lookup_run)(const asc_call *call) {
    const lookup_job *job = call->note;
    if (job->n) asc_parallel(call, asc_ceil_div(job->n, job->per_chunk), lookup_chunk, call->note);
    return ASC_OK;
}
