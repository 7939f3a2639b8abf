/* op_execute.h - the arguments of aclop's functions, checked. */
#ifndef ASC_ACL_OP_EXECUTE_H
#define ASC_ACL_OP_EXECUTE_H

#include "op_models.h"

/* What was read; asc_op_end frees it. */
typedef struct asc_op_arguments {
    asc_op op;
    const asc_desc **descs; /* inputs, then outputs */
} asc_op_arguments;

aclError asc_op_begin(asc_op_arguments *arguments, const char *type, int n_in, const aclTensorDesc *const inputs[],
                      int n_out, const aclTensorDesc *const outputs[], const aclopAttr *attr);
void asc_op_end(asc_op_arguments *arguments);
/* Brings the operator to the stream. */
aclError asc_op_execute(const asc_op *op, const aclDataBuffer *const inputs[], aclDataBuffer *const outputs[],
                        aclrtStream stream);
/* As asc_op_execute on a bundle that was found before; takes the reference over. */
aclError asc_op_execute_on(asc_om *om, const asc_op *op, const aclDataBuffer *const inputs[],
                           aclDataBuffer *const outputs[], aclrtStream stream);

#endif
