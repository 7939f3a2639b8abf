/* bundle.h - the frame of a bundle file and the memory it is read into. */
#ifndef ASC_CORE_BUNDLE_H
#define ASC_CORE_BUNDLE_H

#include <stdatomic.h>

#include "asc_frame.h"
#include "kernel.h"

#define ASC_MAX_PARTS 16
#define ASC_FRAME_BYTES \
    (ASC_OM_HEADER_BYTES + sizeof(asc_om_table) + ASC_OM_ENTRY_BYTES * ASC_MAX_PARTS) /* enough to parse any frame */
#define ASC_WEIGHTS_ALIGN 4096

typedef struct asc_part {
    uint32_t type;
    uint64_t offset; /* in the file */
    uint64_t size;
} asc_part;

typedef struct asc_frame {
    uint32_t n_parts;
    uint64_t table_end;
    uint64_t file_size;
    asc_part parts[ASC_MAX_PARTS];
} asc_frame;

/* Reads header and table; head holds min(file_size, ASC_FRAME_BYTES) bytes. Every field is checked. */
int32_t asc_frame_parse(asc_frame *frame, const uint8_t *head, uint64_t file_size, asc_status *status);
/* Checks that the bytes between the partitions are zero, and the digest. */
int32_t asc_frame_check(const asc_frame *frame, const uint8_t *file, asc_status *status);
/* The partition of this type, or NULL. */
const asc_part *asc_frame_part(const asc_frame *frame, uint32_t type);

/* Mapped pages; those that their file loses become zeros instead of a signal. */
typedef struct asc_guard {
    _Atomic uintptr_t begin, end;
    _Atomic int32_t taken;
    _Atomic int32_t lost; /* whether pages are gone */
    struct asc_guard *next;
} asc_guard;

/* NULL: no memory. */
asc_guard *asc_guard_new(const uint8_t *begin, uint64_t bytes);
void asc_guard_free(asc_guard *guard);

/* A mapped file as it was when it was opened. */
typedef struct asc_watched {
    uint64_t device, inode, bytes;
    int64_t modified; /* ns */
} asc_watched;

int32_t asc_watch(asc_watched *watched, int fd);
/* Whether the file is as it was: fd's own, or that of this name in the folder fd. One that can't be found, or is
 * another by now, counts as unchanged: what was mapped is still there. */
int32_t asc_unchanged(const asc_watched *watched, int fd, const char *name);

/* A bundle in memory: read-only bytes, followed by a page that can't be accessed. */
typedef struct asc_region {
    uint8_t *bytes;
    uint64_t size;
    uint64_t reserved; /* address space, guard page included */
    uint8_t *mapped;   /* the pages that are the file's own, which can be dropped and come back */
    uint64_t mapped_bytes;
    asc_guard *guard;
    asc_watched *watched; /* the files that are mapped */
    uint32_t n_watched;
    int32_t fd; /* of the one file, or of the folder of several; open as long as there is one to watch */
} asc_region;

/* Everything but the weights is read, so that what was verified can't change under the reader; weights of
 * ASC_LEAST_MAPPED bytes and more are mapped from the file, unless flags has ASC_OPEN_NO_MMAP. */
#define ASC_LEAST_MAPPED (1u << 20)
int32_t asc_region_load(asc_region *region, asc_frame *frame, const char *path, uint32_t flags, asc_status *status);
int32_t asc_region_copy(asc_region *region, asc_frame *frame, const void *bytes, uint64_t size, asc_status *status);
/* Zeros to write a bundle into, and their end: the frame is read and the bytes become read-only. */
int32_t asc_region_new(asc_region *region, uint64_t size, asc_status *status);
int32_t asc_region_finish(asc_region *region, asc_frame *frame, asc_status *status);
void asc_region_free(asc_region *region);
/* Which memory of a new region is there already, and how huge pages come. */
typedef struct asc_populating {
    _Atomic uint64_t pages;     /* how many huge pages, from the first whole one on, somebody has taken on */
    _Atomic int32_t pause;      /* how many of the next come as small ones */
    _Atomic int32_t last_pause; /* how many the last pause began with */
    _Atomic int32_t active;     /* threads at it */
    _Atomic int32_t halted;     /* whether they are to stop */
} asc_populating;
/* The bytes before `end` are about to be written; several threads may say so, in the order of what they write. */
void asc_region_populate(const asc_region *region, asc_populating *state, uint64_t end);
/* Keeps the first `size` bytes, once threads that populate have stopped. */
void asc_region_shrink(asc_region *region, asc_populating *state, uint64_t size);
/* Address space for so many files of a folder, and one of them at a multiple of the page size there, followed by a page
 * that can't be accessed. The bytes are mapped, unless flags has ASC_OPEN_NO_MMAP. */
int32_t asc_region_reserve(asc_region *region, uint64_t size, uint32_t files, int folder, asc_status *status);
int32_t asc_region_place(asc_region *region, uint32_t file, uint64_t at, int fd, uint64_t size, uint32_t flags,
                         asc_status *status);
uint64_t asc_page_bytes(void);
/* Gives back the memory of these bytes, as far as they are mapped; the next access reads them again. */
void asc_region_drop(const asc_region *region, const uint8_t *at, uint64_t bytes);

/* First multiple of align (a power of two) not below offset; offset must be below 2^63. */
static inline uint64_t asc_align_up(uint64_t offset, uint64_t align) {
    return (offset + align - 1) & ~(align - 1);
}
int asc_all_zero(const uint8_t *bytes, uint64_t size);

#endif
