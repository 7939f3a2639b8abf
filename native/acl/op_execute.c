/* op_execute.c - aclop's execution of operators that were loaded or compiled. */
#include "op_execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "call.h"
#include "context.h"
#include "handle.h"
#include "init.h"
#include "memory.h"

#define MOST_TENSORS 1024

static aclError read_descs(const asc_desc **into, int count, const aclTensorDesc *const given[], const char *name) {
    char which[40];
    for (int i = 0; i < count; i++) {
        snprintf(which, sizeof which, "%s[%d]", name, i);
        into[i] = asc_desc_get(given[i], which);
        if (!into[i]) return ACL_ERROR_INVALID_PARAM;
    }
    return ACL_SUCCESS;
}

aclError asc_op_begin(asc_op_arguments *arguments, const char *type, int n_in, const aclTensorDesc *const inputs[],
                      int n_out, const aclTensorDesc *const outputs[], const aclopAttr *attr) {
    *arguments = (asc_op_arguments){0};
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    if (!type) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "opType must not be NULL");
    if (n_in < 0 || n_out < 0 || n_in > MOST_TENSORS || n_out > MOST_TENSORS)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "numInputs is %d and numOutputs %d; each is 0 to %d", n_in, n_out,
                            MOST_TENSORS);
    if ((n_in && !inputs) || (n_out && !outputs))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "inputDesc and outputDesc must not be NULL");
    const asc_attrs *attrs;
    code = asc_attrs_get(attr, &attrs);
    if (code != ACL_SUCCESS) return code;
    arguments->descs = calloc((size_t)(n_in + n_out) + 1, sizeof *arguments->descs);
    if (!arguments->descs) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    code = read_descs(arguments->descs, n_in, inputs, "inputDesc");
    if (code == ACL_SUCCESS) code = read_descs(arguments->descs + n_in, n_out, outputs, "outputDesc");
    arguments->op = (asc_op){type, (uint32_t)n_in, (uint32_t)n_out, arguments->descs, arguments->descs + n_in, attrs};
    if (code != ACL_SUCCESS) asc_op_end(arguments);
    return code;
}

void asc_op_end(asc_op_arguments *arguments) {
    free(arguments->descs);
    arguments->descs = NULL;
}

static aclError place(const aclDataBuffer *given, size_t need, const char *what, uint32_t i, void **at) {
    char name[40];
    snprintf(name, sizeof name, "%s[%u]", what, i);
    const asc_acl_buffer *buffer = asc_handle_get(ASC_KIND_DATA_BUFFER, given);
    if (!buffer) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, given, name);
    if (need && !buffer->data) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the address of %s is NULL", name);
    if (buffer->bytes < need)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has %zu bytes; the operator needs %zu", name, buffer->bytes,
                            need);
    *at = buffer->data;
    return need ? asc_memory_check(buffer->data, need, ASC_PLACE_ANY, name) : ACL_SUCCESS;
}

/* Of a model whose sizes have ranges: the dims of this call. */
static aclError bind(asc_acl_call *call, const asc_op *op) {
    asc_om *om = call->om;
    if (om->variety == ASC_FIXED) return ACL_SUCCESS;
    asc_tensor *shapes = calloc(om->n_inputs + 1, sizeof *shapes);
    if (!shapes) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (uint32_t i = 0; i < om->n_inputs; i++) {
        const asc_desc *desc = op->inputs[asc_op_place(&om->inputs[i])];
        shapes[i] = (asc_tensor){.dtype = om->inputs[i].dtype, .rank = om->inputs[i].rank};
        memcpy(shapes[i].dims, desc->shape.dims, (size_t)shapes[i].rank * sizeof *shapes[i].dims);
    }
    aclError code = asc_chain_bind(om, NULL, shapes, &call->chain);
    free(shapes);
    return code;
}

static aclError place_all(asc_acl_call *call, const aclDataBuffer *const inputs[], aclDataBuffer *const outputs[]) {
    aclError code = ACL_SUCCESS;
    const asc_tensor *edges = asc_acl_call_chain(call)->edges;
    for (uint32_t i = 0; code == ACL_SUCCESS && i < call->n_in; i++) {
        const asc_io *io = &call->om->inputs[i];
        uint32_t at = asc_op_place(io);
        code = place(inputs[at], asc_tensor_bytes(&edges[io->edge]), "inputs", at, &call->addresses[i]);
    }
    for (uint32_t i = 0; code == ACL_SUCCESS && i < call->n_out; i++)
        code = place(outputs[i], asc_tensor_bytes(&edges[call->om->outputs[i].edge]), "outputs", i,
                     &call->addresses[call->n_in + i]);
    return code;
}

aclError asc_op_execute(const asc_op *op, const aclDataBuffer *const inputs[], aclDataBuffer *const outputs[],
                        aclrtStream stream) {
    asc_om *om = NULL;
    aclError code = asc_op_find(op, &om);
    return code == ACL_SUCCESS ? asc_op_execute_on(om, op, inputs, outputs, stream) : code;
}

aclError asc_op_execute_on(asc_om *om, const asc_op *op, const aclDataBuffer *const inputs[],
                           aclDataBuffer *const outputs[], aclrtStream stream) {
    asc_stream *target = NULL;
    aclError code = (op->n_in && !inputs) || (op->n_out && !outputs)
                        ? asc_acl_fail(ACL_ERROR_INVALID_PARAM, "inputs and outputs must not be NULL")
                        : asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) {
        asc_om_release(om);
        return code;
    }
    asc_acl_call *call = asc_acl_call_new(om);
    if (!call) return ACL_ERROR_BAD_ALLOC;
    code = bind(call, op);
    if (code == ACL_SUCCESS) code = place_all(call, inputs, outputs);
    asc_acl_call_pin(call);
    if (code == ACL_SUCCESS) return asc_stream_push(target, asc_acl_call_run, asc_acl_call_end, call);
    asc_acl_call_end(call);
    return code;
}

/* ---- the interface -------------------------------------------------------------------------------------- */

aclError aclopSetModelDir(const char *modelDir) {
    ASC_ENTER();
    ASC_NEED(modelDir);
    aclError code = asc_need_init();
    return code == ACL_SUCCESS ? asc_op_add_folder(modelDir) : code;
}

aclError aclopLoad(const void *model, size_t modelSize) {
    ASC_ENTER();
    ASC_NEED(model);
    if (!modelSize) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "modelSize is 0");
    asc_om *om = NULL;
    aclError code = asc_need_init();
    if (code == ACL_SUCCESS) code = asc_om_from_memory(model, modelSize, &om);
    return code == ACL_SUCCESS ? asc_op_add(om) : code;
}

static aclError execute(const char *type, int n_in, const aclTensorDesc *const input_desc[],
                        const aclDataBuffer *const inputs[], int n_out, const aclTensorDesc *const output_desc[],
                        aclDataBuffer *const outputs[], const aclopAttr *attr, aclrtStream stream) {
    asc_op_arguments arguments;
    aclError code = asc_op_begin(&arguments, type, n_in, input_desc, n_out, output_desc, attr);
    if (code != ACL_SUCCESS) return code;
    code = asc_op_execute(&arguments.op, inputs, outputs, stream);
    asc_op_end(&arguments);
    return code;
}

aclError aclopExecute(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[],
                      const aclDataBuffer *const inputs[], int numOutputs, const aclTensorDesc *const outputDesc[],
                      aclDataBuffer *const outputs[], const aclopAttr *attr, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(
        stream, execute(opType, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr, stream));
}

aclError aclopExecuteV2(const char *opType, int numInputs, aclTensorDesc *inputDesc[], aclDataBuffer *inputs[],
                        int numOutputs, aclTensorDesc *outputDesc[], aclDataBuffer *outputs[], aclopAttr *attr,
                        aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(
        stream,
        execute(opType, numInputs, (const aclTensorDesc *const *)inputDesc, (const aclDataBuffer *const *)inputs,
                numOutputs, (const aclTensorDesc *const *)outputDesc, (aclDataBuffer *const *)outputs, attr, stream));
}
