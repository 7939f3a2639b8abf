/* trace.h - the recorder of runs: one file per process, see asc_trace.h. */
#ifndef ASC_CORE_TRACE_H
#define ASC_CORE_TRACE_H

#include <stdatomic.h>

#include "asc_trace.h"
#include "counters.h"
#include "model.h"

/* Bytes that are collected before they are written. */
typedef struct asc_trace_buffer {
    uint8_t *bytes;
    uint64_t used, room;
} asc_trace_buffer;

/* Room for `bytes` more, zeroed; NULL without memory. */
void *asc_trace_reserve(asc_trace_buffer *buffer, uint64_t bytes);
/* Appends the description of a bound partition as record `number`; 0 without memory. */
int asc_trace_describe(asc_trace_buffer *buffer, const asc_bound *bound, uint32_t number);
/* The same of a call beside models, with number 0. `schedule`: of the kernels that it called. */
int asc_trace_describe_call(asc_trace_buffer *buffer, const asc_traced_call *call, const char *schedule);

enum { ASC_SCHEDULE_ROOM = 256 }; /* of one kernel's */
/* Notes the kernel that this thread runs, if it does so for a call beside models that is recorded. */
void asc_trace_kernel(const asc_kernel *row, const asc_call *call);

/* The numbers of descriptions of calls that a trace has, by a hash of their bytes; it never grows full. */
enum { ASC_TRACE_KNOWN = 4096 };
typedef struct asc_trace_known {
    uint64_t hashes[ASC_TRACE_KNOWN];
    uint32_t numbers[ASC_TRACE_KNOWN];
    uint32_t count;
} asc_trace_known;
/* Where the number of such a description stands; ASC_NONE stands there of a new one. NULL: there is no room for it. */
uint32_t *asc_trace_place_of(asc_trace_known *known, const uint8_t *bytes, uint64_t n);

extern _Atomic uint32_t asc_trace_state; /* the number of the trace that is on; 0: none */

/* What one run leaves. `ns` has the start and end of each call, `counts` a number per call of each of `counters`, which
 * were the trace's when the run began: by its end another trace may be on. */
typedef struct asc_traced_run {
    uint64_t start, end;
    const uint64_t *ns, *counts;
    uint32_t n_calls, thread, counters;
    int32_t code;
    const char *schedule; /* of a call beside models */
} asc_traced_run;
void asc_trace_add_run(asc_bound *bound, const asc_traced_run *run);
void asc_trace_add_call(const asc_traced_call *call, const asc_traced_run *run);
/* A run that could not be recorded. */
void asc_trace_lose_run(void);

/* The counters that the trace in hand records. */
uint32_t asc_trace_counters(void);

#endif
