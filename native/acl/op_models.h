/* op_models.h - the bundles of single operators that a program has: those of aclopSetModelDir, and those compiled. */
#ifndef ASC_ACL_OP_MODELS_H
#define ASC_ACL_OP_MODELS_H

#include "model.h"
#include "op_attr.h"
#include "tensor_desc.h"

/* An operator as a program describes it. */
typedef struct asc_op {
    const char *type;
    uint32_t n_in, n_out;
    const asc_desc *const *inputs, *const *outputs;
    const asc_attrs *attrs;
} asc_op;

/* Adds every .om under the folder. */
aclError asc_op_add_folder(const char *folder);
/* Takes the model over; fails unless it is one of a single operator. */
aclError asc_op_add(asc_om *om);
/* A reference to the model of the operator; else ACL_ERROR_OP_NOT_FOUND, or what of it doesn't match. */
aclError asc_op_find(const asc_op *op, asc_om **om);
/* As asc_op_find, without a failure. */
bool asc_op_is_known(const asc_op *op);
/* The place of a model's input among those of the operator ("x3" -> 3). */
uint32_t asc_op_place(const asc_io *io);

#endif
