/* group.h - what a thread calls between HcclGroupStart and HcclGroupEnd. */
#ifndef ASC_HCCL_GROUP_H
#define ASC_HCCL_GROUP_H

#include "exchange.h"

/* Brings a message to the stream; in a group, when the group ends, with the others of that stream. */
HcclResult asc_group_push(asc_comm *comm, const asc_message *message, aclrtStream stream);

#endif
