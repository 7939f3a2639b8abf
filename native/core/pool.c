/* One process-wide pool of sleeping workers. A parallel region publishes a job, workers that wake in
 * time claim chunks from its counter, and the caller claims until none is left: a late worker costs
 * nothing but its own wake-up. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_JOBS 16 /* regions open at once, over all callers; more run on their caller alone */

typedef struct job {
    const asc_call *call;
    asc_chunk_fn fn;
    void *arg;
    int64_t n_chunks;
    int32_t max_workers;
    int32_t workers; /* joined so far, the caller included; under the lock */
    int32_t active;  /* joined and not yet gone; under the lock */
    int open;
    _Atomic int64_t next;
} job;

struct asc_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t idle;
    int32_t n_threads;
    job *jobs[MAX_JOBS];
};

static asc_pool pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;

int32_t asc_threads_default(void) {
    const char *text = getenv("ASCEND_EP_THREADS");
    long n = text ? strtol(text, NULL, 10) : 0;
    if (n <= 0) {
        cpu_set_t set;
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    }
    return n < 1 ? 1 : n > ASC_MAX_THREADS ? ASC_MAX_THREADS : (int32_t)n;
}

static void claim(job *j, int32_t worker) {
    for (;;) {
        int64_t chunk = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (chunk >= j->n_chunks) return;
        j->fn(j->call, chunk, worker, j->arg);
    }
}

static job *joinable(void) {
    for (int i = 0; i < MAX_JOBS; i++) {
        job *j = pool.jobs[i];
        if (j && j->open && j->workers < j->max_workers &&
            atomic_load_explicit(&j->next, memory_order_relaxed) < j->n_chunks)
            return j;
    }
    return NULL;
}

static void *worker_main(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        job *j = joinable();
        if (!j) {
            pthread_cond_wait(&pool.work, &pool.lock);
            continue;
        }
        int32_t worker = j->workers++;
        j->active++;
        pthread_mutex_unlock(&pool.lock);
        claim(j, worker);
        pthread_mutex_lock(&pool.lock);
        if (--j->active == 0) pthread_cond_broadcast(&pool.idle);
    }
    return NULL;
}

/* A forked child has none of its parent's threads: forget them and whatever they held. */
static void after_fork(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.work, NULL);
    pthread_cond_init(&pool.idle, NULL);
    pool.n_threads = 0;
    for (int i = 0; i < MAX_JOBS; i++) pool.jobs[i] = NULL;
}

static void start(void) {
    pthread_atfork(NULL, NULL, after_fork);
}

asc_pool *asc_pool_shared(void) {
    pthread_once(&once, start);
    return &pool;
}

static void grow_to(int32_t wanted) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.n_threads < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, worker_main, NULL) != 0) break;
        pool.n_threads++;
    }
    pthread_attr_destroy(&attr);
}

static int publish(job *j) {
    for (int i = 0; i < MAX_JOBS; i++)
        if (!pool.jobs[i]) {
            pool.jobs[i] = j;
            return i;
        }
    return -1;
}

void asc_parallel(const asc_call *call, int64_t n_chunks, asc_chunk_fn fn, void *arg) {
    int32_t threads = call->threads < ASC_MAX_THREADS ? call->threads : ASC_MAX_THREADS;
    if (threads > n_chunks) threads = (int32_t)n_chunks;
    job j = {.call = call, .fn = fn, .arg = arg, .n_chunks = n_chunks, .max_workers = threads, .workers = 1, .open = 1};
    if (threads <= 1 || !call->pool) {
        claim(&j, 0);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    grow_to(threads - 1);
    int slot = publish(&j);
    if (slot >= 0) {
        if (threads == 2)
            pthread_cond_signal(&pool.work);
        else
            pthread_cond_broadcast(&pool.work);
    }
    pthread_mutex_unlock(&pool.lock);
    claim(&j, 0);
    if (slot < 0) return;
    pthread_mutex_lock(&pool.lock);
    j.open = 0;
    pool.jobs[slot] = NULL;
    while (j.active) pthread_cond_wait(&pool.idle, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}
