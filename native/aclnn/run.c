/* run.c - one run of an operator in its stream's thread: its memory, its arguments, its kernels, how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

int32_t asc_run_of(const asc_operator_call *call, void (*compute)(asc_run *run)) {
    asc_run *run = calloc(1, sizeof *run);
    if (!run) return ASC_E_MEMORY;
    run->call = call;
    if (setjmp(run->stopped) == 0) compute(run);
    for (block *b = run->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    int32_t code = run->code;
    free(run);
    return code;
}

/* ---- arguments ---------------------------------------------------------------------------------------------- */

const asc_operator_call *asc_run_call(const asc_run *run) {
    return run->call;
}

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

int64_t asc_int(const asc_run *run, int i) {
    const asc_argument *a = asc_arg(run, i);
    return a->kind == 'S' ? (a->count > 0 ? a->numbers[0].i : 0) : a->kind == 'd' ? (int64_t)a->d : a->i;
}

double asc_float(const asc_run *run, int i) {
    const asc_argument *a = asc_arg(run, i);
    return a->kind == 'S' ? (a->count > 0 ? a->numbers[0].d : 0) : a->kind == 'd' ? a->d : (double)a->i;
}

void asc_call_kernel(asc_run *run, const char *op, int n_in, tensor *in, int n_out, tensor *out, int n_ints,
                     const int64_t *ints, int n_floats, const double *floats) {
    asc_status status = {0};
    int32_t code = asc_kernel_call(-1, op, in, (uint32_t)n_in, out, (uint32_t)n_out, ints, (uint32_t)n_ints, floats,
                                   (uint32_t)n_floats, 0, &status);
    if (code != ASC_OK) asc_stop(run, code, "%s: %s", op, status.text);
}
