/* concat: inputs of equal dims but for one axis, one after the other along it.
 * ints: asc_concat_params */
#include <string.h>

#include "asc_plan.h"
#include "strided_copy.h"

int32_t ASC_FN(concat_prepare)(asc_call *call) {
    const asc_tensor *out = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_concat_params), "concat takes one int: the axis");
    int64_t axis = ASC_INTS_AS(asc_concat_params, call)->axis, sum = 0;
    ASC_REQUIRE(call, axis >= 0 && axis < out->rank, "concat: the axis is outside the rank");
    for (int i = 0; i < call->n_in; i++) {
        const asc_tensor *in = &call->in[i];
        ASC_REQUIRE(call, in->dtype == out->dtype, "concat: types differ");
        ASC_REQUIRE(call, in->rank == out->rank, "concat: ranks differ");
        for (int d = 0; d < out->rank; d++)
            ASC_REQUIRE(call, d == axis || in->dims[d] == out->dims[d], "concat: dims differ off the axis");
        ASC_REQUIRE(call, asc_add_ok(sum, in->dims[axis], &sum), "concat: the axis is too long");
    }
    ASC_REQUIRE(call, sum == out->dims[axis], "concat: the output's axis is not the sum of the inputs'");
    return ASC_OK;
}

int32_t ASC_FN(concat_run)(const asc_call *call) {
    const asc_tensor *out = &call->out[0];
    int64_t axis = ASC_INTS_AS(asc_concat_params, call)->axis, at = 0;
    asc_block block = {.size = (int64_t)asc_dtype_bytes(out->dtype), .rank = out->rank};
    asc_row_major(out->dims, out->rank, block.to_strides);
    int64_t step = block.to_strides[axis];
    for (int i = 0; i < call->n_in; i++) {
        const asc_tensor *in = &call->in[i];
        block.from = in->data;
        block.to = (char *)out->data + at * step * block.size;
        memcpy(block.dims, in->dims, sizeof block.dims);
        memcpy(block.from_strides, in->strides, sizeof block.from_strides);
        ASC_FN(asc_copy_block)(call, &block);
        at += in->dims[axis];
    }
    return ASC_OK;
}
