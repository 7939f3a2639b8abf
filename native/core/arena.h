/* arena.h - offsets for buffers of known lifetimes. */
#ifndef ASC_CORE_ARENA_H
#define ASC_CORE_ARENA_H

#include <stdint.h>

#define ASC_NO_BUFFER 0xFFFFFFFFu

typedef struct asc_buffer {
    uint64_t bytes;       /* a multiple of 64, at least 64 */
    uint32_t first, last; /* steps; written in the first, read until the last */
    uint32_t takes;       /* earlier buffer of the same size whose last step is this one's first, and whose
                             memory this one continues; or ASC_NO_BUFFER */
    uint64_t offset;      /* the result */
} asc_buffer;

/* Places buffers, given in order of their first step, so that no two alive at one step overlap.
 * Returns 0 without memory, or when the arena would pass 2^62 bytes. Time is linear in n. */
int asc_arena_plan(asc_buffer *buffers, uint32_t n, uint32_t n_steps, uint64_t *arena_bytes);

#endif
