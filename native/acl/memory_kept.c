/* memory_kept.c - see memory_kept.h. */
#include "memory_kept.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BLOCKS 32
#define MOST_BYTES ((size_t)256 << 20)

typedef struct kept_block {
    void *start;
    size_t bytes;
} kept_block;

static struct {
    pthread_mutex_t lock;
    kept_block blocks[MOST_BLOCKS]; /* the oldest first */
    size_t count, bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock. */
static kept_block take(size_t at) {
    kept_block block = kept.blocks[at];
    kept.count--;
    kept.bytes -= block.bytes;
    memmove(&kept.blocks[at], &kept.blocks[at + 1], (kept.count - at) * sizeof block);
    return block;
}

void *asc_kept_new(size_t bytes, size_t alignment) {
    void *made = NULL;
    pthread_mutex_lock(&kept.lock);
    for (size_t i = kept.count; !made && i-- > 0;)
        if (kept.blocks[i].bytes == bytes) made = take(i).start;
    pthread_mutex_unlock(&kept.lock);
    return made || posix_memalign(&made, alignment, bytes) == 0 ? made : NULL;
}

void asc_kept_free(void *block, size_t bytes) {
    void *gone[MOST_BLOCKS + 1];
    size_t n = 0;
    pthread_mutex_lock(&kept.lock);
    while (kept.count && (kept.count == MOST_BLOCKS || kept.bytes + bytes > MOST_BYTES)) gone[n++] = take(0).start;
    if (bytes > MOST_BYTES) {
        gone[n++] = block;
    } else {
        kept.blocks[kept.count++] = (kept_block){block, bytes};
        kept.bytes += bytes;
    }
    pthread_mutex_unlock(&kept.lock);
    while (n) free(gone[--n]);
}
