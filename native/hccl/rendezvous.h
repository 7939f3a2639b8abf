/* rendezvous.h - how the ranks of one host find each other: by a name, in the kernel's own space of socket names. */
#ifndef ASC_HCCL_RENDEZVOUS_H
#define ASC_HCCL_RENDEZVOUS_H

#include "segment.h"

#define ASC_RENDEZVOUS_NAME_BYTES 64

/* A name that nothing else has. */
HcclResult asc_rendezvous_new_name(char name[ASC_RENDEZVOUS_NAME_BYTES]);
/* The name that everybody makes of the same bytes. */
void asc_rendezvous_name_of(const void *bytes, size_t count, char name[ASC_RENDEZVOUS_NAME_BYTES]);

/* Joins the segment of the ranks that come by this name; returns when all have, or within HCCL_CONNECT_TIMEOUT. Rank 0
 * makes the segment, with buffers of `step_bytes`. */
HcclResult asc_meet(const char *name, uint32_t ranks, uint32_t rank, size_t step_bytes, asc_segment **joined);

#endif
