#ifndef ASC_CORE_JOB_H
#define ASC_CORE_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "asc_trace.h"
#include "pool.h"

/* Chunks of one worker that nobody has claimed; a line of the cache of its own. */
typedef struct asc_span {
    _Alignas(64) _Atomic int64_t next;
    int64_t first, end;
} asc_span;

/* What other threads counted for a thread's regions, in the order of the bits of `counters` (asc_trace.h). */
typedef struct asc_tally {
    uint32_t counters;
    _Atomic uint64_t counts[ASC_COUNTERS];
} asc_tally;
/* This thread's; NULL: nothing is counted. */
extern _Thread_local asc_tally *asc_own_tally;

/* An open parallel region, on its caller's stack. */
typedef struct asc_job {
    const asc_call *call;
    asc_chunk_fn fn;
    void *arg;
    int32_t max_workers;
    int32_t workers;        /* joined so far, the caller included; under the pool's lock */
    _Atomic int32_t active; /* workers inside; changed under the pool's lock, and the last thing a worker touches */
    int cpu;                /* where the caller was when it published the job */
    int backwards;          /* every span is taken from its end */
    asc_tally *tally;       /* of the caller */
    pthread_t caller;
    uint64_t arithmetic; /* how the caller rounds, and what it does with denormals */
    asc_span spans[ASC_MAX_THREADS];
} asc_job;

/* Cuts the chunks into one span per worker. */
void asc_job_cut(asc_job *j, int64_t n_chunks);
/* Takes chunks, first of the worker's own span, until nobody has one left. */
void asc_job_claim(asc_job *j, int32_t worker);
/* The same on a thread that helps the caller, whose tally gets what this one counts meanwhile. */
void asc_job_assist(asc_job *j, int32_t worker);
/* The same with the caller's arithmetic, on a thread that keeps its own. */
void asc_job_visit(asc_job *j, int32_t worker);
int asc_job_has_chunks(asc_job *j);

/* The state of floating-point arithmetic of this thread: rounding, denormals, masks; not what has happened. */
uint64_t asc_arithmetic(void);
void asc_set_arithmetic(uint64_t state);

static inline void asc_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
