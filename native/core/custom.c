/* Custom-operator libraries: operators whose code comes in a shared object (asc_custom_op). */
#include "custom.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rows.h"

#define MAX_CUSTOM_OUTPUTS 64

static int is_sound(const asc_custom_op *op, const char *op_type) {
    return op->version >= 1 && op->version <= ASC_CUSTOM_OP_VERSION && op->struct_bytes >= sizeof *op && op->op_type &&
           strcmp(op->op_type, op_type) == 0 && op->infer && op->compute && op->min_inputs <= op->max_inputs &&
           op->n_outputs >= 1 && op->n_outputs <= MAX_CUSTOM_OUTPUTS;
}

int32_t asc_custom_op_find(void *handle, const char *library, const char *op_type, const asc_custom_op **out,
                           asc_status *status) {
    asc_get_custom_op_fn get = NULL;
    void *symbol = dlsym(handle, "asc_get_custom_op");
    memcpy(&get, &symbol, sizeof get);
    if (!get) return asc_failf(status, ASC_E_UNSUPPORTED, "%s does not export asc_get_custom_op", library);
    const asc_custom_op *op = get(ASC_CUSTOM_OP_VERSION, op_type);
    if (!op) return asc_failf(status, ASC_E_UNSUPPORTED, "%s has no operator '%s'", library, op_type);
    if (!is_sound(op, op_type))
        return asc_failf(status, ASC_E_VERSION, "%s: its asc_custom_op of '%s' is incomplete or not of version %d",
                         library, op_type, ASC_CUSTOM_OP_VERSION);
    *out = op;
    return ASC_OK;
}

const asc_custom_op *asc_custom_op_load(const char *path, const char *op_type, asc_status *status) {
    asc_status_begin(status);
    char *real = realpath(path, NULL); /* dlopen would search the system for a name without a slash */
    if (!real) {
        asc_failf(status, ASC_E_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    struct stat info;
    if (stat(real, &info) == 0 && !S_ISREG(info.st_mode)) { /* dlopen would wait for a pipe's other end */
        free(real);
        asc_failf(status, ASC_E_IO, "%s: it is no regular file", path);
        return NULL;
    }
    void *handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
    free(real);
    if (!handle) {
        asc_failf(status, ASC_E_IO, "the library can't be loaded: %s", dlerror());
        return NULL;
    }
    const asc_custom_op *op = NULL;
    if (asc_custom_op_find(handle, path, op_type, &op, status) != ASC_OK) dlclose(handle);
    return op;
}

static asc_custom_call call_of(const asc_call *call, asc_tensor *out, char *error, uint32_t error_bytes) {
    asc_custom_call c = {.in = call->in, .out = out, .attrs = call->attrs, .n_attrs = call->n_attrs};
    c.n_in = (uint32_t)call->n_in;
    c.n_out = (uint32_t)call->n_out;
    c.threads = call->threads;
    c.workspace = call->workspace;
    c.workspace_bytes = call->workspace_bytes;
    c.error = error;
    c.error_bytes = error_bytes;
    c.host = call;
    return c;
}

static int32_t library_failed(const asc_call *call, int32_t code, const char *doing, const asc_custom_call *c) {
    c->error[c->error_bytes - 1] = 0;
    const char *type = ((const asc_custom_op *)call->native)->op_type;
    if (c->error[0]) return asc_failf(call->status, code, "operator '%s': %s", type, c->error);
    return asc_failf(call->status, code, "operator '%s' failed in %s without saying why", type, doing);
}

static int32_t check_arity(const asc_call *call, const asc_custom_op *op) {
    for (int32_t i = 0; i < call->n_out; i++)
        if (call->out[i].dtype == ASC_UNDEFINED)
            return asc_failf(call->status, ASC_E_UNSUPPORTED, "operator '%s' needs all its outputs", op->op_type);
    if ((uint32_t)call->n_in >= op->min_inputs && (uint32_t)call->n_in <= op->max_inputs &&
        (uint32_t)call->n_out == op->n_outputs)
        return ASC_OK;
    return asc_failf(call->status, ASC_E_SHAPE, "operator '%s' takes %u to %u inputs and %u outputs, not %d and %d",
                     op->op_type, op->min_inputs, op->max_inputs, op->n_outputs, call->n_in, call->n_out);
}

/* The plan's output shapes size the buffers, so the library must agree with them. */
int32_t asc_custom_prepare(asc_call *call) {
    const asc_custom_op *op = call->native;
    asc_tensor in[ASC_MAX_OPERANDS], out[MAX_CUSTOM_OUTPUTS];
    char error[384] = "";
    int32_t code = check_arity(call, op);
    if (code != ASC_OK) return code;
    if (op->computed)
        return asc_failf(call->status, ASC_E_UNSUPPORTED, "operator '%s' decides the shape of an output while it runs",
                         op->op_type);
    memset(out, 0, sizeof out);
    for (int32_t i = 0; i < call->n_in; i++) {
        in[i] = call->in[i];
        if (!(in[i].flags & ASC_T_CONST)) in[i].data = NULL;
    }
    asc_custom_call c = call_of(call, out, error, sizeof error);
    c.in = in;
    if (op->infer(&c) != 0) return library_failed(call, ASC_E_SHAPE, "infer", &c);
    for (int32_t i = 0; i < call->n_out; i++)
        if (out[i].dtype != call->out[i].dtype || out[i].rank != call->out[i].rank ||
            !asc_same_dims(&out[i], &call->out[i]))
            return asc_failf(call->status, ASC_E_SHAPE,
                             "operator '%s' infers another type or shape for output %d than the bundle", op->op_type,
                             i);
    c.out = call->out;
    if (op->workspace) call->workspace_bytes = op->workspace(&c);
    return ASC_OK;
}

typedef struct library_job {
    void (*fn)(void *arg, int64_t chunk);
    void *arg;
} library_job;

static void run_library_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const library_job *job = arg;
    job->fn(job->arg, chunk);
}

static void run_parallel(const asc_custom_call *call, int64_t n_chunks, void (*fn)(void *, int64_t), void *arg) {
    library_job job = {fn, arg};
    asc_parallel(call->host, n_chunks, run_library_chunk, &job);
}

int32_t asc_custom_run(const asc_call *call) {
    char error[384] = "";
    asc_custom_call c = call_of(call, call->out, error, sizeof error);
    c.parallel = run_parallel;
    if (((const asc_custom_op *)call->native)->compute(&c) == 0) return ASC_OK;
    return library_failed(call, ASC_E_RUN, "compute", &c);
}

void asc_custom_schedule(const asc_library *library, char *text, size_t room) {
    const char *said = library->handle ? dlsym(library->handle, "asc_op_schedule") : NULL;
    if (said) asc_format(text, room, "%s", said);
}
