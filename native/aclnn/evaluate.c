/* evaluate.c - formulas over tensors, by one call of the elementwise kernel each. */
#include <string.h>

#include "expression.h"
#include "operator.h"

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
        asc_write(*into, out);
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
