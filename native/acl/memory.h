/* memory.h - memory of devices and page-locked memory of the host: the map of what was allocated.
 *
 * In checking mode the addresses that programs get can't be read or written by the host; asc_real gives where the bytes
 * are. Otherwise both are the same. */
#ifndef ASC_ACL_MEMORY_H
#define ASC_ACL_MEMORY_H

#include "error.h"

typedef enum asc_place { ASC_PLACE_ANY, ASC_PLACE_HOST, ASC_PLACE_DEVICE } asc_place;

typedef struct asc_acl_block {
    uintptr_t start;
    size_t bytes; /* as asked for */
    asc_place place;
    int32_t device;
    asc_site made;
} asc_acl_block;

/* At least `bytes` bytes, aligned to 512. NULL when there is no memory; the text is then set. */
void *asc_memory_new(size_t bytes, asc_place place, int32_t device);
/* Fails with `code` when it isn't the start of a block of this kind. */
aclError asc_memory_free(void *pointer, asc_place place, aclError code);
/* The block that the address lies in (its end included); false when none does. */
bool asc_memory_find(const void *pointer, asc_acl_block *found);
/* Whether `bytes` bytes from there may be used as memory of that place. What runs over the end of a block fails, in
 * checking mode by one byte, otherwise where it runs over what a card pads a block with, which programs rely on. What
 * lies in no block, in a freed one, or at the other place fails in checking mode. */
aclError asc_memory_check(const void *pointer, size_t bytes, asc_place place, const char *name);
/* Where the bytes are. */
void *asc_real(const void *pointer);
/* Bytes allocated on a device. */
uint64_t asc_memory_used(int32_t device);
/* Streams that have yet to use a block count it; freeing it meanwhile is reported. */
void asc_memory_pin(const void *pointer, bool written);
void asc_memory_unpin(const void *pointer, bool written);
/* In checking mode: reports when a stream has yet to write the block. */
void asc_memory_report_unwritten(const void *pointer);
/* In checking mode, one line for each block that is left. */
void asc_memory_report_left(void);

#endif
