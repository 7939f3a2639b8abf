/* Threads of the embedder. To call them costs some microseconds, as much as a small region takes; so for a run of
 * several regions they are called once, as a team: the first to come runs the plan, the others wait for its regions
 * as the workers of the library's own pool do. Whoever leads never waits for a thread that has yet to come. */
#include "lent.h"

#include <pthread.h>
#include <sched.h>

#define SPIN_NS 50000 /* how long a member looks for the next region before it sleeps */
#define WAIT_NS 60000 /* how long a leader looks at a member's last chunk before it gives up its CPU */

typedef struct team {
    _Atomic(asc_job *) open;    /* the region that members may join */
    _Atomic uint32_t published; /* counts regions */
    _Atomic int32_t inside;     /* members that may be in the open region */
    _Atomic int32_t sleeping;
    _Atomic int32_t came; /* threads that have entered; the first leads */
    _Atomic int32_t ended;
    pthread_mutex_t lock;
    pthread_cond_t work;
    uint64_t arithmetic; /* of the thread that the plan belongs to */
    int32_t regions;
    void (*body)(void *arg);
    void *arg;
} team;

static _Thread_local asc_parallel_for_fn lent;
static _Thread_local void *lender;
static _Thread_local team *led;
static _Thread_local int32_t opened; /* regions, on lent threads, of this thread's run */

void asc_lend_threads(asc_parallel_for_fn parallel_for, void *with) {
    lent = parallel_for;
    lender = with;
}

/* ---- members ----------------------------------------------------------------------------------- */

static int is_news(team *t, uint32_t seen) {
    return atomic_load(&t->published) != seen || atomic_load(&t->ended);
}

static void await_news(team *t, uint32_t seen) {
    for (uint64_t until = asc_clock_ns() + SPIN_NS; asc_clock_ns() < until;)
        for (int i = 0; i < 8; i++) {
            if (is_news(t, seen)) return;
            asc_relax();
        }
    pthread_mutex_lock(&t->lock);
    atomic_fetch_add(&t->sleeping, 1);
    while (!is_news(t, seen)) pthread_cond_wait(&t->work, &t->lock);
    atomic_fetch_sub(&t->sleeping, 1);
    pthread_mutex_unlock(&t->lock);
}

/* A kernel that wakes a thread where its caller runs lets the two take turns: a member that finds itself there goes
 * elsewhere, and keeps its leave to come back. */
static void leave_cpu(int cpu) {
    cpu_set_t own, others;
    if (cpu < 0 || sched_getcpu() != cpu || sched_getaffinity(0, sizeof own, &own) != 0) return;
    others = own;
    CPU_CLR(cpu, &others);
    if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof own, &own);
}

/* A region is on its leader's stack: whoever is counted before it looks keeps the leader from leaving it. */
static void join_region(team *t, int32_t worker) {
    atomic_fetch_add(&t->inside, 1);
    asc_job *j = atomic_load(&t->open);
    if (j && worker < j->max_workers) {
        leave_cpu(j->cpu);
        asc_job_visit(j, worker);
    }
    atomic_fetch_sub(&t->inside, 1);
}

static void serve(team *t, int32_t worker) {
    uint32_t seen = 0;
    while (!atomic_load(&t->ended)) {
        uint32_t now = atomic_load(&t->published);
        if (now == seen) {
            await_news(t, seen);
            continue;
        }
        seen = now;
        join_region(t, worker);
    }
}

/* ---- the leader -------------------------------------------------------------------------------- */

static void wake(team *t) {
    if (!atomic_load(&t->sleeping)) return;
    pthread_mutex_lock(&t->lock);
    pthread_cond_broadcast(&t->work);
    pthread_mutex_unlock(&t->lock);
}

static void open_region(team *t, asc_job *j) {
    atomic_store(&t->open, j);
    atomic_fetch_add(&t->published, 1);
    wake(t);
    asc_job_claim(j, 0);
    atomic_store(&t->open, NULL);
    if (!atomic_load(&t->inside)) return;
    for (uint64_t until = asc_clock_ns() + WAIT_NS; atomic_load(&t->inside) && asc_clock_ns() < until;)
        for (int i = 0; i < 8; i++) asc_relax();
    while (atomic_load(&t->inside)) sched_yield();
}

static void lead(team *t) {
    int32_t before = opened;
    uint64_t arithmetic = asc_arithmetic();
    opened = 0;
    led = t;
    if (arithmetic != t->arithmetic) asc_set_arithmetic(t->arithmetic);
    t->body(t->arg);
    if (arithmetic != t->arithmetic) asc_set_arithmetic(arithmetic);
    led = NULL;
    t->regions = opened;
    opened = before;
    atomic_store(&t->ended, 1);
    wake(t);
}

static void enter(void *arg, size_t i) {
    (void)i;
    team *t = arg;
    int32_t place = atomic_fetch_add(&t->came, 1);
    if (place == 0)
        lead(t);
    else
        serve(t, place);
}

/* ---- regions and runs -------------------------------------------------------------------------- */

static void visit(void *arg, size_t i) {
    asc_job_visit(arg, (int32_t)i);
}

/* A region within a chunk goes to the library's own pool: an embedder's may wait for itself. */
int asc_lent_run(asc_job *j) {
    team *t = led;
    asc_parallel_for_fn parallel_for = lent;
    if (!t && !parallel_for) return 0;
    opened++;
    led = NULL;
    lent = NULL;
    if (t) {
        open_region(t, j);
    } else {
        parallel_for(lender, (size_t)j->max_workers, visit, j);
        asc_job_claim(j, 0); /* nothing is left, unless the embedder failed */
    }
    led = t;
    lent = parallel_for;
    return 1;
}

int32_t asc_lent_stay(int32_t threads, int32_t regions, void (*body)(void *arg), void *arg) {
    asc_parallel_for_fn parallel_for = lent;
    if (!parallel_for || threads < 2 || regions < 2) {
        opened = 0;
        body(arg);
        return opened;
    }
    team t = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};
    t.arithmetic = asc_arithmetic();
    t.body = body;
    t.arg = arg;
    lent = NULL; /* out of reach of what the team does, whoever leads: the embedder may wait for itself */
    parallel_for(lender, (size_t)threads, enter, &t);
    if (!atomic_load(&t.came)) lead(&t); /* the embedder failed */
    lent = parallel_for;
    pthread_cond_destroy(&t.work);
    pthread_mutex_destroy(&t.lock);
    return t.regions;
}
