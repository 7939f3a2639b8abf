/* Recording runs. Whatever fails here costs records, which are counted, and never a run. */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES (1u << 18)
#define FLUSH_NS 500000000u /* what a killed process loses at most */
#define DEFAULT_MAX_BYTES (1ull << 30)
#define MAX_FOLDER 1024

_Atomic uint32_t asc_trace_state;

static struct recorder {
    pthread_mutex_t lock;
    char folder[MAX_FOLDER];
    asc_trace_options options;
    uint32_t number; /* of traces in this process */
    uint32_t n_bounds;
    _Atomic uint32_t counters;
    int fd; /* -1: the file of this process isn't open yet */
    int error;
    uint64_t written, flushed_ns;
    uint64_t runs, lost, flushed_runs;
    off_t spare; /* in the file: where room for an asc_trace_end is kept, for when the disk is full */
    asc_trace_buffer buffer;
    asc_trace_known known;
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local uint32_t own_thread;
static _Thread_local asc_trace_queued own_queued;

uint32_t asc_trace_thread(void) {
    if (!own_thread) own_thread = (uint32_t)syscall(SYS_gettid);
    return own_thread;
}

void asc_trace_say_queued(const asc_trace_queued *queued) {
    own_queued = queued ? *queued : (asc_trace_queued){0};
}

uint32_t asc_trace_counters(void) {
    return atomic_load_explicit(&recorder.counters, memory_order_relaxed);
}

int32_t asc_trace_is_on(void) {
    return atomic_load_explicit(&asc_trace_state, memory_order_relaxed) != 0;
}

/* ---- the file: all with the lock ------------------------------------------------------------- */

static void flush(struct recorder *r) {
    uint64_t done = 0;
    while (done < r->buffer.used && !r->error) {
        ssize_t n = write(r->fd, r->buffer.bytes + done, r->buffer.used - done);
        if (n > 0)
            done += (uint64_t)n;
        else if (n == 0 || errno != EINTR)
            r->error = n == 0 ? ENOSPC : errno;
    }
    /* Half a buffer would end in half a record. */
    if (r->error && ftruncate(r->fd, (off_t)r->written) == 0) {
        done = 0;
        r->lost += r->runs - r->flushed_runs;
        r->runs = r->flushed_runs;
    }
    r->flushed_runs = r->runs;
    r->written += done;
    r->buffer.used = 0;
    r->flushed_ns = asc_clock_ns();
}

static void keep(struct recorder *r) {
    if (r->buffer.used >= FLUSH_BYTES || asc_clock_ns() - r->flushed_ns > FLUSH_NS) flush(r);
}

static uint64_t epoch_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t command_line(char *text, size_t room) {
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, room);
    if (fd >= 0) close(fd);
    return n > 0 ? (uint32_t)n : 0;
}

/* The process's rank in a distributed job, and 1. */
static uint32_t ranked(void) {
    const char *names[] = {"RANK_ID", "RANK"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        char *end = NULL;
        unsigned long rank = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
        if (end && !*end && rank < UINT32_MAX) return (uint32_t)rank + 1;
    }
    return 0;
}

static int add_process(struct recorder *r) {
    char text[4096];
    uint32_t n = command_line(text, sizeof text);
    uint32_t bytes = (uint32_t)sizeof(asc_trace_process) + (n + 7) / 8 * 8;
    asc_trace_process *p = asc_trace_reserve(&r->buffer, bytes);
    if (!p) return 0;
    *p = (asc_trace_process){.record = {ASC_TRACE_PROCESS, bytes},
                             .magic = ASC_TRACE_MAGIC,
                             .version = ASC_TRACE_VERSION,
                             .start_ns = asc_clock_ns(),
                             .epoch_ns = epoch_ns(),
                             .pid = (uint32_t)getpid(),
                             .isa = asc_isa_current(),
                             .counters = r->counters,
                             .asked = r->options.counters,
                             .text_bytes = n,
                             .ranked = ranked()};
    memcpy(p + 1, text, n);
    r->spare = (off_t)bytes;
    asc_trace_end *spare = asc_trace_reserve(&r->buffer, sizeof *spare);
    if (spare) spare->record = (asc_trace_record){ASC_TRACE_SPARE, sizeof *spare};
    return spare != NULL;
}

/* Opens the file of this process and writes its head, so that an unwritable folder is known at once. */
static int open_file(struct recorder *r) {
    char path[MAX_FOLDER + 64];
    asc_format(path, sizeof path, "%s/ascend_ep.%d.%u.trace", r->folder, (int)getpid(), r->number);
    r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    r->error = r->fd < 0 ? errno : 0;
    r->written = r->runs = r->lost = r->flushed_runs = r->n_bounds = r->buffer.used = 0;
    memset(&r->known, 0, sizeof r->known);
    if (r->fd < 0) return 0;
    if (!add_process(r)) r->error = ENOMEM;
    if (!r->error) flush(r);
    return !r->error;
}

/* Whether there is room for another record; what comes when there is none is counted. */
static int has_room(struct recorder *r) {
    if (r->fd < 0 && !r->error) open_file(r);
    return !r->error && r->written + r->buffer.used < r->options.max_bytes;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Describes the bound before its first run of this trace. */
static int introduce(struct recorder *r, asc_bound *b) {
    if (b->trace == r->number && b->trace_pid == (uint32_t)getpid()) return 1;
    uint64_t before = r->buffer.used;
    if (!asc_trace_describe(&r->buffer, b, r->n_bounds)) {
        r->buffer.used = before;
        return 0;
    }
    b->trace = r->number;
    b->trace_pid = (uint32_t)getpid();
    b->trace_number = r->n_bounds++;
    return 1;
}

/* Describes the call unless it was; its number, or ASC_NONE without memory. */
static uint32_t introduce_call(struct recorder *r, const asc_traced_call *call, const char *schedule) {
    uint64_t before = r->buffer.used;
    if (!asc_trace_describe_call(&r->buffer, call, schedule)) {
        r->buffer.used = before;
        return ASC_NONE;
    }
    uint32_t *place = asc_trace_place_of(&r->known, r->buffer.bytes + before, r->buffer.used - before);
    if (place && *place != ASC_NONE) {
        r->buffer.used = before;
        return *place;
    }
    asc_trace_bound *bound = (asc_trace_bound *)(void *)(r->buffer.bytes + before);
    bound->number = r->n_bounds++;
    if (place) *place = bound->number;
    return bound->number;
}

static int write_run(struct recorder *r, uint32_t bound, const asc_traced_run *run) {
    uint64_t times = 2 * (uint64_t)run->n_calls * sizeof *run->ns;
    int has_counts = run->counts && run->counters == r->counters;
    uint64_t counts =
        has_counts ? (uint64_t)run->n_calls * (uint64_t)__builtin_popcount(r->counters) * sizeof(uint64_t) : 0;
    uint64_t queued = own_queued.queued_ns ? sizeof own_queued : 0;
    uint32_t bytes = (uint32_t)(sizeof(asc_trace_run) + queued + times + counts);
    asc_trace_run *record = asc_trace_reserve(&r->buffer, bytes);
    if (!record) return 0;
    *record = (asc_trace_run){.record = {queued ? ASC_TRACE_QUEUED_RUN : ASC_TRACE_RUN, bytes},
                              .bound = bound,
                              .thread = run->thread,
                              .start_ns = run->start,
                              .end_ns = run->end,
                              .code = run->code,
                              .n_calls = run->n_calls};
    uint8_t *rest = (uint8_t *)(record + 1);
    if (queued) memcpy(rest, &own_queued, queued);
    memcpy(rest + queued, run->ns, times);
    if (counts) memcpy(rest + queued + times, run->counts, counts);
    r->runs++;
    keep(r);
    return 1;
}

/* With the lock: whether what this thread runs belongs into the trace. */
static int is_wanted(const struct recorder *r) {
    return asc_trace_is_on() && (!r->options.thread || r->options.thread == asc_trace_thread());
}

void asc_trace_add_run(asc_bound *b, const asc_traced_run *run) {
    struct recorder *r = &recorder;
    pthread_mutex_lock(&r->lock);
    if (is_wanted(r)) {
        if (!has_room(r) || !introduce(r, b) || !write_run(r, b->trace_number, run)) r->lost++;
    }
    pthread_mutex_unlock(&r->lock);
}

void asc_trace_add_call(const asc_traced_call *call, const asc_traced_run *run) {
    struct recorder *r = &recorder;
    pthread_mutex_lock(&r->lock);
    if (is_wanted(r)) {
        uint32_t number = has_room(r) ? introduce_call(r, call, run->schedule) : ASC_NONE;
        if (number == ASC_NONE || !write_run(r, number, run)) r->lost++;
    }
    pthread_mutex_unlock(&r->lock);
}

void asc_trace_lose_run(void) {
    pthread_mutex_lock(&recorder.lock);
    recorder.lost += (uint64_t)is_wanted(&recorder);
    pthread_mutex_unlock(&recorder.lock);
}

void asc_trace_add_span(uint32_t kind, const char *name, uint64_t start_ns, uint64_t end_ns) {
    struct recorder *r = &recorder;
    if (!asc_trace_is_on()) return;
    uint32_t n = (uint32_t)strnlen(name, 1023) + 1, bytes = (uint32_t)sizeof(asc_trace_span) + (n + 7) / 8 * 8;
    pthread_mutex_lock(&r->lock);
    asc_trace_span *s = is_wanted(r) && has_room(r) ? asc_trace_reserve(&r->buffer, bytes) : NULL;
    if (s) {
        *s = (asc_trace_span){.record = {ASC_TRACE_SPAN, bytes},
                              .kind = kind,
                              .thread = asc_trace_thread(),
                              .start_ns = start_ns,
                              .end_ns = end_ns,
                              .text_bytes = n};
        memcpy(s + 1, name, n - 1);
        keep(r);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* A child has its parent's recorder, but not its file. */
static void after_fork(void) {
    pthread_mutex_init(&recorder.lock, NULL);
    if (recorder.fd >= 0) close(recorder.fd);
    recorder.fd = -1;
    recorder.error = 0;
    recorder.buffer.used = 0;
    own_thread = 0;
    asc_counters_try(0); /* those count the parent */
}

static void end_at_exit(void) {
    asc_trace_stop(NULL);
}

static void prepare(void) {
    pthread_atfork(NULL, NULL, after_fork);
    atexit(end_at_exit);
}

static int32_t begin(struct recorder *r, const char *folder, const asc_trace_options *given, asc_status *status) {
    if (asc_trace_is_on()) return asc_fail(status, ASC_E_ARGUMENT, "this process is being profiled already");
    size_t n = strlen(folder);
    if (n >= MAX_FOLDER) return asc_fail(status, ASC_E_ARGUMENT, "the folder's path is too long");
    memcpy(r->folder, folder, n + 1);
    r->options = (asc_trace_options){0};
    if (given) memcpy(&r->options, given, given->struct_bytes < sizeof *given ? given->struct_bytes : sizeof *given);
    if (!r->options.max_bytes) r->options.max_bytes = DEFAULT_MAX_BYTES;
    r->counters = asc_counters_try(r->options.counters);
    r->number++;
    if (!open_file(r)) {
        int error = r->error;
        if (r->fd >= 0) close(r->fd);
        r->fd = -1;
        r->error = 0;
        return asc_failf(status, ASC_E_IO, "can't write a trace in '%s': %s", folder, strerror(error));
    }
    atomic_store(&asc_trace_state, r->number);
    return ASC_OK;
}

int32_t asc_trace_start(const char *folder, const asc_trace_options *options, asc_status *status) {
    asc_status_begin(status);
    pthread_once(&once, prepare);
    pthread_mutex_lock(&recorder.lock);
    int32_t code = begin(&recorder, folder, options, status);
    pthread_mutex_unlock(&recorder.lock);
    return code;
}

static asc_trace_end end_of(const struct recorder *r) {
    return (asc_trace_end){
        .record = {ASC_TRACE_END, sizeof(asc_trace_end)}, .end_ns = asc_clock_ns(), .runs = r->runs, .lost = r->lost};
}

static void finish(struct recorder *r) {
    asc_trace_end *end = r->error ? NULL : asc_trace_reserve(&r->buffer, sizeof *end);
    if (end) *end = end_of(r);
    flush(r);
    asc_trace_end late = end_of(r);
    if (r->error && pwrite(r->fd, &late, sizeof late, r->spare) < 0) r->error = errno;
    close(r->fd);
    r->fd = -1;
    free(r->buffer.bytes);
    r->buffer = (asc_trace_buffer){0};
}

int32_t asc_trace_stop(asc_status *status) {
    struct recorder *r = &recorder;
    int32_t code = ASC_OK;
    asc_status_begin(status);
    pthread_mutex_lock(&r->lock);
    if (asc_trace_is_on()) {
        atomic_store(&asc_trace_state, 0);
        if (r->fd >= 0) finish(r);
        if (r->lost || r->error)
            code = asc_failf(status, ASC_E_IO, "the trace in '%s' lost %lu of %lu runs: %s", r->folder, r->lost,
                             r->lost + r->runs, r->error ? strerror(r->error) : "it is as large as it may get");
        r->error = 0;
    }
    pthread_mutex_unlock(&r->lock);
    return code;
}
