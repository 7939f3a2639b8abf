/* What the CPU and the system count of a thread, by perf_event_open. A virtual machine often has the system's alone. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>

/* By bit: type and number. */
static const uint32_t EVENTS[ASC_COUNTERS][2] = {
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},       {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES}, {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},      {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

/* The counters of this thread: one group, so that one read gives all. */
typedef struct group {
    uint32_t counters; /* bits that are open */
    int leader;        /* file descriptor, when there are any */
    int fds[ASC_COUNTERS];
} group;
static _Thread_local group own;

static int open_event(int bit, int leader) {
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = EVENTS[bit][0];
    a.config = EVENTS[bit][1];
    a.exclude_hv = 1;
    a.exclude_kernel = a.type == PERF_TYPE_HARDWARE;
    a.read_format = PERF_FORMAT_GROUP;
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static void close_group(group *g) {
    for (int bit = 0; bit < ASC_COUNTERS; bit++)
        if (g->counters >> bit & 1) close(g->fds[bit]);
    g->counters = 0;
}

static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void leave(void *g) {
    close_group(g);
}

static void prepare(void) {
    pthread_key_create(&at_exit, leave);
}

uint32_t asc_counters_try(uint32_t asked) {
    group *g = &own;
    close_group(g);
    if (!asked) return 0;
    pthread_once(&once, prepare);
    pthread_setspecific(at_exit, g);
    for (int bit = 0; bit < ASC_COUNTERS; bit++) {
        int fd = asked >> bit & 1 ? open_event(bit, g->counters ? g->leader : -1) : -1;
        if (fd < 0) continue;
        if (!g->counters) g->leader = fd;
        g->fds[bit] = fd;
        g->counters |= 1u << bit;
    }
    return g->counters;
}

void asc_counters_read(uint32_t counters, uint64_t *values) {
    uint64_t found[ASC_COUNTERS + 1];
    size_t n = (size_t)__builtin_popcount(counters);
    if (own.counters != counters) asc_counters_try(counters);
    if (own.counters == counters && read(own.leader, found, sizeof found) == (ssize_t)((n + 1) * sizeof *found))
        memcpy(values, found + 1, n * sizeof *values);
    else
        memset(values, 0, n * sizeof *values);
}

#else

uint32_t asc_counters_try(uint32_t asked) {
    (void)asked;
    return 0;
}

void asc_counters_read(uint32_t counters, uint64_t *values) {
    (void)counters, (void)values;
}

#endif
