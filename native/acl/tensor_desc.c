/* tensor_desc.c - acl_base's tensor descriptions. */
#include "tensor_desc.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "handle.h"

asc_desc *asc_desc_get(const aclTensorDesc *handle, const char *name) {
    asc_desc *desc = asc_handle_get(ASC_KIND_TENSOR_DESC, handle);
    if (!desc) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_TENSOR_DESC, handle, name);
    return desc;
}

static aclError set_shape(asc_shape *shape, int rank, const int64_t *dims) {
    if (rank < 0 || rank > ASC_DESC_RANK)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "numDims is %d; it is 0 to %d", rank, ASC_DESC_RANK);
    if (rank > 0 && !dims)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "dims must not be NULL when numDims is %d", rank);
    /* One dim of -2 stands for a shape of unknown rank. */
    if (rank == 1 && dims[0] == -2) {
        shape->rank = -1;
        return ACL_SUCCESS;
    }
    for (int i = 0; i < rank; i++)
        if (dims[i] < -1) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "dims[%d] is %lld", i, (long long)dims[i]);
    shape->rank = rank;
    if (rank) memcpy(shape->dims, dims, (size_t)rank * sizeof *dims);
    return ACL_SUCCESS;
}

aclTensorDesc *asc_desc_new(aclDataType type, int rank, const int64_t *dims, aclFormat format) {
    asc_desc *desc = calloc(1, sizeof *desc);
    if (!desc) {
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more tensor description");
        return NULL;
    }
    *desc = (asc_desc){.type = type, .format = format, .origin_format = format, .storage_format = ACL_FORMAT_UNDEFINED};
    void *handle =
        set_shape(&desc->shape, rank, dims) == ACL_SUCCESS ? asc_handle_new(ASC_KIND_TENSOR_DESC, desc) : NULL;
    if (!handle) free(desc);
    return handle;
}

aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t *dims, aclFormat format) {
    ASC_ENTER();
    return asc_desc_new(dataType, numDims, dims, format);
}

bool asc_desc_destroy(const aclTensorDesc *given) {
    asc_desc *desc = asc_handle_take(ASC_KIND_TENSOR_DESC, given);
    if (!desc) return false;
    free(desc->range);
    free(desc->name);
    free(desc->dynamic_input);
    free(desc->constant);
    free(desc);
    return true;
}

void aclDestroyTensorDesc(const aclTensorDesc *desc) {
    ASC_ENTER();
    if (desc && !asc_desc_destroy(desc)) asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_TENSOR_DESC, desc, "desc");
}

aclDataType aclGetTensorDescType(const aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    return found ? found->type : ACL_DT_UNDEFINED;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    return found ? found->format : ACL_FORMAT_UNDEFINED;
}

size_t asc_desc_elements(const asc_desc *desc) {
    size_t count = 1;
    if (desc->shape.rank < 0) return 0;
    for (int i = 0; i < desc->shape.rank; i++)
        if (desc->shape.dims[i] < 0 || __builtin_mul_overflow(count, (size_t)desc->shape.dims[i], &count)) return 0;
    return count;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    return found ? asc_desc_elements(found) : 0;
}

size_t aclGetTensorDescSize(const aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    size_t bytes;
    if (!found) return 0;
    size_t size = found->type == ACL_DT_UNDEFINED ? 0 : aclDataTypeSize(found->type);
    return __builtin_mul_overflow(asc_desc_elements(found), size, &bytes) ? 0 : bytes;
}

size_t aclGetTensorDescNumDims(const aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return 0;
    return found->shape.rank < 0 ? (size_t)ACL_UNKNOWN_RANK : (size_t)found->shape.rank;
}

static aclError dim_of(const aclTensorDesc *desc, size_t index, int64_t *size) {
    const asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    if (found->shape.rank < 0 || index >= (size_t)found->shape.rank)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; the shape has %d dims", index, found->shape.rank);
    *size = found->shape.dims[index];
    return ACL_SUCCESS;
}

int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index) {
    ASC_ENTER();
    int64_t size = -1;
    dim_of(desc, index, &size);
    return size;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index, int64_t *dimSize) {
    ASC_ENTER();
    ASC_NEED(dimSize);
    return dim_of(desc, index, dimSize);
}

aclError aclGetTensorDescDimRange(const aclTensorDesc *desc, size_t index, size_t dimRangeNum, int64_t *dimRange) {
    ASC_ENTER();
    ASC_NEED(dimRange);
    int64_t size = 0;
    aclError code = dim_of(desc, index, &size);
    if (code != ACL_SUCCESS) return code;
    if (dimRangeNum < 2)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "dimRangeNum is %zu; a range has 2 numbers", dimRangeNum);
    const asc_desc *found = asc_desc_get(desc, "desc");
    dimRange[0] = found->range ? found->range[index][0] : size < 0 ? 0 : size;
    dimRange[1] = found->range ? found->range[index][1] : size;
    return ACL_SUCCESS;
}

aclError aclSetTensorShapeRange(aclTensorDesc *desc, size_t dimsCount,
                                int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(dimsRange);
    if (dimsCount > ASC_DESC_RANK || (found->shape.rank >= 0 && dimsCount != (size_t)found->shape.rank))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "dimsCount is %zu; the shape has %d dims", dimsCount,
                            found->shape.rank);
    int64_t (*range)[2] = malloc((dimsCount + 1) * sizeof *range);
    if (!range) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    memcpy(range, dimsRange, dimsCount * sizeof *range);
    free(found->range);
    found->range = range;
    return ACL_SUCCESS;
}

aclError aclSetTensorValueRange(aclTensorDesc *desc, size_t valueCount,
                                int64_t valueRange[][ACL_TENSOR_VALUE_RANGE_NUM]) {
    ASC_ENTER();
    if (!asc_desc_get(desc, "desc")) return ACL_ERROR_INVALID_PARAM;
    if (valueCount) ASC_NEED(valueRange);
    return ACL_SUCCESS; /* which values an input may have: operators here take all */
}

static aclError set_text(char **text, const char *value) {
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    free(*text);
    *text = copy;
    return ACL_SUCCESS;
}

void aclSetTensorDescName(aclTensorDesc *desc, const char *name) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (found) set_text(&found->name, name);
}

const char *aclGetTensorDescName(aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    return found && found->name ? found->name : "";
}

aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    found->storage_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    found->storage_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorOriginFormat(aclTensorDesc *desc, aclFormat format) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    found->origin_format = format;
    return ACL_SUCCESS;
}

aclError aclSetTensorShape(aclTensorDesc *desc, int numDims, const int64_t *dims) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    return found ? set_shape(&found->storage_shape, numDims, dims) : ACL_ERROR_INVALID_PARAM;
}

aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims, const int64_t *dims) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    return found ? set_shape(&found->storage_shape, numDims, dims) : ACL_ERROR_INVALID_PARAM;
}

aclError aclSetTensorOriginShape(aclTensorDesc *desc, int numDims, const int64_t *dims) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    return found ? set_shape(&found->origin_shape, numDims, dims) : ACL_ERROR_INVALID_PARAM;
}

aclError aclSetTensorDynamicInput(aclTensorDesc *desc, const char *dynamicInputName) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(dynamicInputName);
    return set_text(&found->dynamic_input, dynamicInputName);
}

aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(dataBuffer);
    if (!length) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "length is 0");
    void *copy = malloc(length);
    if (!copy) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    memcpy(copy, dataBuffer, length);
    free(found->constant);
    found->constant = copy;
    found->constant_bytes = length;
    return ACL_SUCCESS;
}

aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType) {
    ASC_ENTER();
    asc_desc *found = asc_desc_get(desc, "desc");
    if (!found) return ACL_ERROR_INVALID_PARAM;
    if (memType < ACL_MEMTYPE_DEVICE || memType > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "memType is %d, no aclMemType", (int)memType);
    found->place = memType;
    return ACL_SUCCESS;
}

aclTensorDesc *aclGetTensorDescByIndex(aclTensorDesc *desc, size_t index) {
    ASC_ENTER();
    if (!asc_desc_get(desc, "desc")) return NULL;
    if (index == 0) return desc;
    asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; the description is of one tensor", index);
    return NULL;
}

void *aclGetTensorDescAddress(const aclTensorDesc *desc) {
    ASC_ENTER();
    const asc_desc *found = asc_desc_get(desc, "desc");
    return found ? found->constant : NULL;
}

aclError aclTransTensorDescFormat(const aclTensorDesc *srcDesc, aclFormat dstFormat, aclTensorDesc **dstDesc) {
    ASC_ENTER();
    const asc_desc *from = asc_desc_get(srcDesc, "srcDesc");
    if (!from) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(dstDesc);
    static const int to_nhwc[] = {0, 2, 3, 1}, to_nchw[] = {0, 3, 1, 2};
    const int *order = from->format == ACL_FORMAT_NCHW && dstFormat == ACL_FORMAT_NHWC   ? to_nhwc
                       : from->format == ACL_FORMAT_NHWC && dstFormat == ACL_FORMAT_NCHW ? to_nchw
                                                                                         : NULL;
    int64_t dims[ASC_DESC_RANK];
    if (dstFormat != from->format && (!order || from->shape.rank != 4))
        return asc_acl_fail(ACL_ERROR_FORMAT_NOT_MATCH,
                            "format %d of %d dims can't become format %d; NCHW and NHWC can", (int)from->format,
                            from->shape.rank, (int)dstFormat);
    for (int i = 0; i < from->shape.rank; i++) dims[i] = from->shape.dims[order ? order[i] : i];
    *dstDesc = asc_desc_new(from->type, from->shape.rank < 0 ? 0 : from->shape.rank, dims, dstFormat);
    return *dstDesc ? ACL_SUCCESS : ACL_ERROR_BAD_ALLOC;
}
