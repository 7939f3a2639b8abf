/* desc.c - aclmdl's descriptions of models. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_mdl.h"
#include "handle.h"
#include "model.h"
#include "run.h"

/* What a description's handle stands for. */
typedef struct described {
    asc_om *om; /* NULL: nothing was described yet */
} described;

aclmdlDesc *aclmdlCreateDesc(void) {
    ASC_ENTER();
    described *d = calloc(1, sizeof *d);
    void *handle = d ? asc_handle_new(ASC_KIND_MODEL_DESC, d) : NULL;
    if (!handle) {
        free(d);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more description");
    }
    return handle;
}

aclError aclmdlDestroyDesc(aclmdlDesc *modelDesc) {
    ASC_ENTER();
    ASC_NEED(modelDesc);
    described *d = asc_handle_take(ASC_KIND_MODEL_DESC, modelDesc);
    if (!d) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_MODEL_DESC, modelDesc, "modelDesc");
    if (d->om) asc_om_release(d->om);
    free(d);
    return ACL_SUCCESS;
}

/* Takes the model over. */
static aclError describe(aclmdlDesc *handle, asc_om *om) {
    described *d = asc_handle_get(ASC_KIND_MODEL_DESC, handle);
    if (!d) {
        asc_om_release(om);
        return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_MODEL_DESC, handle, "modelDesc");
    }
    if (d->om) asc_om_release(d->om);
    d->om = om;
    return ACL_SUCCESS;
}

aclError aclmdlGetDesc(aclmdlDesc *modelDesc, uint32_t modelId) {
    ASC_ENTER();
    ASC_NEED(modelDesc);
    asc_om *om = NULL;
    aclError code = asc_om_get(modelId, &om);
    return code == ACL_SUCCESS ? describe(modelDesc, om) : code;
}

aclError aclmdlGetDescFromFile(aclmdlDesc *modelDesc, const char *modelPath) {
    ASC_ENTER();
    ASC_NEED(modelDesc);
    ASC_NEED(modelPath);
    asc_om *om = NULL;
    aclError code = asc_om_open(modelPath, &om);
    return code == ACL_SUCCESS ? describe(modelDesc, om) : code;
}

aclError aclmdlGetDescFromMem(aclmdlDesc *modelDesc, const void *model, size_t modelSize) {
    ASC_ENTER();
    ASC_NEED(modelDesc);
    ASC_NEED(model);
    asc_om *om = NULL;
    aclError code = asc_om_from_memory(model, modelSize, &om);
    return code == ACL_SUCCESS ? describe(modelDesc, om) : code;
}

/* ---- one input or output ---------------------------------------------------------------------------- */

static asc_om *om_of(const aclmdlDesc *handle) {
    described *d = asc_handle_get(ASC_KIND_MODEL_DESC, handle);
    if (!d)
        asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_MODEL_DESC, handle, "modelDesc");
    else if (!d->om)
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "modelDesc describes no model yet; call aclmdlGetDesc");
    return d ? d->om : NULL;
}

static const asc_io *io_of(const aclmdlDesc *handle, bool output, size_t index) {
    const asc_om *om = om_of(handle);
    if (!om) return NULL;
    size_t count = output ? om->n_outputs : om->n_inputs;
    if (index < count) return output ? &om->outputs[index] : &om->inputs[index];
    asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; the model has %zu %s", index, count,
                 output ? "outputs" : "inputs");
    return NULL;
}

size_t aclmdlGetNumInputs(aclmdlDesc *modelDesc) {
    ASC_ENTER();
    const asc_om *om = om_of(modelDesc);
    return om ? om->n_inputs : 0;
}

size_t aclmdlGetNumOutputs(aclmdlDesc *modelDesc) {
    ASC_ENTER();
    const asc_om *om = om_of(modelDesc);
    return om ? om->n_outputs : 0;
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, false, index);
    return io ? io->bytes : 0;
}

static bool has_free_dim(const asc_io *io) {
    for (int32_t i = 0; i < io->rank; i++)
        if (io->dims[i] < 0) return true;
    return false;
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_om *om = om_of(modelDesc);
    const asc_io *io = om ? io_of(modelDesc, true, index) : NULL;
    if (!io || (om->variety == ASC_RANGES && has_free_dim(io))) return 0; /* known once it ran */
    return io->bytes;
}

aclFormat aclmdlGetInputFormat(const aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, false, index);
    return io ? io->format : ACL_FORMAT_UNDEFINED;
}

aclFormat aclmdlGetOutputFormat(const aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, true, index);
    return io ? io->format : ACL_FORMAT_UNDEFINED;
}

aclDataType aclmdlGetInputDataType(const aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, false, index);
    return io ? io->type : ACL_DT_UNDEFINED;
}

aclDataType aclmdlGetOutputDataType(const aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, true, index);
    return io ? io->type : ACL_DT_UNDEFINED;
}

/* ---- names ---------------------------------------------------------------------------------------------- */

const char *aclmdlGetInputNameByIndex(const aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, false, index);
    return io ? io->name : "";
}

const char *aclmdlGetOutputNameByIndex(const aclmdlDesc *modelDesc, size_t index) {
    ASC_ENTER();
    const asc_io *io = io_of(modelDesc, true, index);
    return io ? io->name : "";
}

/* The name that aclmdlIODims has room for: the tensor's, or one that stands for a longer one. */
static void short_name(const asc_om *om, bool output, size_t index, char *name) {
    const asc_io *io = output ? &om->outputs[index] : &om->inputs[index];
    if (strlen(io->name) < ACL_MAX_TENSOR_NAME_LEN)
        snprintf(name, ACL_MAX_TENSOR_NAME_LEN, "%s", io->name);
    else
        snprintf(name, ACL_MAX_TENSOR_NAME_LEN, "acl_modelId_%u_%s_%zu_0", om->id, output ? "output" : "input", index);
}

const char *aclmdlGetTensorRealName(const aclmdlDesc *modelDesc, const char *name) {
    ASC_ENTER();
    char known[ACL_MAX_TENSOR_NAME_LEN];
    const asc_om *om = om_of(modelDesc);
    if (!om) return NULL;
    if (!name) {
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "name must not be NULL");
        return NULL;
    }
    for (int output = 0; output < 2; output++)
        for (size_t i = 0; i < (output ? om->n_outputs : om->n_inputs); i++) {
            const char *real = output ? om->outputs[i].name : om->inputs[i].name;
            short_name(om, output, i, known);
            if (!strcmp(name, known) || !strcmp(name, real)) return real;
        }
    asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the model has no tensor [%s] among its inputs and outputs", name);
    return NULL;
}

static aclError index_by_name(const aclmdlDesc *handle, bool output, const char *name, size_t *index) {
    const asc_om *om = om_of(handle);
    if (!om) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(name);
    ASC_NEED(index);
    char all[500] = "", known[ACL_MAX_TENSOR_NAME_LEN];
    size_t count = output ? om->n_outputs : om->n_inputs;
    for (size_t i = 0; i < count; i++) {
        const char *real = output ? om->outputs[i].name : om->inputs[i].name;
        short_name(om, output, i, known);
        if (!strcmp(name, real) || !strcmp(name, known)) {
            *index = i;
            return ACL_SUCCESS;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used ? ", " : "", real);
    }
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the model has no %s [%s]; it has %s", output ? "output" : "input",
                        name, all);
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index) {
    ASC_ENTER();
    return index_by_name(modelDesc, false, name, index);
}

aclError aclmdlGetOutputIndexByName(const aclmdlDesc *modelDesc, const char *name, size_t *index) {
    ASC_ENTER();
    return index_by_name(modelDesc, true, name, index);
}

/* ---- dims ----------------------------------------------------------------------------------------------------- */

static aclError dims_of(const aclmdlDesc *handle, bool output, size_t index, aclmdlIODims *dims) {
    ASC_NEED(dims);
    const asc_io *io = io_of(handle, output, index);
    if (!io) return ACL_ERROR_INVALID_PARAM;
    const asc_om *om = om_of(handle);
    memset(dims, 0, sizeof *dims);
    short_name(om, output, index, dims->name);
    dims->dimCount = (size_t)io->rank;
    /* Outputs of models with gears are described at the largest. */
    const int64_t *sizes = output && om->n_gears ? io->most : io->dims;
    memcpy(dims->dims, sizes, (size_t)io->rank * sizeof *sizes);
    return ACL_SUCCESS;
}

aclError aclmdlGetInputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
    ASC_ENTER();
    aclError code = dims_of(modelDesc, false, index, dims);
    /* An image before static AIPP: pixels, each with its three colours. */
    if (code == ACL_SUCCESS && io_of(modelDesc, false, index)->is_yuv) {
        if (dims->dims[1] > 0) dims->dims[1] = dims->dims[1] / 3 * 2;
        dims->dims[3] = 3;
    }
    return code;
}

/* An image before static AIPP: as its bytes lie in memory. */
aclError aclmdlGetInputDimsV2(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
    ASC_ENTER();
    return dims_of(modelDesc, false, index, dims);
}

aclError aclmdlGetOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
    ASC_ENTER();
    return dims_of(modelDesc, true, index, dims);
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims) {
    ASC_ENTER();
    aclError code = dims_of(modelDesc, true, index, dims);
    asc_om *om = code == ACL_SUCCESS ? om_of(modelDesc) : NULL;
    if (!om || !om->n_gears) return code;
    asc_chain *chain;
    code = asc_chain_bind(om, &om->gears[(size_t)atomic_load(&om->gear) * om->n_symbols], NULL, &chain);
    if (code != ACL_SUCCESS) return code;
    const asc_tensor *t = &chain->edges[om->outputs[index].edge];
    memcpy(dims->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
    asc_chain_free(om, chain);
    return ACL_SUCCESS;
}

aclError aclmdlGetInputDimsRange(const aclmdlDesc *modelDesc, size_t index, int64_t *dimRange, size_t dimRangeNum) {
    ASC_ENTER();
    ASC_NEED(dimRange);
    const asc_io *io = io_of(modelDesc, false, index);
    if (!io) return ACL_ERROR_INVALID_PARAM;
    if (dimRangeNum < 2 * (size_t)io->rank)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "dimRangeNum is %zu; %d dims have 2 numbers each", dimRangeNum,
                            io->rank);
    for (int32_t d = 0; d < io->rank; d++) {
        dimRange[2 * d] = io->least[d];
        dimRange[2 * d + 1] = io->most[d];
    }
    return ACL_SUCCESS;
}

/* ---- gears ----------------------------------------------------------------------------------------------------------
 */

aclError aclmdlGetDynamicBatch(const aclmdlDesc *modelDesc, aclmdlBatch *batch) {
    ASC_ENTER();
    ASC_NEED(batch);
    const asc_om *om = om_of(modelDesc);
    if (!om) return ACL_ERROR_INVALID_PARAM;
    batch->batchCount = om->variety == ASC_BATCHES ? om->n_gears : 0;
    for (uint32_t g = 0; g < batch->batchCount && g < ACL_MAX_BATCH_NUM; g++)
        batch->batch[g] = (uint64_t)om->columns[(size_t)g * om->n_columns];
    return ACL_SUCCESS;
}

aclError aclmdlGetDynamicHW(const aclmdlDesc *modelDesc, size_t index, aclmdlHW *hw) {
    ASC_ENTER();
    (void)index;
    ASC_NEED(hw);
    const asc_om *om = om_of(modelDesc);
    if (!om) return ACL_ERROR_INVALID_PARAM;
    hw->hwCount = om->variety == ASC_IMAGES ? om->n_gears : 0;
    for (uint32_t g = 0; g < hw->hwCount && g < ACL_MAX_HW_NUM; g++)
        for (uint32_t c = 0; c < 2 && c < om->n_columns; c++)
            hw->hw[g][c] = (uint64_t)om->columns[(size_t)g * om->n_columns + c];
    return ACL_SUCCESS;
}

static aclError check_all_inputs(size_t index) {
    if (index == (size_t)-1) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; it must be -1, as gears are of all inputs", index);
}

aclError aclmdlGetInputDynamicGearCount(const aclmdlDesc *modelDesc, size_t index, size_t *gearCount) {
    ASC_ENTER();
    ASC_NEED(gearCount);
    const asc_om *om = om_of(modelDesc);
    if (!om) return ACL_ERROR_INVALID_PARAM;
    aclError code = check_all_inputs(index);
    if (code == ACL_SUCCESS) *gearCount = om->variety == ASC_GEARS ? om->n_gears : 0;
    return code;
}

aclError aclmdlGetInputDynamicDims(const aclmdlDesc *modelDesc, size_t index, aclmdlIODims *dims, size_t gearCount) {
    ASC_ENTER();
    ASC_NEED(dims);
    const asc_om *om = om_of(modelDesc);
    if (!om) return ACL_ERROR_INVALID_PARAM;
    aclError code = check_all_inputs(index);
    if (code != ACL_SUCCESS) return code;
    uint32_t count = om->variety == ASC_GEARS ? om->n_gears : 0;
    if (gearCount < count)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "gearCount is %zu; the model has %u gears", gearCount, count);
    for (uint32_t g = 0; g < count; g++) {
        memset(&dims[g], 0, sizeof dims[g]);
        for (uint32_t i = 0; i < om->n_inputs; i++) {
            const asc_io *io = &om->inputs[i];
            for (int32_t d = 0; io->edge != ASC_NONE && d < io->rank && dims[g].dimCount < ACL_MAX_DIM_CNT; d++)
                dims[g].dims[dims[g].dimCount++] =
                    io->symbols[d] == ASC_NONE ? io->dims[d] : om->gears[(size_t)g * om->n_symbols + io->symbols[d]];
        }
    }
    return ACL_SUCCESS;
}
