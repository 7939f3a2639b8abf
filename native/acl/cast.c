/* cast.c - aclop's conversion of element types. */
#include <stdlib.h>

#include "acl/acl_op.h"
#include "buffer.h"
#include "context.h"
#include "handle.h"
#include "memory.h"
#include "numbers.h"
#include "tensor_desc.h"

typedef struct cast {
    const void *from;
    void *to;
    size_t count;
    aclDataType source, target;
} cast;

static aclError run_cast(void *argument) {
    const cast *c = argument;
    const void *from = asc_real(c->from);
    void *to = asc_real(c->to);
    if (c->source == ACL_INT64 && c->target == ACL_INT32)
        for (size_t i = 0; i < c->count; i++) ((int32_t *)to)[i] = (int32_t)((const int64_t *)from)[i];
    else
        for (size_t i = 0; i < c->count; i++) asc_set_number(to, i, c->target, asc_number_at(from, i, c->source));
    return ACL_SUCCESS;
}

static void end_cast(void *argument) {
    cast *c = argument;
    asc_memory_unpin(c->from, false);
    asc_memory_unpin(c->to, true);
    free(c);
}

static aclError operand(const aclTensorDesc *desc, const aclDataBuffer *given, size_t count, const char *name,
                        const asc_desc **found, void **at) {
    *found = asc_desc_get(desc, name);
    if (!*found) return ACL_ERROR_INVALID_PARAM;
    const asc_acl_buffer *buffer = asc_handle_get(ASC_KIND_DATA_BUFFER, given);
    if (!buffer) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_DATA_BUFFER, given, name);
    if (!asc_is_number((*found)->type))
        return asc_acl_fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, "%s has elements of type %d, which are no numbers", name,
                            (int)(*found)->type);
    size_t need = (count == SIZE_MAX ? asc_desc_elements(*found) : count) * aclDataTypeSize((*found)->type);
    if (!buffer->data || buffer->bytes < need)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has a data buffer of %zu bytes; its elements take %zu", name,
                            buffer->bytes, need);
    *at = buffer->data;
    return asc_memory_check(buffer->data, need, ASC_PLACE_ANY, name);
}

aclError aclopCast(const aclTensorDesc *srcDesc, const aclDataBuffer *srcBuffer, const aclTensorDesc *dstDesc,
                   aclDataBuffer *dstBuffer, uint8_t truncate, aclrtStream stream) {
    ASC_ENTER();
    (void)truncate; /* numbers are rounded toward zero; CANN takes no other value */
    const asc_desc *from = NULL, *to = NULL;
    void *source = NULL, *target = NULL;
    asc_stream *found = NULL;
    aclError code = operand(srcDesc, srcBuffer, SIZE_MAX, "srcDesc", &from, &source);
    if (code == ACL_SUCCESS) code = operand(dstDesc, dstBuffer, asc_desc_elements(from), "dstDesc", &to, &target);
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &found);
    cast *c = code == ACL_SUCCESS ? malloc(sizeof *c) : NULL;
    if (code == ACL_SUCCESS && !c) code = asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    if (code != ACL_SUCCESS) return asc_stream_launched(stream, code);
    *c = (cast){source, target, asc_desc_elements(from), from->type, to->type};
    asc_memory_pin(source, false);
    asc_memory_pin(target, true);
    return asc_stream_launched(stream, asc_stream_push(found, run_cast, end_cast, c));
}
