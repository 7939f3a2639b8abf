/* Calls beside models in a trace: operators and kernels that a program launches itself, each as a run of a partition of
 * one instruction. */
#include "counters.h"
#include "job.h"
#include "trace.h"

/* What the thread's call began with. */
static _Thread_local struct {
    uint64_t start, counts[ASC_COUNTERS];
    uint32_t counters;
    asc_tally helpers, *outer;
} begun;

int32_t asc_trace_begin_call(void) {
    asc_trace_from_environment();
    if (!asc_trace_is_on()) return 0;
    begun.counters = asc_trace_counters();
    begun.helpers = (asc_tally){.counters = begun.counters};
    begun.outer = asc_own_tally;
    if (begun.counters) {
        asc_own_tally = &begun.helpers;
        asc_counters_read(begun.counters, begun.counts);
    }
    begun.start = asc_clock_ns();
    return 1;
}

void asc_trace_end_call(const asc_traced_call *call) {
    uint64_t ns[2] = {begun.start, asc_clock_ns()}, now[ASC_COUNTERS];
    uint32_t n = (uint32_t)__builtin_popcount(begun.counters);
    if (n) {
        asc_own_tally = begun.outer;
        asc_counters_read(begun.counters, now);
        for (uint32_t k = 0; k < n; k++)
            begun.counts[k] = now[k] - begun.counts[k] + atomic_load(&begun.helpers.counts[k]);
    }
    asc_traced_run run = {.start = ns[0],
                          .end = ns[1],
                          .ns = ns,
                          .counts = n ? begun.counts : NULL,
                          .n_calls = call->code == ASC_OK,
                          .thread = asc_trace_thread(),
                          .counters = begun.counters,
                          .code = call->code};
    asc_trace_add_call(call, &run);
}
