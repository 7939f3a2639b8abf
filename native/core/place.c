/* Binding, second step: lifetimes of the temporaries, memory taken over in place, arena offsets. */
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "model.h"

static const uint32_t *operands_of(const asc_plan *plan, const asc_insn *insn) {
    return asc_plan_indices(plan) + insn->first_operand;
}

static int is_temp(const asc_plan *plan, uint32_t v) {
    return asc_plan_values(plan)[v].kind == ASC_VALUE_TEMP;
}

/* Whether the bundle asks that every temporary keep memory of its own: META says reuse_memory = 0. */
static int keeps_memory(const asc_plan *plan) {
    for (uint32_t i = 0; i < asc_plan_n_metas(plan); i++) {
        const asc_meta *m = &asc_plan_metas(plan)[i];
        if (!strcmp(asc_plan_string(plan, m->key), "reuse_memory"))
            return !strcmp(asc_plan_string(plan, m->value), "0");
    }
    return 0;
}

static void keep_all(asc_bound *b) {
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t v = 0; p->n_insns && v < p->n_values; v++) b->storage[v].last_use = p->n_insns - 1;
}

static void find_lifetimes(asc_bound *b) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t i = 0; i < p->n_insns; i++) {
        const asc_insn *insn = &asc_plan_insns(plan)[p->first_insn + i];
        for (uint32_t k = 0; k < (uint32_t)insn->n_in + insn->n_out; k++) {
            uint32_t v = operands_of(plan, insn)[k];
            if (v == ASC_NONE) continue;
            asc_storage *s = &b->storage[plan->roots[v] - p->first_value];
            if (k >= insn->n_in) s->first_use = i;
            s->last_use = i;
        }
    }
}

/* Whether output 0 may continue in the memory of input v: a whole temporary of the same shape that
 * nothing reads later, and that this instruction does not also read through a view. */
static int may_take(const asc_bound *b, const asc_insn *insn, uint32_t step, uint32_t v, const asc_tensor *out) {
    const asc_plan *plan = &b->model->plan;
    uint32_t first = asc_bound_partition(b)->first_value;
    if (v == ASC_NONE || !is_temp(plan, v) || b->storage[v - first].last_use != step) return 0;
    const asc_tensor *in = &b->values[v - first];
    if (in->dtype != out->dtype || !asc_same_dims(in, out)) return 0;
    for (uint32_t k = 0; k < insn->n_in; k++) {
        uint32_t other = operands_of(plan, insn)[k];
        if (other != ASC_NONE && other != v && plan->roots[other] == v) return 0;
    }
    return 1;
}

/* How often an instruction reads a value. */
static uint32_t count_reads(const asc_plan *plan, const asc_insn *insn, uint32_t v) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < insn->n_in; k++) n += operands_of(plan, insn)[k] == v;
    return n;
}

static void take_in_place(asc_bound *b, uint32_t step) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    const asc_insn *insn = &asc_plan_insns(plan)[p->first_insn + step];
    const asc_kernel *row = plan->rows[p->first_insn + step];
    if (!row || !(row->flags & (ASC_K_INPLACE | ASC_K_INPLACE_LAST)) || !insn->n_in || !insn->n_out) return;
    uint32_t out = operands_of(plan, insn)[insn->n_in];
    if (out == ASC_NONE || !is_temp(plan, out)) return;
    asc_storage *s = &b->storage[out - p->first_value];
    int any = (row->flags & ASC_K_INPLACE) != 0;
    uint32_t last = insn->n_in - 1u;
    if (!any && count_reads(plan, insn, operands_of(plan, insn)[last]) > 1) return;
    for (uint32_t k = any ? 0 : last; k < insn->n_in && s->takes == ASC_NONE; k++)
        if (may_take(b, insn, step, operands_of(plan, insn)[k], &b->values[out - p->first_value]))
            s->takes = operands_of(plan, insn)[k] - p->first_value;
}

/* Temporaries with bytes, in the order they are written; slots: per value, its buffer; keeps: none is taken over. */
static uint32_t list_buffers(asc_bound *b, asc_buffer *buffers, uint32_t *values, uint32_t *slots, int keeps) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_insns; i++) {
        const asc_insn *insn = &asc_plan_insns(plan)[p->first_insn + i];
        if (!keeps) take_in_place(b, i);
        for (uint32_t k = insn->n_in; k < (uint32_t)insn->n_in + insn->n_out; k++) {
            uint32_t v = operands_of(plan, insn)[k];
            if (v == ASC_NONE || !is_temp(plan, v)) continue;
            asc_storage *s = &b->storage[v - p->first_value];
            const asc_tensor *t = &b->values[v - p->first_value];
            s->bytes = (uint64_t)asc_numel(t) * asc_dtype_bytes(t->dtype);
            if (!s->bytes) {
                s->takes = ASC_NONE;
                continue;
            }
            buffers[n] =
                (asc_buffer){.bytes = asc_align_up(s->bytes, ASC_ALIGN), .first = s->first_use, .last = s->last_use};
            buffers[n].takes = s->takes == ASC_NONE ? ASC_NO_BUFFER : slots[s->takes];
            slots[v - p->first_value] = n;
            values[n++] = v - p->first_value;
        }
    }
    return n;
}

int32_t asc_bound_place(asc_bound *b, asc_status *status) {
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t v = 0; v < p->n_values; v++) b->storage[v].takes = ASC_NONE;
    find_lifetimes(b);
    int keeps = keeps_memory(&b->model->plan);
    if (keeps) keep_all(b);
    asc_buffer *buffers = malloc((p->n_values + 1) * sizeof *buffers);
    uint32_t *values = malloc((2 * (uint64_t)p->n_values + 1) * sizeof *values);
    int ok = buffers && values;
    if (ok) {
        uint32_t n = list_buffers(b, buffers, values, values + p->n_values, keeps);
        ok = asc_arena_plan(buffers, n, p->n_insns, &b->arena_bytes);
        for (uint32_t i = 0; i < n; i++) b->storage[values[i]].offset = buffers[i].offset;
    }
    free(buffers);
    free(values);
    return ok ? ASC_OK : asc_fail(status, ASC_E_MEMORY, "the temporaries don't fit in memory");
}
