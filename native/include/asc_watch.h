/* asc_watch.h - a look at each call of a run, from the thread that runs it: what dumps of tensors are made of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_WATCH_H
#define ASC_WATCH_H

#include "ascend_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call of a plan. Its tensors are as the kernel sees them: with strides, packed layouts, in memory that the next
 * calls use again; outputs may lie where inputs did. */
typedef struct asc_watched_call {
    const asc_model *model;
    uint32_t insn; /* index into ASC_SEC_INSNS of the model */
    uint32_t n_in, n_out;
    const asc_tensor *in, *out;
    int32_t done; /* 0: before the call; 1: after it */
    int32_t code; /* ASC_OK, or how it failed */
} asc_watched_call;

typedef void (*asc_watch_fn)(void *user, const asc_watched_call *call);

/* What this thread executes from now on shows each call to `watch`, before and after it; NULL: no longer. */
ASC_API void asc_watch_calls(asc_watch_fn watch, void *user);

#ifdef __cplusplus
}
#endif
#endif
