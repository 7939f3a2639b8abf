/* dump_value.h - a tensor of a call, copied as the model has it where the bundle says how it lies: without strides,
 * packed layouts, channels last. */
#ifndef ASC_ACL_DUMP_VALUE_H
#define ASC_ACL_DUMP_VALUE_H

#include "asc_origin.h"
#include "model_def.h"

typedef struct asc_dump_value {
    int32_t dtype, rank;
    int64_t dims[ASC_MAX_RANK];
    size_t bytes;
    void *data;                /* NULL: there are no bytes, or no memory for them */
    bool known;                /* the axes are in the model's order; else they are as the kernel has them */
    const asc_def_tensor *def; /* NULL: it is no tensor of the model, or not known to be one */
} asc_dump_value;

/* The copy, which the caller frees (data). `origin`: what the bundle says of the value; NULL: nothing. */
asc_dump_value asc_dump_copy(const asc_tensor *seen, const asc_origin *origin, const asc_def_tensor *def);

#endif
