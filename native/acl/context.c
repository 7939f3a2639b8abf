/* context.c - the objects of contexts and streams, and the devices that hold them. */
#include "context.h"

#include <pthread.h>
#include <stdlib.h>

#include "handle.h"
#include "settings.h"

static struct {
    pthread_mutex_t lock;
    struct {
        asc_acl_context *context; /* the default one */
        uint32_t uses;
    } devices[ASC_MAX_DEVICES];
    asc_stream *streams;
    int32_t next_id;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local aclrtContext current;

asc_acl_context *asc_peek_context(void) {
    return asc_handle_get(ASC_KIND_CONTEXT, current);
}

asc_acl_context *asc_current_context(void) {
    asc_acl_context *context = asc_peek_context();
    if (!context)
        asc_acl_fail(ACL_ERROR_RT_CONTEXT_NULL,
                     current ? "the context of this thread was destroyed, or its device reset; call aclrtSetDevice or "
                               "aclrtSetCurrentContext"
                             : "this thread has no context; call aclrtSetDevice or aclrtSetCurrentContext in it first");
    return context;
}

void asc_set_current(asc_acl_context *context) {
    current = context ? context->handle : NULL;
}

/* ---- streams --------------------------------------------------------------------------------- */

aclError asc_stream_new(asc_acl_context *context, uint32_t priority, uint32_t flags, asc_stream **made) {
    asc_stream *stream = calloc(1, sizeof *stream);
    if (stream) {
        *stream =
            (asc_stream){.context = context->handle, .device = context->device, .priority = priority, .flags = flags};
        stream->queue = asc_queue_new();
        stream->handle = stream->queue ? asc_handle_new(ASC_KIND_STREAM, stream) : NULL;
    }
    if (!stream || !stream->handle) {
        if (stream && stream->queue) asc_queue_free(stream->queue, true);
        free(stream);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more stream");
    }
    pthread_mutex_lock(&all.lock);
    stream->id = all.next_id++;
    stream->next = all.streams;
    if (all.streams) all.streams->before = stream;
    all.streams = stream;
    pthread_mutex_unlock(&all.lock);
    *made = stream;
    return ACL_SUCCESS;
}

void asc_stream_free(asc_stream *stream, bool drop) {
    if (!asc_handle_take(ASC_KIND_STREAM, stream->handle)) return;
    pthread_mutex_lock(&all.lock);
    if (stream->before)
        stream->before->next = stream->next;
    else
        all.streams = stream->next;
    if (stream->next) stream->next->before = stream->before;
    pthread_mutex_unlock(&all.lock);
    asc_queue_free(stream->queue, drop);
    free(stream);
}

aclError asc_stream_get(aclrtStream handle, asc_stream **stream) {
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    asc_stream *found = asc_handle_get(ASC_KIND_STREAM, handle ? handle : context->stream);
    if (!found) return asc_handle_fail(ACL_ERROR_RT_PARAM_INVALID, ASC_KIND_STREAM, handle, "stream");
    if (found->context != context->handle)
        return asc_acl_fail(
            ACL_ERROR_RT_STREAM_CONTEXT,
            "the stream belongs to another context than this thread's; call aclrtSetCurrentContext with that "
            "in which it was created");
    *stream = found;
    return ACL_SUCCESS;
}

aclError asc_stream_push(asc_stream *stream, aclError (*run)(void *), void (*end)(void *), void *argument) {
    asc_work work = {run, end, argument, asc_current_site()};
    aclError code = asc_queue_push(stream->queue, &work);
    if (code != ACL_SUCCESS && end) end(argument);
    return code;
}

aclError asc_stream_launched(aclrtStream handle, aclError code) {
    if (code == ACL_SUCCESS) return code;
    const asc_acl_context *context = asc_peek_context();
    const asc_stream *stream = context ? asc_handle_get(ASC_KIND_STREAM, handle ? handle : context->stream) : NULL;
    if (stream && stream->context == context->handle) asc_queue_refuse(stream->queue, code);
    return code;
}

/* A stream of the device, and context, that isn't idle; the default one first. NULL: there is none. Retained, since
 * another thread may destroy its stream. */
static asc_queue *busy(int32_t device, aclrtContext context) {
    asc_queue *found = NULL;
    pthread_mutex_lock(&all.lock);
    for (asc_stream *s = all.streams; s && !found; s = s->next)
        if (s->device == device && (!context || s->context == context) && !asc_queue_is_own(s->queue) &&
            !asc_queue_idle(s->queue))
            asc_queue_retain(found = s->queue);
    pthread_mutex_unlock(&all.lock);
    return found;
}

static aclError failure_of(int32_t device, aclrtContext context) {
    aclError first = ACL_SUCCESS;
    char text[ASC_TEXT_BYTES];
    pthread_mutex_lock(&all.lock);
    for (asc_stream *s = all.streams; s; s = s->next) {
        if (s->device != device || (context && s->context != context) || asc_queue_is_own(s->queue)) continue;
        aclError code = asc_queue_take_failure(s->queue);
        if (code == ACL_SUCCESS || first != ACL_SUCCESS) continue;
        first = code;
        __builtin_memcpy(text, asc_last_text(), sizeof text);
    }
    pthread_mutex_unlock(&all.lock);
    return first == ACL_SUCCESS ? first : asc_acl_fail_with(first, text);
}

aclError asc_streams_wait(int32_t device, aclrtContext context, int32_t timeout) {
    asc_queue *queue;
    while ((queue = busy(device, context)) != NULL) {
        aclError code = asc_queue_wait(queue, timeout);
        asc_queue_release(queue);
        if (code != ACL_SUCCESS) return code;
    }
    return failure_of(device, context);
}

/* ---- contexts --------------------------------------------------------------------------------- */

asc_acl_context *asc_acl_context_new(int32_t device, bool is_default) {
    asc_stream *stream;
    asc_acl_context *context = calloc(1, sizeof *context);
    if (!context) {
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more context");
        return NULL;
    }
    context->device = device;
    context->is_default = is_default;
    context->handle = asc_handle_new(ASC_KIND_CONTEXT, context);
    if (!context->handle || asc_stream_new(context, 0, 0, &stream) != ACL_SUCCESS) {
        asc_handle_take(ASC_KIND_CONTEXT, context->handle);
        free(context);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more context");
        return NULL;
    }
    stream->is_default = true;
    context->stream = stream->handle;
    return context;
}

void asc_acl_context_free(asc_acl_context *context) {
    if (!asc_handle_take(ASC_KIND_CONTEXT, context->handle)) return;
    for (;;) {
        asc_stream *stream;
        pthread_mutex_lock(&all.lock);
        for (stream = all.streams; stream && stream->context != context->handle;) stream = stream->next;
        pthread_mutex_unlock(&all.lock);
        if (!stream) break;
        if (!stream->is_default) asc_handle_report(stream->handle);
        asc_stream_free(stream, false);
    }
    free(context);
}

/* ---- devices ---------------------------------------------------------------------------------- */

aclError asc_device_check(int64_t device) {
    uint32_t count = asc_get_settings()->devices;
    if (device >= 0 && device < (int64_t)count) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_RT_INVALID_DEVICEID,
                        "there is no device %lld, only 0 to %u (ASCEND_EP_DEVICES=N gives more)", (long long)device,
                        count - 1);
}

aclError asc_device_open(int32_t device) {
    aclError code = asc_device_check(device);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&all.lock);
    asc_acl_context *context = all.devices[device].context;
    pthread_mutex_unlock(&all.lock);
    asc_acl_context *fresh = context ? NULL : asc_acl_context_new(device, true);
    if (!context && !fresh) return ACL_ERROR_BAD_ALLOC;
    pthread_mutex_lock(&all.lock);
    if (!all.devices[device].context) {
        all.devices[device].context = fresh;
        fresh = NULL;
    }
    context = all.devices[device].context;
    all.devices[device].uses++;
    pthread_mutex_unlock(&all.lock);
    if (fresh) asc_acl_context_free(fresh);
    asc_set_current(context);
    return ACL_SUCCESS;
}

aclError asc_device_close(int32_t device, bool force) {
    aclError code = asc_device_check(device);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&all.lock);
    uint32_t uses = all.devices[device].uses;
    asc_acl_context *last = uses == 1 || force ? all.devices[device].context : NULL;
    if (uses) all.devices[device].uses = force ? 0 : uses - 1;
    if (last) all.devices[device].context = NULL;
    pthread_mutex_unlock(&all.lock);
    if (last) asc_acl_context_free(last);
    return ACL_SUCCESS;
}

bool asc_device_is_open(int32_t device) {
    pthread_mutex_lock(&all.lock);
    bool open = all.devices[device].uses > 0;
    pthread_mutex_unlock(&all.lock);
    return open;
}

void asc_devices_close(void) {
    for (int32_t device = 0; device < ASC_MAX_DEVICES; device++)
        if (asc_device_is_open(device)) asc_device_close(device, true);
}
