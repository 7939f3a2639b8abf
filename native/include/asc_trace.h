/* asc_trace.h - traces: which calls of which models ran when, recorded by libascend_rt, read by ascend_ep/profiling.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_TRACE_H
#define ASC_TRACE_H

#include "ascend_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cffi:begin */

/* A trace is a file of records one after another, each a multiple of 8 bytes long, in the machine's byte order. Times
 * are nanoseconds of asc_clock_ns. It begins with an asc_trace_process; a bound partition is described before its first
 * run; an asc_trace_end stands at the end of a trace that was ended, or, where the disk was full, in the place that was
 * kept for it. */
#define ASC_TRACE_MAGIC 0x43525441 /* "ATRC" */
#define ASC_TRACE_VERSION 3        /* 1: without schedules; 2: without queues */
#define ASC_TRACE_PROCESS 1
#define ASC_TRACE_BOUND 2
#define ASC_TRACE_RUN 3
#define ASC_TRACE_SPAN 4
#define ASC_TRACE_END 5
#define ASC_TRACE_QUEUED_RUN 6
#define ASC_TRACE_SPARE 7 /* behind the asc_trace_process: room for an asc_trace_end, once the disk is full */

/* Counters of the thread that runs a plan and of those that help it, in the order of their bits. */
#define ASC_COUNT_CYCLES 1
#define ASC_COUNT_INSTRUCTIONS 2
#define ASC_COUNT_CACHE_REFERENCES 4
#define ASC_COUNT_CACHE_MISSES 8
#define ASC_COUNT_BRANCH_MISSES 16
#define ASC_COUNT_TASK_CLOCK 32 /* nanoseconds on a CPU; this and the next two the system counts itself */
#define ASC_COUNT_PAGE_FAULTS 64
#define ASC_COUNT_CONTEXT_SWITCHES 128
#define ASC_COUNTERS 8

typedef struct asc_trace_record {
    uint32_t kind;  /* ASC_TRACE_... */
    uint32_t bytes; /* with this head */
} asc_trace_record;

typedef struct asc_trace_process {
    asc_trace_record record;
    uint32_t magic;
    uint32_t version;
    uint64_t start_ns;
    uint64_t epoch_ns; /* start_ns as time since 1970 */
    uint32_t pid;
    int32_t isa;
    uint32_t counters; /* those that this machine counts, of those that were asked for */
    uint32_t asked;
    uint32_t text_bytes; /* which follow: the command line, each word NUL-terminated */
    uint32_t ranked;     /* 1 more than RANK_ID, else RANK, of the environment; 0: neither is a number */
} asc_trace_process;

/* asc_trace_value[n_values]; then per instruction an asc_trace_insn with asc_trace_operand[n_in + n_out],
 * int64_t[n_ints], double[n_floats]; then text_bytes of NUL-terminated strings: model, partition, and per instruction
 * its node, kernel, operator type, and the schedule that was chosen for it: a form, then its sizes; "" of kernels that
 * have one form. Of a call beside models, those of the kernels that it called, "matmul: narrow ...; copy: rows ...". */
typedef struct asc_trace_bound {
    asc_trace_record record;
    uint32_t number;    /* from 0, in the order of the file */
    uint32_t partition; /* ASC_NONE: a call beside models */
    uint32_t n_values;  /* temporaries that have memory of their own */
    uint32_t n_insns;
    int32_t isa;
    int32_t threads;
    uint64_t arena_bytes;
    uint64_t workspace_bytes;
    uint64_t weight_bytes; /* of the whole model */
    uint32_t text_bytes;
    uint32_t pad;
} asc_trace_bound;

/* Memory in the arena, in use from one instruction to another. */
typedef struct asc_trace_value {
    uint32_t value; /* index within the partition */
    uint32_t first_use, last_use;
    uint32_t pad;
    uint64_t offset, bytes;
} asc_trace_value;

typedef struct asc_trace_insn {
    uint16_t n_in, n_out;
    uint16_t n_ints, n_floats; /* as many as are kept: 65535 at most */
    uint32_t library;          /* 1: a call of a custom-operator library */
    uint32_t pad;
} asc_trace_insn;

typedef struct asc_trace_operand {
    uint32_t value; /* at the end of its chain of views, within the partition; ASC_NONE: an absent operand */
    uint8_t dtype, rank, layout;
    uint8_t kind;   /* ASC_VALUE_... of that value */
    uint64_t bytes; /* of the operand; of a packed weight as packed */
    int64_t dims[ASC_MAX_RANK];
} asc_trace_operand;

/* One run: uint64_t start and end of each of n_calls calls; then for each call uint64_t per counter of the process. */
typedef struct asc_trace_run {
    asc_trace_record record;
    uint32_t bound;
    uint32_t thread; /* of the system */
    uint64_t start_ns, end_ns;
    int32_t code; /* ASC_OK, or of the call behind the last one listed, which failed */
    uint32_t n_calls;
} asc_trace_run;

/* How a run came to the thread that ran it: through a queue. Of an ASC_TRACE_QUEUED_RUN it stands between the
 * asc_trace_run and its times. */
typedef struct asc_trace_queued {
    uint64_t queued_ns;   /* when its caller began to hand it over; 0: it came by no queue */
    uint32_t spent_ns;    /* how long that took the caller */
    uint32_t from_thread; /* of the system: the caller's */
} asc_trace_queued;

/* What an embedder did beside native partitions; text_bytes of a NUL-terminated name follow. */
#define ASC_SPAN_MODEL 0 /* a whole run of a model of several partitions */
#define ASC_SPAN_HOST 1  /* a host partition */
typedef struct asc_trace_span {
    asc_trace_record record;
    uint32_t kind; /* ASC_SPAN_... */
    uint32_t thread;
    uint64_t start_ns, end_ns;
    uint32_t text_bytes;
    uint32_t pad;
} asc_trace_span;

typedef struct asc_trace_end {
    asc_trace_record record;
    uint64_t end_ns;
    uint64_t runs, lost; /* runs recorded, and those for which there was no room */
} asc_trace_end;

typedef struct asc_trace_options {
    uint32_t struct_bytes; /* sizeof(asc_trace_options) */
    uint32_t counters;     /* ASC_COUNT_... to try */
    uint64_t max_bytes;    /* of the file; 0: 1 GiB. Runs beyond are counted only */
    uint32_t thread;       /* of the system: record what it runs alone; 0: all threads */
    uint32_t pad;
} asc_trace_options;

/* Records all runs of this process from now on into a new file in `folder`, named after the process. Fails when the
 * process records already, or the file can't be written. A child of fork() records into a file of its own.
 * ASCEND_EP_PROFILE=FOLDER in the environment does the same when the first model is opened; so does PROFILING_MODE=1
 * (true), into a new PROF_... folder. */
ASC_API int32_t asc_trace_start(const char *folder, const asc_trace_options *options, asc_status *status);
/* As asc_trace_start, into a new folder of `output` that is named and laid out as msprof's: PROF_000001_..., with the
 * trace in host/data. */
ASC_API int32_t asc_trace_start_inside(const char *output, const asc_trace_options *options, asc_status *status);
/* Sets what a key of PROFILING_OPTIONS, or of the profiler of acl.json, asks for by this text. 0: it has no effect
 * here; 1 also for what a trace always has. "output" and "switch" are the caller's. */
ASC_API int32_t asc_trace_option(asc_trace_options *options, const char *key, const char *value);
/* Ends it; fails with ASC_E_IO when runs were lost. Without a trace nothing happens. */
ASC_API int32_t asc_trace_stop(asc_status *status);
ASC_API int32_t asc_trace_is_on(void);
/* Begins a trace when the environment asks for one; once in the life of a process. What opens models or launches calls
 * does so by itself. */
ASC_API void asc_trace_from_environment(void);
/* An operator or a kernel that ran beside models. */
typedef struct asc_traced_call {
    const char *name;           /* aclnnAdd, or the kernel's own */
    const char *kernel;         /* what computed it */
    const char *op_type;        /* Add */
    const asc_tensor *operands; /* inputs, then outputs; an absent one has ASC_UNDEFINED */
    uint32_t n_in, n_out;
    uint32_t blocks; /* of a launch, or threads */
    int32_t code;    /* ASC_OK, or it failed */
} asc_traced_call;
/* Around such a call, in the thread that runs it. Begins a trace when the environment asks for one. 0 when no trace is
 * on: then there is nothing to end. */
ASC_API int32_t asc_trace_begin_call(void);
ASC_API void asc_trace_end_call(const asc_traced_call *call);
/* Between them: what stands as the call's schedule, cut where there is no room. */
ASC_API void asc_trace_say_schedule(const char *text);
/* The system's number of this thread, which is asked for once; while a trace is on, or was. */
ASC_API uint32_t asc_trace_thread(void);
/* What this thread runs from now on came by a queue so; NULL: by none. */
ASC_API void asc_trace_say_queued(const asc_trace_queued *queued);
/* Adds a span of this thread, when a trace is on. */
ASC_API void asc_trace_add_span(uint32_t kind, const char *name, uint64_t start_ns, uint64_t end_ns);

/* cffi:end */

ASC_ASSERT_SIZE(asc_trace_process, 56);
ASC_ASSERT_SIZE(asc_trace_bound, 64);
ASC_ASSERT_SIZE(asc_trace_value, 32);
ASC_ASSERT_SIZE(asc_trace_insn, 16);
ASC_ASSERT_SIZE(asc_trace_operand, 80);
ASC_ASSERT_SIZE(asc_trace_run, 40);
ASC_ASSERT_SIZE(asc_trace_queued, 16);
ASC_ASSERT_SIZE(asc_trace_span, 40);
ASC_ASSERT_SIZE(asc_trace_end, 32);

#ifdef __cplusplus
}
#endif
#endif /* ASC_TRACE_H */
