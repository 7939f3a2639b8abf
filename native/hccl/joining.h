/* joining.h - ranks that join a communicator: at once, or, in a group, all that a thread has asked for, together. */
#ifndef ASC_HCCL_JOINING_H
#define ASC_HCCL_JOINING_H

#include "comm.h"
#include "rendezvous.h"

typedef struct asc_joining {
    char rendezvous[ASC_RENDEZVOUS_NAME_BYTES];
    uint32_t ranks, rank;
    asc_comm_options options;
    int32_t device;
    HcclComm *comm; /* set */
} asc_joining;

/* Joins, and returns when all ranks have come. */
HcclResult asc_join_now(const asc_joining *joining);
/* As asc_join_now; in a group of this thread, when the group ends. */
HcclResult asc_join(const asc_joining *joining);

/* The group begins. */
void asc_joining_defer(void);
/* It ends: joins all that asked meanwhile, each in a thread, and returns the first failure. */
HcclResult asc_joining_finish(void);

#endif
