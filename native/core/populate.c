/* Memory for an image, got ready by the threads that are about to write it.
 *
 * A huge page is a quarter of the work of small ones, unless the system has none at hand: it may have to move other
 * pages first, or, in a guest, get the memory back from a host that took it (free page reporting). Then one takes
 * milliseconds, and small pages, which come from what is in use anyway, are ten times as fast. So huge pages are
 * timed, and after a slow one the next come as small pages.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "bundle.h"

#define HUGE_BYTES (2u << 20)
#define SLOW_NS 1000000 /* zeroing takes a tenth of that, and small pages for as many bytes half of it */
#define FIRST_PAUSE 8
#define LONGEST_PAUSE 64
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* Whether the next huge page is to come as small ones. */
static int pausing(asc_populating *state) {
    return atomic_load_explicit(&state->pause, memory_order_relaxed) > 0 &&
           atomic_fetch_sub_explicit(&state->pause, 1, memory_order_relaxed) > 0;
}

/* After a slow page; each pause is twice as long as the one before. */
static void pause_huge(asc_populating *state) {
    int32_t last = atomic_load_explicit(&state->last_pause, memory_order_relaxed);
    int32_t next = last ? last * 2 : FIRST_PAUSE;
    if (next > LONGEST_PAUSE) next = LONGEST_PAUSE;
    atomic_store_explicit(&state->last_pause, next, memory_order_relaxed);
    atomic_store_explicit(&state->pause, next, memory_order_relaxed);
}

/* A kernel before 5.14 does nothing here, and pages come when they are written. */
static void populate_page(asc_populating *state, void *at) {
    int small = pausing(state);
    if (small) (void)madvise(at, HUGE_BYTES, MADV_NOHUGEPAGE);
    int64_t start = now_ns();
    (void)madvise(at, HUGE_BYTES, MADV_POPULATE_WRITE);
    if (!small && now_ns() - start > SLOW_NS) pause_huge(state);
}

/* Takes on page after page until those before `end` are taken. */
static void populate_until(const asc_region *region, asc_populating *state, uint64_t end) {
    uint64_t lead = -(uintptr_t)region->bytes & (HUGE_BYTES - 1); /* before the first whole huge page */
    uint64_t next = atomic_load_explicit(&state->pages, memory_order_relaxed);
    while (lead + (next + 1) * HUGE_BYTES <= region->size && lead + next * HUGE_BYTES < end && !state->halted)
        if (atomic_compare_exchange_weak_explicit(&state->pages, &next, next + 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            populate_page(state, region->bytes + lead + next++ * HUGE_BYTES);
}

void asc_region_populate(const asc_region *region, asc_populating *state, uint64_t end) {
    atomic_fetch_add(&state->active, 1);
    if (!state->halted) populate_until(region, state, end);
    atomic_fetch_sub(&state->active, 1);
}

void asc_region_shrink(asc_region *region, asc_populating *state, uint64_t size) {
    uint64_t page = asc_page_bytes(), body = asc_align_up(size, page);
    if (size > region->size) return;
    state->halted = 1;
    while (state->active) sched_yield();
    (void)mprotect(region->bytes + body, page, PROT_NONE);
    if (body + page < region->reserved) (void)munmap(region->bytes + body + page, region->reserved - body - page);
    region->size = size;
    region->reserved = body + page;
    state->halted = 0;
}
