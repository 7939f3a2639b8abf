/* execute.c - aclmdl's execution: datasets become addresses and shapes, now or in a stream. */
#include "execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_mdl.h"
#include "call.h"
#include "context.h"
#include "dataset.h"
#include "handle.h"
#include "memory.h"
#include "tensor_desc.h"

/* ---- shapes of inputs ---------------------------------------------------------------------------- */

/* Of a model with gears: that of the dataset, else of the model, else the largest. */
static const int64_t *gear_sizes(const asc_om *om, const asc_dataset *inputs) {
    uint32_t gear = inputs->gear != ASC_NO_GEAR && inputs->gear_model == om->id ? inputs->gear : om->largest;
    return &om->gears[(size_t)gear * om->n_symbols];
}

/* Of a model whose sizes have ranges: what the program said of each input. */
static aclError read_shapes(const asc_om *om, const asc_dataset *inputs, asc_tensor *shapes) {
    for (uint32_t i = 0; i < om->n_inputs; i++) {
        const asc_io *io = &om->inputs[i];
        shapes[i] = (asc_tensor){.dtype = io->dtype, .rank = io->rank};
        memcpy(shapes[i].dims, io->dims, sizeof io->dims);
        bool open = false;
        for (int32_t d = 0; d < io->rank; d++) open |= io->dims[d] < 0;
        const asc_desc *desc = inputs->descs[i] ? asc_desc_get(inputs->descs[i], "tensorDesc") : NULL;
        if (!desc && !open) continue;
        if (!desc)
            return asc_acl_fail((aclError)ACL_ERROR_GE_SHAPE_INVALID,
                                "input %u [%s] has free dims; aclmdlSetDatasetTensorDesc says which they are", i,
                                io->name);
        if (desc->shape.rank < 0 || desc->shape.rank > ASC_MAX_RANK)
            return asc_acl_fail((aclError)ACL_ERROR_GE_SHAPE_INVALID, "input %u [%s] is given %d dims, not %d", i,
                                io->name, desc->shape.rank, io->rank);
        shapes[i].rank = desc->shape.rank;
        memcpy(shapes[i].dims, desc->shape.dims, (size_t)desc->shape.rank * sizeof *desc->shape.dims);
    }
    return ACL_SUCCESS;
}

static aclError bind(asc_om *om, const asc_dataset *inputs, asc_chain **chain) {
    if (om->variety == ASC_FIXED) return ACL_SUCCESS;
    if (om->n_gears) return asc_chain_bind(om, gear_sizes(om, inputs), NULL, chain);
    asc_tensor *shapes = calloc(om->n_inputs + 1, sizeof *shapes);
    if (!shapes) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    aclError code = read_shapes(om, inputs, shapes);
    if (code == ACL_SUCCESS) code = asc_chain_bind(om, NULL, shapes, chain);
    free(shapes);
    return code;
}

/* ---- addresses --------------------------------------------------------------------------------------- */

static asc_acl_buffer *buffer_of(const asc_dataset *dataset, uint32_t i, const char *what) {
    asc_acl_buffer *buffer = asc_handle_get(ASC_KIND_DATA_BUFFER, dataset->buffers[i]);
    if (!buffer) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, dataset->buffers[i], what);
    return buffer;
}

static aclError place(const asc_acl_buffer *buffer, const asc_io *io, size_t need, const char *what, uint32_t i,
                      void **at) {
    char name[160];
    if (!buffer) return ACL_ERROR_INVALID_PARAM;
    if (!buffer->data && need)
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "%s %u [%s] has no memory: its data buffer's address is NULL", what, i, io->name);
    if (buffer->bytes < need)
        return asc_acl_fail((aclError)ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID,
                            "%s %u [%s] has a data buffer of %zu bytes; the model needs %zu", what, i, io->name,
                            buffer->bytes, need);
    *at = buffer->data;
    snprintf(name, sizeof name, "%s %u [%s]", what, i, io->name);
    return need ? asc_memory_check(buffer->data, need, ASC_PLACE_DEVICE, name) : ACL_SUCCESS;
}

/* Pictures for dynamic AIPP, and their images to be. */
static aclError place_pictures(asc_acl_call *r, const asc_dataset *inputs, uint32_t i) {
    const asc_io *io = &r->om->inputs[i];
    const asc_tensor *t = &asc_acl_call_chain(r)->edges[io->edge];
    const asc_aipp *parameters = asc_dataset_aipp_of(inputs, i);
    if (!parameters)
        return asc_acl_fail((aclError)ACL_ERROR_GE_AIPP_BATCH_EMPTY,
                            "input %u [%s] takes pictures that no parameters of AIPP describe; call aclmdlSetInputAIPP",
                            i, io->name);
    aclError code = asc_aipp_check(parameters, t->dims);
    size_t need = asc_aipp_bytes(parameters);
    if (code == ACL_SUCCESS && need > io->aipp_bytes)
        code = asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "the pictures of input %u [%s] have %zu bytes; max_src_image_size is %zu", i, io->name,
                            need, io->aipp_bytes);
    if (code == ACL_SUCCESS) code = place(buffer_of(inputs, i, "input"), io, need, "input", i, &r->addresses[i]);
    if (code == ACL_SUCCESS && !asc_acl_call_add_images(r, i, parameters, t->dims))
        code = asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for the images of [%s]", io->name);
    return code;
}

static aclError place_inputs(asc_acl_call *r, const asc_dataset *inputs) {
    aclError code = ACL_SUCCESS;
    for (uint32_t i = 0; code == ACL_SUCCESS && i < r->n_in; i++) {
        const asc_io *io = &r->om->inputs[i];
        if (io->edge == ASC_NONE) continue;
        if (io->aipp_bytes) {
            code = place_pictures(r, inputs, i);
            continue;
        }
        size_t need = asc_tensor_bytes(&asc_acl_call_chain(r)->edges[io->edge]);
        code = place(buffer_of(inputs, i, "input"), io, need, "input", i, &r->addresses[i]);
    }
    return code;
}

/* An output without memory gets some, which the program frees. */
static aclError place_outputs(asc_acl_call *r, asc_dataset *outputs, int32_t device) {
    for (uint32_t i = 0; i < r->n_out; i++) {
        const asc_io *io = &r->om->outputs[i];
        const asc_tensor *t = &asc_acl_call_chain(r)->edges[io->edge];
        asc_acl_buffer *buffer = buffer_of(outputs, i, "output");
        size_t need = asc_tensor_bytes(t);
        if (buffer && !buffer->data && !buffer->bytes && need) {
            buffer->data = asc_memory_new(need, ASC_PLACE_DEVICE, device);
            if (!buffer->data) return (aclError)ACL_ERROR_GE_MEMORY_ALLOCATION;
            buffer->bytes = need;
        }
        aclError code = place(buffer, io, need, "output", i, &r->addresses[r->n_in + i]);
        if (code == ACL_SUCCESS && r->om->variety != ASC_FIXED)
            code = asc_dataset_describe(outputs, i, io->type, t->rank, t->dims, io->format);
        if (code != ACL_SUCCESS) return code;
    }
    return ACL_SUCCESS;
}

static aclError check_counts(const asc_om *om, const asc_dataset *inputs, const asc_dataset *outputs) {
    if (inputs->count != om->n_inputs)
        return asc_acl_fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH,
                            "the input dataset has %u buffers; the model has %u inputs%s", inputs->count, om->n_inputs,
                            asc_om_chooser(om) == ASC_NONE ? "" : ", one of them " ACL_DYNAMIC_TENSOR_NAME);
    if (outputs->count != om->n_outputs)
        return asc_acl_fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH,
                            "the output dataset has %u buffers; the model has %u outputs", outputs->count,
                            om->n_outputs);
    return ACL_SUCCESS;
}

static aclError prepare(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output, asc_acl_call **made) {
    asc_om *om = NULL;
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    const asc_dataset *inputs = asc_dataset_get(input, "input");
    asc_dataset *outputs = inputs ? asc_dataset_get(output, "output") : NULL;
    if (!outputs) return ACL_ERROR_INVALID_PARAM;
    aclError code = asc_om_get(id, &om);
    if (code != ACL_SUCCESS) return code;
    code = check_counts(om, inputs, outputs);
    if (code != ACL_SUCCESS) {
        asc_om_release(om);
        return code;
    }
    asc_acl_call *r = asc_acl_call_new(om);
    if (!r) return ACL_ERROR_BAD_ALLOC;
    code = bind(om, inputs, &r->chain);
    if (code == ACL_SUCCESS) code = place_inputs(r, inputs);
    if (code == ACL_SUCCESS) code = place_outputs(r, outputs, context->device);
    asc_acl_call_pin(r);
    if (code != ACL_SUCCESS) {
        asc_acl_call_end(r);
        return code;
    }
    *made = r;
    return ACL_SUCCESS;
}

aclError asc_execute_model(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output) {
    asc_acl_call *r = NULL;
    aclError code = prepare(id, input, output, &r);
    if (code != ACL_SUCCESS) return code;
    for (uint32_t i = 0; i < r->n_in; i++)
        if (r->addresses[i]) asc_memory_report_unwritten(r->addresses[i]);
    code = asc_acl_call_run(r);
    asc_acl_call_end(r);
    return code;
}

aclError asc_execute_model_in(uint32_t id, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream) {
    asc_acl_call *r = NULL;
    asc_stream *target = NULL;
    aclError code = asc_stream_get(stream, &target);
    if (code == ACL_SUCCESS) code = prepare(id, input, output, &r);
    if (code == ACL_SUCCESS) code = asc_stream_push(target, asc_acl_call_run, asc_acl_call_end, r);
    return asc_stream_launched(stream, code);
}

aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output) {
    ASC_ENTER();
    return asc_execute_model(modelId, input, output);
}

aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream) {
    ASC_ENTER();
    return asc_execute_model_in(modelId, input, output, stream);
}

/* ---- with settings: limits of time, and memory that the runtime brings itself ---------------------------------- */

typedef struct run_config {
    int32_t stream_timeout, event_timeout;
} run_config;

aclmdlExecConfigHandle *aclmdlCreateExecConfigHandle(void) {
    ASC_ENTER();
    run_config *config = calloc(1, sizeof *config);
    void *handle = config ? asc_handle_new(ASC_KIND_RUN_CONFIG, config) : NULL;
    if (!handle) {
        free(config);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more configuration");
        return NULL;
    }
    *config = (run_config){-1, -1};
    return handle;
}

aclError aclmdlDestroyExecConfigHandle(const aclmdlExecConfigHandle *handle) {
    ASC_ENTER();
    run_config *config = asc_handle_take(ASC_KIND_RUN_CONFIG, handle);
    if (!config) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_RUN_CONFIG, handle, "handle");
    free(config);
    return ACL_SUCCESS;
}

aclError aclmdlSetExecConfigOpt(aclmdlExecConfigHandle *handle, aclmdlExecConfigAttr attr, const void *attrValue,
                                size_t valueSize) {
    ASC_ENTER();
    run_config *config = asc_handle_get(ASC_KIND_RUN_CONFIG, handle);
    if (!config) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_RUN_CONFIG, handle, "handle");
    ASC_NEED(attrValue);
    if (attr < ACL_MDL_STREAM_SYNC_TIMEOUT || attr > ACL_MDL_MEC_TIMETHR_SIZET)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "attr is %d, no aclmdlExecConfigAttr", (int)attr);
    bool timeout = attr == ACL_MDL_STREAM_SYNC_TIMEOUT || attr == ACL_MDL_EVENT_SYNC_TIMEOUT;
    size_t need = timeout ? sizeof(int32_t) : sizeof(size_t);
    if (valueSize != need)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "valueSize is %zu; this setting has %zu bytes", valueSize, need);
    if (attr == ACL_MDL_STREAM_SYNC_TIMEOUT) memcpy(&config->stream_timeout, attrValue, need);
    if (attr == ACL_MDL_EVENT_SYNC_TIMEOUT) memcpy(&config->event_timeout, attrValue, need);
    return ACL_SUCCESS;
}

static aclError check_config(const aclmdlExecConfigHandle *handle) {
    if (!handle || asc_handle_get(ASC_KIND_RUN_CONFIG, handle)) return ACL_SUCCESS;
    return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_RUN_CONFIG, handle, "handle");
}

/* In its place among the stream's work, and awaited. */
aclError aclmdlExecuteV2(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream,
                         const aclmdlExecConfigHandle *handle) {
    ASC_ENTER();
    asc_stream *target = NULL;
    aclError code = check_config(handle);
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code == ACL_SUCCESS) code = asc_execute_model_in(modelId, input, output, stream);
    if (code != ACL_SUCCESS) return code;
    const run_config *config = asc_handle_get(ASC_KIND_RUN_CONFIG, handle);
    return asc_queue_wait(target->queue, config ? config->stream_timeout : -1);
}

aclError aclmdlExecuteAsyncV2(uint32_t modelId, const aclmdlDataset *input, aclmdlDataset *output, aclrtStream stream,
                              const aclmdlExecConfigHandle *handle) {
    ASC_ENTER();
    aclError code = check_config(handle);
    return code == ACL_SUCCESS ? asc_execute_model_in(modelId, input, output, stream) : code;
}
