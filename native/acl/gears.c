/* gears.c - aclmdl's functions that choose the sizes at which a model with gears runs. */
#include <stdio.h>
#include <string.h>

#include "acl/acl_mdl.h"
#include "dataset.h"
#include "error.h"
#include "model.h"

static const char *const asked[] = {
    [ASC_FIXED] = "fixed sizes",
    [ASC_BATCHES] = "batch sizes (aclmdlSetDynamicBatchSize)",
    [ASC_IMAGES] = "image sizes (aclmdlSetDynamicHWSize)",
    [ASC_GEARS] = "sets of dims (aclmdlSetInputDynamicDims)",
    [ASC_RANGES] = "ranges of sizes (aclmdlSetDatasetTensorDesc)",
};

static aclError begin(uint32_t id, aclmdlDataset *given, size_t index, asc_variety variety, asc_om **om,
                      asc_dataset **dataset) {
    *dataset = asc_dataset_get(given, "dataset");
    if (!*dataset) return ACL_ERROR_INVALID_PARAM;
    aclError code = asc_om_get(id, om);
    if (code != ACL_SUCCESS) return code;
    uint32_t chooser = asc_om_chooser(*om);
    if ((*om)->variety != variety)
        code = asc_acl_fail(ACL_ERROR_MODEL_NOT_DYNAMIC, "the model has %s", asked[(*om)->variety]);
    else if (index != chooser)
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; that of [%s] is %u (aclmdlGetInputIndexByName)",
                            index, ACL_DYNAMIC_TENSOR_NAME, chooser);
    if (code != ACL_SUCCESS) asc_om_release(*om);
    return code;
}

/* The gears, "1; 2; 4", for texts. */
static void list(const asc_om *om, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (uint32_t g = 0; g < om->n_gears && used + 40 < bytes; g++)
        for (uint32_t c = 0; c < om->n_columns && used + 40 < bytes; c++)
            used += (size_t)snprintf(text + used, bytes - used, "%s%lld",
                                     c   ? ","
                                     : g ? "; "
                                         : "",
                                     (long long)om->columns[(size_t)g * om->n_columns + c]);
}

static aclError choose(asc_om *om, asc_dataset *dataset, uint32_t gear, const char *wanted) {
    char all[300];
    list(om, all, sizeof all);
    aclError code = ACL_SUCCESS;
    if (gear == ASC_NO_GEAR)
        code = asc_acl_fail((aclError)ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID, "%s is none of the model's gears (%s)",
                            wanted, all);
    else {
        dataset->gear = gear;
        dataset->gear_model = om->id;
        atomic_store(&om->gear, gear);
    }
    asc_om_release(om);
    return code;
}

static uint32_t find(const asc_om *om, const uint64_t *values, uint32_t count) {
    for (uint32_t g = 0; g < om->n_gears; g++) {
        uint32_t same = 0;
        while (same < count && (uint64_t)om->columns[(size_t)g * om->n_columns + same] == values[same]) same++;
        if (same == count) return g;
    }
    return ASC_NO_GEAR;
}

aclError aclmdlSetDynamicBatchSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t batchSize) {
    ASC_ENTER();
    asc_om *om = NULL;
    asc_dataset *found = NULL;
    char wanted[32];
    aclError code = begin(modelId, dataset, index, ASC_BATCHES, &om, &found);
    if (code != ACL_SUCCESS) return code;
    snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)batchSize);
    return choose(om, found, find(om, &batchSize, 1), wanted);
}

aclError aclmdlSetDynamicHWSize(uint32_t modelId, aclmdlDataset *dataset, size_t index, uint64_t height,
                                uint64_t width) {
    ASC_ENTER();
    asc_om *om = NULL;
    asc_dataset *found = NULL;
    char wanted[64];
    uint64_t both[] = {height, width};
    aclError code = begin(modelId, dataset, index, ASC_IMAGES, &om, &found);
    if (code != ACL_SUCCESS) return code;
    snprintf(wanted, sizeof wanted, "%llu,%llu", (unsigned long long)height, (unsigned long long)width);
    return choose(om, found, find(om, both, 2), wanted);
}

static bool is_gear(const asc_om *om, uint32_t gear, const aclmdlIODims *dims) {
    size_t at = 0;
    for (uint32_t i = 0; i < om->n_inputs; i++) {
        const asc_io *io = &om->inputs[i];
        for (int32_t d = 0; io->edge != ASC_NONE && d < io->rank; d++, at++) {
            int64_t size =
                io->symbols[d] == ASC_NONE ? io->dims[d] : om->gears[(size_t)gear * om->n_symbols + io->symbols[d]];
            if (at >= dims->dimCount || dims->dims[at] != size) return false;
        }
    }
    return at == dims->dimCount;
}

aclError aclmdlSetInputDynamicDims(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims) {
    ASC_ENTER();
    asc_om *om = NULL;
    asc_dataset *found = NULL;
    char wanted[200] = "[";
    ASC_NEED(dims);
    if (dims->dimCount > ACL_MAX_DIM_CNT)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "dims->dimCount is %zu; it is at most %d", dims->dimCount,
                            ACL_MAX_DIM_CNT);
    aclError code = begin(modelId, dataset, index, ASC_GEARS, &om, &found);
    if (code != ACL_SUCCESS) return code;
    uint32_t gear = 0;
    while (gear < om->n_gears && !is_gear(om, gear, dims)) gear++;
    size_t used = 1;
    for (size_t i = 0; i < dims->dimCount && used + 30 < sizeof wanted; i++)
        used += (size_t)snprintf(wanted + used, sizeof wanted - used, "%s%lld", i ? "," : "", (long long)dims->dims[i]);
    snprintf(wanted + used, sizeof wanted - used, "] (the dims of all inputs, one after another)");
    return choose(om, found, gear < om->n_gears ? gear : ASC_NO_GEAR, wanted);
}
