/* Threads run a model while traces begin, end and reach their limit: every record is whole, and all runs are counted.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asc_trace.h"
#include "check.h"
#include "sample_bundle.h"

#define THREADS 4
#define ROUNDS 200
#define THE_CALLER 12345 /* of what came by a queue */

typedef struct worker {
    pthread_t thread;
    asc_model *model;
    int failures;
} worker;

static void *work(void *arg) {
    worker *w = arg;
    for (int i = 0; i < ROUNDS; i++) {
        float x[4 * 4] = {1}, y[5 * 4];
        int64_t s[1];
        asc_tensor shape = {.dims = {1 + i % 4, 4}, .dtype = ASC_FLOAT32, .rank = 2};
        asc_bound *bound;
        asc_status status;
        const void *in[] = {x};
        void *out[] = {y, s};
        w->failures += asc_bind(w->model, 0, &shape, 1, &bound, &status) != ASC_OK ||
                       asc_execute(bound, in, out, NULL, &status) != ASC_OK;
        asc_bound_release(bound);
    }
    return NULL;
}

static int run_all(asc_model *model) {
    worker workers[THREADS];
    int failures = 0;
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.model = model};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        failures += workers[i].failures;
    }
    return failures;
}

/* What a trace holds: runs, and whether its records follow one another to the end. */
typedef struct found {
    uint64_t runs, lost, said, counted, queued; /* of the runs, those with counts, and by a queue */
    uint32_t bounds;
    int whole;
} found;

static void count(found *f, const asc_trace_record *record) {
    if (record->kind == ASC_TRACE_RUN || record->kind == ASC_TRACE_QUEUED_RUN) {
        const asc_trace_run *run = (const asc_trace_run *)record;
        const asc_trace_queued *queued = (const asc_trace_queued *)(run + 1);
        int has_queue = record->kind == ASC_TRACE_QUEUED_RUN;
        const uint64_t *ns = (const uint64_t *)(queued + has_queue);
        f->runs++;
        f->queued += has_queue;
        f->counted += record->bytes > (char *)(ns + 2 * run->n_calls) - (char *)run;
        if (has_queue)
            CHECK(queued->queued_ns <= run->start_ns && queued->spent_ns == 7 && queued->from_thread == THE_CALLER);
        CHECK(run->bound < f->bounds && run->start_ns <= run->end_ns);
        for (uint32_t i = 0; i < run->n_calls; i++)
            CHECK(run->start_ns <= ns[2 * i] && ns[2 * i] <= ns[2 * i + 1] && ns[2 * i + 1] <= run->end_ns);
    } else if (record->kind == ASC_TRACE_BOUND) {
        CHECK(((const asc_trace_bound *)record)->number == f->bounds++);
    } else if (record->kind == ASC_TRACE_END) {
        f->said = ((const asc_trace_end *)record)->runs;
        f->lost = ((const asc_trace_end *)record)->lost;
    }
}

static found read_trace(const char *path) {
    found f = {0};
    struct stat st;
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    if (fd < 0) return f;
    uint8_t *bytes = malloc((size_t)st.st_size);
    CHECK(read(fd, bytes, (size_t)st.st_size) == st.st_size);
    close(fd);
    int64_t at = 0;
    while (at + (int64_t)sizeof(asc_trace_record) <= st.st_size) {
        const asc_trace_record *record = (const asc_trace_record *)(const void *)(bytes + at);
        if (record->bytes < sizeof *record || record->bytes % 8 || at + record->bytes > st.st_size) break;
        count(&f, record);
        at += record->bytes;
    }
    f.whole = at == st.st_size;
    free(bytes);
    return f;
}

static found trace_of(asc_model *model, const char *folder, int number, const asc_trace_options *options) {
    asc_status status;
    char path[200];
    CHECK(asc_trace_start(folder, options, &status) == ASC_OK);
    CHECK(asc_trace_is_on());
    worker own = {.model = model};
    int alone = options && options->thread;
    CHECK(run_all(model) == 0);
    if (alone) work(&own);
    int32_t code = asc_trace_stop(&status);
    snprintf(path, sizeof path, "%s/ascend_ep.%d.%d.trace", folder, (int)getpid(), number);
    found f = read_trace(path);
    CHECK(code == (f.lost ? ASC_E_IO : ASC_OK));
    CHECK(f.whole && f.said == f.runs && f.runs + f.lost == (alone ? ROUNDS : THREADS * ROUNDS));
    unlink(path);
    return f;
}

#define CALLS 500

/* Calls beside models: of two shapes, one of them failing; each third comes by a queue. */
static void *launch(void *arg) {
    int *recorded = arg;
    for (int i = 0; i < CALLS; i++) {
        asc_tensor operands[] = {{.dims = {4, 1 + i % 2}, .dtype = ASC_FLOAT32, .rank = 2},
                                 {.dtype = ASC_UNDEFINED},
                                 {.dims = {4, 1}, .dtype = ASC_FLOAT32, .rank = 2}};
        asc_traced_call call = {"aclnnAny", "any", "Any", operands, 2, 1, 8, i % 2 ? ASC_E_RUN : ASC_OK};
        asc_trace_queued queued = {asc_clock_ns(), 7, THE_CALLER};
        if (i % 3 == 0) asc_trace_say_queued(&queued);
        if (!asc_trace_begin_call()) continue;
        asc_trace_end_call(&call);
        asc_trace_say_queued(NULL);
        ++*recorded;
    }
    return NULL;
}

static found trace_of_calls(const char *folder, int number, const asc_trace_options *options) {
    pthread_t threads[THREADS];
    int recorded[THREADS] = {0}, all = 0;
    char path[200];
    asc_status status;
    launch(&all);
    CHECK(all == 0); /* nothing is on */
    CHECK(asc_trace_start(folder, options, &status) == ASC_OK);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, launch, &recorded[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) all += recorded[i];
    CHECK(all == THREADS * CALLS);
    asc_trace_stop(&status);
    snprintf(path, sizeof path, "%s/ascend_ep.%d.%d.trace", folder, (int)getpid(), number);
    found f = read_trace(path);
    CHECK(f.whole && f.runs + f.lost == THREADS * CALLS);
    unlink(path);
    return f;
}

/* A call that began in a trace of one counter ends in one of two: its counts aren't those. Where the system counts
 * nothing, there are none anyway. */
static void trace_across(const char *folder) {
    asc_trace_options one = {.struct_bytes = sizeof one, .counters = ASC_COUNT_TASK_CLOCK}, two = one;
    asc_traced_call call = {.name = "any", .kernel = "any", .op_type = "Any", .code = ASC_OK};
    asc_status status;
    char path[200];
    two.counters |= ASC_COUNT_PAGE_FAULTS;
    CHECK(asc_trace_start(folder, &one, &status) == ASC_OK && asc_trace_begin_call());
    CHECK(asc_trace_stop(&status) == ASC_OK && asc_trace_start(folder, &two, &status) == ASC_OK);
    asc_trace_end_call(&call);
    CHECK(asc_trace_stop(&status) == ASC_OK);
    snprintf(path, sizeof path, "%s/ascend_ep.%d.8.trace", folder, (int)getpid());
    found f = read_trace(path);
    CHECK(f.whole && f.runs == 1 && f.counted == 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/ascend_ep.%d.7.trace", folder, (int)getpid());
    unlink(path);
}

int main(void) {
    char folder[] = "/tmp/asc_trace_XXXXXX";
    uint64_t size;
    uint8_t *file = sample_bundle(&size);
    asc_options o = {.struct_bytes = sizeof o, .num_threads = 2, .max_bound = 8};
    asc_trace_options all = {.struct_bytes = sizeof all, .counters = (1u << ASC_COUNTERS) - 1};
    asc_trace_options little = {.struct_bytes = sizeof little, .max_bytes = 20000};
    asc_status status;
    asc_model *m;
    CHECK(mkdtemp(folder) != NULL);
    CHECK(asc_model_from_memory(file, size, &o, &m, &status) == ASC_OK);
    found f = trace_of(m, folder, 1, NULL);
    CHECK(f.bounds == 4 && f.lost == 0);
    CHECK(trace_of(m, folder, 2, &all).lost == 0);
    CHECK(trace_of(m, folder, 3, &little).lost > 0);
    asc_trace_options mine = {.struct_bytes = sizeof mine, .thread = (uint32_t)syscall(SYS_gettid)};
    CHECK(trace_of(m, folder, 4, &mine).lost == 0);
    f = trace_of_calls(folder, 5, &all);
    CHECK(f.bounds == 2 && f.lost == 0 && f.queued == THREADS * ((CALLS + 2) / 3));
    f = trace_of_calls(folder, 6, &little);
    CHECK(f.bounds == 2 && f.lost > 0);
    trace_across(folder);
    CHECK(run_all(m) == 0);
    asc_trace_add_span(ASC_SPAN_HOST, "nothing is on", 0, 1);
    CHECK(asc_trace_stop(&status) == ASC_OK);
    CHECK(asc_trace_start("/nowhere/at/all", NULL, &status) == ASC_E_IO);
    asc_model_release(m);
    free(file);
    rmdir(folder);
    return check_failures();
}
