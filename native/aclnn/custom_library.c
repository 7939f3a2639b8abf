/* custom_library.c - users' operators behind aclnn's two phases: arguments as a call of asc_custom_op. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aclnn/asc_custom_library.h"
#include "asc_tiled_op.h"
#include "memory.h"

#define MOST_TENSORS 256
#define MOST_ATTRIBUTES 64

/* ---- the library ------------------------------------------------------------------------------------------ */

static int32_t say(asc_status *status, int32_t code, const char *text) {
    snprintf(status->text, sizeof status->text, "%s", text);
    return code;
}

/* A file of this process alone with the bytes: what dlopen takes. It stays, as the library does. -1: no room. */
static int file_of(const unsigned char *bytes, size_t count) {
    int file = memfd_create("operator", MFD_CLOEXEC);
    for (size_t done = 0; file >= 0 && done < count;) {
        ssize_t n = write(file, bytes + done, count - done);
        if (n <= 0) {
            close(file);
            return -1;
        }
        done += (size_t)n;
    }
    return file;
}

/* What asc_custom_op_load does with a file that has a path. */
static const asc_custom_op *loaded(const asc_custom_library *library, asc_status *status) {
    char path[64];
    int file = file_of(library->begin, (size_t)(library->end - library->begin));
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    void *handle = file < 0 ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, "asc_get_custom_op") : NULL;
    asc_get_custom_op_fn get = NULL;
    memcpy(&get, &symbol, sizeof get);
    const asc_custom_op *op = get ? get(ASC_CUSTOM_OP_VERSION, library->type) : NULL;
    if (op && op->version <= ASC_CUSTOM_OP_VERSION && op->struct_bytes >= sizeof *op) return op;
    say(status, ASC_E_IO, file < 0 ? "this process may have no more files" : "the operator's library can't be loaded");
    return NULL;
}

static int32_t open_library(asc_custom_library *library, asc_status *status) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!library->opened) library->opened = loaded(library, status);
    pthread_mutex_unlock(&lock);
    return library->opened ? ASC_OK : ASC_E_IO;
}

/* ---- a call of it ----------------------------------------------------------------------------------------- */

typedef struct operands {
    asc_tensor in[MOST_TENSORS], out[MOST_TENSORS];
    uint32_t n_in, n_out;
    asc_attr attributes[MOST_ATTRIBUTES];
    void *copies[2 * MOST_TENSORS]; /* contiguous ones of views with gaps; NULL: the tensor itself */
    char error[384];
} operands;

static size_t count_of(const asc_tensor *t) {
    size_t count = 1;
    for (int i = 0; i < t->rank; i++) count *= (size_t)t->dims[i];
    return count;
}

static bool is_contiguous(const asc_tensor *t) {
    int64_t step = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (t->dims[i] != 1 && t->strides[i] != step) return false;
        step *= t->dims[i];
    }
    return true;
}

/* Elements between a view and a contiguous copy of it. */
static void copy_view(const asc_tensor *view, char *copy, bool to_view) {
    size_t bytes = asc_dtype_bytes(view->dtype), count = count_of(view);
    int64_t at[ASC_MAX_RANK] = {0}, offset = 0;
    for (size_t i = 0; i < count; i++) {
        char *element = (char *)view->data + offset * (int64_t)bytes;
        memcpy(to_view ? element : copy + i * bytes, to_view ? copy + i * bytes : element, bytes);
        for (int d = view->rank - 1; d >= 0; d--) {
            offset += view->strides[d];
            if (++at[d] < view->dims[d]) break;
            offset -= at[d] * view->strides[d];
            at[d] = 0;
        }
    }
}

/* A tensor as the library takes it: without gaps. False: no memory. */
static bool pack(asc_tensor *t, void **copy) {
    if (is_contiguous(t) || !t->data) return true;
    size_t bytes = count_of(t) * asc_dtype_bytes(t->dtype);
    *copy = malloc(bytes ? bytes : 1);
    if (!*copy) return false;
    copy_view(t, *copy, false);
    t->data = *copy;
    for (int i = t->rank - 1, step = 1; i >= 0; i--) {
        t->strides[i] = step;
        step *= (int)t->dims[i];
    }
    return true;
}

static asc_tensor list_tensor(const asc_argument *a) {
    asc_tensor t = {.data = a->ints, .rank = 1, .dims = {a->count}, .strides = {1}};
    t.dtype = a->kind == 'F' ? ASC_FLOAT64 : ASC_INT64;
    return t;
}

static bool add_tensors(asc_tensor *to, uint32_t *n, const asc_argument *a) {
    uint32_t count = a->count < 0 || a->kind == 'I' || a->kind == 'F' || a->kind == 'B' ? 1 : (uint32_t)a->count;
    if (*n + count > MOST_TENSORS) return false;
    for (uint32_t i = 0; i < count; i++)
        to[(*n)++] = a->count < 0             ? (asc_tensor){.dtype = ASC_UNDEFINED}
                     : strchr("IFB", a->kind) ? list_tensor(a)
                                              : a->tensors[i];
    return true;
}

static asc_attr attribute(const char *name, const asc_argument *a) {
    asc_attr attr = {.name = name, .kind = ASC_ATTR_INTS, .count = 1, .ints = &a->i};
    if (strchr("IB", a->kind)) attr.ints = a->ints;
    if (strchr("dF", a->kind)) attr.kind = ASC_ATTR_FLOATS, attr.floats = a->kind == 'd' ? &a->d : a->floats;
    if (a->kind == 'c') attr.kind = ASC_ATTR_STRING, attr.string = a->text;
    if (strchr("IBFc", a->kind)) attr.count = a->count;
    return attr;
}

static int32_t gather(operands *o, const asc_operator_call *call, asc_custom_call *made) {
    const asc_custom_library *library = call->row->own;
    const asc_argument *a = call->arguments;
    uint32_t n_given = 0;
    bool fits = library->n_attrs <= MOST_ATTRIBUTES;
    for (uint32_t i = 0; i < library->n_in && fits; i++) fits = add_tensors(o->in, &o->n_in, a++);
    for (uint32_t i = 0; i < library->n_attrs && fits; i++, a++)
        if (a->count >= 0) o->attributes[n_given++] = attribute(call->row->names[a - call->arguments], a);
    for (uint32_t i = 0; i < library->n_out && fits; i++)
        fits = add_tensors(o->out, &o->n_out, &call->arguments[library->outputs[i]]);
    if (!fits) return say(call->status, ASC_E_ARGUMENT, "it has too many tensors or attributes");
    *made = (asc_custom_call){.in = o->in, .out = o->out, .n_in = o->n_in, .n_out = o->n_out, .threads = 1};
    made->attrs = o->attributes;
    made->n_attrs = n_given;
    made->error = o->error;
    made->error_bytes = sizeof o->error;
    return ASC_OK;
}

/* Whether compute decides the shape of an output. */
static bool is_computed(const asc_custom_op *op, uint32_t output) {
    return output < 32 && op->computed >> output & 1;
}

static int32_t failed(const operands *o, const asc_operator_call *call, int32_t code) {
    return say(call->status, code, o->error[0] ? o->error : "the operator fails without saying why");
}

int32_t asc_custom_library_check(const asc_operator_call *call) {
    asc_custom_library *library = (asc_custom_library *)call->row->own;
    int32_t code = open_library(library, call->status);
    if (code != ASC_OK) return code;
    if (library->opened->struct_bytes < sizeof(asc_tiled_op)) return ASC_OK;
    operands *o = calloc(1, sizeof *o);
    if (!o) return say(call->status, ASC_E_MEMORY, "this machine has no memory left");
    asc_custom_call made;
    code = gather(o, call, &made);
    for (uint32_t i = 0; i < o->n_in && code == ASC_OK; i++)
        if (o->in[i].data) o->in[i].data = asc_real(o->in[i].data);
    if (code == ASC_OK && ((const asc_tiled_op *)library->opened)->tile(&made) != 0)
        code = failed(o, call, ASC_E_SHAPE);
    free(o);
    return code;
}

/* Outputs of a computed shape are as large as there is room, without gaps. */
static int32_t check_room(const operands *o, const asc_operator_call *call) {
    const asc_custom_library *library = call->row->own;
    for (uint32_t i = 0; i < o->n_out; i++)
        if (is_computed(library->opened, i) && !is_contiguous(&o->out[i]))
            return say(call->status, ASC_E_SHAPE, "an output whose shape the operator decides is a view with gaps");
    return ASC_OK;
}

/* Gives the callers' tensors the shapes that compute decided. */
static void resize(const operands *o, const asc_operator_call *call) {
    const asc_custom_library *library = call->row->own;
    for (uint32_t i = 0; i < o->n_out; i++)
        if (is_computed(library->opened, i))
            asc_operator_resize(&call->arguments[library->outputs[i]], o->out[i].rank, o->out[i].dims);
}

int32_t asc_custom_library_run(const asc_operator_call *call) {
    const asc_custom_library *library = call->row->own;
    operands *o = calloc(1, sizeof *o);
    if (!o) return say(call->status, ASC_E_MEMORY, "this machine has no memory left");
    asc_custom_call made;
    int32_t code = gather(o, call, &made);
    if (code == ASC_OK) code = check_room(o, call);
    bool packed = true;
    asc_tensor *views = code == ASC_OK ? malloc((o->n_out + 1) * sizeof *views) : NULL;
    if (views) memcpy(views, o->out, o->n_out * sizeof *views);
    for (uint32_t i = 0; i < o->n_in && packed; i++) packed = pack(&o->in[i], &o->copies[i]);
    for (uint32_t i = 0; i < o->n_out && packed; i++) packed = pack(&o->out[i], &o->copies[MOST_TENSORS + i]);
    if (code == ASC_OK && (!packed || !views))
        code = say(call->status, ASC_E_MEMORY, "this machine has no memory left");
    if (code == ASC_OK && library->opened->compute(&made) != 0) code = failed(o, call, ASC_E_RUN);
    for (uint32_t i = 0; i < o->n_out && code == ASC_OK; i++)
        if (o->copies[MOST_TENSORS + i]) copy_view(&views[i], o->copies[MOST_TENSORS + i], true);
    if (code == ASC_OK) resize(o, call);
    for (size_t i = 0; i < 2 * MOST_TENSORS; i++) free(o->copies[i]);
    free(views);
    free(o);
    return code;
}
