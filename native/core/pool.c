/* One process-wide pool of workers. A parallel region publishes a job whose chunks are cut into one run of
 * neighbours per worker: memory is read in long streams, and a core finds in its cache what it wrote in the region
 * before. Whoever has finished its own run goes on with the others', so the caller alone ends every job, and a late
 * worker costs nothing but its own wake-up. Whoever has just been busy spins before it sleeps, because a wake-up
 * takes as long as a small region; but for SPIN_NS only, and what it has saved of the time it was busy, since the CPUs
 * belong to others too. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lent.h"

#define MAX_JOBS 16 /* regions open at once, over all callers; more run on their caller alone */
/* A worker spins for longer than a caller's Python takes between two runs: that is some us, and 50 to 100 where
 * the run has driven the caller's code out of the caches. A caller waits for the last chunk of a worker for about as
 * long as that takes. */
#define SPIN_NS 30000
#define SPIN_SHARE 8 /* an eighth of the time it was busy, a worker saves */
#define SPIN_SAVED_NS 90000
#define WAIT_NS 60000

struct asc_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t idle;
    int32_t n_threads;
    int32_t max_threads; /* fewer than ASC_MAX_THREADS once the system refused one */
    int32_t sleeping;
    int32_t spinning;
    _Atomic uint32_t published; /* counts jobs, for those who spin */
    cpu_set_t allowed;          /* where workers may run: what the first caller may use */
    _Atomic uint32_t turns;     /* regions that began where the one before had ended */
    asc_job *jobs[MAX_JOBS];
};

static asc_pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
                        .work = PTHREAD_COND_INITIALIZER,
                        .idle = PTHREAD_COND_INITIALIZER,
                        .max_threads = ASC_MAX_THREADS};
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

static asc_job *joinable(void) {
    for (int i = 0; i < MAX_JOBS; i++) {
        asc_job *j = pool.jobs[i];
        if (j && j->workers < j->max_workers && asc_job_has_chunks(j)) return j;
    }
    return NULL;
}

/* A worker's time: since when it has been busy, and what it may spin for beyond SPIN_NS. */
typedef struct patience {
    uint64_t since, saved;
} patience;

/* Waits a moment for another job; called and left with the lock. */
static void spin(patience *p) {
    uint32_t seen = pool.published;
    pool.spinning++;
    pthread_mutex_unlock(&pool.lock);
    uint64_t from = asc_clock_ns(), now = from;
    p->saved += (from - p->since) / SPIN_SHARE;
    if (p->saved > SPIN_SAVED_NS) p->saved = SPIN_SAVED_NS;
    for (uint64_t until = from + SPIN_NS + p->saved; now < until; now = asc_clock_ns()) {
        if (atomic_load_explicit(&pool.published, memory_order_relaxed) != seen) break;
        for (int i = 0; i < 8; i++) asc_relax();
    }
    uint64_t beyond = now - from > SPIN_NS ? now - from - SPIN_NS : 0;
    p->saved -= beyond < p->saved ? beyond : p->saved;
    p->since = now;
    pthread_mutex_lock(&pool.lock);
    pool.spinning--;
}

/* A kernel that thinks the CPUs share no cache wakes a worker where its caller runs, and there the two would take
 * turns. So a worker that finds itself there goes elsewhere; the next wake-up begins where it went. */
static void leave_cpu(int cpu) {
    cpu_set_t others = pool.allowed;
    if (cpu < 0 || sched_getcpu() != cpu || CPU_COUNT(&others) < 2) return;
    CPU_CLR(cpu, &others);
    sched_setaffinity(0, sizeof others, &others);
}

static void *worker_main(void *unused) {
    (void)unused;
    int was_busy = 0;
    patience patience = {.since = asc_clock_ns()};
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        asc_job *j = joinable();
        if (!j && was_busy) {
            was_busy = 0;
            spin(&patience);
            continue;
        }
        if (!j) {
            pool.sleeping++;
            pthread_cond_wait(&pool.work, &pool.lock);
            pool.sleeping--;
            patience.since = asc_clock_ns();
            continue;
        }
        int32_t worker = j->workers++;
        j->active++;
        pthread_mutex_unlock(&pool.lock);
        leave_cpu(j->cpu);
        if (j->arithmetic != asc_arithmetic()) asc_set_arithmetic(j->arithmetic);
        asc_job_assist(j, worker);
        was_busy = 1;
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
    pool.n_threads = pool.sleeping = pool.spinning = 0;
    pool.max_threads = ASC_MAX_THREADS;
    for (int i = 0; i < MAX_JOBS; i++) pool.jobs[i] = NULL;
}

static void start(void) {
    pthread_atfork(NULL, NULL, after_fork);
}

asc_pool *asc_pool_shared(void) {
    pthread_once(&once, start);
    return &pool;
}

/* Workers take no signals: those are the program's. */
static void grow_to(int32_t wanted) {
    if (wanted > pool.max_threads) wanted = pool.max_threads;
    if (pool.n_threads >= wanted) return;
    if (pool.n_threads == 0 && sched_getaffinity(0, sizeof pool.allowed, &pool.allowed) != 0) CPU_ZERO(&pool.allowed);
    pthread_attr_t attr;
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* of a mapped file (guard.c): a blocked one ends the process */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.n_threads < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, &attr, worker_main, NULL) != 0) {
            pool.max_threads = pool.n_threads;
            break;
        }
        pool.n_threads++;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Enters a job and wakes as many sleepers as it can use; returns its slot, or -1. */
static int publish(asc_job *j) {
    int slot = 0;
    while (slot < MAX_JOBS && pool.jobs[slot]) slot++;
    if (slot == MAX_JOBS) return -1;
    pool.jobs[slot] = j;
    pool.published++;
    int32_t wake = j->max_workers - 1 - pool.spinning;
    for (int32_t i = 0; i < wake && i < pool.sleeping; i++) pthread_cond_signal(&pool.work);
    return slot;
}

/* Takes a job out, so that nobody joins any more, and waits for those inside. */
static void finish(asc_job *j, int slot) {
    pthread_mutex_lock(&pool.lock);
    pool.jobs[slot] = NULL;
    if (j->active) {
        pthread_mutex_unlock(&pool.lock);
        for (uint64_t until = asc_clock_ns() + WAIT_NS; j->active && asc_clock_ns() < until;)
            for (int i = 0; i < 8; i++) asc_relax();
        pthread_mutex_lock(&pool.lock);
    }
    while (j->active) pthread_cond_wait(&pool.idle, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

/* Whether this region goes backwards, as every second does of those to which it matters: the next then begins
 * with what the last one touched last, which a cache that holds only a part of it still has. */
static int turns_back(const asc_call *call, int64_t n_chunks) {
    return n_chunks > 1 && call->turns && atomic_fetch_add_explicit(&pool.turns, 1, memory_order_relaxed) & 1;
}

void asc_parallel(const asc_call *call, int64_t n_chunks, asc_chunk_fn fn, void *arg) {
    int backwards = turns_back(call, n_chunks);
    int32_t threads = call->threads < ASC_MAX_THREADS ? call->threads : ASC_MAX_THREADS;
    if (threads > n_chunks) threads = (int32_t)n_chunks;
    if (threads <= 1 || !call->pool) {
        for (int64_t i = 0; i < n_chunks; i++) fn(call, backwards ? n_chunks - 1 - i : i, 0, arg);
        return;
    }
    asc_job j;
    j.call = call;
    j.fn = fn;
    j.arg = arg;
    j.max_workers = threads;
    j.workers = 1;
    atomic_init(&j.active, 0);
    j.cpu = sched_getcpu();
    j.tally = asc_own_tally;
    j.caller = pthread_self();
    j.arithmetic = asc_arithmetic();
    j.backwards = backwards;
    asc_job_cut(&j, n_chunks);
    if (asc_lent_run(&j)) return;
    pthread_mutex_lock(&pool.lock);
    grow_to(threads - 1);
    int slot = publish(&j);
    pthread_mutex_unlock(&pool.lock);
    asc_job_claim(&j, 0);
    if (slot >= 0) finish(&j, slot);
}
