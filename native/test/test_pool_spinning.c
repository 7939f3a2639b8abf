/* How long a worker spins before it sleeps: time of CPUs that belong to others, so it is counted, as what the
 * process uses beyond its caller and the chunks. What else runs on the machine makes that no more. */
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "pool.h"

enum { ATTEMPTS = 4, PATIENCE_NS = 100000000 };

/* A region of two chunks, of which neither ends before both have begun: a worker has the second. */
typedef struct pair {
    _Atomic int begun;
    _Atomic int joined; /* chunks that were a worker's, over all regions */
    _Atomic uint64_t worker_ns;
    uint64_t work_ns;
} pair;

static uint64_t cpu_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void meet(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)chunk;
    pair *p = arg;
    uint64_t used = cpu_ns(CLOCK_THREAD_CPUTIME_ID), from = asc_clock_ns();
    p->begun++;
    while (p->begun < 2 && asc_clock_ns() < from + PATIENCE_NS) {
    }
    for (from = asc_clock_ns(); asc_clock_ns() < from + p->work_ns;) {
    }
    if (!worker) return;
    p->joined++;
    p->worker_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - used;
}

/* What workers use beside their chunks, per region, of a caller that comes back after a pause. */
static uint64_t spinning_ns(int regions, uint64_t work_ns, useconds_t pause_us) {
    asc_call call = {.threads = 2, .pool = asc_pool_shared()};
    pair p = {.work_ns = work_ns};
    asc_parallel(&call, 2, meet, &p); /* starts the worker */
    usleep(10000);
    p.joined = 0;
    p.worker_ns = 0;
    uint64_t process = cpu_ns(CLOCK_PROCESS_CPUTIME_ID), caller = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < regions; i++) {
        p.begun = 0;
        asc_parallel(&call, 2, meet, &p);
        usleep(pause_us);
    }
    caller = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - caller;
    process = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
    CHECK(p.joined > regions / 2);
    uint64_t known = caller + p.worker_ns;
    return process > known ? (process - known) / (uint64_t)regions : 0;
}

static uint64_t least_spinning_ns(int regions, uint64_t work_ns, useconds_t pause_us) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t found = spinning_ns(regions, work_ns, pause_us);
        if (found < least) least = found;
    }
    fprintf(stderr, "after %6.3f ms: %.3f ms\n", (double)work_ns / 1e6, (double)least / 1e6);
    return least;
}

int main(void) {
    CHECK(least_spinning_ns(100, 2000, 200) < 80000);     /* SPIN_NS and a wake-up, though it comes back often */
    CHECK(least_spinning_ns(20, 4000000, 4000) < 250000); /* and SPIN_SAVED_NS after much work, no eighth of it */
    return check_failures();
}
