/* dataset.c - aclmdl's datasets: lists of data buffers. */
#include "dataset.h"

#include <stdlib.h>

#include "error.h"
#include "handle.h"
#include "tensor_desc.h"

asc_dataset *asc_dataset_get(const aclmdlDataset *handle, const char *name) {
    asc_dataset *dataset = asc_handle_get(ASC_KIND_DATASET, handle);
    if (!dataset) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATASET, handle, name);
    return dataset;
}

aclmdlDataset *aclmdlCreateDataset(void) {
    ASC_ENTER();
    asc_dataset *dataset = calloc(1, sizeof *dataset);
    void *handle = dataset ? asc_handle_new(ASC_KIND_DATASET, dataset) : NULL;
    if (!handle) {
        free(dataset);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more dataset");
        return NULL;
    }
    dataset->gear = ASC_NO_GEAR;
    return handle;
}

bool asc_dataset_set_aipp(asc_dataset *dataset, uint32_t input, const asc_aipp *parameters) {
    asc_dataset_aipp *one = dataset->aipp;
    while (one && one->input != input) one = one->next;
    asc_aipp *copy = asc_aipp_copy(parameters);
    if (!copy || (!one && !(one = calloc(1, sizeof *one)))) {
        free(copy);
        return false;
    }
    if (!one->parameters) {
        one->next = dataset->aipp;
        dataset->aipp = one;
    }
    free(one->parameters);
    one->input = input;
    one->parameters = copy;
    return true;
}

const asc_aipp *asc_dataset_aipp_of(const asc_dataset *dataset, uint32_t input) {
    const asc_dataset_aipp *one = dataset->aipp;
    while (one && one->input != input) one = one->next;
    return one ? one->parameters : NULL;
}

static void forget_aipp(asc_dataset *dataset) {
    while (dataset->aipp) {
        asc_dataset_aipp *one = dataset->aipp;
        dataset->aipp = one->next;
        free(one->parameters);
        free(one);
    }
}

static void forget_desc(asc_dataset *dataset, uint32_t index) {
    if (dataset->own_desc[index]) asc_desc_destroy(dataset->descs[index]);
    dataset->descs[index] = NULL;
    dataset->own_desc[index] = false;
}

aclError aclmdlDestroyDataset(const aclmdlDataset *given) {
    ASC_ENTER();
    ASC_NEED(given);
    asc_dataset *dataset = asc_handle_take(ASC_KIND_DATASET, given);
    if (!dataset) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATASET, given, "dataset");
    for (uint32_t i = 0; i < dataset->count; i++) forget_desc(dataset, i);
    forget_aipp(dataset);
    free(dataset->buffers);
    free(dataset->descs);
    free(dataset->own_desc);
    free(dataset);
    return ACL_SUCCESS;
}

static bool grow(asc_dataset *dataset) {
    uint32_t room = dataset->room ? dataset->room * 2 : 8;
    aclDataBuffer **buffers = realloc(dataset->buffers, room * sizeof *buffers);
    if (buffers) dataset->buffers = buffers;
    aclTensorDesc **descs = realloc(dataset->descs, room * sizeof *descs);
    if (descs) dataset->descs = descs;
    bool *own = realloc(dataset->own_desc, room * sizeof *own);
    if (own) dataset->own_desc = own;
    if (!buffers || !descs || !own) return false;
    dataset->room = room;
    return true;
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset *given, aclDataBuffer *dataBuffer) {
    ASC_ENTER();
    asc_dataset *dataset = asc_dataset_get(given, "dataset");
    if (!dataset) return ACL_ERROR_INVALID_PARAM;
    if (!asc_handle_get(ASC_KIND_DATA_BUFFER, dataBuffer))
        return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, dataBuffer, "dataBuffer");
    if (dataset->count == dataset->room && !grow(dataset))
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more buffer");
    dataset->buffers[dataset->count] = dataBuffer;
    dataset->descs[dataset->count] = NULL;
    dataset->own_desc[dataset->count++] = false;
    return ACL_SUCCESS;
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset *given) {
    ASC_ENTER();
    const asc_dataset *dataset = asc_dataset_get(given, "dataset");
    return dataset ? dataset->count : 0;
}

aclDataBuffer *aclmdlGetDatasetBuffer(const aclmdlDataset *given, size_t index) {
    ASC_ENTER();
    const asc_dataset *dataset = asc_dataset_get(given, "dataset");
    if (!dataset) return NULL;
    if (index < dataset->count) return dataset->buffers[index];
    asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; the dataset has %u buffers", index, dataset->count);
    return NULL;
}

static aclError check_index(const asc_dataset *dataset, size_t index) {
    if (index < dataset->count) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; the dataset has %u buffers", index, dataset->count);
}

aclError aclmdlSetDatasetTensorDesc(aclmdlDataset *given, aclTensorDesc *tensorDesc, size_t index) {
    ASC_ENTER();
    asc_dataset *dataset = asc_dataset_get(given, "dataset");
    if (!dataset) return ACL_ERROR_INVALID_PARAM;
    aclError code = check_index(dataset, index);
    if (code != ACL_SUCCESS) return code;
    const asc_desc *desc = NULL;
    if (tensorDesc && !(desc = asc_desc_get(tensorDesc, "tensorDesc"))) return ACL_ERROR_INVALID_PARAM;
    forget_desc(dataset, (uint32_t)index);
    /* A copy: the program may destroy its own at once. */
    return desc ? asc_dataset_describe(dataset, (uint32_t)index, desc->type, desc->shape.rank, desc->shape.dims,
                                       desc->format)
                : ACL_SUCCESS;
}

aclTensorDesc *aclmdlGetDatasetTensorDesc(const aclmdlDataset *given, size_t index) {
    ASC_ENTER();
    const asc_dataset *dataset = asc_dataset_get(given, "dataset");
    if (!dataset || check_index(dataset, index) != ACL_SUCCESS) return NULL;
    return dataset->descs[index];
}

aclError asc_dataset_describe(asc_dataset *dataset, uint32_t index, aclDataType type, int rank, const int64_t *dims,
                              aclFormat format) {
    forget_desc(dataset, index);
    dataset->descs[index] = asc_desc_new(type, rank, dims, format);
    dataset->own_desc[index] = dataset->descs[index] != NULL;
    return dataset->descs[index] ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}
