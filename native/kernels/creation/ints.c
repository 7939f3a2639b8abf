/* ints - writes its integer arguments: the tensor of a shape computation whose elements are dims.
 *
 *   out 0    int64, int32 or bool, any shape
 *   ints     the elements in row-major order; wraps to int32; for bool, whether it is not 0
 */
#include "isa.h"

int32_t ASC_FN(ints_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->n_in == 0 && call->n_out == 1, "ints takes no input and one output");
    ASC_REQUIRE(call, asc_numel(&call->out[0]) == call->n_ints, "ints has not as many integers as elements");
    return ASC_OK;
}

int32_t ASC_FN(ints_run)(const asc_call *call) {
    const asc_tensor *out = &call->out[0];
    const int64_t *elements = call->ints;
    for (int32_t i = 0; i < call->n_ints; i++) {
        int64_t value = elements[i];
        if (out->dtype == ASC_INT64)
            ((int64_t *)out->data)[i] = value;
        else if (out->dtype == ASC_INT32)
            ((int32_t *)out->data)[i] = (int32_t)value;
        else
            ((uint8_t *)out->data)[i] = value != 0;
    }
    return ASC_OK;
}
