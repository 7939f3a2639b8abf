/* callback.c - functions of the program that streams call: in the thread that subscribed, or in the stream's own. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "context.h"
#include "deadline.h"
#include "handle.h"

/* A call that waits for its thread. The stream waits with it when it blocks. */
typedef struct call {
    aclrtCallback function;
    void *data;
    uint64_t thread;
    bool blocks, done;
    struct call *next;
} call;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_once_t once;
    call *first, *last;
    uint64_t threads[256]; /* that subscribed, once for each stream */
    uint32_t count;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void prepare(void) {
    asc_deadline_condition(&all.changed);
}

static bool is_subscribed(uint64_t thread) {
    for (uint32_t i = 0; i < all.count; i++)
        if (all.threads[i] == thread) return true;
    return false;
}

static aclError subscribe(uint64_t thread, aclrtStream stream) {
    asc_stream *found = NULL;
    pthread_once(&all.once, prepare);
    if (!thread)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "threadId is 0; it is what pthread_self() gives in the thread");
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    if (found->subscriber)
        return asc_acl_fail(ACL_ERROR_REPEAT_SUBSCRIBE,
                            "the stream has its thread already; call aclrtUnSubscribeReport first");
    pthread_mutex_lock(&all.lock);
    bool room = all.count < sizeof all.threads / sizeof *all.threads;
    if (room) all.threads[all.count++] = thread;
    if (room) found->subscriber = thread;
    pthread_mutex_unlock(&all.lock);
    return room ? ACL_SUCCESS : asc_acl_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "no more than 256 streams have threads");
}

static aclError unsubscribe(uint64_t thread, aclrtStream stream) {
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    if (!found->subscriber)
        return asc_acl_fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                            "the stream has no thread; aclrtSubscribeReport gives it one");
    if (found->subscriber != thread)
        return asc_acl_fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE, "the stream's thread is another one");
    asc_queue_settle(found->queue);
    pthread_mutex_lock(&all.lock);
    found->subscriber = 0;
    for (uint32_t i = 0; i < all.count; i++)
        if (all.threads[i] == thread) {
            all.threads[i] = all.threads[--all.count];
            break;
        }
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
    return ACL_SUCCESS;
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    ASC_ENTER();
    return subscribe(threadId, stream);
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    ASC_ENTER();
    return unsubscribe(threadId, stream);
}

aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
    ASC_ENTER();
    return subscribe(hostFuncThreadId, exeStream);
}

aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
    ASC_ENTER();
    return unsubscribe(hostFuncThreadId, exeStream);
}

/* In the stream: hands the call to its thread. */
static aclError run_call(void *argument) {
    call *c = argument;
    call *kept = malloc(sizeof *kept);
    if (!kept) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *kept = *c;
    pthread_mutex_lock(&all.lock);
    if (all.last)
        all.last->next = kept;
    else
        all.first = kept;
    all.last = kept;
    pthread_cond_broadcast(&all.changed);
    while (kept->blocks && !kept->done && is_subscribed(kept->thread)) pthread_cond_wait(&all.changed, &all.lock);
    bool blocks = kept->blocks;
    pthread_mutex_unlock(&all.lock);
    if (blocks && kept->done) free(kept);
    return ACL_SUCCESS;
}

static aclError launch_callback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType,
                                aclrtStream stream) {
    ASC_NEED(fn);
    if (blockType != ACL_CALLBACK_BLOCK && blockType != ACL_CALLBACK_NO_BLOCK)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "blockType is %d, neither ACL_CALLBACK_BLOCK nor ACL_CALLBACK_NO_BLOCK", (int)blockType);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    if (!found->subscriber)
        return asc_acl_fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                            "the stream has no thread for callbacks; call aclrtSubscribeReport first");
    call *c = malloc(sizeof *c);
    if (!c) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *c = (call){
        .function = fn, .data = userData, .thread = found->subscriber, .blocks = blockType == ACL_CALLBACK_BLOCK};
    return asc_stream_push(found, run_call, free, c);
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, launch_callback(fn, userData, blockType, stream));
}

/* The next call of the thread, taken off the list; NULL: none. Holds the lock. */
static call *take(uint64_t thread) {
    call *before = NULL;
    for (call *c = all.first; c; before = c, c = c->next) {
        if (c->thread != thread) continue;
        if (before)
            before->next = c->next;
        else
            all.first = c->next;
        if (all.last == c) all.last = before;
        return c;
    }
    return NULL;
}

static aclError process(int32_t timeout) {
    uint64_t thread = (uint64_t)pthread_self();
    struct timespec deadline = asc_deadline(timeout);
    pthread_once(&all.once, prepare);
    if (timeout < -1 || timeout == 0)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "timeout is %d; it is -1 or positive milliseconds", timeout);
    call *found = NULL;
    int late = 0;
    pthread_mutex_lock(&all.lock);
    bool mine = is_subscribed(thread);
    while (mine && !(found = take(thread)) && late != ETIMEDOUT) {
        late = timeout < 0 ? pthread_cond_wait(&all.changed, &all.lock)
                           : pthread_cond_timedwait(&all.changed, &all.lock, &deadline);
        mine = is_subscribed(thread);
    }
    if (!found) found = take(thread);
    pthread_mutex_unlock(&all.lock);
    if (!found && !mine)
        return asc_acl_fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE,
                            "no stream has this thread; call aclrtSubscribeReport with it");
    if (!found)
        return asc_acl_fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no stream called this thread within %d ms", timeout);
    found->function(found->data);
    pthread_mutex_lock(&all.lock);
    bool blocks = found->blocks;
    found->done = true;
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
    if (!blocks) free(found);
    return ACL_SUCCESS;
}

aclError aclrtProcessReport(int32_t timeout) {
    ASC_ENTER();
    return process(timeout);
}

aclError aclrtProcessHostFunc(int32_t timeout) {
    ASC_ENTER();
    return process(timeout);
}

/* ---- in the stream's own thread ------------------------------------------------------------------------ */

typedef struct host_call {
    aclrtHostFunc function;
    void *data;
} host_call;

static aclError run_host_call(void *argument) {
    host_call *c = argument;
    c->function(c->data);
    return ACL_SUCCESS;
}

static aclError launch_host_call(aclrtStream stream, aclrtHostFunc fn, void *args) {
    ASC_NEED(fn);
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    host_call *c = malloc(sizeof *c);
    if (!c) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *c = (host_call){fn, args};
    return asc_stream_push(found, run_host_call, free, c);
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args) {
    ASC_ENTER();
    return asc_stream_launched(stream, launch_host_call(stream, fn, args));
}
