/* call.c - runs of models, as work of streams. */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "dump.h"
#include "memory.h"

asc_acl_call *asc_acl_call_new(asc_om *om) {
    asc_acl_call *call = calloc(1, sizeof *call + (om->n_inputs + om->n_outputs) * sizeof(void *));
    if (!call) {
        asc_om_release(om);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
        return NULL;
    }
    call->om = om;
    call->n_in = om->n_inputs;
    call->n_out = om->n_outputs;
    call->device = asc_peek_context() ? asc_peek_context()->device : 0;
    return call;
}

const asc_chain *asc_acl_call_chain(const asc_acl_call *call) {
    return call->chain ? call->chain : call->om->fixed;
}

static void free_images(asc_call_images *one) {
    free(one->parameters);
    free(one->images);
    free(one);
}

bool asc_acl_call_add_images(asc_acl_call *call, uint32_t input, const asc_aipp *parameters, const int64_t *dims) {
    asc_call_images *one = calloc(1, sizeof *one);
    if (!one) return false;
    one->input = input;
    memcpy(one->dims, dims, sizeof one->dims);
    one->parameters = asc_aipp_copy(parameters);
    one->images = malloc((size_t)(dims[0] * dims[1] * dims[2] * dims[3]) * sizeof *one->images);
    if (!one->parameters || !one->images) {
        free_images(one);
        return false;
    }
    one->next = call->images;
    call->images = one;
    return true;
}

void asc_acl_call_pin(asc_acl_call *call) {
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        if (call->addresses[i]) asc_memory_pin(call->addresses[i], i >= call->n_in);
}

aclError asc_acl_call_run(void *argument) {
    asc_acl_call *call = argument;
    void *few[32] = {0};
    uint32_t count = call->n_in + call->n_out;
    void **at = count <= 32 ? few : malloc(count * sizeof *at);
    if (!at) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (uint32_t i = 0; i < count; i++) at[i] = asc_real(call->addresses[i]);
    for (const asc_call_images *one = call->images; one; one = one->next) {
        asc_aipp_run(one->parameters, at[one->input], one->dims, one->images);
        at[one->input] = one->images;
    }
    asc_dump_run *dumped = call->om->dump ? asc_dump_run_begin(call->om->dump, call->om, call->device) : NULL;
    aclError code = asc_chain_run(call->om, asc_acl_call_chain(call), (const void *const *)at, at + call->n_in);
    asc_dump_run_end(dumped);
    if (at != few) free(at);
    return code;
}

void asc_acl_call_end(void *argument) {
    asc_acl_call *call = argument;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        if (call->addresses[i]) asc_memory_unpin(call->addresses[i], i >= call->n_in);
    while (call->images) {
        asc_call_images *one = call->images;
        call->images = one->next;
        free_images(one);
    }
    if (call->chain) asc_chain_free(call->om, call->chain);
    asc_om_release(call->om);
    free(call);
}
