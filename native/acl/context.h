/* context.h - devices, the contexts on them, and the streams of those: objects behind handles, and what is current. */
#ifndef ASC_ACL_CONTEXT_H
#define ASC_ACL_CONTEXT_H

#include "error.h"
#include "queue.h"

typedef struct asc_acl_context {
    aclrtContext handle;
    int32_t device;
    bool is_default;    /* that aclrtSetDevice made */
    aclrtStream stream; /* the default stream */
    int64_t options[3]; /* of aclrtCtxSetSysParamOpt */
    bool is_set[3];
} asc_acl_context;

typedef struct asc_stream {
    aclrtStream handle;
    aclrtContext context;
    int32_t device;
    int32_t id;
    uint32_t priority, flags, overflow, tag;
    uint64_t failure_mode;
    bool is_default;
    uint64_t subscriber; /* the thread of aclrtSubscribeReport; 0: none */
    asc_queue *queue;
    struct asc_stream *next, *before; /* of all */
} asc_stream;

/* What this thread works in; NULL, with the text set, when aclrtSetDevice or aclrtSetCurrentContext was not called. */
asc_acl_context *asc_current_context(void);
/* As asc_current_context, without a failure. */
asc_acl_context *asc_peek_context(void);
void asc_set_current(asc_acl_context *context);

/* A context on the device, with a default stream; NULL when there is no memory. */
asc_acl_context *asc_acl_context_new(int32_t device, bool is_default);
/* Ends its streams. Its handle lives no more. */
void asc_acl_context_free(asc_acl_context *context);

aclError asc_stream_new(asc_acl_context *context, uint32_t priority, uint32_t flags, asc_stream **made);
void asc_stream_free(asc_stream *stream, bool drop);
/* The stream of a handle, NULL being the default stream of this thread's context; fails unless it is of that context.
 */
aclError asc_stream_get(aclrtStream handle, asc_stream **stream);
/* Brings work to the stream. On failure `end` was called. */
aclError asc_stream_push(asc_stream *stream, aclError (*run)(void *), void (*end)(void *), void *argument);
/* What a call that brings work to a stream returns: that `code`. A failure is kept for other threads that wait for the
 * stream (asc_queue_refuse). The runtime of a card returns it and leaves the stream sound, and so does this one for the
 * thread that called. torch_npu calls from a thread of its own, which ends with the first failure and drops all that
 * comes after: without this, its tensors stay as they were allocated, and every synchronization succeeds. */
aclError asc_stream_launched(aclrtStream handle, aclError code);
/* Waits for all streams of a device; of one context, when given. */
aclError asc_streams_wait(int32_t device, aclrtContext context, int32_t timeout);

/* aclrtSetDevice and aclrtResetDevice. */
aclError asc_device_open(int32_t device);
aclError asc_device_close(int32_t device, bool force);
aclError asc_device_check(int64_t device);
bool asc_device_is_open(int32_t device);
void asc_devices_close(void);

#endif
