/* dump_value.h - a tensor of a call, copied as the model has it: without strides, packed layouts, channels last. */
#ifndef ASC_ACL_DUMP_VALUE_H
#define ASC_ACL_DUMP_VALUE_H

#include "model_def.h"

typedef struct asc_dump_value {
    int32_t dtype, rank;
    int64_t dims[ASC_MAX_RANK];
    size_t bytes;
    void *data;                /* NULL: there are no bytes, or no memory for them */
    const asc_def_tensor *def; /* NULL: the model has no such tensor */
} asc_dump_value;

/* Whether the kernel sees the tensor with channels last, though its model has channels second. `last` decides where
 * its dims allow either. */
bool asc_dump_is_last(const asc_tensor *seen, const asc_def_tensor *def, bool last);
/* The copy, which the caller frees (data). */
asc_dump_value asc_dump_copy(const asc_tensor *seen, const asc_def_tensor *def, bool last);

#endif
