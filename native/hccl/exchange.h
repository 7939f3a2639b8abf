/* exchange.h - messages between two ranks each, several at a time: all of them go on as far as they can, whichever is
 * first. Messages from one rank to another arrive in the order in which they were issued. */
#ifndef ASC_HCCL_EXCHANGE_H
#define ASC_HCCL_EXCHANGE_H

#include "comm.h"

typedef struct asc_message {
    bool sends;
    uint32_t peer;
    void *memory; /* of a device, as programs have it */
    uint64_t bytes;
} asc_message;

/* Checks the memory, and brings messages to the stream. Those of no bytes are none. A message of this rank to itself
 * has one that receives it in the same list, or another task. */
HcclResult asc_exchange_push(asc_comm *comm, const asc_message *messages, uint32_t count, aclrtStream stream);

#endif
