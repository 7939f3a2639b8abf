/* operand.c - aclnn's tensors, scalars, arrays and lists. */
#include "operand.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "handle.h"

#define MOST_ITEMS ((uint64_t)1 << 32)

static void *fresh(asc_kind kind, void *object) {
    void *handle = object ? asc_handle_new(kind, object) : NULL;
    if (!handle) {
        free(object);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more operand");
    }
    return handle;
}

static aclnnStatus no_handle(asc_kind kind, const void *handle, const char *name) {
    return asc_handle_fail(handle ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR, kind, handle, name);
}

static aclnnStatus destroy(asc_kind kind, const void *handle, const char *name) {
    void *object = asc_handle_take(kind, handle);
    if (!object) return no_handle(kind, handle, name);
    free(object);
    return ACLNN_SUCCESS;
}

/* ---- tensors ------------------------------------------------------------------------------------------ */

static bool set_shape(asc_shape *shape, const int64_t *dims, uint64_t count, const char *name) {
    if (count > ASC_DESC_RANK || (count && !dims)) {
        asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "%s has %llu dims and %s address", name, (unsigned long long)count,
                     dims ? "an" : "no");
        return false;
    }
    shape->rank = (int)count;
    if (count) memcpy(shape->dims, dims, count * sizeof *dims);
    return true;
}

static void set_contiguous(asc_shape *strides, const asc_shape *view) {
    int64_t step = 1;
    strides->rank = view->rank;
    for (int i = view->rank - 1; i >= 0; i--) {
        strides->dims[i] = step;
        if (__builtin_mul_overflow(step, view->dims[i], &step)) step = INT64_MAX;
    }
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
    ASC_ENTER();
    asc_operand *tensor = calloc(1, sizeof *tensor);
    if (!tensor) return fresh(ASC_KIND_TENSOR, NULL);
    *tensor = (asc_operand){.type = dataType, .format = format, .offset = offset, .data = tensorData};
    bool good = set_shape(&tensor->view, viewDims, viewDimsNum, "viewDims") &&
                set_shape(&tensor->storage, storageDims, storageDimsNum, "storageDims") &&
                (!stride || set_shape(&tensor->strides, stride, viewDimsNum, "stride"));
    if (good && offset < 0) good = asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "offset is %lld", (long long)offset) == 0;
    if (!good) {
        free(tensor);
        return NULL;
    }
    if (!stride) set_contiguous(&tensor->strides, &tensor->view);
    return fresh(ASC_KIND_TENSOR, tensor);
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    ASC_ENTER();
    return destroy(ASC_KIND_TENSOR, tensor, "tensor");
}

static asc_operand *tensor_of(const aclTensor *handle, const void *result, aclnnStatus *code) {
    asc_operand *tensor = asc_handle_get(ASC_KIND_TENSOR, handle);
    *code = ACLNN_SUCCESS;
    if (!tensor)
        *code = no_handle(ASC_KIND_TENSOR, handle, "tensor");
    else if (!result)
        *code = asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "the address of the result must not be NULL");
    return *code == ACLNN_SUCCESS ? tensor : NULL;
}

static aclnnStatus copy_dims(const asc_shape *shape, int64_t **dims, uint64_t *count) {
    if (!count) return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "the address of the number of dims must not be NULL");
    *dims = malloc(((size_t)shape->rank + 1) * sizeof **dims);
    if (!*dims) return asc_acl_fail(ACLNN_ERR_INNER, "this machine has no memory left");
    memcpy(*dims, shape->dims, (size_t)shape->rank * sizeof **dims);
    *count = (uint64_t)shape->rank;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, viewDims, &code);
    return found ? copy_dims(&found->view, viewDims, viewDimsNum) : code;
}

aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, storageDims, &code);
    return found ? copy_dims(&found->storage, storageDims, storageDimsNum) : code;
}

aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, stridesValue, &code);
    return found ? copy_dims(&found->strides, stridesValue, stridesNum) : code;
}

aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, offset, &code);
    if (found) *offset = found->offset;
    return code;
}

aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, format, &code);
    if (found) *format = found->format;
    return code;
}

aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, dataType, &code);
    if (found) *dataType = found->type;
    return code;
}

aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr) {
    ASC_ENTER();
    aclnnStatus code;
    const asc_operand *found = tensor_of(tensor, addr, &code);
    if (found) *addr = found->data;
    return code;
}

aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr) {
    ASC_ENTER();
    aclnnStatus code;
    asc_operand *found = tensor_of(tensor, tensor, &code);
    if (found) found->data = addr;
    return code;
}

/* ---- scalars -------------------------------------------------------------------------------------------- */

aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
    ASC_ENTER();
    size_t bytes = dataType == ACL_DT_UNDEFINED ? 0 : aclDataTypeSize(dataType);
    if (!value || !bytes) {
        asc_acl_fail(ACLNN_ERR_PARAM_INVALID, value ? "dataType is of no number" : "value must not be NULL");
        return NULL;
    }
    asc_scalar *scalar = calloc(1, sizeof *scalar);
    if (scalar) scalar->type = dataType;
    if (scalar) memcpy(scalar->bytes, value, bytes);
    return fresh(ASC_KIND_SCALAR, scalar);
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar) {
    ASC_ENTER();
    return destroy(ASC_KIND_SCALAR, scalar, "scalar");
}

/* ---- arrays and lists ------------------------------------------------------------------------------------ */

static void *list_of(asc_kind kind, const void *values, uint64_t count, size_t bytes) {
    if (count >= MOST_ITEMS || (count && !values)) {
        asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "value has %llu items and %s address", (unsigned long long)count,
                     values ? "an" : "no");
        return NULL;
    }
    asc_list *list = calloc(1, sizeof *list + count * sizeof *list->items);
    if (list) list->count = count;
    for (uint64_t i = 0; list && i < count; i++) memcpy(&list->items[i], (const char *)values + i * bytes, bytes);
    return fresh(kind, list);
}

aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size) {
    ASC_ENTER();
    return list_of(ASC_KIND_INTS, value, size, sizeof *value);
}

aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size) {
    ASC_ENTER();
    return list_of(ASC_KIND_FLOATS, value, size, sizeof *value);
}

aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
    ASC_ENTER();
    return list_of(ASC_KIND_BOOLS, value, size, sizeof *value);
}

aclTensorList *aclCreateTensorList(const aclTensor *const *value, uint64_t size) {
    ASC_ENTER();
    return list_of(ASC_KIND_TENSORS, value, size, sizeof *value);
}

aclScalarList *aclCreateScalarList(const aclScalar *const *value, uint64_t size) {
    ASC_ENTER();
    return list_of(ASC_KIND_SCALARS, value, size, sizeof *value);
}

aclnnStatus aclDestroyIntArray(const aclIntArray *array) {
    ASC_ENTER();
    return destroy(ASC_KIND_INTS, array, "array");
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray *array) {
    ASC_ENTER();
    return destroy(ASC_KIND_FLOATS, array, "array");
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) {
    ASC_ENTER();
    return destroy(ASC_KIND_BOOLS, array, "array");
}

static aclnnStatus destroy_items(asc_kind kind, asc_kind item, const void *handle) {
    asc_list *list = asc_handle_take(kind, handle);
    if (!list) return no_handle(kind, handle, "array");
    for (uint64_t i = 0; i < list->count; i++) free(asc_handle_take(item, (const void *)(uintptr_t)list->items[i]));
    free(list);
    return ACLNN_SUCCESS;
}

aclnnStatus aclDestroyTensorList(const aclTensorList *array) {
    ASC_ENTER();
    return destroy_items(ASC_KIND_TENSORS, ASC_KIND_TENSOR, array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList *array) {
    ASC_ENTER();
    return destroy_items(ASC_KIND_SCALARS, ASC_KIND_SCALAR, array);
}

static aclnnStatus count_of(asc_kind kind, const void *handle, uint64_t *size) {
    const asc_list *list = asc_handle_get(kind, handle);
    if (!list) return no_handle(kind, handle, "array");
    if (!size) return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "size must not be NULL");
    *size = list->count;
    return ACLNN_SUCCESS;
}

aclnnStatus aclGetIntArraySize(const aclIntArray *array, uint64_t *size) {
    ASC_ENTER();
    return count_of(ASC_KIND_INTS, array, size);
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray *array, uint64_t *size) {
    ASC_ENTER();
    return count_of(ASC_KIND_FLOATS, array, size);
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray *array, uint64_t *size) {
    ASC_ENTER();
    return count_of(ASC_KIND_BOOLS, array, size);
}

aclnnStatus aclGetTensorListSize(const aclTensorList *tensorList, uint64_t *size) {
    ASC_ENTER();
    return count_of(ASC_KIND_TENSORS, tensorList, size);
}

aclnnStatus aclGetScalarListSize(const aclScalarList *scalarList, uint64_t *size) {
    ASC_ENTER();
    return count_of(ASC_KIND_SCALARS, scalarList, size);
}

/* ---- start and end: operators need none of their own --------------------------------------------------------- */

aclnnStatus aclnnInit(const char *configPath) {
    (void)configPath; /* CANN takes NULL only */
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnFinalize(void) {
    return ACLNN_SUCCESS;
}
