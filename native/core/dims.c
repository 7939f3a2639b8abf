/* Evaluation of dimension expressions, with Python's floor division and modulus. */
#include "dims.h"

#include <stdlib.h>

int32_t asc_dims_make(asc_dims *dims, const asc_plan *plan, asc_status *status) {
    size_t n_symbols = asc_plan_n_symbols(plan), n_nodes = asc_plan_n_dims(plan);
    dims->symbols = calloc(n_symbols + n_nodes + 1, sizeof(int64_t));
    dims->symbol_known = calloc(n_symbols + n_nodes + 1, 1);
    if (!dims->symbols || !dims->symbol_known) {
        asc_dims_free(dims);
        return asc_fail(status, ASC_E_MEMORY, "no memory for the dimensions");
    }
    dims->nodes = dims->symbols + n_symbols;
    dims->states = dims->symbol_known + n_symbols;
    return ASC_OK;
}

void asc_dims_free(asc_dims *dims) {
    free(dims->symbols);
    free(dims->symbol_known);
    *dims = (asc_dims){0};
}

static uint8_t divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest) {
    if (b == 0) return ASC_DIM_BY_ZERO;
    if (b == -1) { /* apart, because INT64_MIN / -1 traps */
        *rest = 0;
        return __builtin_sub_overflow((int64_t)0, a, quotient) ? ASC_DIM_OVERFLOW : ASC_DIM_KNOWN;
    }
    *quotient = a / b;
    *rest = a % b;
    if (*rest != 0 && (*rest < 0) != (b < 0)) {
        *quotient -= 1;
        *rest += b;
    }
    return ASC_DIM_KNOWN;
}

static uint8_t combine(uint32_t op, int64_t a, int64_t b, int64_t *out) {
    int64_t other = 0;
    switch (op) {
        case ASC_DIM_ADD: return __builtin_add_overflow(a, b, out) ? ASC_DIM_OVERFLOW : ASC_DIM_KNOWN;
        case ASC_DIM_SUB: return __builtin_sub_overflow(a, b, out) ? ASC_DIM_OVERFLOW : ASC_DIM_KNOWN;
        case ASC_DIM_MUL: return __builtin_mul_overflow(a, b, out) ? ASC_DIM_OVERFLOW : ASC_DIM_KNOWN;
        case ASC_DIM_FLOORDIV: return divide(a, b, out, &other);
        case ASC_DIM_MOD: return b == -1 ? (*out = 0, ASC_DIM_KNOWN) : divide(a, b, &other, out);
        case ASC_DIM_MAX: *out = a > b ? a : b; return ASC_DIM_KNOWN;
        default: *out = a < b ? a : b; return ASC_DIM_KNOWN; /* ASC_DIM_MIN */
    }
}

void asc_dims_evaluate(asc_dims *dims, const asc_plan *plan) {
    const asc_dim *nodes = asc_plan_dims(plan);
    for (uint32_t i = 0; i < asc_plan_n_dims(plan); i++) {
        const asc_dim *d = &nodes[i];
        uint8_t state = ASC_DIM_KNOWN;
        int64_t value = 0;
        if (d->op == ASC_DIM_CONST) {
            value = d->value;
        } else if (d->op == ASC_DIM_SYMBOL) {
            value = dims->symbols[d->a];
            state = dims->symbol_known[d->a] ? ASC_DIM_KNOWN : ASC_DIM_UNBOUND;
        } else {
            state = dims->states[d->a] ? dims->states[d->a] : dims->states[d->b];
            if (!state) state = combine(d->op, dims->nodes[d->a], dims->nodes[d->b], &value);
        }
        dims->nodes[i] = state ? 0 : value;
        dims->states[i] = state;
    }
}

int32_t asc_dims_take(const asc_dims *dims, uint32_t node, const char *what, const char *name, int64_t *out,
                      asc_status *status) {
    static const char *const WHY[] = {"", "depends on a dimension that no input of the partition gives",
                                      "overflows 64 bits", "divides by zero"};
    if (dims->states[node]) return asc_failf(status, ASC_E_SHAPE, "%s of '%s' %s", what, name, WHY[dims->states[node]]);
    *out = dims->nodes[node];
    return ASC_OK;
}
