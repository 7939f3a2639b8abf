/* harness.c - runs one operator of a library (asc_get_custom_op) on given inputs, apart from whoever wants to know.
 *
 *   harness LIBRARY OP JOB RESULT RUNS CPU_SECONDS MEMORY_BYTES
 *
 * JOB is int64 words: the number of cases, and per case its inputs, outputs and threads, then per input its element
 * type (0: absent), rank, dims, bytes and data, padded to 8 bytes. RESULT gets per case, of the first run: per output
 * its element type, rank, dims, bytes and data, padded likewise.
 *
 * RUNS are letters, and every later run must give the bits of the first:
 *   e  buffers end at a page that can't be touched       b  buffers begin behind such a page
 *   r  chunks in reverse order                           t  chunks on threads
 * Memory the operator must write holds another pattern in every run. Inputs can't be written.
 *
 * On standard output a line per run ("run CASE LETTER") before it starts and a line per finding: "differs ...",
 * "fault ...", "refused ...". Built with AddressSanitizer or ThreadSanitizer, what these see as well.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "ascend_rt.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(p, n) ((void)(p), (void)(n))
#define __asan_unpoison_memory_region(p, n) ((void)(p), (void)(n))
#endif

#define MOST_TENSORS 64
#define PAGE 4096ul

/* Memory of `bytes` bytes at `data`, in a mapping whose first and last page can't be touched. */
typedef struct region {
    char name[24];
    unsigned char *map, *data;
    size_t map_bytes, bytes;
} region;

static region regions[2 * MOST_TENSORS + 1];
static int n_regions;
static long now_case;
static char now_run;

static int fail(const char *what) {
    printf("refused %ld %c %s\n", now_case, now_run, what);
    fflush(stdout);
    return 3;
}

static region *reserve(const char *kind, int number, size_t bytes, int at_end) {
    region *r = &regions[n_regions++];
    size_t inside = (bytes + PAGE - 1) / PAGE * PAGE;
    snprintf(r->name, sizeof r->name, "%s %d", kind, number);
    r->bytes = bytes;
    r->map_bytes = inside + 2 * PAGE;
    r->map = mmap(NULL, r->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->map == MAP_FAILED || (inside && mprotect(r->map + PAGE, inside, PROT_READ | PROT_WRITE) != 0)) {
        fail("not enough memory");
        exit(3);
    }
    r->data = r->map + PAGE + (at_end ? inside - bytes : 0);
    return r;
}

static void seal(region *r) {
    unsigned char *first = r->map + PAGE, *end = r->map + r->map_bytes - PAGE;
    __asan_poison_memory_region(first, (size_t)(r->data - first));
    __asan_poison_memory_region(r->data + r->bytes, (size_t)(end - (r->data + r->bytes)));
}

static void release_all(void) {
    for (int i = 0; i < n_regions; i++) {
        __asan_unpoison_memory_region(regions[i].map, regions[i].map_bytes);
        munmap(regions[i].map, regions[i].map_bytes);
    }
    n_regions = 0;
}

/* Says which buffer was missed, and ends. */
static void on_fault(int number, siginfo_t *info, void *context) {
    const unsigned char *at = info->si_addr;
    const char *how = "access";
    char text[256];
#if defined(__x86_64__)
    how = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#endif
    (void)context;
    const char *near = "no buffer", *side = "of";
    long distance = 0;
    for (int i = 0; i < n_regions; i++) {
        const region *r = &regions[i];
        if (at < r->map || at >= r->map + r->map_bytes) continue;
        near = r->name;
        side = at < r->data ? "before" : at < r->data + r->bytes ? "inside" : "after";
        distance = at < r->data ? (long)(r->data - at) : at < r->data + r->bytes ? 0 : (long)(at - r->data - r->bytes);
    }
    int n = snprintf(text, sizeof text, "fault %ld %c %s: %s %ld bytes %s %s\n", now_case, now_run, strsignal(number),
                     how, distance, side, near);
    if (write(1, text, (size_t)n) < 0) _exit(4);
    _exit(4);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

typedef struct work {
    void (*fn)(void *arg, int64_t chunk);
    void *arg;
    int64_t first, step, n;
} work;

static void *take_chunks(void *given) {
    const work *w = given;
    for (int64_t i = w->first; i < w->n; i += w->step) w->fn(w->arg, i);
    return NULL;
}

/* Every thread has its chunks from the start: nothing orders two of them, so ThreadSanitizer sees every race. */
static void on_threads(const asc_custom_call *call, int64_t n, void (*fn)(void *, int64_t), void *arg) {
    work shares[8];
    pthread_t threads[8];
    int wanted = call->threads < 1 ? 1 : call->threads > 8 ? 8 : call->threads, started = 0;
    for (int i = 0; i < wanted; i++) shares[i] = (work){.fn = fn, .arg = arg, .first = i, .step = wanted, .n = n};
    while (started < wanted && pthread_create(&threads[started], NULL, take_chunks, &shares[started]) == 0) started++;
    for (int i = started; i < wanted; i++) take_chunks(&shares[i]);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static void in_reverse(const asc_custom_call *call, int64_t n, void (*fn)(void *, int64_t), void *arg) {
    (void)call;
    while (n > 0) fn(arg, --n);
}

static void in_order(const asc_custom_call *call, int64_t n, void (*fn)(void *, int64_t), void *arg) {
    (void)call;
    for (int64_t i = 0; i < n; i++) fn(arg, i);
}

/* ---- one case -------------------------------------------------------------------------------- */

static size_t element_bytes(int32_t dtype) {
    static const unsigned char sizes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2};
    return dtype > 0 && dtype < (int32_t)sizeof sizes ? sizes[dtype] : 0;
}

static size_t bytes_of(const asc_tensor *t) {
    size_t bytes = element_bytes(t->dtype);
    for (int d = 0; d < t->rank; d++) bytes *= (size_t)t->dims[d];
    return bytes;
}

static void set_strides(asc_tensor *t) {
    int64_t step = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        t->strides[d] = step;
        step *= t->dims[d] > 1 ? t->dims[d] : 1;
    }
}

typedef struct job {
    const int64_t *at;
    FILE *result;
} job;

static const int64_t *read_inputs(const int64_t *at, asc_tensor *in, int n_in, int at_end) {
    for (int i = 0; i < n_in; i++) {
        in[i].dtype = (int32_t)*at++;
        in[i].rank = (int32_t)*at++;
        for (int d = 0; d < in[i].rank; d++) in[i].dims[d] = *at++;
        set_strides(&in[i]);
        size_t bytes = (size_t)*at++;
        if (in[i].dtype) {
            region *r = reserve("input", i, bytes, at_end);
            memcpy(r->data, at, bytes);
            if (r->map_bytes > 2 * PAGE) mprotect(r->map + PAGE, r->map_bytes - 2 * PAGE, PROT_READ);
            seal(r);
            in[i].data = r->data;
        }
        at += (bytes + 7) / 8;
    }
    return at;
}

static void write_tensor(FILE *to, const asc_tensor *t) {
    int64_t head[2] = {t->dtype, t->rank}, bytes = (int64_t)bytes_of(t), zero = 0;
    fwrite(head, 8, 2, to);
    fwrite(t->dims, 8, (size_t)t->rank, to);
    fwrite(&bytes, 8, 1, to);
    fwrite(t->data, 1, (size_t)bytes, to);
    fwrite(&zero, 1, (size_t)((8 - bytes % 8) % 8), to);
}

/* One run; the first one's outputs are written and kept in `kept`, those of later ones compared with it. */
static int run(const asc_custom_op *op, job *j, int n_in, int n_out, int threads, unsigned char **kept, int first) {
    asc_tensor in[MOST_TENSORS] = {0}, out[MOST_TENSORS] = {0};
    char error[256] = "";
    int at_end = now_run != 'b', pattern = 0x5A + 0x25 * (now_run - 'a');
    asc_custom_call call = {.in = in, .out = out, .n_in = (uint32_t)n_in, .n_out = (uint32_t)n_out};
    call.error = error;
    call.error_bytes = sizeof error;
    const int64_t *end = read_inputs(j->at, in, n_in, at_end);
    if (op->infer(&call) != 0) return fail(error);
    for (int o = 0; o < n_out; o++) {
        if (out[o].rank < 0 || out[o].rank > ASC_MAX_RANK || !element_bytes(out[o].dtype)) return fail("bad output");
        set_strides(&out[o]);
        region *r = reserve("output", o, bytes_of(&out[o]), at_end);
        memset(r->data, pattern, r->bytes);
        seal(r);
        out[o].data = r->data;
    }
    call.threads = now_run == 'r' || now_run == 't' ? threads : 1;
    call.parallel = now_run == 't' ? on_threads : now_run == 'r' ? in_reverse : in_order;
    call.workspace_bytes = op->workspace ? op->workspace(&call) : 0;
    region *w = reserve("workspace", 0, (call.workspace_bytes + 63) / 64 * 64, at_end);
    memset(w->data, pattern, w->bytes);
    call.workspace = w->data;
    if (op->compute(&call) != 0) return fail(error);
    for (int o = 0; o < n_out; o++) {
        size_t bytes = bytes_of(&out[o]), k = 0;
        if (first) {
            write_tensor(j->result, &out[o]);
            kept[o] = malloc(bytes + 1);
            if (!kept[o]) return fail("not enough memory");
            memcpy(kept[o], out[o].data, bytes);
        } else if (memcmp(kept[o], out[o].data, bytes) != 0) {
            while (kept[o][k] == ((unsigned char *)out[o].data)[k]) k++;
            printf("differs %ld %c output %d element %zu\n", now_case, now_run, o, k / element_bytes(out[o].dtype));
        }
    }
    release_all();
    j->at = end;
    return 0;
}

static int run_case(const asc_custom_op *op, job *j, const char *runs) {
    int n_in = (int)j->at[0], n_out = (int)j->at[1], threads = (int)j->at[2];
    unsigned char *kept[MOST_TENSORS] = {0};
    int failed = 0;
    if (n_in > MOST_TENSORS || n_out > MOST_TENSORS) return fail("too many tensors");
    const int64_t *begin = j->at + 3;
    for (const char *r = runs; *r && !failed; r++) {
        now_run = *r;
        printf("run %ld %c\n", now_case, now_run);
        fflush(stdout);
        j->at = begin;
        failed = run(op, j, n_in, n_out, threads, kept, r == runs);
    }
    for (int o = 0; o < n_out; o++) free(kept[o]);
    return failed;
}

static void *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
    long bytes = ftell(file);
    void *data = bytes > 0 ? malloc((size_t)bytes) : NULL;
    rewind(file);
    if (data && fread(data, 1, (size_t)bytes, file) != (size_t)bytes) data = NULL;
    fclose(file);
    return data;
}

static const asc_custom_op *find(const char *library, const char *op_type) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        printf("refused 0 - %s\n", dlerror());
        return NULL;
    }
    asc_get_custom_op_fn get = NULL;
    void *symbol = dlsym(handle, "asc_get_custom_op");
    memcpy(&get, &symbol, sizeof get);
    const asc_custom_op *op = get ? get(ASC_CUSTOM_OP_VERSION, op_type) : NULL;
    if (!op) printf("refused 0 - the library has no operator %s\n", op_type);
    return op;
}

static void limit(int what, const char *text) {
    rlim_t value = (rlim_t)strtoull(text, NULL, 10);
    struct rlimit both = {value, value};
    if (value) setrlimit(what, &both);
}

int main(int argc, char **argv) {
    if (argc != 8) return 2;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    limit(RLIMIT_CPU, argv[6]);
    limit(RLIMIT_AS, argv[7]);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
#else
    (void)on_fault;
#endif
    job j = {.at = read_file(argv[3]), .result = fopen(argv[4], "wb")};
    if (!j.at || !j.result) return 2;
    const asc_custom_op *op = find(argv[1], argv[2]);
    int failed = op ? 0 : 3;
    long cases = (long)*j.at++;
    for (now_case = 0; now_case < cases && !failed; now_case++) failed = run_case(op, &j, argv[5]);
    if (fclose(j.result) != 0) failed = 2;
    if (!failed) printf("done\n");
    fflush(stdout);
    return failed;
}
