/* bitcast: the bits of each element read as another type of its size. */
#include <string.h>

#include "chunks.h"

int32_t ASC_FN(bitcast_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    ASC_REQUIRE(call, asc_same_dims(x, y), "bitcast: shapes differ");
    ASC_REQUIRE(call, asc_dtype_bytes(x->dtype) == asc_dtype_bytes(y->dtype), "bitcast: elements differ in size");
    ASC_REQUIRE(call, call->n_ints == 0 && call->n_floats == 0, "bitcast takes no arguments");
    return ASC_OK;
}

int32_t ASC_FN(bitcast_run)(const asc_call *call) {
    const asc_tensor *y = &call->out[0];
    size_t bytes = (size_t)asc_numel(y) * asc_dtype_bytes(y->dtype);
    if (bytes) memcpy(y->data, call->in[0].data, bytes);
    return ASC_OK;
}
