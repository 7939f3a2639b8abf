/* model_def.h - what a bundle's MODEL_DEF says of the tensors of the model that was converted. */
#ifndef ASC_ACL_MODEL_DEF_H
#define ASC_ACL_MODEL_DEF_H

#include <stdbool.h>

#include "ascend_rt.h"

/* A tensor that an operator of the model makes. Text is not terminated: it lies in the bundle. */
typedef struct asc_def_tensor {
    const char *name, *op;
    uint32_t name_bytes, op_bytes;
    uint32_t output; /* of the operator's outputs */
    int32_t rank;    /* -1: not known */
    int64_t dims[ASC_MAX_RANK];
} asc_def_tensor;

typedef struct asc_model_def {
    char *name;              /* of the model */
    asc_def_tensor *tensors; /* by name */
    uint32_t count;
} asc_model_def;

/* Of the bundle, which must outlive it. False when there is no memory; a MODEL_DEF that can't be read has no
 * tensors. */
bool asc_model_def_read(const asc_model *model, asc_model_def *def);
void asc_model_def_free(asc_model_def *def);
/* NULL: no operator makes a tensor of that name. */
const asc_def_tensor *asc_model_def_find(const asc_model_def *def, const char *name);

#endif
