/* model.c - opens bundles, numbers those that are loaded. */
#include "model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dump.h"

static struct {
    pthread_rwlock_t lock;
    asc_om **items; /* by number less one; NULL: unloaded */
    uint32_t count;
} loaded = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static void note_file(asc_om *om, const char *path) {
    const char *slash = strrchr(path, '/'), *begin = slash ? slash + 1 : path, *dot = strrchr(begin, '.');
    snprintf(om->file, sizeof om->file, "%.*s", (int)(dot && dot > begin ? (size_t)(dot - begin) : strlen(begin)),
             begin);
}

aclError asc_om_open(const char *path, asc_om **made) {
    asc_options options = {.struct_bytes = sizeof options};
    asc_status status;
    asc_model *model;
    char doing[400];
    int32_t code = asc_model_open(path, &options, &model, &status);
    if (code == ASC_OK) {
        aclError described = asc_om_describe(model, made);
        if (described == ACL_SUCCESS) note_file(*made, path);
        return described;
    }
    snprintf(doing, sizeof doing, "%s can't be loaded", path);
    return asc_runtime_fail(code, &status, doing);
}

aclError asc_om_from_memory(const void *bytes, size_t size, asc_om **made) {
    asc_options options = {.struct_bytes = sizeof options};
    asc_status status;
    asc_model *model;
    int32_t code = asc_model_from_memory(bytes, size, &options, &model, &status);
    if (code == ASC_OK) return asc_om_describe(model, made);
    return asc_runtime_fail(code, &status, "the model in memory can't be loaded");
}

aclError asc_om_load(asc_om *om, uint32_t *id) {
    om->dump = asc_dump_new(om, false);
    pthread_rwlock_wrlock(&loaded.lock);
    asc_om **items = realloc(loaded.items, (loaded.count + 1) * sizeof *items);
    if (items) {
        loaded.items = items;
        items[loaded.count] = om;
        om->id = ++loaded.count;
        *id = om->id;
    }
    pthread_rwlock_unlock(&loaded.lock);
    return items ? ACL_SUCCESS
                 : asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more model");
}

static aclError no_model(uint32_t id) {
    pthread_rwlock_rdlock(&loaded.lock);
    bool was = id && id <= loaded.count;
    pthread_rwlock_unlock(&loaded.lock);
    return asc_acl_fail((aclError)ACL_ERROR_GE_EXEC_MODEL_ID_INVALID, "modelId %u %s", id,
                        was ? "was unloaded before" : "is of no model; aclmdlLoadFromFile and its kind give numbers");
}

aclError asc_om_get(uint32_t id, asc_om **om) {
    pthread_rwlock_rdlock(&loaded.lock);
    asc_om *found = id && id <= loaded.count ? loaded.items[id - 1] : NULL;
    if (found) asc_om_retain(found);
    pthread_rwlock_unlock(&loaded.lock);
    *om = found;
    return found ? ACL_SUCCESS : no_model(id);
}

aclError asc_om_unload(uint32_t id) {
    pthread_rwlock_wrlock(&loaded.lock);
    asc_om *found = id && id <= loaded.count ? loaded.items[id - 1] : NULL;
    if (found) loaded.items[id - 1] = NULL;
    pthread_rwlock_unlock(&loaded.lock);
    if (!found) return no_model(id);
    asc_om_release(found);
    return ACL_SUCCESS;
}

void asc_om_unload_all(void) {
    for (uint32_t id = 1; id <= loaded.count; id++)
        if (loaded.items[id - 1]) asc_om_unload(id);
}
