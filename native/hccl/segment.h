/* segment.h - the memory that the ranks of a communicator share: what each has done so far, and buffers for data on its
 * way.
 *
 * It is a file without a name (memfd), which ends with its last process; nothing is left in a file system. Each rank
 * has it open and mapped, and holds a lock in it that ends with the rank's process: so the others see that it died. */
#ifndef ASC_HCCL_SEGMENT_H
#define ASC_HCCL_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "hccl/hccl_types.h"

#define ASC_MAX_RANKS 64u
/* The buffer of one rank for one step of a collective, of which there are two in turn. */
#define ASC_MOST_STEP_BYTES ((size_t)1 << 20)
/* A buffer for one part of what one rank sends another, of which there are two in turn. */
#define ASC_PART_BYTES ((size_t)1 << 17)

/* That a rank died is nowhere written: its lock is gone. */
typedef enum asc_rank_state {
    ASC_RANK_ABSENT,
    ASC_RANK_JOINED,
    ASC_RANK_LEFT,
    ASC_RANK_FAILED,
    ASC_RANK_DIED
} asc_rank_state;

/* A collective, as the ranks compare it. */
typedef struct asc_collective_key {
    uint32_t kind, type, op, root;
    uint64_t count; /* of elements; of several counts, a hash */
} asc_collective_key;

/* What a rank tells the others. Counts of steps are those of the whole communicator's life. */
typedef struct asc_rank_slot {
    _Alignas(64) atomic_uint state;
    atomic_uint doorbell;                     /* changes when something changed that the rank may wait for */
    atomic_uint sleepers;                     /* threads of the rank that sleep until it changes */
    _Alignas(64) atomic_uint_fast64_t filled; /* steps whose data the rank has put into its buffer */
    atomic_uint_fast64_t reduced;             /* steps of which it has reduced its part */
    atomic_uint_fast64_t drained;             /* steps in which it has read all that it needs */
    asc_collective_key keys[2];               /* of the collective of a step, by its lowest bit */
} asc_rank_slot;

/* What one rank has sent another, in parts. */
typedef struct asc_channel_slot {
    _Alignas(64) atomic_uint_fast64_t written;
    _Alignas(64) atomic_uint_fast64_t read;
    uint64_t message_bytes[2]; /* of the message that a part belongs to, by the part's lowest bit */
} asc_channel_slot;

typedef struct asc_segment {
    int file;
    char *memory;
    size_t bytes;
    uint32_t ranks, rank;
    size_t step_bytes;
    asc_rank_slot *of;                 /* one of each rank */
    asc_channel_slot *channels;        /* from * ranks + to */
    struct asc_segment *next, *before; /* of this process */
} asc_segment;

/* A file for so many ranks, and buffers of so many bytes; -1, with errno, when there is none. */
int asc_segment_file(uint32_t ranks, size_t step_bytes);
/* Opens the file again, maps it, and takes the rank's lock; `file` stays the caller's. */
HcclResult asc_segment_join(int file, uint32_t rank, asc_segment **joined);
/* Says to the others that the rank left, or failed. The memory stays the rank's until asc_segment_close. */
void asc_segment_leave(asc_segment *segment, asc_rank_state state);
void asc_segment_close(asc_segment *segment);

char *asc_segment_step_buffer(const asc_segment *segment, uint32_t rank, uint64_t step);
char *asc_segment_part_buffer(const asc_segment *segment, uint32_t from, uint32_t to, uint64_t part);
asc_channel_slot *asc_segment_channel(const asc_segment *segment, uint32_t from, uint32_t to);

/* A rank that left, failed or died; ASC_NOBODY: none that has come. */
uint32_t asc_segment_lost(const asc_segment *segment);

/* Wakes what waits in a rank, or in all ranks. */
void asc_segment_ring(asc_segment *segment, uint32_t rank);
void asc_segment_ring_all(asc_segment *segment);

#define ASC_NOBODY UINT32_MAX
/* How long to wait, and for what. */
typedef struct asc_wait {
    /* A rank that has yet to do something, this one included; ASC_NOBODY: there is nothing to wait for. */
    uint32_t (*missing)(void *argument);
    void *argument;
    int32_t seconds;      /* 0: no limit */
    atomic_int *stop;     /* waiting ends when it isn't 0 */
    bool everybody;       /* it ends, too, when any rank is lost, not just the missing one */
    uint32_t who;         /* set: the last that was missing, or is lost */
    asc_rank_state state; /* set: its state, when it is lost */
} asc_wait;

/* HCCL_SUCCESS; HCCL_E_TIMEOUT; HCCL_E_REMOTE: the missing rank left, failed or died; HCCL_E_AGAIN: `stop`. */
HcclResult asc_segment_wait(asc_segment *segment, asc_wait *wait);

#endif
