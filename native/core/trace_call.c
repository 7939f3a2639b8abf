/* Calls beside models in a trace: operators and kernels that a program launches itself, each as a run of a partition of
 * one instruction. */
#include <string.h>

#include "counters.h"
#include "job.h"
#include "trace.h"

/* What the thread's call began with. */
static _Thread_local struct {
    uint64_t start, counts[ASC_COUNTERS];
    uint32_t counters;
    asc_tally helpers, *outer;
    int is_on;
    char schedule[2 * ASC_SCHEDULE_ROOM];
} begun;

/* Adds to the schedule, unless it is full. */
static void append(const char *text, size_t n) {
    size_t used = strlen(begun.schedule);
    if (used + n < sizeof begun.schedule) memcpy(begun.schedule + used, text, n + 1);
}

/* Further kernels than there is room for are "...", and one after another that are alike are named once. A kernel of
 * 100 us may have some of them, and its record may cost 1 us: nothing is formatted here but by the row. */
void asc_trace_kernel(const asc_kernel *row, const asc_call *call) {
    char line[2 + 64 + ASC_SCHEDULE_ROOM] = "; ";
    if (!begun.is_on) return;
    size_t n = strnlen(row->op, 62);
    memcpy(line + 2, row->op, n);
    n += 2;
    char *text = line + n + 2;
    if (row->schedule) row->schedule(call, text, ASC_SCHEDULE_ROOM);
    if (*text) {
        memcpy(line + n, ": ", 2);
        n += 2 + strlen(text);
    }
    size_t used = strlen(begun.schedule);
    if (used >= n - 2 && memcmp(begun.schedule + used - (n - 2), line + 2, n - 2) == 0) return;
    if (used >= 3 && strcmp(begun.schedule + used - 3, "...") == 0) return;
    int fits = used + (n - 2) + 8 < sizeof begun.schedule;
    if (!fits) n = 2 + strlen(strcpy(line + 2, "..."));
    append(used ? line : line + 2, used ? n : n - 2);
}

void asc_trace_say_schedule(const char *text) {
    if (begun.is_on) asc_format(begun.schedule, sizeof begun.schedule, "%s", text);
}

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
    begun.is_on = 1;
    begun.schedule[0] = 0;
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
                          .code = call->code,
                          .schedule = begun.schedule};
    begun.is_on = 0;
    asc_trace_add_call(call, &run);
}
