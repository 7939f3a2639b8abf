/* load.c - aclmdl's functions that load and unload models. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acl/acl_mdl.h"
#include "context.h"
#include "handle.h"
#include "init.h"
#include "model.h"

/* What programs are told to allocate comes in whole units, and is never nothing, which can't be allocated. */
static size_t whole(uint64_t bytes) {
    return bytes ? (size_t)(bytes + 511) / 512 * 512 : 512;
}

static aclError ready(void) {
    aclError code = asc_need_init();
    if (code != ACL_SUCCESS) return code;
    return asc_current_context() ? ACL_SUCCESS : ACL_ERROR_RT_CONTEXT_NULL;
}

static aclError open_file(const char *path, asc_om **om) {
    struct stat info;
    if (!path) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "modelPath must not be NULL");
    if (stat(path, &info) != 0)
        return asc_acl_fail((aclError)ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID,
                            "there is no file %s (seen from the folder in which the program runs)", path);
    return asc_om_open(path, om);
}

static aclError open_memory(const void *model, size_t size, asc_om **om) {
    ASC_NEED(model);
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "modelSize is 0");
    return asc_om_from_memory(model, size, om);
}

/* Memory that the program brings must be enough, though the bundle's own is used. */
static aclError check_room(const asc_om *om, const void *work, size_t work_bytes, const void *weight,
                           size_t weight_bytes) {
    if (work && work_bytes < whole(om->work_bytes))
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "workSize is %zu; the model needs %zu (aclmdlQuerySize)", work_bytes,
                            whole(om->work_bytes));
    if (weight && weight_bytes < whole(om->weight_bytes))
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "weightSize is %zu; the model needs %zu (aclmdlQuerySize)", weight_bytes,
                            whole(om->weight_bytes));
    return ACL_SUCCESS;
}

static aclError finish(aclError code, asc_om *om, uint32_t *id) {
    if (code == ACL_SUCCESS) {
        om->context = asc_peek_context() ? asc_peek_context()->handle : NULL;
        code = asc_om_load(om, id);
    }
    if (code != ACL_SUCCESS) asc_om_release(om);
    return code;
}

aclError aclmdlLoadFromFile(const char *modelPath, uint32_t *modelId) {
    ASC_ENTER();
    ASC_NEED(modelId);
    asc_om *om = NULL;
    aclError code = ready();
    if (code == ACL_SUCCESS) code = open_file(modelPath, &om);
    return code == ACL_SUCCESS ? finish(code, om, modelId) : code;
}

aclError aclmdlLoadFromMem(const void *model, size_t modelSize, uint32_t *modelId) {
    ASC_ENTER();
    ASC_NEED(modelId);
    asc_om *om = NULL;
    aclError code = ready();
    if (code == ACL_SUCCESS) code = open_memory(model, modelSize, &om);
    return code == ACL_SUCCESS ? finish(code, om, modelId) : code;
}

aclError aclmdlLoadFromFileWithMem(const char *modelPath, uint32_t *modelId, void *workPtr, size_t workSize,
                                   void *weightPtr, size_t weightSize) {
    ASC_ENTER();
    ASC_NEED(modelId);
    asc_om *om = NULL;
    aclError code = ready();
    if (code == ACL_SUCCESS) code = open_file(modelPath, &om);
    return code == ACL_SUCCESS ? finish(check_room(om, workPtr, workSize, weightPtr, weightSize), om, modelId) : code;
}

aclError aclmdlLoadFromMemWithMem(const void *model, size_t modelSize, uint32_t *modelId, void *workPtr,
                                  size_t workSize, void *weightPtr, size_t weightSize) {
    ASC_ENTER();
    ASC_NEED(modelId);
    asc_om *om = NULL;
    aclError code = ready();
    if (code == ACL_SUCCESS) code = open_memory(model, modelSize, &om);
    return code == ACL_SUCCESS ? finish(check_room(om, workPtr, workSize, weightPtr, weightSize), om, modelId) : code;
}

aclError aclmdlUnload(uint32_t modelId) {
    ASC_ENTER();
    return asc_om_unload(modelId);
}

static aclError sizes_of(aclError code, asc_om *om, size_t *work, size_t *weight) {
    if (code != ACL_SUCCESS) return code;
    if (om->variety == ASC_RANGES)
        code = asc_acl_fail(
            ACL_ERROR_API_NOT_SUPPORT,
            "the model's inputs have ranges of sizes; load it without memory of yours (aclmdlLoadFromFile)");
    *work = whole(om->work_bytes);
    *weight = whole(om->weight_bytes);
    asc_om_release(om);
    return code;
}

aclError aclmdlQuerySize(const char *fileName, size_t *workSize, size_t *weightSize) {
    ASC_ENTER();
    ASC_NEED(fileName);
    ASC_NEED(workSize);
    ASC_NEED(weightSize);
    asc_om *om = NULL;
    aclError code = open_file(fileName, &om);
    return sizes_of(code, om, workSize, weightSize);
}

aclError aclmdlQuerySizeFromMem(const void *model, size_t modelSize, size_t *workSize, size_t *weightSize) {
    ASC_ENTER();
    ASC_NEED(workSize);
    ASC_NEED(weightSize);
    asc_om *om = NULL;
    aclError code = open_memory(model, modelSize, &om);
    return sizes_of(code, om, workSize, weightSize);
}

/* ---- configurations -------------------------------------------------------------------------------- */

typedef struct config {
    int32_t priority;
    size_t type, memory_bytes, weight_bytes, work_bytes;
    char *path;
    void *memory, *weight, *work;
    const char *asked; /* for what isn't done here */
} config;

aclmdlConfigHandle *aclmdlCreateConfigHandle(void) {
    ASC_ENTER();
    config *c = calloc(1, sizeof *c);
    void *handle = c ? asc_handle_new(ASC_KIND_MODEL_CONFIG, c) : NULL;
    if (!handle) {
        free(c);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more configuration");
    }
    return handle;
}

static config *config_of(const aclmdlConfigHandle *handle) {
    config *c = asc_handle_get(ASC_KIND_MODEL_CONFIG, handle);
    if (!c) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_MODEL_CONFIG, handle, "handle");
    return c;
}

aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle *handle) {
    ASC_ENTER();
    config *c = asc_handle_take(ASC_KIND_MODEL_CONFIG, handle);
    if (!c) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_MODEL_CONFIG, handle, "handle");
    free(c->path);
    free(c);
    return ACL_SUCCESS;
}

static aclError take(void *field, size_t bytes, const void *value, size_t given) {
    if (given != bytes)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "valueSize is %zu; this setting has %zu bytes", given, bytes);
    memcpy(field, value, bytes);
    return ACL_SUCCESS;
}

aclError aclmdlSetConfigOpt(aclmdlConfigHandle *handle, aclmdlConfigAttr attr, const void *attrValue,
                            size_t valueSize) {
    ASC_ENTER();
    config *c = config_of(handle);
    if (!c) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(attrValue);
    const char *path = NULL;
    aclError code;
    switch (attr) {
        case ACL_MDL_PRIORITY_INT32: return take(&c->priority, sizeof c->priority, attrValue, valueSize);
        case ACL_MDL_LOAD_TYPE_SIZET: return take(&c->type, sizeof c->type, attrValue, valueSize);
        case ACL_MDL_MEM_ADDR_PTR: return take(&c->memory, sizeof c->memory, attrValue, valueSize);
        case ACL_MDL_MEM_SIZET: return take(&c->memory_bytes, sizeof c->memory_bytes, attrValue, valueSize);
        case ACL_MDL_WEIGHT_ADDR_PTR: return take(&c->weight, sizeof c->weight, attrValue, valueSize);
        case ACL_MDL_WEIGHT_SIZET: return take(&c->weight_bytes, sizeof c->weight_bytes, attrValue, valueSize);
        case ACL_MDL_WORKSPACE_ADDR_PTR: return take(&c->work, sizeof c->work, attrValue, valueSize);
        case ACL_MDL_WORKSPACE_SIZET: return take(&c->work_bytes, sizeof c->work_bytes, attrValue, valueSize);
        case ACL_MDL_WORKSPACE_MEM_OPTIMIZE:
        case ACL_MDL_MEM_MALLOC_POLICY_SIZET:
        case ACL_MDL_WITHOUT_GRAPH_INT32: return ACL_SUCCESS; /* how a device's memory is laid out */
        case ACL_MDL_PATH_PTR:
            code = take(&path, sizeof path, attrValue, valueSize);
            if (code != ACL_SUCCESS) return code;
            if (!path) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the path must not be NULL");
            free(c->path);
            c->path = strdup(path);
            return c->path ? ACL_SUCCESS : asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
        case ACL_MDL_INPUTQ_NUM_SIZET:
        case ACL_MDL_INPUTQ_ADDR_PTR:
        case ACL_MDL_OUTPUTQ_NUM_SIZET:
        case ACL_MDL_OUTPUTQ_ADDR_PTR:
            return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                                "models fed by queues are not supported; execute with datasets");
        default:
            return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                                "setting %d is of a device's tasks, which bundles don't have", (int)attr);
    }
}

aclError aclmdlLoadWithConfig(const aclmdlConfigHandle *handle, uint32_t *modelId) {
    ASC_ENTER();
    ASC_NEED(modelId);
    const config *c = config_of(handle);
    if (!c) return ACL_ERROR_INVALID_PARAM;
    asc_om *om = NULL;
    aclError code = ready();
    if (code != ACL_SUCCESS) return code;
    switch (c->type) {
        case ACL_MDL_LOAD_FROM_FILE:
        case ACL_MDL_LOAD_FROM_FILE_WITH_MEM:
            if (!c->path)
                return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                                    "ACL_MDL_PATH_PTR isn't set, which this way of loading needs");
            code = open_file(c->path, &om);
            break;
        case ACL_MDL_LOAD_FROM_MEM:
        case ACL_MDL_LOAD_FROM_MEM_WITH_MEM:
            if (!c->memory || !c->memory_bytes)
                return asc_acl_fail(
                    ACL_ERROR_INVALID_PARAM,
                    "ACL_MDL_MEM_ADDR_PTR and ACL_MDL_MEM_SIZET aren't set, which this way of loading needs");
            code = open_memory(c->memory, c->memory_bytes, &om);
            break;
        case ACL_MDL_LOAD_FROM_FILE_WITH_Q:
        case ACL_MDL_LOAD_FROM_MEM_WITH_Q:
            return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                                "models fed by queues are not supported; execute with datasets");
        default: return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "ACL_MDL_LOAD_TYPE_SIZET is %zu; it is 1 to 6", c->type);
    }
    if (code != ACL_SUCCESS) return code;
    bool with = c->type == ACL_MDL_LOAD_FROM_FILE_WITH_MEM || c->type == ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
    code = with ? check_room(om, c->work, c->work_bytes, c->weight, c->weight_bytes) : ACL_SUCCESS;
    return finish(code, om, modelId);
}
