/* op_models.c - finds the bundle of a single operator by its type, tensors and attributes. */
#include "op_models.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dump.h"
#include "error.h"

#define DEEPEST 4

static struct {
    pthread_rwlock_t lock;
    asc_om **items;
    uint32_t count;
} all = {.lock = PTHREAD_RWLOCK_INITIALIZER};

aclError asc_op_add(asc_om *om) {
    if (!asc_meta_of(om->model, "single_op")) {
        asc_om_release(om);
        return asc_acl_fail(ACL_ERROR_OP_LOAD_FAILED, "the bundle is not of a single operator (atc --singleop)");
    }
    om->dump = asc_dump_new(om, true);
    pthread_rwlock_wrlock(&all.lock);
    asc_om **items = realloc(all.items, (all.count + 1) * sizeof *items);
    if (items) {
        all.items = items;
        items[all.count++] = om;
    }
    pthread_rwlock_unlock(&all.lock);
    if (items) return ACL_SUCCESS;
    asc_om_release(om);
    return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

static aclError add_folder(const char *folder, int depth, uint32_t *added) {
    DIR *dir = opendir(folder);
    if (!dir) return asc_acl_fail(ACL_ERROR_READ_MODEL_FAILURE, "modelDir (%s) is no folder that can be read", folder);
    aclError code = ACL_SUCCESS;
    const struct dirent *entry;
    while (code == ACL_SUCCESS && (entry = readdir(dir)) != NULL) {
        char path[4096];
        struct stat info;
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &info) != 0) continue;
        if (S_ISDIR(info.st_mode) && depth < DEEPEST) code = add_folder(path, depth + 1, added);
        if (!S_ISREG(info.st_mode) || length < 4 || strcmp(entry->d_name + length - 3, ".om") != 0) continue;
        asc_om *om = NULL;
        code = asc_om_open(path, &om);
        if (code == ACL_SUCCESS) code = asc_op_add(om);
        *added += code == ACL_SUCCESS;
    }
    closedir(dir);
    return code;
}

aclError asc_op_add_folder(const char *folder) {
    uint32_t added = 0;
    aclError code = add_folder(folder, 0, &added);
    if (code == ACL_SUCCESS && !added)
        return asc_acl_fail(ACL_ERROR_READ_MODEL_FAILURE, "modelDir (%s) has no .om files; atc --singleop makes them",
                            folder);
    return code;
}

uint32_t asc_op_place(const asc_io *io) {
    return (uint32_t)strtoul(io->name + 1, NULL, 10);
}

/* ---- matching ---------------------------------------------------------------------------------------- */

static bool same_tensor(const asc_io *io, const asc_desc *desc) {
    if (io->type != desc->type) return false;
    /* A scalar and one element are the same operand. */
    if (io->rank != desc->shape.rank)
        return io->rank + desc->shape.rank == 1 && asc_desc_elements(desc) == 1 && (io->rank == 0 || io->dims[0] == 1);
    for (int32_t d = 0; d < io->rank; d++) {
        int64_t size = desc->shape.dims[d];
        bool in_range = io->dims[d] < 0 && size >= io->least[d] && (io->most[d] < 0 || size <= io->most[d]);
        if (size != io->dims[d] && !in_range && !(io->dims[d] < 0 && size < 0)) return false;
    }
    return true;
}

static bool same_inputs(const asc_om *om, const asc_op *op) {
    uint32_t taken = 0;
    for (uint32_t i = 0; i < om->n_inputs; i++) {
        uint32_t place = asc_op_place(&om->inputs[i]);
        if (place >= op->n_in || !same_tensor(&om->inputs[i], op->inputs[place])) return false;
        taken++;
    }
    /* What the bundle has no input for is a constant of it, or wasn't given. */
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->inputs[i]->constant || op->inputs[i]->type == ACL_DT_UNDEFINED) taken++;
    return taken >= op->n_in;
}

static bool same_outputs(const asc_om *om, const asc_op *op) {
    if (om->n_outputs != op->n_out) return false;
    for (uint32_t i = 0; i < om->n_outputs; i++)
        if (om->outputs[i].type != op->outputs[i]->type ||
            (om->variety == ASC_FIXED && !same_tensor(&om->outputs[i], op->outputs[i])))
            return false;
    return true;
}

/* The model, a reference; else NULL, and the code that says how far the nearest fits. `noted`, when given, gets the
 * attributes of one that differs by them only. */
static asc_om *search(const asc_op *op, const char *attrs, aclError *code, char *noted_attrs, size_t bytes) {
    asc_om *found = NULL;
    *code = ACL_ERROR_OP_NOT_FOUND;
    pthread_rwlock_rdlock(&all.lock);
    for (uint32_t i = all.count; i-- > 0 && !found;) {
        const char *noted = asc_meta_of(all.items[i]->model, "single_op_attributes");
        if (strcmp(asc_meta_of(all.items[i]->model, "single_op"), op->type) != 0) continue;
        if (!same_inputs(all.items[i], op)) {
            if (*code == ACL_ERROR_OP_NOT_FOUND) *code = ACL_ERROR_OP_INPUT_NOT_MATCH;
        } else if (!same_outputs(all.items[i], op)) {
            if (*code != ACL_ERROR_OP_ATTR_NOT_MATCH) *code = ACL_ERROR_OP_OUTPUT_NOT_MATCH;
        } else if (strcmp(noted ? noted : "", attrs) != 0) {
            *code = ACL_ERROR_OP_ATTR_NOT_MATCH;
            snprintf(noted_attrs, bytes, "%s", noted ? noted : "");
        } else
            found = asc_om_retain(all.items[i]);
    }
    pthread_rwlock_unlock(&all.lock);
    return found;
}

bool asc_op_is_known(const asc_op *op) {
    char noted[8];
    aclError code;
    char *attrs = asc_attrs_text(op->attrs);
    asc_om *om = attrs ? search(op, attrs, &code, noted, sizeof noted) : NULL;
    free(attrs);
    if (om) asc_om_release(om);
    return om != NULL;
}

aclError asc_op_find(const asc_op *op, asc_om **om) {
    aclError code;
    char *attrs = asc_attrs_text(op->attrs), known[300] = "";
    if (!attrs) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *om = search(op, attrs, &code, known, sizeof known);
    if (*om) {
        free(attrs);
        return ACL_SUCCESS;
    }
    const char *what = code == ACL_ERROR_OP_INPUT_NOT_MATCH    ? "these types and dims of inputs"
                       : code == ACL_ERROR_OP_OUTPUT_NOT_MATCH ? "these types and dims of outputs"
                                                               : "that type";
    if (code == ACL_ERROR_OP_ATTR_NOT_MATCH)
        asc_acl_fail(code, "operator [%s] was loaded with the attributes {%s}, not {%s}", op->type, known, attrs);
    else
        asc_acl_fail(code, "no operator [%s] with %s was loaded (aclopSetModelDir) or compiled (aclopCompile)",
                     op->type, what);
    free(attrs);
    return code;
}
