/* A custom-operator library: Scale (y = alpha * x), and operators that misbehave. ALPHA distinguishes two
 * builds of it. */
#include <string.h>

#include "ascend_rt.h"

static int32_t same_shape(asc_custom_call *call) {
    call->out[0].dtype = call->in[0].dtype;
    call->out[0].rank = call->in[0].rank;
    memcpy(call->out[0].dims, call->in[0].dims, sizeof call->in[0].dims);
    return 0;
}

static int32_t other_shape(asc_custom_call *call) {
    same_shape(call);
    call->out[0].dims[0] += 1;
    return 0;
}

static uint64_t workspace(const asc_custom_call *call) {
    return (uint64_t)call->in[0].dims[0] * sizeof(float);
}

/* Goes by way of the workspace, so that it is seen to be there. */
static int32_t scale(const asc_custom_call *call) {
    const float *x = call->in[0].data;
    float *y = call->out[0].data, *w = call->workspace, alpha = ALPHA;
    for (uint32_t i = 0; i < call->n_attrs; i++)
        if (strcmp(call->attrs[i].name, "alpha") == 0) alpha = (float)call->attrs[i].ints[0];
    if (call->workspace_bytes < (uint64_t)call->in[0].dims[0] * sizeof(float)) return 1;
    for (int64_t i = 0; i < call->in[0].dims[0]; i++) w[i] = alpha * x[i];
    memcpy(y, w, (size_t)call->in[0].dims[0] * sizeof(float));
    return 0;
}

static int32_t refuse(const asc_custom_call *call) {
    if (call->error_bytes > 6) memcpy(call->error, "not me", 7);
    return 1;
}

#define OP(type, infer, compute) \
    {ASC_CUSTOM_OP_VERSION, sizeof(asc_custom_op), type, 1, 1, 1, 0, infer, workspace, compute}
static const asc_custom_op OPS[] = {OP("Scale", same_shape, scale), OP("OtherShape", other_shape, scale),
                                    OP("Refuse", same_shape, refuse), OP("NoCompute", same_shape, NULL)};

ASC_API const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type);

const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {
    for (size_t i = 0; version >= 1 && i < sizeof OPS / sizeof *OPS; i++)
        if (strcmp(OPS[i].op_type, op_type) == 0) return &OPS[i];
    return NULL;
}
