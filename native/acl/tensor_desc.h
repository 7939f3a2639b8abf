/* tensor_desc.h - what a tensor description's handle stands for. */
#ifndef ASC_ACL_TENSOR_DESC_H
#define ASC_ACL_TENSOR_DESC_H

#include "acl/acl_base.h"

#define ASC_DESC_RANK 128

typedef struct asc_shape {
    int rank;                    /* -1: unknown */
    int64_t dims[ASC_DESC_RANK]; /* -1: unknown */
} asc_shape;

typedef struct asc_desc {
    aclDataType type;
    aclFormat format, origin_format, storage_format;
    asc_shape shape, origin_shape, storage_shape;
    int64_t (*range)[2]; /* of each dim; NULL: none was set */
    char *name, *dynamic_input;
    void *constant; /* a copy of the value; NULL: it is no constant */
    size_t constant_bytes;
    aclMemType place;
} asc_desc;

/* The description behind a handle; NULL, with the text set, when it is none. */
asc_desc *asc_desc_get(const aclTensorDesc *handle, const char *name);
aclTensorDesc *asc_desc_new(aclDataType type, int rank, const int64_t *dims, aclFormat format);
/* False when the handle is none. */
bool asc_desc_destroy(const aclTensorDesc *handle);
/* Elements; 0 where a dim or the rank isn't known, or the product overflows. */
size_t asc_desc_elements(const asc_desc *desc);

#endif
