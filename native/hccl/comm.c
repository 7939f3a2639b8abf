/* comm.c - communicators' lives, failures and tasks. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asc_trace.h"
#include "context.h"
#include "element.h"
#include "handle.h"

static struct {
    pthread_mutex_t lock;
    asc_comm *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- lives ------------------------------------------------------------------------------------------------- */

static void unlist(asc_comm *comm) {
    pthread_mutex_lock(&all.lock);
    if (comm->next) comm->next->before = comm->before;
    if (comm->before) comm->before->next = comm->next;
    if (all.first == comm) all.first = comm->next;
    pthread_mutex_unlock(&all.lock);
}

static void release(asc_comm *comm) {
    pthread_mutex_lock(&comm->lock);
    bool last = --comm->users == 0;
    pthread_mutex_unlock(&comm->lock);
    if (!last) return;
    asc_segment_close(comm->segment);
    pthread_mutex_destroy(&comm->lock);
    pthread_mutex_destroy(&comm->issuing);
    free(comm->sends);
    free(comm);
}

HcclResult asc_comm_new(asc_segment *segment, int32_t device, const char *rendezvous, const asc_comm_options *options,
                        HcclComm *made) {
    asc_comm *comm = calloc(1, sizeof *comm);
    asc_lane *lanes = calloc(2 * segment->ranks, sizeof *lanes);
    HcclComm handle = comm && lanes ? asc_handle_new(ASC_KIND_COMMUNICATOR, comm) : NULL;
    if (!handle) {
        free(comm);
        free(lanes);
        asc_segment_leave(segment, ASC_RANK_FAILED);
        asc_segment_close(segment);
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    }
    comm->handle = handle;
    comm->segment = segment;
    comm->rank = segment->rank;
    comm->ranks = segment->ranks;
    comm->device = device;
    comm->execute_seconds = options->execute_seconds;
    comm->users = 1;
    comm->sends = lanes;
    comm->receives = lanes + segment->ranks;
    snprintf(comm->name, sizeof comm->name, "%s", options->name[0] ? options->name : rendezvous);
    pthread_mutex_init(&comm->lock, NULL);
    pthread_mutex_init(&comm->issuing, NULL);
    pthread_mutex_lock(&all.lock);
    comm->next = all.first;
    if (comm->next) comm->next->before = comm;
    all.first = comm;
    pthread_mutex_unlock(&all.lock);
    *made = handle;
    return HCCL_SUCCESS;
}

HcclResult asc_comm_get(HcclComm handle, asc_comm **comm) {
    if (!handle) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PTR, "comm must not be NULL");
    *comm = asc_handle_get(ASC_KIND_COMMUNICATOR, handle);
    if (*comm) return HCCL_SUCCESS;
    return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "comm (%p) is no communicator, or was destroyed", handle);
}

/* The communicator's failure as this thread's, if it has failed. */
static HcclResult say_broken(asc_comm *comm) {
    int code = atomic_load(&comm->code);
    if (code == HCCL_SUCCESS) return HCCL_SUCCESS;
    pthread_mutex_lock(&comm->lock);
    asc_acl_fail_with(code, comm->text);
    pthread_mutex_unlock(&comm->lock);
    return (HcclResult)code;
}

HcclResult asc_comm_get_sound(HcclComm handle, asc_comm **comm) {
    HcclResult code = asc_comm_get(handle, comm);
    if (code != HCCL_SUCCESS) return code;
    return say_broken(*comm);
}

HcclResult HcclCommDestroy(HcclComm comm) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = asc_comm_get(comm, &found);
    if (code != HCCL_SUCCESS) return code;
    if (!asc_handle_take(ASC_KIND_COMMUNICATOR, comm)) return HCCL_E_AGAIN; /* another thread was faster */
    unlist(found);
    pthread_mutex_lock(&found->lock);
    bool busy = found->users > 1;
    pthread_mutex_unlock(&found->lock);
    if (busy) {
        asc_hccl_fail(ASC_EI_OTHER, HCCL_E_AGAIN,
                      "Terminating operation due to external request: the communicator was destroyed before its "
                      "operations were done; synchronize their streams first");
        asc_comm_break(found, HCCL_E_AGAIN);
    }
    asc_segment_leave(found->segment, ASC_RANK_LEFT);
    release(found);
    return HCCL_SUCCESS;
}

HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm) {
    ASC_ENTER();
    ASC_HCCL_NEED(commName);
    ASC_HCCL_NEED(comm);
    const asc_acl_context *context = asc_peek_context();
    HcclComm found = NULL;
    pthread_mutex_lock(&all.lock);
    for (const asc_comm *c = all.first; c; c = c->next)
        if (!strcmp(c->name, commName) && (!found || (context && c->device == context->device))) found = c->handle;
    pthread_mutex_unlock(&all.lock);
    if (!found)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_NOT_FOUND, "this process has no communicator \"%s\"", commName);
    *comm = found;
    return HCCL_SUCCESS;
}

/* ---- failures ---------------------------------------------------------------------------------------------- */

HcclResult asc_comm_break(asc_comm *comm, HcclResult code) {
    pthread_mutex_lock(&comm->lock);
    int none = HCCL_SUCCESS;
    if (!atomic_load(&comm->code)) snprintf(comm->text, sizeof comm->text, "%s", asc_last_text());
    bool first = atomic_compare_exchange_strong(&comm->code, &none, (int)code);
    pthread_mutex_unlock(&comm->lock);
    if (first) asc_segment_leave(comm->segment, ASC_RANK_FAILED);
    return code;
}

static HcclResult say_lost(const asc_comm *comm, const asc_wait *wait) {
    const char *how = wait->state == ASC_RANK_DIED   ? "its process ended"
                      : wait->state == ASC_RANK_LEFT ? "it destroyed the communicator"
                                                     : "it failed; its own error says why";
    return asc_hccl_fail(ASC_EI_EXECUTION_TIMEOUT, HCCL_E_REMOTE,
                         "rank %u of communicator \"%s\" won't answer rank %u any more: %s", wait->who, comm->name,
                         comm->rank, how);
}

HcclResult asc_comm_wait(asc_comm *comm, uint32_t (*missing)(void *), void *argument) {
    asc_wait wait = {.missing = missing, .argument = argument, .seconds = comm->execute_seconds, .stop = &comm->code};
    HcclResult code = asc_segment_wait(comm->segment, &wait);
    if (code == HCCL_SUCCESS) return code;
    if (code == HCCL_E_AGAIN) return say_broken(comm);
    if (code == HCCL_E_REMOTE) return asc_comm_break(comm, say_lost(comm, &wait));
    return asc_comm_break(
        comm, asc_hccl_fail(ASC_EI_EXECUTION_TIMEOUT, HCCL_E_TIMEOUT,
                            "rank %u of communicator \"%s\" has not answered rank %u within %d s (HCCL_EXEC_TIMEOUT); "
                            "do all ranks call the same operations, in the same order?",
                            wait.who, comm->name, comm->rank, comm->execute_seconds));
}

/* ---- tasks ------------------------------------------------------------------------------------------------- */

/* What aclrtSynchronizeStream returns. */
static aclError acl_code(HcclResult code) {
    switch (code) {
        case HCCL_SUCCESS: return ACL_SUCCESS;
        case HCCL_E_TIMEOUT: return ACL_ERROR_RT_TASK_TIMEOUT;
        case HCCL_E_REMOTE: return ACL_ERROR_RT_LOST_HEARTBEAT;
        case HCCL_E_PARA: return ACL_ERROR_RT_PARAM_INVALID;
        case HCCL_E_AGAIN: return ACL_ERROR_RT_STREAM_ABORT;
        default: return ACL_ERROR_RT_INTERNAL_ERROR;
    }
}

/* What of `count` elements a profile says: of a type that no tensor has, the bytes. */
static asc_tensor moved(uint64_t count, HcclDataType type) {
    int32_t dtype = asc_element_dtype(type);
    if (!count) return (asc_tensor){.dtype = ASC_UNDEFINED};
    if (dtype) return (asc_tensor){.dtype = dtype, .rank = 1, .dims = {(int64_t)count}};
    return (asc_tensor){.dtype = ASC_UINT8, .rank = 1, .dims = {(int64_t)(count * asc_element_bytes(type))}};
}

/* In the trace that msprof reads: its time with the wait for other ranks, and what this rank gives and takes. */
static void record(const asc_comm_task *task, HcclResult code) {
    char name[COMM_NAME_MAX_LENGTH + 64];
    const asc_tensor operands[] = {moved(task->given, task->type), moved(task->taken, task->type)};
    snprintf(name, sizeof name, "%s@%s", task->name, task->comm->name);
    asc_trace_end_call(&(asc_traced_call){.name = name,
                                          .kernel = task->name,
                                          .op_type = task->name,
                                          .operands = operands,
                                          .n_in = 1,
                                          .n_out = 1,
                                          .blocks = 1,
                                          .code = code == HCCL_SUCCESS ? ASC_OK : ASC_E_RUN});
}

static aclError run_task(void *argument) {
    asc_comm_task *task = argument;
    task->ran = true;
    const int32_t recorded = asc_trace_begin_call();
    HcclResult code = task->run(task);
    if (recorded) record(task, code);
    return acl_code(code);
}

static void end_task(void *argument) {
    asc_comm_task *task = argument;
    asc_comm *comm = task->comm;
    if (!task->ran) {
        asc_hccl_fail(ASC_EI_OTHER, HCCL_E_INTERNAL, "an operation of the communicator was dropped with its stream");
        asc_comm_break(comm, HCCL_E_INTERNAL);
    }
    task->end(task);
    release(comm);
}

HcclResult asc_comm_push(asc_comm_task *task, aclrtStream stream, void (*issue)(asc_comm_task *task)) {
    asc_comm *comm = task->comm;
    asc_stream *found = NULL;
    HcclResult code = HCCL_SUCCESS;
    if (asc_stream_get(stream, &found) != ACL_SUCCESS)
        code = HCCL_E_RUNTIME;
    else if (found->device != comm->device)
        code = asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA,
                             "the stream is on device %d, and the communicator's rank %u on device %d", found->device,
                             comm->rank, comm->device);
    if (code != HCCL_SUCCESS) {
        asc_stream_launched(stream, acl_code(code));
        task->end(task);
        return code;
    }
    /* Turns are taken in the order in which streams get the tasks. */
    pthread_mutex_lock(&comm->issuing);
    pthread_mutex_lock(&comm->lock);
    comm->users++;
    pthread_mutex_unlock(&comm->lock);
    issue(task);
    aclError pushed = asc_stream_push(found, run_task, end_task, task);
    pthread_mutex_unlock(&comm->issuing);
    return pushed == ACL_SUCCESS ? HCCL_SUCCESS : HCCL_E_RUNTIME;
}
