/* Binding, third step: operands, arguments and the prepare function of every instruction. */
#include "model.h"
#include "pool.h"

/* What prepare sees as the address of data that does not exist yet: it must look at ASC_T_CONST. */
#define NOT_YET ((void *)ASC_ALIGN)

#define TURN_BYTES ((uint64_t)48 << 20)

static void add_patch(asc_bound *b, uint32_t operand, uint32_t v, const uint32_t *slots) {
    const asc_plan *plan = &b->model->plan;
    uint32_t first = asc_bound_partition(b)->first_value, root = plan->roots[v] - first;
    asc_patch patch = {.operand = operand, .slot = slots[root], .value = root, .delta = b->storage[v - first].delta};
    if (patch.slot == ASC_NONE)
        *(--b->arena_patches) = patch, b->n_arena_patches++;
    else
        b->boundary_patches[b->n_boundary_patches++] = patch;
}

/* Copies the operands of one instruction to their place. */
static void set_operands(asc_bound *b, const asc_insn *insn, asc_call *call, uint32_t *at, const uint32_t *slots) {
    const asc_plan *plan = &b->model->plan;
    uint32_t first = asc_bound_partition(b)->first_value;
    call->in = b->operands + *at;
    call->out = b->operands + *at + insn->n_in;
    call->n_in = insn->n_in;
    call->n_out = insn->n_out;
    for (uint32_t k = 0; k < (uint32_t)insn->n_in + insn->n_out; k++, ++*at) {
        uint32_t v = asc_plan_indices(plan)[insn->first_operand + k];
        if (v == ASC_NONE) continue; /* zeroed: absent */
        asc_tensor *t = &b->operands[*at];
        *t = b->values[v - first];
        if (t->flags & ASC_T_CONST) continue;
        t->data = NOT_YET;
        add_patch(b, *at, v, slots);
    }
}

static int32_t take_ints(const asc_plan *plan, const asc_dims *dims, uint32_t first, uint32_t n, const char *name,
                         int64_t **room, asc_status *status) {
    for (uint32_t i = 0; i < n; i++) {
        int32_t code = asc_dims_take(dims, asc_plan_indices(plan)[first + i], "an argument", name, (*room)++, status);
        if (code != ASC_OK) return code;
    }
    return ASC_OK;
}

static int32_t set_attr(const asc_plan *plan, const asc_dims *dims, const asc_attr_record *r, asc_attr *a,
                        int64_t **room, asc_status *status) {
    *a = (asc_attr){.name = asc_plan_string(plan, r->name), .kind = (int32_t)r->kind, .count = (int32_t)r->count};
    if (r->kind == ASC_ATTR_STRING) a->string = asc_plan_string(plan, r->first);
    if (r->kind == ASC_ATTR_FLOATS) a->floats = asc_plan_floats(plan) + r->first;
    if (r->kind != ASC_ATTR_INTS) return ASC_OK;
    a->ints = *room;
    return take_ints(plan, dims, r->first, r->count, a->name, room, status);
}

static int32_t set_arguments(const asc_plan *plan, const asc_insn *insn, const asc_dims *dims, asc_call *call,
                             int64_t **room, asc_attr **attrs, asc_status *status) {
    call->ints = *room;
    call->n_ints = (int32_t)insn->n_ints;
    call->floats = asc_plan_floats(plan) + insn->first_float;
    call->n_floats = (int32_t)insn->n_floats;
    call->attrs = *attrs;
    call->n_attrs = insn->n_attrs;
    int32_t code =
        take_ints(plan, dims, insn->first_int, insn->n_ints, asc_plan_string(plan, insn->name), room, status);
    for (uint32_t i = 0; i < insn->n_attrs && code == ASC_OK; i++)
        code = set_attr(plan, dims, &asc_plan_attrs(plan)[insn->first_attr + i], (*attrs)++, room, status);
    return code;
}

static int32_t check_strides(const asc_call *call, uint32_t flags) {
    for (int32_t i = 0; !(flags & ASC_K_STRIDED) && i < call->n_in; i++)
        if (call->in[i].dtype != ASC_UNDEFINED && !asc_contiguous(&call->in[i]))
            return asc_failf(call->status, ASC_E_UNSUPPORTED,
                             "the kernel takes contiguous inputs, and input %d has strides", i);
    return ASC_OK;
}

static int32_t prepare_library_call(const asc_bound *b, const asc_insn *insn, asc_call *call) {
    const asc_plan *plan = &b->model->plan;
    const asc_library *library = &b->model->libraries[insn->native];
    if (!library->handle) {
        if (call->status) *call->status = library->why;
        return library->why.code;
    }
    const char *name = asc_plan_string(plan, asc_plan_natives(plan)[insn->native].name);
    const asc_custom_op *op;
    int32_t code = asc_custom_op_find(library->handle, name, asc_plan_string(plan, insn->kernel), &op, call->status);
    if (code != ASC_OK) return code;
    call->native = op;
    code = check_strides(call, 0);
    return code == ASC_OK ? asc_custom_prepare(call) : code;
}

/* Whether it is worth while to begin where the last region ended: no region before has read weights, and of much
 * more than the caches hold they keep nothing. */
static int32_t turns(const asc_call *call) {
    uint64_t weights = 0, others = 0;
    for (int32_t i = 0; i < call->n_in + call->n_out; i++) {
        const asc_tensor *t = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        uint64_t bytes = t->dtype == ASC_UNDEFINED ? 0 : (uint64_t)asc_numel(t) * asc_dtype_bytes(t->dtype);
        *(t->flags & ASC_T_CONST ? &weights : &others) += bytes;
    }
    return weights < others && others < TURN_BYTES;
}

static int32_t prepare_call(asc_bound *b, uint32_t index, asc_call *call, asc_run_fn *run) {
    const asc_plan *plan = &b->model->plan;
    const asc_insn *insn = &asc_plan_insns(plan)[index];
    const asc_kernel *row = plan->rows[index];
    call->threads = b->model->threads;
    call->isa = b->model->isa;
    call->pool = asc_pool_shared();
    call->turns = turns(call);
    *run = row ? row->run : asc_custom_run;
    if (!row) return prepare_library_call(b, insn, call);
    int32_t code = check_strides(call, row->flags);
    return code == ASC_OK ? row->prepare(call) : code;
}

/* What the first operand is. */
static uint32_t first_operand(const asc_plan *plan, uint32_t index) {
    const asc_insn *insn = &asc_plan_insns(plan)[index];
    return insn->n_in ? asc_plan_indices(plan)[insn->first_operand] : ASC_NONE;
}

/* Whether two instructions are of one native kernel and read the same first operand. */
static int are_alike(const asc_plan *plan, uint32_t a, uint32_t b) {
    return plan->rows[a] && plan->rows[a] == plan->rows[b] && first_operand(plan, a) == first_operand(plan, b);
}

/* Per value of the partition, the caller's buffer it is. */
static void set_slots(const asc_bound *b, uint32_t *slots) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    for (uint32_t v = 0; v < p->n_values; v++) slots[v] = ASC_NONE;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        slots[asc_plan_indices(plan)[p->first_input + 2 * i + 1] - p->first_value] = i;
    for (uint32_t i = 0; i < p->n_outputs; i++)
        slots[asc_plan_indices(plan)[p->first_output + 2 * i + 1] - p->first_value] = p->n_inputs + i;
}

/* Tells each call what packed weights come next, for it to fetch them. */
static void prefetch_weights(const asc_bound *b) {
    const void *prefetch = NULL;
    for (uint32_t i = asc_bound_partition(b)->n_insns; i-- > 0;) {
        asc_call *call = &b->calls[i];
        call->prefetch = prefetch;
        for (int32_t j = 0; j < call->n_in; j++)
            if (call->in[j].flags & ASC_T_CONST && call->in[j].layout != ASC_LAYOUT_PLAIN) prefetch = call->in[j].data;
    }
}

int32_t asc_bound_prepare(asc_bound *b, const asc_dims *dims, uint32_t *slots, asc_status *status) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    int64_t *ints = b->ints;
    asc_attr *attrs = b->attrs;
    uint32_t operand = 0, last = ASC_NONE; /* instruction with a workspace */
    uint8_t *note = b->notes;
    set_slots(b, slots);
    for (uint32_t i = 0; i < p->n_insns; i++) {
        uint32_t index = p->first_insn + i;
        const asc_insn *insn = &asc_plan_insns(plan)[index];
        asc_call *call = &b->calls[i];
        call->status = status;
        call->note = note;
        note += asc_note_room(plan->rows[index]);
        call->previous = last != ASC_NONE && are_alike(plan, p->first_insn + last, index) ? &b->calls[last] : NULL;
        set_operands(b, insn, call, &operand, slots);
        int32_t code = set_arguments(plan, insn, dims, call, &ints, &attrs, status);
        if (code == ASC_OK) code = prepare_call(b, index, call, &b->runs[i]);
        if (code != ASC_OK) {
            if (status && !status->text[0])
                asc_fail(status, code, "the kernel refused its operands without saying why");
            asc_blame(status, plan, index);
            return code;
        }
        if (call->workspace_bytes) last = i;
        if (call->workspace_bytes > b->workspace_bytes) b->workspace_bytes = call->workspace_bytes;
    }
    prefetch_weights(b);
    return ASC_OK;
}
