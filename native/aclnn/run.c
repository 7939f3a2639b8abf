/* run.c - one run of an operator in its stream's thread: its memory, its arguments, how it ends; and kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"
#include "operator.h"

#define ALIGNMENT 64
#define ROOM 192 /* kernels read and write whole vectors */

typedef struct block {
    struct block *next;
    char pad[ALIGNMENT - sizeof(struct block *)];
} block;

struct asc_run {
    const asc_operator_call *call;
    block *blocks;
    int item; /* of lists, for formulas */
    int32_t code;
    jmp_buf stopped;
};

void asc_stop(asc_run *run, int32_t code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    asc_status *status = run->call->status;
    status->code = code;
    status->node_name[0] = 0;
    vsnprintf(status->text, sizeof status->text, format, arguments);
    va_end(arguments);
    run->code = code;
    longjmp(run->stopped, 1);
}

void *asc_bytes(asc_run *run, size_t bytes) {
    block *b = NULL;
    size_t whole = sizeof *b + (bytes + ROOM + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole > bytes) b = aligned_alloc(ALIGNMENT, whole);
    if (!b) asc_stop(run, ASC_E_MEMORY, "this machine has no %zu bytes left", bytes);
    b->next = run->blocks;
    run->blocks = b;
    return b + 1;
}

static const asc_recipe *recipe_of(const asc_operator_call *call) {
    return call->row->own;
}

int32_t asc_recipe_run(const asc_operator_call *call) {
    asc_run *run = calloc(1, sizeof *run);
    if (!run) return ASC_E_MEMORY;
    run->call = call;
    if (setjmp(run->stopped) == 0) {
        const asc_recipe *recipe = recipe_of(call);
        if (recipe->compute)
            recipe->compute(run);
        else
            asc_run_formula(run, recipe->formula);
    }
    for (block *b = run->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    int32_t code = run->code;
    free(run);
    return code;
}

/* ---- arguments ---------------------------------------------------------------------------------------------- */

const asc_operator *asc_run_row(const asc_run *run) {
    return run->call->row;
}

asc_status *asc_run_status(asc_run *run) {
    return run->call->status;
}

const asc_argument *asc_arg(const asc_run *run, int i) {
    return &run->call->arguments[i];
}

bool asc_given_at(const asc_run *run, int i) {
    return asc_arg(run, i)->count > 0;
}

tensor asc_in(asc_run *run, int i) {
    const asc_argument *a = asc_arg(run, i);
    if (a->count < 1) asc_stop(run, ASC_E_ARGUMENT, "%s was not given", asc_run_row(run)->names[i]);
    return a->tensors[0];
}

tensor asc_of(asc_run *run, int i, int32_t dtype) {
    return asc_cast(run, asc_in(run, i), dtype);
}

tensor asc_f32(asc_run *run, int i) {
    return asc_of(run, i, ASC_FLOAT32);
}

int64_t asc_int(const asc_run *run, int i) {
    const asc_argument *a = asc_arg(run, i);
    return a->kind == 'S' ? (a->count > 0 ? a->numbers[0].i : 0) : a->kind == 'd' ? (int64_t)a->d : a->i;
}

double asc_float(const asc_run *run, int i) {
    const asc_argument *a = asc_arg(run, i);
    return a->kind == 'S' ? (a->count > 0 ? a->numbers[0].d : 0) : a->kind == 'd' ? a->d : (double)a->i;
}

/* ---- kernels and formulas ------------------------------------------------------------------------------------- */

void asc_call_kernel(asc_run *run, const char *op, int n_in, tensor *in, int n_out, tensor *out, int n_ints,
                     const int64_t *ints, int n_floats, const double *floats) {
    asc_status status = {0};
    int32_t code = asc_kernel_call(-1, op, in, (uint32_t)n_in, out, (uint32_t)n_out, ints, (uint32_t)n_ints, floats,
                                   (uint32_t)n_floats, 0, &status);
    if (code != ASC_OK) asc_stop(run, code, "%s: %s", op, status.text);
}

/* The dims that operands broadcast to. */
static void broadcast(asc_run *run, tensor *shape, const tensor *t) {
    int rank = t->rank > shape->rank ? t->rank : shape->rank;
    for (int i = 0; i < rank; i++) {
        int here = shape->rank - 1 - i, there = t->rank - 1 - i;
        int64_t a = here < 0 ? 1 : shape->dims[here], b = there < 0 ? 1 : t->dims[there];
        ASC_STOP_UNLESS(run, a == b || a == 1 || b == 1, "axes of %lld and %lld elements don't broadcast", (long long)a,
                        (long long)b);
        if (here >= 0) shape->dims[here] = a == 1 ? b : a;
    }
    if (t->rank <= shape->rank) return;
    int more = t->rank - shape->rank;
    memmove(shape->dims + more, shape->dims, (size_t)shape->rank * sizeof *shape->dims);
    memcpy(shape->dims, t->dims, (size_t)more * sizeof *shape->dims);
    shape->rank = rank;
}

/* Bytes from the first element to behind the last. */
static size_t span(const tensor *t) {
    size_t last = 0;
    for (int i = 0; i < t->rank; i++) {
        if (!t->dims[i]) return 0;
        last += (size_t)(t->dims[i] - 1) * (size_t)t->strides[i];
    }
    return (last + 1) * asc_dtype_bytes(t->dtype);
}

/* Whether writing `to` element by element could change elements of `t` that are read later. */
static bool clobbers(const tensor *to, const tensor *t) {
    const char *a = to->data, *b = t->data;
    if (a + span(to) <= b || b + span(t) <= a) return false;
    if (a != b || to->dtype != t->dtype || to->rank != t->rank) return true;
    return memcmp(to->dims, t->dims, sizeof(int64_t) * (size_t)to->rank) != 0 ||
           memcmp(to->strides, t->strides, sizeof(int64_t) * (size_t)to->rank) != 0;
}

tensor asc_evaluate(asc_run *run, const char *formula, int n, const asc_name *names, const tensor *into) {
    asc_program *p = asc_bytes(run, sizeof *p);
    asc_compile(run, formula, n, names, into->dtype, p);
    tensor in[ASC_EW_MAX_INPUTS], shape = {.rank = 0}, out = *into;
    bool direct = into->data && asc_is_contiguous(*into);
    for (int i = 0; i < p->n_inputs; i++) {
        in[i] = *names[p->inputs[i]].tensor;
        broadcast(run, &shape, &in[i]);
        if (into->data && clobbers(into, &in[i])) direct = false;
    }
    if (into->data) {
        tensor target = shape;
        broadcast(run, &target, into);
        ASC_STOP_UNLESS(
            run, target.rank == into->rank && !memcmp(target.dims, into->dims, sizeof(int64_t) * (size_t)target.rank),
            "the operands broadcast to more elements than the output has");
        shape = target;
    }
    if (!direct) out = asc_new(run, into->dtype, shape.rank, shape.dims);
    if (asc_elements(out) > 0)
        asc_call_kernel(run, "elementwise", p->n_inputs, in, 1, &out, p->n_ints, p->ints, p->n_floats, p->floats);
    if (into->data && !direct) {
        asc_store(run, *into, out);
        return *into;
    }
    return out;
}

tensor asc_formula(asc_run *run, int32_t dtype, const char *formula, int n, const tensor *operands,
                   const double *numbers, int n_numbers) {
    static const char *const tensors[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const char *const values[] = {"p", "q", "r", "s", "t", "u"};
    asc_name names[14];
    for (int i = 0; i < n; i++) names[i] = (asc_name){.name = tensors[i], .tensor = &operands[i]};
    for (int i = 0; i < n_numbers; i++)
        names[n + i] =
            (asc_name){.name = values[i], .number = {.dtype = ASC_FLOAT64, .i = (int64_t)numbers[i], .d = numbers[i]}};
    return asc_evaluate(run, formula, n + n_numbers, names, &(tensor){.dtype = dtype});
}

static bool is_list(char kind) {
    return strchr("LMQZ", kind) != NULL;
}

/* The arguments' names, at item k of lists; the output's position. */
static int name_arguments(const asc_operator_call *call, int k, asc_name *names, int *out) {
    int n = 0;
    for (uint32_t i = 0; i < call->n; i++) {
        const asc_argument *a = &call->arguments[i];
        int at = is_list(a->kind) ? k : 0;
        asc_name name = {.name = call->row->names[i]};
        if (strchr("ORMQ", a->kind) && *out < 0) *out = (int)i;
        if (strchr("TORLMQ", a->kind) && at < a->count)
            name.tensor = &a->tensors[at];
        else if (strchr("SZ", a->kind))
            name.number = at < a->count ? a->numbers[at] : (asc_number){.dtype = ASC_BOOL};
        else if (a->kind == 'i' || a->kind == 'b')
            name.number = (asc_number){ASC_INT64, a->i, (double)a->i};
        else if (a->kind == 'd')
            name.number = (asc_number){ASC_FLOAT64, (int64_t)a->d, a->d};
        else
            continue;
        names[n++] = name;
    }
    return n;
}

void asc_run_formula(asc_run *run, const char *formula) {
    asc_name names[24];
    int items = 1;
    for (uint32_t i = 0; i < run->call->n; i++)
        if (strchr("LMQ", run->call->arguments[i].kind)) items = run->call->arguments[i].count;
    for (uint32_t i = 0; i < run->call->n; i++)
        ASC_STOP_UNLESS(run, !is_list(run->call->arguments[i].kind) || run->call->arguments[i].count == items,
                        "lists of %d and %d items", items, run->call->arguments[i].count);
    for (int k = 0; k < items; k++) {
        int out = -1;
        int n = name_arguments(run->call, k, names, &out);
        const asc_argument *a = asc_arg(run, out);
        asc_evaluate(run, formula, n, names, &a->tensors[is_list(a->kind) ? k : 0]);
    }
}

int32_t asc_recipe_check(const asc_operator_call *call) {
    if (!recipe_of(call)->formula) return ASC_OK;
    uint32_t out = 0;
    while (out < call->n - 1 && !strchr("ORMQ", call->arguments[out].kind)) out++;
    const asc_argument *written = &call->arguments[out];
    for (uint32_t i = 0; i < call->n; i++) {
        const asc_argument *a = &call->arguments[i];
        if (a->kind != 'T' || a->count < 1 || is_list(written->kind)) continue;
        if (!asc_mentions(recipe_of(call)->formula, call->row->names[i])) continue;
        const tensor *t = a->tensors, *to = written->tensors;
        bool fits = t->rank <= to->rank;
        for (int k = 1; fits && k <= t->rank; k++)
            fits = t->dims[t->rank - k] == 1 || t->dims[t->rank - k] == to->dims[to->rank - k];
        if (fits) continue;
        snprintf(call->status->text, sizeof call->status->text, "%s does not broadcast to the shape of %s",
                 call->row->names[i], call->row->names[out]);
        return ASC_E_SHAPE;
    }
    return ASC_OK;
}
