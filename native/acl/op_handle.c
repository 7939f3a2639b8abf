/* op_handle.c - operators that are looked up once, and run by a handle. */
#include <stdlib.h>

#include "context.h"
#include "handle.h"
#include "op_execute.h"

/* The bundle, and the shapes that it was looked up with. The descriptions are copies without what they own. */
typedef struct found_op {
    asc_om *om; /* a reference */
    asc_op op;
    asc_desc *copies;
    const asc_desc **descs;
} found_op;

static void free_found(found_op *f) {
    if (f->om) asc_om_release(f->om);
    free(f->copies);
    free(f->descs);
    free(f);
}

/* NULL, with the text set, when there is no memory. */
static found_op *copy_of(const asc_op *op) {
    size_t count = (size_t)op->n_in + op->n_out;
    found_op *f = calloc(1, sizeof *f);
    if (f) {
        f->copies = calloc(count + 1, sizeof *f->copies);
        f->descs = calloc(count + 1, sizeof *f->descs);
    }
    if (!f || !f->copies || !f->descs) {
        if (f) free_found(f);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const asc_desc *from = i < op->n_in ? op->inputs[i] : op->outputs[i - op->n_in];
        f->copies[i] = (asc_desc){.type = from->type, .format = from->format, .shape = from->shape};
        f->descs[i] = &f->copies[i];
    }
    f->op = (asc_op){NULL, op->n_in, op->n_out, f->descs, f->descs + op->n_in, NULL};
    return f;
}

static aclError find(const asc_op *op, aclopHandle **handle) {
    found_op *f = copy_of(op);
    if (!f) return ACL_ERROR_BAD_ALLOC;
    aclError code = asc_op_find(op, &f->om);
    if (code == ACL_SUCCESS && !(*handle = asc_handle_new(ASC_KIND_OP_HANDLE, f)))
        code = asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    if (code != ACL_SUCCESS) free_found(f);
    return code;
}

aclError aclopCreateHandle(const char *opType, int numInputs, const aclTensorDesc *const inputDesc[], int numOutputs,
                           const aclTensorDesc *const outputDesc[], const aclopAttr *opAttr, aclopHandle **handle) {
    ASC_ENTER();
    ASC_NEED(handle);
    asc_op_arguments arguments;
    aclError code = asc_op_begin(&arguments, opType, numInputs, inputDesc, numOutputs, outputDesc, opAttr);
    if (code != ACL_SUCCESS) return code;
    code = find(&arguments.op, handle);
    asc_op_end(&arguments);
    return code;
}

void aclopDestroyHandle(aclopHandle *handle) {
    ASC_ENTER();
    found_op *f = asc_handle_take(ASC_KIND_OP_HANDLE, handle);
    if (f)
        free_found(f);
    else
        asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_OP_HANDLE, handle, "handle");
}

aclError aclopExecWithHandle(aclopHandle *handle, int numInputs, const aclDataBuffer *const inputs[], int numOutputs,
                             aclDataBuffer *const outputs[], aclrtStream stream) {
    ASC_ENTER();
    const found_op *f = asc_handle_get(ASC_KIND_OP_HANDLE, handle);
    if (!f) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_OP_HANDLE, handle, "handle");
    if (numInputs != (int)f->op.n_in || numOutputs != (int)f->op.n_out)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "numInputs is %d and numOutputs %d; the operator has %u and %u",
                            numInputs, numOutputs, f->op.n_in, f->op.n_out);
    return asc_stream_launched(stream, asc_op_execute_on(asc_om_retain(f->om), &f->op, inputs, outputs, stream));
}
