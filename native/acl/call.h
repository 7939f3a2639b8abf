/* call.h - one run of a model, with the addresses that it reads and writes: what a stream keeps until it runs it. */
#ifndef ASC_ACL_CALL_H
#define ASC_ACL_CALL_H

#include "run.h"

typedef struct asc_acl_call {
    asc_om *om;       /* a reference */
    asc_chain *chain; /* NULL: the model's own */
    uint32_t n_in, n_out;
    void *addresses[]; /* as programs see them: n_in, then n_out; pinned by asc_acl_call_pin */
} asc_acl_call;

/* Takes the reference over, also when it fails (NULL, with the text set). */
asc_acl_call *asc_acl_call_new(asc_om *om);
/* How its tensors are bound. */
const asc_chain *asc_acl_call_chain(const asc_acl_call *call);
/* Once all addresses are set: their memory is in use until asc_acl_call_end. */
void asc_acl_call_pin(asc_acl_call *call);
/* Work of a queue: runs it; ends it, whether it ran or not. */
aclError asc_acl_call_run(void *call);
void asc_acl_call_end(void *call);

#endif
