/* New memory costs a page fault every 4 KB, more than many kernels, so large blocks are kept; but never more than were
 * in use at one time, so that a program's peak is what it needs. */
#include "blocks.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* What is known of a block, in the line before it. */
typedef struct block {
    struct block *next; /* among the kept ones */
    void *memory;       /* from malloc */
    size_t bytes;       /* of one to be kept, a multiple of a page; else 0 */
} block;
_Static_assert(sizeof(block) <= BLOCK_LINE, "a block's line");

struct block_pool {
    pthread_mutex_t lock;
    block *kept; /* given back last first */
    uint32_t n_kept;
    size_t kept_bytes;
    size_t live_bytes; /* given out */
    size_t peak_bytes; /* the most that live_bytes has been */
};

static void *start_of(block *b) {
    return b ? (char *)b + BLOCK_LINE : NULL;
}

static block *block_of(void *start) {
    return (block *)((char *)start - BLOCK_LINE);
}

/* Asks for huge pages, as numpy does for arrays of this size. */
static void prefer_huge(char *start, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    if (bytes >= BLOCK_HUGE) (void)madvise(start, bytes & ~(size_t)(BLOCK_PAGE - 1), MADV_HUGEPAGE);
#else
    (void)start, (void)bytes;
#endif
}

static block *new_block(size_t bytes, size_t kept_bytes) {
    size_t align = bytes < BLOCK_LARGE ? BLOCK_LINE : BLOCK_PAGE;
    if (bytes > SIZE_MAX / 2) return NULL;
    char *memory = malloc(bytes + BLOCK_LINE + align - 1);
    if (!memory) return NULL;
    char *first = memory + BLOCK_LINE; /* where a block can begin */
    block *b = block_of(first + (-(uintptr_t)first & (align - 1)));
    *b = (block){NULL, memory, kept_bytes};
    if (kept_bytes) prefer_huge(start_of(b), bytes);
    return b;
}

static void free_blocks(block *b) {
    while (b) {
        block *next = b->next;
        free(b->memory);
        b = next;
    }
}

static block *unlink_block(block_pool *pool, block **link) {
    block *b = *link;
    *link = b->next;
    pool->n_kept--;
    pool->kept_bytes -= b->bytes;
    return b;
}

/* The smallest kept block of at least so many bytes and less than twice as many, or NULL. */
static block *take_fitting(block_pool *pool, size_t bytes) {
    block **best = NULL;
    for (block **link = &pool->kept; *link; link = &(*link)->next) {
        size_t found = (*link)->bytes;
        if (found < bytes || found - bytes >= bytes || (best && found >= (*best)->bytes)) continue;
        best = link;
        if (found == bytes) break;
    }
    return best ? unlink_block(pool, best) : NULL;
}

/* Takes out what may not be kept, those first that were given back longest ago, for the caller to free. */
static block *take_surplus(block_pool *pool) {
    block *surplus = NULL;
    size_t most = pool->peak_bytes - pool->live_bytes;
    while (pool->kept_bytes > most || pool->n_kept > BLOCKS_IDLE_MOST) {
        block **last = &pool->kept;
        while ((*last)->next) last = &(*last)->next;
        block *b = unlink_block(pool, last);
        b->next = surplus;
        surplus = b;
    }
    return surplus;
}

static void count_live(block_pool *pool, size_t bytes) {
    pool->live_bytes += bytes;
    if (pool->peak_bytes < pool->live_bytes) pool->peak_bytes = pool->live_bytes;
}

static void *take_large(block_pool *pool, size_t bytes) {
    pthread_mutex_lock(&pool->lock);
    block *b = take_fitting(pool, bytes);
    size_t peak = pool->peak_bytes;
    count_live(pool, b ? b->bytes : bytes);
    block *surplus = take_surplus(pool);
    pthread_mutex_unlock(&pool->lock);
    free_blocks(surplus);
    if (!b && !(b = new_block(bytes, bytes))) {
        pthread_mutex_lock(&pool->lock);
        pool->live_bytes -= bytes;
        pool->peak_bytes = peak > pool->live_bytes ? peak : pool->live_bytes;
        surplus = take_surplus(pool);
        pthread_mutex_unlock(&pool->lock);
        free_blocks(surplus);
    }
    return start_of(b);
}

void *blocks_take(block_pool *pool, size_t bytes) {
    if (bytes < BLOCK_LARGE || bytes > SIZE_MAX / 2) return blocks_take_once(bytes);
    return take_large(pool, (bytes + BLOCK_PAGE - 1) & ~(size_t)(BLOCK_PAGE - 1));
}

void *blocks_take_once(size_t bytes) {
    return start_of(new_block(bytes, 0));
}

void blocks_give(block_pool *pool, void *start) {
    if (!start) return;
    block *b = block_of(start);
    if (!b->bytes) {
        free(b->memory);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->live_bytes -= b->bytes;
    pool->kept_bytes += b->bytes;
    pool->n_kept++;
    b->next = pool->kept;
    pool->kept = b;
    block *surplus = take_surplus(pool);
    pthread_mutex_unlock(&pool->lock);
    free_blocks(surplus);
}

void blocks_shrink(block_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->peak_bytes = pool->live_bytes;
    block *surplus = take_surplus(pool);
    pthread_mutex_unlock(&pool->lock);
    free_blocks(surplus);
}

size_t blocks_kept(block_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    size_t bytes = pool->kept_bytes;
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}

block_pool *blocks_create(void) {
    block_pool *pool = calloc(1, sizeof *pool);
    if (pool) pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

void blocks_release(block_pool *pool) {
    if (!pool) return;
    free_blocks(pool->kept);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
