/* comm.h - a rank of a communicator, and the tasks that it brings to streams. */
#ifndef ASC_HCCL_COMM_H
#define ASC_HCCL_COMM_H

#include <pthread.h>

#include "failure.h"
#include "hccl/hccl.h"
#include "segment.h"

/* Things of one kind that happen in the order in which they were issued, whatever streams they are on. */
typedef struct asc_lane {
    uint64_t issued; /* under the lock `issuing` */
    atomic_uint_fast64_t finished;
} asc_lane;

typedef struct asc_comm {
    HcclComm handle;
    char name[COMM_NAME_MAX_LENGTH];
    asc_segment *segment;
    uint32_t rank, ranks;
    int32_t device;
    int32_t execute_seconds;
    pthread_mutex_t issuing; /* held from a task's turn to its place in a stream */
    pthread_mutex_t lock;    /* of users, and of the failure's text */
    uint32_t users;          /* tasks, and the handle */
    atomic_int code;         /* the HcclResult of the first failure, which ends everything */
    char text[ASC_TEXT_BYTES];
    asc_lane collectives;
    asc_lane *sends, *receives;     /* to and from each rank */
    uint64_t steps;                 /* of collectives, so far */
    uint32_t sub_communicators;     /* made from it */
    struct asc_comm *next, *before; /* of this process */
} asc_comm;

/* How a communicator is to be, from its configuration and the environment. */
typedef struct asc_comm_options {
    char name[COMM_NAME_MAX_LENGTH]; /* "": of the ranks' rendezvous */
    size_t step_bytes;
    int32_t execute_seconds;
} asc_comm_options;

/* `config` NULL: none. */
HcclResult asc_comm_options_read(const HcclCommConfig *config, asc_comm_options *options);

/* A communicator on the device; the segment is then its, in any case. */
HcclResult asc_comm_new(asc_segment *segment, int32_t device, const char *rendezvous, const asc_comm_options *options,
                        HcclComm *made);
/* Fails unless the handle is a communicator's that lives. */
HcclResult asc_comm_get(HcclComm handle, asc_comm **comm);
/* As asc_comm_get; fails, too, when the communicator has failed. */
HcclResult asc_comm_get_sound(HcclComm handle, asc_comm **comm);

/* Makes the first failure the communicator's: tasks end, and the other ranks are told. The text is this thread's. */
HcclResult asc_comm_break(asc_comm *comm, HcclResult code);
/* Waits for other ranks, or earlier tasks of this one; a failure is then the communicator's. */
HcclResult asc_comm_wait(asc_comm *comm, uint32_t (*missing)(void *), void *argument);

/* A part of other structures, the first in them. */
typedef struct asc_comm_task {
    asc_comm *comm;
    HcclResult (*run)(struct asc_comm_task *task); /* in the stream's thread */
    void (*end)(struct asc_comm_task *task);       /* frees it, once it ran, or won't */
    const char *name;                              /* as profiles name it: hcom_allReduce_ */
    HcclDataType type;
    uint64_t given, taken; /* elements that it reads and writes */
    bool ran;
} asc_comm_task;

/* Brings it to the stream. On failure, `end` was called. Calls `issue` under the lock `issuing`, for the task
 * to take its turns. */
HcclResult asc_comm_push(asc_comm_task *task, aclrtStream stream, void (*issue)(asc_comm_task *task));

#endif
