/* operand.h - what the handles of aclnn's objects stand for. */
#ifndef ASC_ACL_OPERAND_H
#define ASC_ACL_OPERAND_H

#include "aclnn/acl_meta.h"
#include "tensor_desc.h"

typedef struct asc_operand {
    aclDataType type;
    aclFormat format;
    asc_shape view, storage, strides;
    int64_t offset;
    void *data; /* as programs see it */
} asc_operand;

/* A scalar: one element. */
typedef struct asc_scalar {
    aclDataType type;
    uint8_t bytes[16];
} asc_scalar;

/* Numbers of an array, or handles of a list. */
typedef struct asc_list {
    uint64_t count;
    uint64_t items[]; /* int64_t, float, bool in the first bytes of each, or handles */
} asc_list;

#endif
