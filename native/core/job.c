/* The chunks of a parallel region: cut into one run of neighbours per worker, and claimed one by one. */
#include "job.h"

#include "counters.h"

uint64_t asc_arithmetic(void) {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & 0xffc0u;
#elif defined(__aarch64__)
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
#else
    return 0;
#endif
}

void asc_set_arithmetic(uint64_t state) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((uint32_t)state);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(state));
#else
    (void)state;
#endif
}

void asc_job_cut(asc_job *j, int64_t n_chunks) {
    for (int32_t i = 0; i < j->max_workers; i++) {
        asc_span *s = &j->spans[i];
        s->first = n_chunks * i / j->max_workers;
        s->end = n_chunks * (i + 1) / j->max_workers;
        atomic_init(&s->next, s->first);
    }
}

void asc_job_claim(asc_job *j, int32_t worker) {
    for (int32_t i = 0; i < j->max_workers; i++) {
        asc_span *s = &j->spans[(worker + i) % j->max_workers];
        for (;;) {
            int64_t chunk = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
            if (chunk >= s->end) break;
            j->fn(j->call, j->backwards ? s->first + s->end - 1 - chunk : chunk, worker, j->arg);
        }
    }
}

_Thread_local asc_tally *asc_own_tally;

void asc_job_assist(asc_job *j, int32_t worker) {
    asc_tally *tally = j->tally, *own = asc_own_tally;
    uint64_t before[ASC_COUNTERS], after[ASC_COUNTERS];
    if (!tally || pthread_equal(pthread_self(), j->caller)) {
        asc_job_claim(j, worker);
        return;
    }
    asc_own_tally = tally; /* of regions within a chunk */
    asc_counters_read(tally->counters, before);
    asc_job_claim(j, worker);
    asc_counters_read(tally->counters, after);
    asc_own_tally = own;
    for (int k = 0; k < __builtin_popcount(tally->counters); k++)
        atomic_fetch_add_explicit(&tally->counts[k], after[k] - before[k], memory_order_relaxed);
}

void asc_job_visit(asc_job *j, int32_t worker) {
    uint64_t own = asc_arithmetic();
    if (j->arithmetic != own) asc_set_arithmetic(j->arithmetic);
    asc_job_assist(j, worker);
    if (j->arithmetic != own) asc_set_arithmetic(own);
}

int asc_job_has_chunks(asc_job *j) {
    for (int32_t i = 0; i < j->max_workers; i++)
        if (atomic_load_explicit(&j->spans[i].next, memory_order_relaxed) < j->spans[i].end) return 1;
    return 0;
}
