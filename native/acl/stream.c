/* stream.c - aclrt's functions of streams. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_mdl.h"
#include "acl/acl_rt.h"
#include "context.h"
#include "handle.h"

#define MAX_PRIORITY 7u

typedef struct stream_config {
    uint32_t priority;
    size_t flags;
} stream_config;

static aclError create(aclrtStream *stream, uint32_t priority, uint32_t flags) {
    ASC_NEED(stream);
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    asc_stream *made = NULL;
    aclError code = asc_stream_new(context, priority, flags, &made);
    if (code == ACL_SUCCESS) *stream = made->handle;
    return code;
}

aclError aclrtCreateStream(aclrtStream *stream) {
    ASC_ENTER();
    return create(stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag) {
    ASC_ENTER();
    if (priority > MAX_PRIORITY)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "priority is %u; it is 0 (first) to %u", priority,
                            MAX_PRIORITY);
    return create(stream, priority, flag);
}

aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void) {
    ASC_ENTER();
    stream_config *config = calloc(1, sizeof *config);
    void *handle = config ? asc_handle_new(ASC_KIND_STREAM_CONFIG, config) : NULL;
    if (!handle) free(config);
    return handle;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle) {
    ASC_ENTER();
    ASC_NEED(handle);
    stream_config *config = asc_handle_take(ASC_KIND_STREAM_CONFIG, handle);
    if (!config) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_STREAM_CONFIG, handle, "handle");
    free(config);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attrValue,
                                 size_t valueSize) {
    ASC_ENTER();
    ASC_NEED(handle);
    ASC_NEED(attrValue);
    stream_config *config = asc_handle_get(ASC_KIND_STREAM_CONFIG, handle);
    if (!config) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_STREAM_CONFIG, handle, "handle");
    size_t need = attr == ACL_RT_STREAM_PRIORITY ? sizeof(uint32_t) : sizeof(size_t);
    if (attr < ACL_RT_STREAM_WORK_ADDR_PTR || attr > ACL_RT_STREAM_PRIORITY)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "attr is %d, no setting of a stream", (int)attr);
    if (valueSize != need)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "valueSize is %zu; this setting has %zu bytes", valueSize, need);
    if (attr == ACL_RT_STREAM_PRIORITY) memcpy(&config->priority, attrValue, need);
    if (attr == ACL_RT_STREAM_FLAG) memcpy(&config->flags, attrValue, need);
    return ACL_SUCCESS; /* work memory is the stream's own here, whoever brings some */
}

aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle) {
    ASC_ENTER();
    if (!handle) return create(stream, 0, 0);
    stream_config *config = asc_handle_get(ASC_KIND_STREAM_CONFIG, handle);
    if (!config) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_STREAM_CONFIG, handle, "handle");
    return create(stream, config->priority, (uint32_t)config->flags);
}

static aclError destroy(aclrtStream stream, bool drop) {
    ASC_NEED(stream);
    asc_stream *found = asc_handle_get(ASC_KIND_STREAM, stream);
    if (!found) return asc_handle_fail(ACL_ERROR_RT_PARAM_INVALID, ASC_KIND_STREAM, stream, "stream");
    if (found->is_default)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "the stream is its context's default one, which ends with the context");
    asc_stream_free(found, drop);
    return ACL_SUCCESS;
}

aclError aclrtDestroyStream(aclrtStream stream) {
    ASC_ENTER();
    return destroy(stream, false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    ASC_ENTER();
    return destroy(stream, true);
}

static aclError synchronize(aclrtStream stream, int32_t timeout) {
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    if (asc_queue_is_own(found->queue))
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "a callback of the stream can't wait for the stream");
    return asc_queue_wait(found->queue, timeout);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    ASC_ENTER();
    return synchronize(stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    ASC_ENTER();
    if (timeout < -1)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d; it is -1 or milliseconds", timeout);
    return synchronize(stream, timeout);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
    ASC_ENTER();
    ASC_NEED(status);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    *status = asc_queue_idle(found->queue) ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

static aclError drop(aclrtStream stream) {
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code == ACL_SUCCESS) asc_queue_drop(found->queue);
    return code;
}

aclError aclrtStreamAbort(aclrtStream stream) {
    ASC_ENTER();
    return drop(stream);
}

aclError aclrtStreamStop(aclrtStream stream) {
    ASC_ENTER();
    return drop(stream);
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId) {
    ASC_ENTER();
    ASC_NEED(streamId);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code == ACL_SUCCESS) *streamId = found->id;
    return code;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority) {
    ASC_ENTER();
    ASC_NEED(priority);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code == ACL_SUCCESS) *priority = found->priority;
    return code;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags) {
    ASC_ENTER();
    ASC_NEED(flags);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code == ACL_SUCCESS) *flags = found->flags;
    return code;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority) {
    ASC_ENTER();
    ASC_NEED(leastPriority);
    ASC_NEED(greatestPriority);
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    *leastPriority = (int32_t)MAX_PRIORITY;
    *greatestPriority = 0;
    return ACL_SUCCESS;
}

static aclError set_failure_mode(asc_stream *stream, uint64_t mode) {
    if (mode > ACL_STOP_ON_FAILURE)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "mode is %llu, neither ACL_CONTINUE_ON_FAILURE nor ACL_STOP_ON_FAILURE",
                            (unsigned long long)mode);
    stream->failure_mode = mode;
    asc_queue_stop_on_failure(stream->queue, mode == ACL_STOP_ON_FAILURE);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    ASC_ENTER();
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    return code == ACL_SUCCESS ? set_failure_mode(found, mode) : code;
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
    ASC_ENTER();
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code == ACL_SUCCESS) found->overflow = flag != 0;
    return code;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag) {
    ASC_ENTER();
    ASC_NEED(flag);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code == ACL_SUCCESS) *flag = found->overflow;
    return code;
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value) {
    ASC_ENTER();
    ASC_NEED(value);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    switch (stmAttrType) {
        case ACL_STREAM_ATTR_FAILURE_MODE: return set_failure_mode(found, value->failureMode);
        case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: found->overflow = value->overflowSwitch != 0; return ACL_SUCCESS;
        case ACL_STREAM_ATTR_USER_CUSTOM_TAG: found->tag = value->userCustomTag; return ACL_SUCCESS;
        default:
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "stmAttrType is %d, no attribute of streams",
                                (int)stmAttrType);
    }
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value) {
    ASC_ENTER();
    ASC_NEED(value);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    switch (stmAttrType) {
        case ACL_STREAM_ATTR_FAILURE_MODE: value->failureMode = found->failure_mode; return ACL_SUCCESS;
        case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK: value->overflowSwitch = found->overflow; return ACL_SUCCESS;
        case ACL_STREAM_ATTR_USER_CUSTOM_TAG: value->userCustomTag = found->tag; return ACL_SUCCESS;
        default:
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "stmAttrType is %d, no attribute of streams",
                                (int)stmAttrType);
    }
}

/* Streams are not captured. */
aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *modelRI) {
    ASC_ENTER();
    ASC_NEED(status);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (modelRI) *modelRI = NULL;
    return ACL_SUCCESS;
}

/* As many as there are handles. */
#define MOST_STREAMS 65536

aclError aclrtGetStreamAvailableNum(uint32_t *streamCount) {
    ASC_ENTER();
    ASC_NEED(streamCount);
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    *streamCount = MOST_STREAMS;
    return ACL_SUCCESS;
}

aclError aclrtGetEventAvailNum(uint32_t *eventCount) {
    ASC_ENTER();
    ASC_NEED(eventCount);
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    *eventCount = MOST_STREAMS;
    return ACL_SUCCESS;
}
