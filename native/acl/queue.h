/* queue.h - a queue of work that one thread of its own does in order. The thread begins with the first piece. */
#ifndef ASC_ACL_QUEUE_H
#define ASC_ACL_QUEUE_H

#include "error.h"

typedef struct asc_queue asc_queue;

/* A piece of work. `run` returns a code, with the text set (asc_acl_fail); `end`, when given, is called afterwards, or
 * when the piece is dropped. */
typedef struct asc_work {
    aclError (*run)(void *argument);
    void (*end)(void *argument);
    void *argument;
    asc_site site; /* of the call that brought it */
} asc_work;

asc_queue *asc_queue_new(void); /* NULL when there is no memory */
/* Fails when there is no memory, or no thread; the work is then the caller's still. */
aclError asc_queue_push(asc_queue *queue, const asc_work *work);
/* Waits until everything pushed so far is done, and returns the first code that isn't success since the last call that
 * waited, else that of asc_queue_refuse. timeout in milliseconds; -1: none. ACL_ERROR_RT_WAIT_TIMEOUT when it isn't
 * done by then. */
aclError asc_queue_wait(asc_queue *queue, int32_t timeout);
/* As asc_queue_wait without end, and what failed is left for the next call that waits. */
void asc_queue_settle(asc_queue *queue);
bool asc_queue_idle(asc_queue *queue);
/* As asc_queue_wait for what is done, without waiting. */
aclError asc_queue_take_failure(asc_queue *queue);
/* A launch of this thread failed and nothing was pushed; the text is set (asc_acl_fail). The thread knows the code.
 * Others that wait don't, and what they wait for isn't there: each of their waits fails with it, until this thread
 * pushes or waits again, or, once a wait has told it, anyone pushes. */
void asc_queue_refuse(asc_queue *queue, aclError code);
/* After a failure, what is pushed is dropped until asc_queue_wait has returned it. */
void asc_queue_stop_on_failure(asc_queue *queue, bool stop);
/* Drops what has not begun. */
void asc_queue_drop(asc_queue *queue);
/* Of a thread that waits: the queue lives until it lets go, though another thread ends it meanwhile. */
void asc_queue_retain(asc_queue *queue);
void asc_queue_release(asc_queue *queue);
/* Ends the queue, after the work is done, or dropped. */
void asc_queue_free(asc_queue *queue, bool drop);
/* Whether this thread is the queue's own. */
bool asc_queue_is_own(asc_queue *queue);

#endif
