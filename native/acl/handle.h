/* handle.h - the opaque pointers that programs hold. A handle is a number that was never an address: it names a slot
 * and the use that is made of it, so that one that was destroyed, or never made, is told from one that lives. */
#ifndef ASC_ACL_HANDLE_H
#define ASC_ACL_HANDLE_H

#include <stdint.h>

#include "error.h"

typedef enum asc_kind {
    ASC_KIND_NONE,
    ASC_KIND_CONTEXT,
    ASC_KIND_STREAM,
    ASC_KIND_EVENT,
    ASC_KIND_DATA_BUFFER,
    ASC_KIND_TENSOR_DESC,
    ASC_KIND_MODEL_DESC,
    ASC_KIND_DATASET,
    ASC_KIND_AIPP,
    ASC_KIND_MODEL_CONFIG,
    ASC_KIND_RUN_CONFIG,
    ASC_KIND_STREAM_CONFIG,
    ASC_KIND_OP_ATTR,
    ASC_KIND_OP_HANDLE,
    ASC_KIND_GROUP_INFO,
    ASC_KIND_PICTURE,
    ASC_KIND_CHANNEL,
    ASC_KIND_REGION,
    ASC_KIND_RESIZE,
    ASC_KIND_ENCODING,
    ASC_KIND_PICTURES,
    ASC_KIND_BYTES,
    ASC_KIND_TENSOR,
    ASC_KIND_SCALAR,
    ASC_KIND_INTS,
    ASC_KIND_FLOATS,
    ASC_KIND_BOOLS,
    ASC_KIND_TENSORS,
    ASC_KIND_SCALARS,
    ASC_KIND_PROFILE,
    ASC_KIND_NOTIFICATION,
    ASC_KIND_EXECUTOR,
    ASC_KIND_BINARY_DATA,
    ASC_KIND_BINARY,
    ASC_KIND_FUNCTION,
    ASC_KIND_ARGUMENTS,
    ASC_KIND_COMMUNICATOR,
    ASC_KIND_COUNT
} asc_kind;

/* A handle of an object; NULL when there is no room. The place of the call is kept for the list of what was left. */
void *asc_handle_new(asc_kind kind, void *object);
/* The object, or NULL when the handle isn't one of this kind that lives. */
void *asc_handle_get(asc_kind kind, const void *handle);
/* As asc_handle_get, and the handle lives no more. */
void *asc_handle_take(asc_kind kind, const void *handle);
/* Fails: says what the handle is instead of one of this kind. `name` is that of the argument. */
aclError asc_handle_fail(aclError code, asc_kind kind, const void *handle, const char *name);
/* In checking mode, one line for each handle that still lives. */
void asc_handle_report_left(void);
/* The same of one that goes with what holds it. */
void asc_handle_report(const void *handle);

#endif
