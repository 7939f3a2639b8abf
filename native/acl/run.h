/* run.h - a model bound to the shapes of its inputs, ready to run. */
#ifndef ASC_ACL_RUN_H
#define ASC_ACL_RUN_H

#include "model.h"

/* Every partition that runs, bound; every edge's tensor (data NULL). */
typedef struct asc_chain {
    asc_bound **bounds;
    asc_tensor *edges;
    uint64_t work_bytes;
} asc_chain;

/* SIZE_MAX when they overflow. */
size_t asc_tensor_bytes(const asc_tensor *t);

/* Binds at the sizes of all symbols, or, when `inputs` is given, for tensors of these shapes in the order of the
 * model's inputs (without the one that chooses a gear). */
aclError asc_chain_bind(asc_om *om, const int64_t *sizes, const asc_tensor *inputs, asc_chain **made);
void asc_chain_free(const asc_om *om, asc_chain *chain);

/* Runs it: `in` and `out` are the addresses of the model's inputs and outputs. */
aclError asc_chain_run(asc_om *om, const asc_chain *chain, const void *const *in, void *const *out);

#endif
