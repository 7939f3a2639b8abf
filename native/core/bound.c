/* A partition bound to input shapes. */
#include <stdlib.h>

#include "model.h"

typedef struct sizes {
    uint64_t operands, ints, attrs, key, notes;
} sizes;

static sizes count_sizes(const asc_plan *plan, const asc_partition *p) {
    sizes n = {0};
    for (uint32_t i = 0; i < p->n_inputs; i++)
        n.key += asc_plan_values(plan)[asc_plan_indices(plan)[p->first_input + 2 * i + 1]].rank;
    for (uint32_t i = 0; i < p->n_insns; i++) {
        const asc_insn *insn = &asc_plan_insns(plan)[p->first_insn + i];
        n.operands += (uint64_t)insn->n_in + insn->n_out;
        n.ints += insn->n_ints;
        n.attrs += insn->n_attrs;
        n.notes += asc_note_room(plan->rows[p->first_insn + i]);
        for (uint32_t k = 0; k < insn->n_attrs; k++) {
            const asc_attr_record *a = &asc_plan_attrs(plan)[insn->first_attr + k];
            n.ints += a->kind == ASC_ATTR_INTS ? a->count : 0;
        }
    }
    return n;
}

static int allocate(asc_bound *b) {
    const asc_partition *p = asc_bound_partition(b);
    sizes n = count_sizes(&b->model->plan, p);
    b->key = calloc(n.key + 1, sizeof *b->key);
    b->values = calloc(p->n_values + 1, sizeof *b->values);
    b->storage = calloc(p->n_values + 1, sizeof *b->storage);
    b->outputs = calloc(p->n_outputs + 1, sizeof *b->outputs);
    b->boundary = calloc((uint64_t)p->n_inputs + p->n_outputs + 1, sizeof *b->boundary);
    b->calls = calloc(p->n_insns + 1, sizeof *b->calls);
    b->runs = calloc(p->n_insns + 1, sizeof *b->runs);
    b->notes = calloc(n.notes + 1, sizeof *b->notes);
    b->operands = calloc(n.operands + 1, sizeof *b->operands);
    b->ints = calloc(n.ints + 1, sizeof *b->ints);
    b->attrs = calloc(n.attrs + 1, sizeof *b->attrs);
    b->boundary_patches = calloc(n.operands + 1, sizeof *b->boundary_patches);
    b->n_operands = (uint32_t)n.operands;
    b->n_inputs = p->n_inputs;
    b->n_outputs = p->n_outputs;
    b->n_insns = p->n_insns;
    if (b->boundary_patches) b->arena_patches = b->boundary_patches + n.operands;
    return b->key && b->values && b->storage && b->outputs && b->boundary && b->calls && b->runs && b->notes &&
           b->operands && b->ints && b->attrs && b->boundary_patches;
}

void asc_bound_free(asc_bound *b) {
    asc_contexts_free(b);
    free(b->key);
    free(b->values);
    free(b->storage);
    free(b->outputs);
    free(b->boundary);
    free(b->calls);
    free(b->runs);
    free(b->notes);
    free(b->operands);
    free(b->ints);
    free(b->attrs);
    free(b->boundary_patches);
    free(b);
}

static uint32_t boundary_value(const asc_bound *b, uint32_t slot) {
    const asc_partition *p = asc_bound_partition(b);
    const uint32_t *indices = asc_plan_indices(&b->model->plan);
    uint32_t v = slot < p->n_inputs ? indices[p->first_input + 2 * slot + 1]
                                    : indices[p->first_output + 2 * (slot - p->n_inputs) + 1];
    return v - p->first_value;
}

static void set_boundary(asc_bound *b, const asc_tensor *inputs) {
    int64_t *key = b->key;
    for (uint32_t s = 0; s < b->n_inputs + b->n_outputs; s++) {
        const asc_tensor *t = &b->values[boundary_value(b, s)];
        b->boundary[s].align = asc_dtype_bytes(t->dtype);
        b->boundary[s].bytes = (uint64_t)asc_numel(t) * b->boundary[s].align;
        if (s >= b->n_inputs) b->outputs[s - b->n_inputs] = *t;
    }
    for (uint32_t i = 0; i < b->n_inputs; i++)
        for (int32_t d = 0; d < b->values[boundary_value(b, i)].rank; d++) *key++ = inputs[i].dims[d];
}

static int32_t check_memory(asc_bound *b, asc_status *status) {
    uint64_t limit = b->model->max_memory ? b->model->max_memory : INT64_MAX / 2, total;
    b->workspace_bytes = b->workspace_bytes < limit ? asc_align_up(b->workspace_bytes, ASC_ALIGN) : b->workspace_bytes;
    if (!__builtin_add_overflow(b->arena_bytes, b->workspace_bytes, &total) && total <= limit) return ASC_OK;
    return asc_failf(status, ASC_E_MEMORY,
                     "these shapes need %lu bytes of temporaries and %lu of workspace; allowed are %lu", b->arena_bytes,
                     b->workspace_bytes, limit);
}

int32_t asc_bound_make(asc_model *model, uint32_t partition, const asc_tensor *inputs, asc_bound **out,
                       asc_status *status) {
    asc_dims dims = {0};
    asc_bound *b = calloc(1, sizeof *b);
    if (!b) return asc_fail(status, ASC_E_MEMORY, "no memory to bind the model");
    b->references = 1;
    b->model = model;
    b->partition = partition;
    b->max_idle = model->threads + 2 < ASC_IDLE_CONTEXTS ? model->threads + 2 : ASC_IDLE_CONTEXTS;
    uint32_t *slots = malloc((asc_bound_partition(b)->n_values + 1) * sizeof *slots);
    int32_t code = slots && allocate(b) ? ASC_OK : asc_fail(status, ASC_E_MEMORY, "no memory to bind the model");
    if (code == ASC_OK) code = asc_dims_make(&dims, &model->plan, status);
    if (code == ASC_OK) code = asc_bound_resolve(b, inputs, &dims, status);
    if (code == ASC_OK) code = asc_bound_place(b, status);
    if (code == ASC_OK) code = asc_bound_prepare(b, &dims, slots, status);
    if (code == ASC_OK) code = check_memory(b, status);
    if (code == ASC_OK) set_boundary(b, inputs);
    if (asc_files_unchanged(model, status) != ASC_OK) code = ASC_E_CHANGED; /* weights that prepare() read */
    asc_dims_free(&dims);
    free(slots);
    if (code == ASC_OK)
        *out = b;
    else
        asc_bound_free(b);
    return code;
}

void asc_caches_free(asc_model *model) {
    for (uint32_t i = 0; model->caches && i < asc_plan_n_partitions(&model->plan); i++)
        for (asc_bound *b = model->caches[i].first, *next; b; b = next) {
            next = b->next;
            asc_bound_free(b);
        }
    free(model->caches);
}

uint32_t asc_bound_outputs(const asc_bound *bound, const asc_tensor **outputs) {
    if (outputs) *outputs = bound->outputs;
    return bound->n_outputs;
}

uint64_t asc_bound_arena_bytes(const asc_bound *bound) {
    return bound->arena_bytes;
}

int32_t asc_bound_value(const asc_bound *bound, uint32_t v, asc_tensor *shape, uint64_t *offset, uint64_t *bytes,
                        uint32_t *first_use, uint32_t *last_use) {
    if (v >= asc_bound_partition(bound)->n_values) return ASC_E_ARGUMENT;
    const asc_storage *s = &bound->storage[v];
    if (shape) *shape = bound->values[v];
    if (offset) *offset = s->offset;
    if (bytes) *bytes = s->bytes;
    if (first_use) *first_use = s->first_use;
    if (last_use) *last_use = s->last_use;
    return ASC_OK;
}
