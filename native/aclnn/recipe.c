/* recipe.c - what a row of operators.def computes: a formula of its arguments' names, or a function. */
#include <stdio.h>
#include <string.h>

#include "expression.h"
#include "operator.h"

static const asc_recipe *recipe_of(const asc_operator_call *call) {
    return call->row->own;
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
    const asc_operator_call *call = asc_run_call(run);
    asc_name names[24];
    int items = 1;
    for (uint32_t i = 0; i < call->n; i++)
        if (strchr("LMQ", call->arguments[i].kind)) items = call->arguments[i].count;
    for (uint32_t i = 0; i < call->n; i++)
        ASC_STOP_UNLESS(run, !is_list(call->arguments[i].kind) || call->arguments[i].count == items,
                        "lists of %d and %d items", items, call->arguments[i].count);
    for (int k = 0; k < items; k++) {
        int out = -1;
        int n = name_arguments(call, k, names, &out);
        const asc_argument *a = asc_arg(run, out);
        asc_evaluate(run, formula, n, names, &a->tensors[is_list(a->kind) ? k : 0]);
    }
}

/* Integers of 4 bits lie two to a byte, the first in its lower bits: kernels get them as int8. */
static void unpack(asc_run *run, tensor *t) {
    tensor made = asc_like(run, *t, ASC_INT8);
    int64_t index[ASC_MAX_RANK] = {0}, at = 0;
    for (int64_t i = 0; i < asc_elements(made); i++) {
        uint8_t byte = ((const uint8_t *)t->data)[at / 2];
        ((int8_t *)made.data)[i] = (int8_t)((int8_t)(at % 2 ? byte : byte << 4) >> 4);
        for (int k = t->rank - 1; k >= 0; k--) {
            at += t->strides[k];
            if (++index[k] < t->dims[k]) break;
            at -= index[k] * t->strides[k];
            index[k] = 0;
        }
    }
    *t = made;
}

static void unpack_arguments(asc_run *run) {
    const asc_operator_call *call = asc_run_call(run);
    for (uint32_t i = 0; i < call->n; i++)
        for (int k = 0; strchr("TL", call->arguments[i].kind) && k < call->arguments[i].count; k++)
            if (call->arguments[i].tensors[k].dtype == ASC_INT4) unpack(run, &call->arguments[i].tensors[k]);
}

static void compute(asc_run *run) {
    unpack_arguments(run);
    const asc_recipe *recipe = recipe_of(asc_run_call(run));
    if (recipe->compute)
        recipe->compute(run);
    else
        asc_run_formula(run, recipe->formula);
}

int32_t asc_recipe_run(const asc_operator_call *call) {
    return asc_run_of(call, compute);
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
