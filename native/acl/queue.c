/* queue.c - one thread, one list, two conditions. */
#include "queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "asc_trace.h"
#include "deadline.h"

typedef struct piece {
    asc_work work;
    struct piece *next;
    asc_trace_queued queued; /* zeros: no trace was on */
} piece;

/* Of asc_queue_refuse; `code` is ACL_SUCCESS where there is none. */
typedef struct refusal {
    aclError code;
    pid_t thread; /* gettid: pthread_self comes again in later threads */
    bool told;    /* to another thread */
    char text[ASC_TEXT_BYTES];
} refusal;

struct asc_queue {
    pthread_mutex_t lock;
    pthread_cond_t more, done;
    pthread_t thread;
    bool started, ending, stops;
    bool left; /* to its own thread, which lets go of it at the end */
    uint32_t uses;
    piece *first, *last;
    uint64_t pushed, finished;
    aclError code; /* the first failure since the last wait */
    char text[ASC_TEXT_BYTES];
    refusal refused;
};

asc_queue *asc_queue_new(void) {
    asc_queue *queue = calloc(1, sizeof *queue);
    if (!queue) return NULL;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->more, NULL);
    asc_deadline_condition(&queue->done);
    queue->uses = 1;
    return queue;
}

void asc_queue_retain(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->uses++;
    pthread_mutex_unlock(&queue->lock);
}

void asc_queue_release(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    bool last = --queue->uses == 0;
    pthread_mutex_unlock(&queue->lock);
    if (!last) return;
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->more);
    pthread_cond_destroy(&queue->done);
    free(queue);
}

static void finish(asc_queue *queue, const asc_work *work, aclError code) {
    if (work->end) work->end(work->argument);
    pthread_mutex_lock(&queue->lock);
    queue->finished++;
    if (code != ACL_SUCCESS && queue->code == ACL_SUCCESS) {
        queue->code = code;
        snprintf(queue->text, sizeof queue->text, "%s", asc_last_text());
    }
    pthread_cond_broadcast(&queue->done);
}

/* Holds the lock on entry and exit. */
static void do_one(asc_queue *queue) {
    piece *one = queue->first;
    queue->first = one->next;
    if (!queue->first) queue->last = NULL;
    bool skip = queue->stops && queue->code != ACL_SUCCESS;
    pthread_mutex_unlock(&queue->lock);
    asc_enter(one->work.site.function, one->work.site.caller);
    asc_trace_say_queued(&one->queued);
    aclError code = skip ? ACL_SUCCESS : one->work.run(one->work.argument);
    asc_trace_say_queued(NULL);
    finish(queue, &one->work, code);
    free(one);
}

static void *loop(void *argument) {
    asc_queue *queue = argument;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (!queue->first && !queue->ending) pthread_cond_wait(&queue->more, &queue->lock);
        if (!queue->first) break;
        do_one(queue);
    }
    bool left = queue->left;
    pthread_mutex_unlock(&queue->lock);
    if (left) asc_queue_release(queue);
    return NULL;
}

aclError asc_queue_push(asc_queue *queue, const asc_work *work) {
    asc_trace_from_environment();
    uint64_t began = asc_trace_is_on() ? asc_clock_ns() : 0;
    piece *one = malloc(sizeof *one);
    if (!one)
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more task of the stream");
    *one = (piece){.work = *work};
    pthread_mutex_lock(&queue->lock);
    if (!queue->started) {
        int failed = pthread_create(&queue->thread, NULL, loop, queue);
        if (failed) {
            pthread_mutex_unlock(&queue->lock);
            free(one);
            return asc_acl_fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no thread can be made for the stream: %s",
                                strerror(failed));
        }
        queue->started = true;
    }
    if (queue->last)
        queue->last->next = one;
    else
        queue->first = one;
    queue->last = one;
    queue->pushed++;
    refusal *refused = &queue->refused;
    if (refused->code != ACL_SUCCESS && (refused->told || refused->thread == gettid())) refused->code = ACL_SUCCESS;
    pthread_cond_signal(&queue->more);
    if (began) one->queued = (asc_trace_queued){began, (uint32_t)(asc_clock_ns() - began), asc_trace_thread()};
    pthread_mutex_unlock(&queue->lock);
    return ACL_SUCCESS;
}

/* Holds the lock. */
static aclError take_failure(asc_queue *queue) {
    aclError code = queue->code;
    queue->code = ACL_SUCCESS;
    if (code != ACL_SUCCESS) return asc_acl_fail_with(code, queue->text);
    refusal *refused = &queue->refused;
    if (refused->code == ACL_SUCCESS) return ACL_SUCCESS;
    if (refused->thread == gettid()) {
        refused->code = ACL_SUCCESS;
        return ACL_SUCCESS;
    }
    refused->told = true;
    return asc_acl_fail_with(refused->code, refused->text);
}

void asc_queue_refuse(asc_queue *queue, aclError code) {
    pthread_mutex_lock(&queue->lock);
    refusal *refused = &queue->refused;
    if (refused->code == ACL_SUCCESS) {
        *refused = (refusal){.code = code, .thread = gettid()};
        snprintf(refused->text, sizeof refused->text, "%s", asc_last_text());
    }
    pthread_mutex_unlock(&queue->lock);
}

aclError asc_queue_wait(asc_queue *queue, int32_t timeout) {
    struct timespec deadline = asc_deadline(timeout);
    pthread_mutex_lock(&queue->lock);
    uint64_t until = queue->pushed;
    while (queue->finished < until) {
        int late = timeout < 0 ? pthread_cond_wait(&queue->done, &queue->lock)
                               : pthread_cond_timedwait(&queue->done, &queue->lock, &deadline);
        if (late == ETIMEDOUT && queue->finished < until) {
            unsigned long long left = until - queue->finished;
            pthread_mutex_unlock(&queue->lock);
            return asc_acl_fail(ACL_ERROR_RT_WAIT_TIMEOUT, "%llu tasks of the stream are not done after %d ms", left,
                                timeout);
        }
    }
    aclError code = take_failure(queue);
    pthread_mutex_unlock(&queue->lock);
    return code;
}

aclError asc_queue_take_failure(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    aclError code = take_failure(queue);
    pthread_mutex_unlock(&queue->lock);
    return code;
}

void asc_queue_settle(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    for (uint64_t until = queue->pushed; queue->finished < until;) pthread_cond_wait(&queue->done, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

bool asc_queue_idle(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    bool idle = queue->finished == queue->pushed;
    pthread_mutex_unlock(&queue->lock);
    return idle;
}

void asc_queue_stop_on_failure(asc_queue *queue, bool stop) {
    pthread_mutex_lock(&queue->lock);
    queue->stops = stop;
    pthread_mutex_unlock(&queue->lock);
}

void asc_queue_drop(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    piece *one = queue->first;
    queue->first = queue->last = NULL;
    queue->refused.code = ACL_SUCCESS;
    pthread_mutex_unlock(&queue->lock);
    while (one) {
        piece *next = one->next;
        finish(queue, &one->work, ACL_SUCCESS);
        pthread_mutex_unlock(&queue->lock);
        free(one);
        one = next;
    }
}

void asc_queue_free(asc_queue *queue, bool drop) {
    if (drop) asc_queue_drop(queue);
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    bool started = queue->started;
    queue->left = started && pthread_equal(queue->thread, pthread_self()); /* a callback destroys its own stream */
    bool left = queue->left;
    pthread_cond_signal(&queue->more);
    pthread_mutex_unlock(&queue->lock);
    if (left) {
        pthread_detach(queue->thread);
        return;
    }
    if (started) pthread_join(queue->thread, NULL);
    asc_queue_release(queue);
}

bool asc_queue_is_own(asc_queue *queue) {
    pthread_mutex_lock(&queue->lock);
    bool own = queue->started && pthread_equal(queue->thread, pthread_self());
    pthread_mutex_unlock(&queue->lock);
    return own;
}
