/* Memory that is given out again: where blocks begin, which come back, in what pages, and how much is held. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "blocks.h"
#include "check.h"

enum { KB = 1024, THREADS = 4, ROUNDS = 2000 };

static int begins_at(const void *block, uintptr_t align) {
    return block && (uintptr_t)block % align == 0;
}

static void check_alignment(block_pool *pool) {
    const size_t sizes[] = {0, 1, 63, 64, 4096, BLOCK_LARGE - 1, BLOCK_LARGE, BLOCK_LARGE + 1, 1000 * KB + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *taken = blocks_take(pool, sizes[i]), *once = blocks_take_once(sizes[i]);
        uintptr_t align = sizes[i] < BLOCK_LARGE ? BLOCK_LINE : BLOCK_PAGE;
        CHECK(begins_at(taken, align) && begins_at(once, align));
        if (taken && once) memset(taken, 1, sizes[i]), memset(once, 2, sizes[i]);
        blocks_give(pool, taken);
        blocks_give(pool, once);
    }
    blocks_give(pool, NULL);
    CHECK(blocks_take(pool, SIZE_MAX) == NULL && blocks_take(pool, SIZE_MAX - BLOCK_PAGE) == NULL);
    CHECK(blocks_take_once(SIZE_MAX) == NULL);
    blocks_shrink(pool);
    CHECK(blocks_kept(pool) == 0);
}

static void check_reuse(block_pool *pool) {
    void *a = blocks_take(pool, 100 * KB), *b = blocks_take(pool, 100 * KB);
    CHECK(a != b);
    blocks_give(pool, a);
    CHECK(blocks_kept(pool) == 100 * KB);
    CHECK(blocks_take(pool, 100 * KB) == a);
    blocks_give(pool, a);
    CHECK(blocks_take(pool, 70 * KB) == a); /* up to twice as large as asked for */
    CHECK(blocks_kept(pool) == 0);
    blocks_give(pool, a);
    void *large = blocks_take(pool, 200 * KB);
    CHECK(large != a);
    blocks_give(pool, large);
    blocks_give(pool, b);
    blocks_shrink(pool);
    CHECK(blocks_kept(pool) == 0);
}

static void check_best_fit(block_pool *pool) {
    void *a = blocks_take(pool, 180 * KB), *b = blocks_take(pool, 120 * KB), *c = blocks_take(pool, 128 * KB);
    blocks_give(pool, b);
    blocks_give(pool, c);
    blocks_give(pool, a);
    CHECK(blocks_take(pool, 100 * KB) == b);
    CHECK(blocks_take(pool, 128 * KB) == c);
    blocks_give(pool, b);
    blocks_give(pool, c);
    blocks_shrink(pool);
}

/* What blocks ask of the system comes by here (--wrap): the last advice to use huge pages. */
static struct {
    char *start;
    size_t bytes;
} huge;
int __wrap_madvise(void *start, size_t bytes, int advice);
int __wrap_madvise(void *start, size_t bytes, int advice) {
    if (advice == MADV_HUGEPAGE) huge.start = start, huge.bytes = bytes;
    return 0;
}

/* From BLOCK_HUGE on, but not those that are had once, as weights are. */
static void check_huge_pages(block_pool *pool) {
    const size_t sizes[] = {BLOCK_HUGE - BLOCK_PAGE, BLOCK_HUGE, 3 * BLOCK_HUGE + 5};
    for (int i = 0; i < 3; i++) {
        huge.start = NULL, huge.bytes = 0;
        char *once = blocks_take_once(sizes[i]);
        CHECK(once && !huge.start);
        char *taken = blocks_take(pool, sizes[i]);
        CHECK(taken && huge.start == (i ? taken : NULL) && huge.bytes >= (i ? sizes[i] / BLOCK_PAGE * BLOCK_PAGE : 0));
        blocks_give(pool, taken);
        blocks_give(pool, once);
    }
    blocks_shrink(pool);
}

/* What is kept and what is out are never more than was out at one time. */
static void check_bound(block_pool *pool) {
    void *a = blocks_take(pool, 100 * KB), *b = blocks_take(pool, 300 * KB);
    blocks_give(pool, a);
    blocks_give(pool, b);
    CHECK(blocks_kept(pool) == 400 * KB);
    void *c = blocks_take(pool, 700 * KB); /* a new peak: nothing may be kept beside it */
    CHECK(blocks_kept(pool) == 0);
    blocks_give(pool, c);
    CHECK(blocks_kept(pool) == 700 * KB);
    void *d = blocks_take(pool, 80 * KB); /* c is too large for it, and both would be more than the peak */
    CHECK(d && blocks_kept(pool) == 0);
    blocks_give(pool, d);
    blocks_shrink(pool);
    void *many[BLOCKS_IDLE_MOST + 5];
    for (int i = 0; i < BLOCKS_IDLE_MOST + 5; i++) many[i] = blocks_take(pool, BLOCK_LARGE);
    for (int i = 0; i < BLOCKS_IDLE_MOST + 5; i++) blocks_give(pool, many[i]);
    CHECK(blocks_kept(pool) == (size_t)BLOCKS_IDLE_MOST * BLOCK_LARGE);
    blocks_shrink(pool);
}

static void *use_pool(void *pool) {
    uintptr_t failed = 0;
    uint32_t seed = (uint32_t)(uintptr_t)&failed;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t bytes = (size_t)(seed >> 24) * KB + 8;
        uint32_t *block = blocks_take(pool, bytes);
        if (!block) return (void *)1;
        block[0] = seed;
        block[bytes / 4 - 1] = ~seed;
        if (block[0] != seed || block[bytes / 4 - 1] != ~seed) failed = 1;
        blocks_give(pool, block);
    }
    return (void *)failed;
}

static void check_threads(block_pool *pool) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_pool, pool);
    for (int i = 0; i < THREADS; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        CHECK(!failed);
    }
}

int main(void) {
    block_pool *pool = blocks_create();
    CHECK(pool != NULL);
    if (!pool) return check_failures();
    check_alignment(pool);
    check_reuse(pool);
    check_best_fit(pool);
    check_huge_pages(pool);
    check_bound(pool);
    check_threads(pool);
    blocks_release(pool);
    blocks_release(NULL);
    return check_failures();
}
