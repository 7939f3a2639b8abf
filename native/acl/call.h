/* call.h - one run of a model, with the addresses that it reads and writes: what a stream keeps until it runs it. */
#ifndef ASC_ACL_CALL_H
#define ASC_ACL_CALL_H

#include "aipp_image.h"
#include "run.h"

/* Pictures of an input that become its images when the call runs. */
typedef struct asc_call_images {
    struct asc_call_images *next;
    uint32_t input;
    int64_t dims[4];
    asc_aipp *parameters;
    float *images;
} asc_call_images;

typedef struct asc_acl_call {
    asc_om *om;       /* a reference */
    asc_chain *chain; /* NULL: the model's own */
    uint32_t n_in, n_out;
    int32_t device;
    asc_call_images *images;
    void *addresses[]; /* as programs see them: n_in, then n_out; pinned by asc_acl_call_pin */
} asc_acl_call;

/* Takes the reference over, also when it fails (NULL, with the text set). */
asc_acl_call *asc_acl_call_new(asc_om *om);
/* How its tensors are bound. */
const asc_chain *asc_acl_call_chain(const asc_acl_call *call);
/* Adds pictures of an input, described so; false when there is no memory. */
bool asc_acl_call_add_images(asc_acl_call *call, uint32_t input, const asc_aipp *parameters, const int64_t *dims);
/* Once all addresses are set: their memory is in use until asc_acl_call_end. */
void asc_acl_call_pin(asc_acl_call *call);
/* Work of a queue: runs it; ends it, whether it ran or not. */
aclError asc_acl_call_run(void *call);
void asc_acl_call_end(void *call);

#endif
