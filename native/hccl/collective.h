/* collective.h - operations of all ranks through their buffers, step by step. In a step each rank fills its buffer;
 * once all have, each reduces its part of what lies there, when there is something to reduce; then each reads what it
 * needs.
 *
 * Sums are made in the order of the ranks, by one rank for all: they are the same everywhere, and every time. */
#ifndef ASC_HCCL_COLLECTIVE_H
#define ASC_HCCL_COLLECTIVE_H

#include "comm.h"

typedef enum asc_collective_kind {
    ASC_ALL_REDUCE = 1,
    ASC_REDUCE,
    ASC_BROADCAST,
    ASC_ALL_GATHER,
    ASC_REDUCE_SCATTER,
    ASC_BARRIER
} asc_collective_kind;

typedef struct asc_collective {
    asc_collective_kind kind;
    HcclDataType type;
    HcclReduceOp op;
    uint32_t root;
    uint64_t count;          /* elements: of all kinds but those of parts, the whole; of those, one rank's */
    const uint64_t *counts;  /* of parts that differ: each rank's elements, and where they begin; NULL: `count` each, */
    const uint64_t *offsets; /* one behind the other */
    const void *in;          /* of devices, as programs have them; NULL where the rank gives or takes nothing */
    void *out;
} asc_collective;

/* Checks the memory, and brings the operation to the stream. */
HcclResult asc_collective_push(asc_comm *comm, const asc_collective *asked, aclrtStream stream);

#endif
