/* notify.c - notifications between streams, also of different devices: one stream sets a mark, another waits for it and
 * takes it away. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "acl/acl_rt.h"
#include "context.h"
#include "deadline.h"
#include "handle.h"

typedef struct notification {
    pthread_mutex_t lock;
    pthread_cond_t marked;
    uint32_t uses; /* the handle, and work of streams */
    uint32_t id;
    bool mark;
} notification;

typedef struct wait_step {
    notification *of;
    uint32_t milliseconds; /* 0: without end */
} wait_step;

static atomic_uint next_id;

static void retain(notification *n) {
    pthread_mutex_lock(&n->lock);
    n->uses++;
    pthread_mutex_unlock(&n->lock);
}

static void release(notification *n) {
    pthread_mutex_lock(&n->lock);
    uint32_t left = --n->uses;
    pthread_mutex_unlock(&n->lock);
    if (left) return;
    pthread_mutex_destroy(&n->lock);
    pthread_cond_destroy(&n->marked);
    free(n);
}

static aclError get(aclrtNotify given, notification **found) {
    *found = asc_handle_get(ASC_KIND_NOTIFICATION, given);
    return *found ? ACL_SUCCESS : asc_handle_fail(ACL_ERROR_RT_PARAM_INVALID, ASC_KIND_NOTIFICATION, given, "notify");
}

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag) {
    ASC_ENTER();
    ASC_NEED(notify);
    if (flag) return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "flag is %llu; it is 0", (unsigned long long)flag);
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    notification *n = calloc(1, sizeof *n);
    void *handle = n ? asc_handle_new(ASC_KIND_NOTIFICATION, n) : NULL;
    if (!handle) {
        free(n);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more notification");
    }
    pthread_mutex_init(&n->lock, NULL);
    asc_deadline_condition(&n->marked);
    n->uses = 1;
    n->id = atomic_fetch_add(&next_id, 1);
    *notify = handle;
    return ACL_SUCCESS;
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
    ASC_ENTER();
    notification *n = asc_handle_take(ASC_KIND_NOTIFICATION, notify);
    if (!n) return asc_handle_fail(ACL_ERROR_RT_PARAM_INVALID, ASC_KIND_NOTIFICATION, notify, "notify");
    release(n);
    return ACL_SUCCESS;
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId) {
    ASC_ENTER();
    notification *n;
    ASC_NEED(notifyId);
    aclError code = get(notify, &n);
    if (code == ACL_SUCCESS) *notifyId = n->id;
    return code;
}

static aclError run_record(void *argument) {
    notification *n = argument;
    pthread_mutex_lock(&n->lock);
    n->mark = true;
    pthread_cond_signal(&n->marked);
    pthread_mutex_unlock(&n->lock);
    return ACL_SUCCESS;
}

static void end_record(void *argument) {
    release(argument);
}

static aclError push_record(aclrtNotify notify, aclrtStream stream) {
    notification *n;
    asc_stream *target = NULL;
    aclError code = get(notify, &n);
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) return code;
    retain(n);
    return asc_stream_push(target, run_record, end_record, n);
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_record(notify, stream));
}

static aclError run_wait(void *argument) {
    const wait_step *s = argument;
    notification *n = s->of;
    bool endless = s->milliseconds == 0;
    struct timespec deadline = asc_deadline(s->milliseconds > INT32_MAX ? INT32_MAX : (int32_t)s->milliseconds);
    pthread_mutex_lock(&n->lock);
    int late = 0;
    while (!n->mark && late != ETIMEDOUT)
        late =
            endless ? pthread_cond_wait(&n->marked, &n->lock) : pthread_cond_timedwait(&n->marked, &n->lock, &deadline);
    bool there = n->mark;
    n->mark = false;
    pthread_mutex_unlock(&n->lock);
    return there ? ACL_SUCCESS
                 : asc_acl_fail(ACL_ERROR_RT_WAIT_TIMEOUT, "no stream recorded the notification within %u ms",
                                s->milliseconds);
}

static void end_wait(void *argument) {
    wait_step *s = argument;
    release(s->of);
    free(s);
}

static aclError push_wait(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
    notification *n;
    asc_stream *target = NULL;
    aclError code = get(notify, &n);
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) return code;
    wait_step *s = malloc(sizeof *s);
    if (!s) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    retain(n);
    *s = (wait_step){n, timeout};
    return asc_stream_push(target, run_wait, end_wait, s);
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_wait(notify, stream, timeout));
}
