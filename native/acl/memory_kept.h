/* memory_kept.h - memory that programs gave back and may get again, as a driver's pool keeps it: the next block of that
 * size costs no pages, and a program that touches a block shortly after it freed it goes on, as on a card. */
#ifndef ASC_ACL_MEMORY_KEPT_H
#define ASC_ACL_MEMORY_KEPT_H

#include <stddef.h>

/* A kept block of just so many bytes, or a new one aligned to `alignment`; NULL when there is no memory. */
void *asc_kept_new(size_t bytes, size_t alignment);
/* Keeps the block, and gives the oldest ones back to the system when there are many. */
void asc_kept_free(void *block, size_t bytes);

#endif
