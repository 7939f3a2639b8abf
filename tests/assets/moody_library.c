/* A custom operator that behaves as its values say: for tests of what runs it.
 *
 * Input: x, float32. Output: 2 * x, unless an element is one of these. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ascend_rt.h"

enum {
    REFUSES = 1001,
    FAILS_SILENTLY,
    CRASHES,
    ABORTS,
    EXITS,
    HANGS,
    WRITES_PAST,
    EATS_MEMORY,
    LEAVES_A_CHILD,
    CLOSES_FILES,
    SPEAKS,
    STOPS,
    ESCAPES
};

static int32_t infer(asc_custom_call *call) {
    call->out[0] = call->in[0];
    call->out[0].data = NULL;
    return 0;
}

/* What a library does when it is loaded, before anybody knows what it has. */
__attribute__((constructor)) static void loaded(void) {
    if (getenv("MOODY_CRASHES_WHEN_LOADED")) raise(SIGSEGV);
}

static int32_t refuse(const asc_custom_call *call) {
    strncpy(call->error, "it doesn't like 1001", call->error_bytes - 1);
    return 1;
}

static void write_past(float *y) {
    volatile float *at = y;
    for (size_t i = 0; i < (size_t)1 << 32; i++) at[i] = 1e30f;
}

static void *eat(void) {
    for (;;) {
        volatile char *more = malloc(1 << 26);
        if (!more) abort();
        *more = 1;
    }
}

/* How much of what reaches beyond the process succeeds. */
static float escape(void) {
    struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
    char *const nothing[] = {NULL};
    int n = open("/tmp/asc_moody_was_here", O_WRONLY | O_CREAT, 0600) >= 0;
    n += open("/dev/null", O_RDWR) >= 0;
    n += socket(AF_INET, SOCK_STREAM, 0) >= 0;
    n += socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
    n += kill(getppid(), 0) == 0;
    n += setrlimit(RLIMIT_DATA, &most) == 0;
    n += mkdir("/tmp/asc_moody_folder", 0700) == 0;
    n += unlink("/tmp/asc_moody_was_here") == 0;
    n += rename("/tmp/asc_moody_folder", "/tmp/asc_moody_other") == 0;
    (void)execve("/bin/true", nothing, nothing); /* this process would be another, and answer nothing */
    n += open("/etc/hostname", O_RDONLY) < 0 && open("/proc/self/maps", O_RDONLY) < 0; /* reading is no escape */
    return (float)n;
}

static int32_t behave(const asc_custom_call *call, int64_t mood) {
    switch (mood) {
        case REFUSES: return refuse(call);
        case FAILS_SILENTLY: return 7;
        case CRASHES: raise(SIGSEGV); return 0;
        case ABORTS: abort();
        case EXITS: exit(3);
        case HANGS:
            for (volatile int go = 1; go;) {
            }
            return 0;
        case WRITES_PAST: write_past(call->out[0].data); return 0;
        case EATS_MEMORY: eat(); return 0;
        case LEAVES_A_CHILD:
            if (fork() == 0)
                for (;;) pause();
            raise(SIGSEGV);
            return 0;
        case CLOSES_FILES:
            for (int fd = 3; fd < 256; fd++) close(fd);
            for (;;) pause();
        case SPEAKS:
            for (int fd = 3; fd < 64; fd++)
                if (write(fd, "hello", 5) < 0) continue;
            for (;;) pause();
        case STOPS: raise(SIGSTOP); return 0;
        case ESCAPES: *(float *)call->out[0].data = escape(); return 0;
        default: return 0;
    }
}

static int32_t compute(const asc_custom_call *call) {
    const float *x = call->in[0].data;
    float *y = call->out[0].data;
    int64_t n = 1, mood = 0;
    for (int32_t i = 0; i < call->in[0].rank; i++) n *= call->in[0].dims[i];
    for (int64_t i = 0; i < n; i++) {
        y[i] = 2 * x[i];
        if (x[i] >= REFUSES && x[i] <= ESCAPES) mood = (int64_t)x[i];
    }
    return behave(call, mood);
}

static const asc_custom_op OP = {
    .version = ASC_CUSTOM_OP_VERSION,
    .struct_bytes = sizeof(asc_custom_op),
    .op_type = "Moody",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs = 1,
    .infer = infer,
    .compute = compute,
};

__attribute__((visibility("default"))) const asc_custom_op *asc_get_custom_op(uint32_t version, const char *op_type) {
    return version >= 1 && !strcmp(op_type, OP.op_type) ? &OP : NULL;
}
