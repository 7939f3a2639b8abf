/* copy: out = in, element for element, whatever the input's strides. */
#include <string.h>

#include "isa.h"

int32_t ASC_FN(copy_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->in[0].dtype == call->out[0].dtype, "copy: types differ");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "copy: shapes differ");
    ASC_REQUIRE(call, call->n_ints == 0 && call->n_floats == 0, "copy takes no arguments");
    call->scratch[0] = (int64_t)asc_dtype_bytes(call->in[0].dtype);
    return ASC_OK;
}

static void copy_strided(const asc_tensor *t, int axis, const char *from, char **to, int64_t size) {
    if (axis == t->rank) {
        memcpy(*to, from, (size_t)size);
        *to += size;
        return;
    }
    for (int64_t i = 0; i < t->dims[axis]; i++) copy_strided(t, axis + 1, from + i * t->strides[axis] * size, to, size);
}

int32_t ASC_FN(copy_run)(const asc_call *call) {
    const asc_tensor *in = &call->in[0];
    int64_t size = call->scratch[0], n = asc_numel(in);
    char *to = call->out[0].data;
    if (n == 0) return ASC_OK;
    if (asc_contiguous(in))
        memcpy(to, in->data, (size_t)(n * size));
    else
        copy_strided(in, 0, in->data, &to, size);
    return ASC_OK;
}
