/* gather_elements: out[i] = data[i with coordinate `axis` replaced by indices[i]].
 *   data, indices (int32, int64) of one rank; indices no longer than data off the axis; out like indices
 * ints: asc_gather_params */
#include <string.h>

#include "asc_plan.h"
#include "indexing.h"
#include "movement/strided_copy.h"

int32_t ASC_FN(gather_elements_prepare)(asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1], *out = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_gather_params), "gather_elements takes one int: the axis");
    int64_t axis = ASC_INTS_AS(asc_gather_params, call)->axis;
    ASC_REQUIRE(call, axis >= 0 && axis < data->rank, "gather_elements: the axis is outside the rank");
    ASC_REQUIRE(call, data->dtype == out->dtype, "gather_elements: types differ");
    ASC_REQUIRE(call, asc_same_dims(indices, out), "gather_elements: the output is not shaped like the indices");
    ASC_REQUIRE(call, indices->rank == data->rank, "gather_elements: ranks differ");
    for (int i = 0; i < data->rank; i++)
        ASC_REQUIRE(call, i == axis || indices->dims[i] <= data->dims[i],
                    "gather_elements: the indices are longer than the data off the axis");
    return ASC_OK;
}

int32_t ASC_FN(gather_elements_run)(const asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1];
    int axis = (int)ASC_INTS_AS(asc_gather_params, call)->axis, rank = data->rank;
    int64_t strides[ASC_MAX_RANK] = {0}, at[ASC_MAX_RANK] = {0}, size = (int64_t)asc_dtype_bytes(data->dtype);
    int64_t count = asc_numel(indices), n = data->dims[axis], base = 0;
    asc_row_major(data->dims, rank, strides);
    int64_t axis_stride = strides[axis];
    strides[axis] = 0;
    char *out = call->out[0].data;
    for (int64_t i = 0; i < count; i++) {
        int64_t index = asc_index_at(indices, i), given = index;
        if (!asc_wrap_index(&index, n)) return asc_fail_index(call, given, n);
        memcpy(out + i * size, (const char *)data->data + (base + index * axis_stride) * size, (size_t)size);
        for (int d = rank - 1; d >= 0; d--) {
            base += strides[d];
            if (++at[d] < indices->dims[d]) break;
            base -= strides[d] * at[d];
            at[d] = 0;
        }
    }
    return ASC_OK;
}
