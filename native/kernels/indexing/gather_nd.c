/* gather_nd: slices of data named by index tuples.
 *   data [batch..., rest...], indices [batch..., m..., q] -> out [batch..., m..., rest[q:]...]
 * ints: asc_gather_nd_params */
#include <string.h>

#include "asc_plan.h"
#include "indexing.h"
#include "movement/strided_copy.h"

int32_t ASC_FN(gather_nd_prepare)(asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1], *out = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_gather_nd_params),
                "gather_nd takes one int: the number of batch axes");
    int64_t batch = ASC_INTS_AS(asc_gather_nd_params, call)->batch_axes;
    ASC_REQUIRE(call, data->dtype == out->dtype, "gather_nd: types differ");
    ASC_REQUIRE(call, indices->rank >= 1 && batch >= 0 && batch < indices->rank && batch <= data->rank,
                "gather_nd: the number of batch axes is outside the ranks");
    int b = (int)batch, lead = indices->rank - 1;
    int64_t q = indices->dims[lead];
    ASC_REQUIRE(call, q >= 1 && q <= data->rank - b, "gather_nd: the index tuples are longer than the rank");
    int after = data->rank - b - (int)q;
    ASC_REQUIRE(call, out->rank == lead + after, "gather_nd: the output's rank is wrong");
    ASC_REQUIRE(call,
                asc_dims_match(data, 0, indices, 0, b) && asc_dims_match(out, 0, indices, 0, lead) &&
                    asc_dims_match(out, lead, data, b + (int)q, after),
                "gather_nd: the dims don't fit");
    return ASC_OK;
}

int32_t ASC_FN(gather_nd_run)(const asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1];
    int batch = (int)ASC_INTS_AS(asc_gather_nd_params, call)->batch_axes, lead = indices->rank - 1,
        q = (int)indices->dims[lead];
    int64_t strides[ASC_MAX_RANK] = {0}, tuples = asc_count(indices, 0, lead);
    int64_t bytes = asc_count(data, batch + q, data->rank) * (int64_t)asc_dtype_bytes(data->dtype);
    asc_row_major(data->dims, data->rank, strides);
    int64_t batches = asc_count(data, 0, batch), per_batch = batches ? tuples / batches : 0;
    int64_t batch_elements = asc_count(data, batch, data->rank);
    if (bytes == 0) return ASC_OK;
    for (int64_t t = 0; t < tuples; t++) {
        int64_t offset = t / per_batch * batch_elements;
        for (int i = 0; i < q; i++) {
            int64_t index = asc_index_at(indices, t * q + i), given = index, n = data->dims[batch + i];
            if (!asc_wrap_index(&index, n)) return asc_fail_index(call, given, n);
            offset += index * strides[batch + i];
        }
        memcpy((char *)call->out[0].data + t * bytes,
               (const char *)data->data + offset * (int64_t)asc_dtype_bytes(data->dtype), (size_t)bytes);
    }
    return ASC_OK;
}
