/* one_hot: a new axis of length depth that holds `on` at the index and `off` elsewhere.
 *   indices (int32, int64), values [2] = off, on -> out: indices' dims with the axis inserted
 * ints: asc_one_hot_params. Negative indices count from the end; one outside [-depth, depth) gives all off. */
#include <string.h>

#include "asc_plan.h"
#include "indexing.h"

int32_t ASC_FN(one_hot_prepare)(asc_call *call) {
    const asc_tensor *indices = &call->in[0], *values = &call->in[1], *out = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_one_hot_params), "one_hot takes one int: the axis");
    int64_t axis = ASC_INTS_AS(asc_one_hot_params, call)->axis;
    ASC_REQUIRE(call, out->rank == indices->rank + 1, "one_hot: the output's rank is wrong");
    ASC_REQUIRE(call, axis >= 0 && axis < out->rank, "one_hot: the axis is outside the rank");
    int a = (int)axis;
    ASC_REQUIRE(call,
                asc_dims_match(out, 0, indices, 0, a) && asc_dims_match(out, a + 1, indices, a, indices->rank - a),
                "one_hot: the output's dims are wrong");
    ASC_REQUIRE(call, values->dtype == out->dtype && asc_numel(values) == 2,
                "one_hot: values are not a pair of its type");
    return ASC_OK;
}

int32_t ASC_FN(one_hot_run)(const asc_call *call) {
    const asc_tensor *indices = &call->in[0], *out = &call->out[0];
    int axis = (int)ASC_INTS_AS(asc_one_hot_params, call)->axis;
    int64_t size = (int64_t)asc_dtype_bytes(out->dtype), depth = out->dims[axis], total = asc_numel(out);
    int64_t inner = asc_count(out, axis + 1, out->rank), count = asc_numel(indices);
    const char *off = call->in[1].data, *on = off + size;
    char *y = out->data;
    for (int64_t i = 0; i < total; i++) memcpy(y + i * size, off, (size_t)size);
    for (int64_t i = 0; i < count; i++) {
        int64_t index = asc_index_at(indices, i);
        if (!asc_wrap_index(&index, depth)) continue;
        memcpy(y + ((i / inner * depth + index) * inner + i % inner) * size, on, (size_t)size);
    }
    return ASC_OK;
}
