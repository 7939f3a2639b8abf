/* event.c - aclrt's events: points in streams that others wait for, and that are timed. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "acl/acl_rt.h"
#include "ascend_rt.h"
#include "context.h"
#include "deadline.h"
#include "handle.h"

/* One recording: streams may reach those of one event in another order than they were asked for. The event's lock
 * guards it. */
typedef struct recording {
    uint32_t uses;
    bool reached;
    uint64_t ns; /* when; 0 where it was dropped */
} recording;

/* A wait is for the last recording there was when it was called. Shared by the handle and by work in streams. */
typedef struct event {
    pthread_mutex_t lock;
    pthread_cond_t reached;
    uint32_t uses, id;
    recording *last; /* NULL: never recorded, so nobody waits */
    uint64_t waits, waited;
} event;

typedef enum action { RECORD, WAIT, RESET } action;

typedef struct step {
    event *event;
    recording *recording;
    action what;
    int32_t timeout;
} step;

static atomic_uint next_id;

/* Holds the event's lock. */
static recording *use(recording *r) {
    if (r) r->uses++;
    return r;
}

/* Holds the event's lock. */
static void drop(recording *r) {
    if (r && --r->uses == 0) free(r);
}

static void release(event *e, recording *r) {
    pthread_mutex_lock(&e->lock);
    drop(r);
    uint32_t left = --e->uses;
    if (!left) drop(e->last);
    pthread_mutex_unlock(&e->lock);
    if (left) return;
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->reached);
    free(e);
}

static aclError create(aclrtEvent *result) {
    if (!result) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "event must not be NULL");
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    event *e = calloc(1, sizeof *e);
    void *handle = e ? asc_handle_new(ASC_KIND_EVENT, e) : NULL;
    if (!handle) {
        free(e);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more event");
    }
    pthread_mutex_init(&e->lock, NULL);
    asc_deadline_condition(&e->reached);
    e->uses = 1;
    e->id = atomic_fetch_add(&next_id, 1);
    *result = handle;
    return ACL_SUCCESS;
}

aclError aclrtCreateEvent(aclrtEvent *event) {
    ASC_ENTER();
    return create(event);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag) {
    ASC_ENTER();
    (void)flag; /* which kinds of use a device prepares for; all are ready here */
    return create(event);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    ASC_ENTER();
    (void)flag;
    return create(event);
}

aclError aclrtDestroyEvent(aclrtEvent given) {
    ASC_ENTER();
    ASC_NEED(given);
    event *e = asc_handle_take(ASC_KIND_EVENT, given);
    if (!e) return asc_handle_fail(ACL_ERROR_RT_PARAM_INVALID, ASC_KIND_EVENT, given, "event");
    release(e, NULL);
    return ACL_SUCCESS;
}

static aclError get(aclrtEvent given, event **found) {
    *found = asc_handle_get(ASC_KIND_EVENT, given);
    return *found ? ACL_SUCCESS
                  : asc_handle_fail(given ? ACL_ERROR_RT_PARAM_INVALID : ACL_ERROR_INVALID_PARAM, ASC_KIND_EVENT, given,
                                    "event");
}

/* ---- in streams ---------------------------------------------------------------------------------- */

static aclError wait_until(event *e, const recording *r, int32_t timeout) {
    struct timespec deadline = asc_deadline(timeout);
    pthread_mutex_lock(&e->lock);
    int late = 0;
    while (r && !r->reached && late != ETIMEDOUT)
        late = timeout < 0 ? pthread_cond_wait(&e->reached, &e->lock)
                           : pthread_cond_timedwait(&e->reached, &e->lock, &deadline);
    bool reached = !r || r->reached;
    pthread_mutex_unlock(&e->lock);
    return reached ? ACL_SUCCESS
                   : asc_acl_fail(ACL_ERROR_RT_WAIT_TIMEOUT, "the event isn't reached after %d ms", timeout);
}

static void reach(const step *s, uint64_t ns) {
    pthread_mutex_lock(&s->event->lock);
    if (!s->recording->reached) *s->recording = (recording){s->recording->uses, true, ns};
    pthread_cond_broadcast(&s->event->reached);
    pthread_mutex_unlock(&s->event->lock);
}

static aclError run_record(void *argument) {
    reach(argument, asc_clock_ns());
    return ACL_SUCCESS;
}

static aclError run_wait(void *argument) {
    step *s = argument;
    return wait_until(s->event, s->recording, s->timeout);
}

/* Also when it was dropped: those that wait go on. */
static void end(void *argument) {
    step *s = argument;
    if (s->what == RECORD) reach(s, 0);
    if (s->what == WAIT) {
        pthread_mutex_lock(&s->event->lock);
        s->event->waited++;
        pthread_mutex_unlock(&s->event->lock);
    }
    release(s->event, s->recording);
    free(s);
}

/* Later waits are for later recordings anyway, and those that were called before still have theirs. */
static aclError run_reset(void *argument) {
    (void)argument;
    return ACL_SUCCESS;
}

static aclError push(aclrtEvent given, aclrtStream stream, action what, int32_t timeout) {
    static aclError (*const run[])(void *) = {run_record, run_wait, run_reset};
    event *e = NULL;
    asc_stream *target = NULL;
    aclError code = get(given, &e);
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) return code;
    step *s = malloc(sizeof *s);
    recording *made = what == RECORD ? calloc(1, sizeof *made) : NULL;
    if (!s || (what == RECORD && !made)) {
        free(s);
        free(made);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    }
    pthread_mutex_lock(&e->lock);
    if (made) {
        drop(e->last);
        e->last = use(made);
    }
    if (what == WAIT) e->waits++;
    e->uses++;
    *s = (step){e, use(e->last), what, timeout};
    pthread_mutex_unlock(&e->lock);
    return asc_stream_push(target, run[what], end, s);
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push(event, stream, RECORD, -1));
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push(event, stream, RESET, -1));
}

/* Milliseconds that a stream waits for an event where the call says nothing; -1: without end. */
static atomic_int wait_limit = -1;

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
    ASC_ENTER();
    atomic_store(&wait_limit, timeout == 0 ? -1 : timeout > INT32_MAX / 1000 ? INT32_MAX : (int32_t)timeout * 1000);
    return ACL_SUCCESS;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    ASC_ENTER();
    return asc_stream_launched(stream, push(event, stream, WAIT, atomic_load(&wait_limit)));
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
    ASC_ENTER();
    if (timeout < -1)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d; it is -1 or milliseconds", timeout);
    return asc_stream_launched(stream, push(event, stream, WAIT, timeout));
}

/* ---- from the host ------------------------------------------------------------------------------------ */

static aclError synchronize(aclrtEvent given, int32_t timeout) {
    event *e = NULL;
    aclError code = get(given, &e);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&e->lock);
    recording *last = use(e->last);
    e->uses++;
    pthread_mutex_unlock(&e->lock);
    code = wait_until(e, last, timeout);
    release(e, last);
    return code;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    ASC_ENTER();
    return synchronize(event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    ASC_ENTER();
    if (timeout < -1)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d; it is -1 or milliseconds", timeout);
    return synchronize(event, timeout);
}

typedef struct state {
    bool reached, waited, timed;
    uint64_t ns;
    uint32_t id;
} state;

static aclError look(aclrtEvent given, const void *result, state *now) {
    event *e = NULL;
    ASC_NEED(result);
    aclError code = get(given, &e);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&e->lock);
    *now = (state){.reached = !e->last || e->last->reached, .waited = e->waited >= e->waits, .id = e->id};
    now->ns = e->last ? e->last->ns : 0;
    now->timed = now->ns != 0;
    pthread_mutex_unlock(&e->lock);
    return ACL_SUCCESS;
}

aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus *status) {
    ASC_ENTER();
    state now = {0};
    aclError code = look(event, status, &now);
    if (code == ACL_SUCCESS) *status = now.reached ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return code;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
    ASC_ENTER();
    state now = {0};
    aclError code = look(event, status, &now);
    if (code == ACL_SUCCESS)
        *status = now.reached ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return code;
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status) {
    ASC_ENTER();
    state now = {0};
    aclError code = look(event, status, &now);
    if (code == ACL_SUCCESS) *status = now.waited ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return code;
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    ASC_ENTER();
    state first = {0}, last = {0};
    ASC_NEED(ms);
    aclError code = look(startEvent, ms, &first);
    if (code == ACL_SUCCESS) code = look(endEvent, ms, &last);
    if (code != ACL_SUCCESS) return code;
    if (!first.timed || !last.timed || !first.reached || !last.reached)
        return asc_acl_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                            "%s isn't reached yet; record it and synchronize its stream first",
                            first.timed && first.reached ? "endEvent" : "startEvent");
    if (last.ns < first.ns)
        return asc_acl_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, "endEvent was reached before startEvent");
    *ms = (float)((double)(last.ns - first.ns) / 1e6);
    return ACL_SUCCESS;
}

aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *timestamp) {
    ASC_ENTER();
    state now = {0};
    aclError code = look(event, timestamp, &now);
    if (code != ACL_SUCCESS) return code;
    if (!now.timed || !now.reached)
        return asc_acl_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event isn't reached yet");
    *timestamp = now.ns / 1000;
    return ACL_SUCCESS;
}

aclError aclrtGetEventId(aclrtEvent event, uint32_t *eventId) {
    ASC_ENTER();
    state now = {0};
    aclError code = look(event, eventId, &now);
    if (code == ACL_SUCCESS) *eventId = now.id;
    return code;
}
