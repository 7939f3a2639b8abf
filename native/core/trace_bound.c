/* What a trace says of a bound partition: its calls with their operands, and the memory of its temporaries. Of a call
 * beside models it says the same, once for all that differ in their times alone. */
#include <string.h>

#include "trace.h"

static void put_text(asc_trace_buffer *b, const char *text, int *ok) {
    size_t n = strlen(text) + 1;
    void *at = *ok ? asc_trace_reserve(b, n) : NULL;
    if (at)
        memcpy(at, text, n);
    else
        *ok = 0;
}

static void put_values(asc_trace_buffer *out, const asc_bound *b, uint32_t *count, int *ok) {
    for (uint32_t v = 0; *ok && v < asc_bound_partition(b)->n_values; v++) {
        const asc_storage *s = &b->storage[v];
        if (!s->bytes || s->takes != ASC_NONE) continue;
        asc_trace_value *value = asc_trace_reserve(out, sizeof *value);
        if (value)
            *value = (asc_trace_value){v, s->first_use, s->last_use, 0, s->offset, s->bytes};
        else
            *ok = 0;
        ++*count;
    }
}

static void put_operand(asc_trace_buffer *out, const asc_bound *b, const asc_tensor *t, uint32_t v, int *ok) {
    asc_trace_operand *o = *ok ? asc_trace_reserve(out, sizeof *o) : NULL;
    const asc_plan *plan = &b->model->plan;
    if (!o) {
        *ok = 0;
        return;
    }
    o->value = ASC_NONE;
    if (v == ASC_NONE) return;
    uint32_t root = plan->roots[v];
    const asc_value *value = &asc_plan_values(plan)[root];
    o->value = root - asc_bound_partition(b)->first_value;
    o->dtype = (uint8_t)t->dtype;
    o->rank = (uint8_t)t->rank;
    o->layout = (uint8_t)t->layout;
    o->kind = value->kind;
    memcpy(o->dims, t->dims, sizeof(int64_t) * (size_t)t->rank);
    o->bytes = t->layout != ASC_LAYOUT_PLAIN && value->kind == ASC_VALUE_WEIGHT
                   ? asc_plan_weights(plan)[value->base].bytes
                   : (uint64_t)asc_numel(t) * asc_dtype_bytes(t->dtype);
}

static void put_call(asc_trace_buffer *out, const asc_bound *b, uint32_t i, int *ok) {
    const asc_insn *insn = &asc_plan_insns(&b->model->plan)[asc_bound_partition(b)->first_insn + i];
    const uint32_t *operands = asc_plan_indices(&b->model->plan) + insn->first_operand;
    const asc_call *call = &b->calls[i];
    asc_trace_insn *head = *ok ? asc_trace_reserve(out, sizeof *head) : NULL;
    if (!head) {
        *ok = 0;
        return;
    }
    size_t n_ints = call->n_ints < UINT16_MAX ? (size_t)call->n_ints : UINT16_MAX;
    size_t n_floats = call->n_floats < UINT16_MAX ? (size_t)call->n_floats : UINT16_MAX;
    *head = (asc_trace_insn){.n_in = insn->n_in,
                             .n_out = insn->n_out,
                             .n_ints = (uint16_t)n_ints,
                             .n_floats = (uint16_t)n_floats,
                             .library = insn->native != ASC_NONE};
    for (uint32_t k = 0; k < (uint32_t)insn->n_in + insn->n_out; k++)
        put_operand(out, b, k < insn->n_in ? &call->in[k] : &call->out[k - insn->n_in], operands[k], ok);
    int64_t *ints = *ok ? asc_trace_reserve(out, 8 * (n_ints + n_floats)) : NULL;
    if (!ints) {
        *ok = 0;
        return;
    }
    if (n_ints) memcpy(ints, call->ints, 8 * n_ints);
    if (n_floats) memcpy(ints + n_ints, call->floats, 8 * n_floats);
}

/* What prepare chose for the call; of a library, what it says of its loops. */
static void put_schedule(asc_trace_buffer *out, const asc_bound *b, uint32_t i, int *ok) {
    const asc_plan *plan = &b->model->plan;
    uint32_t index = asc_bound_partition(b)->first_insn + i;
    const asc_kernel *row = plan->rows[index];
    char text[ASC_SCHEDULE_ROOM] = "";
    if (row && row->schedule)
        row->schedule(&b->calls[i], text, sizeof text);
    else if (!row)
        asc_custom_schedule(&b->model->libraries[asc_plan_insns(plan)[index].native], text, sizeof text);
    put_text(out, text, ok);
}

static void put_texts(asc_trace_buffer *out, const asc_bound *b, int *ok) {
    const asc_plan *plan = &b->model->plan;
    const asc_partition *p = asc_bound_partition(b);
    put_text(out, b->model->path ? b->model->path : "", ok);
    put_text(out, asc_plan_string(plan, p->name), ok);
    for (uint32_t i = 0; i < p->n_insns; i++) {
        const asc_insn *insn = &asc_plan_insns(plan)[p->first_insn + i];
        put_text(out, asc_plan_string(plan, insn->name), ok);
        put_text(out, asc_plan_string(plan, insn->kernel), ok);
        put_text(out, asc_plan_string(plan, insn->op_type), ok);
        put_schedule(out, b, i, ok);
    }
}

static uint64_t weight_bytes(const asc_plan *plan) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < asc_plan_n_weights(plan); i++) bytes += asc_plan_weights(plan)[i].bytes;
    return bytes;
}

int asc_trace_describe(asc_trace_buffer *out, const asc_bound *b, uint32_t number) {
    int ok = 1;
    uint64_t from = out->used, text;
    uint32_t n_values = 0;
    if (!asc_trace_reserve(out, sizeof(asc_trace_bound))) return 0;
    put_values(out, b, &n_values, &ok);
    for (uint32_t i = 0; i < b->n_insns; i++) put_call(out, b, i, &ok);
    text = out->used;
    put_texts(out, b, &ok);
    uint64_t text_bytes = out->used - text;
    if (!ok || (out->used % 8 && !asc_trace_reserve(out, 8 - out->used % 8))) return 0;
    if (out->used - from > UINT32_MAX) return 0;
    asc_trace_bound head = {.record = {ASC_TRACE_BOUND, (uint32_t)(out->used - from)},
                            .number = number,
                            .partition = b->partition,
                            .n_values = n_values,
                            .n_insns = b->n_insns,
                            .isa = b->model->isa,
                            .threads = b->model->threads,
                            .arena_bytes = b->arena_bytes,
                            .workspace_bytes = b->workspace_bytes,
                            .weight_bytes = weight_bytes(&b->model->plan),
                            .text_bytes = (uint32_t)text_bytes};
    memcpy(out->bytes + from, &head, sizeof head);
    return 1;
}

/* ---- calls beside models --------------------------------------------------------------------- */

static void put_tensor(asc_trace_buffer *out, const asc_tensor *t, uint32_t place, uint8_t kind, int *ok) {
    asc_trace_operand *o = *ok ? asc_trace_reserve(out, sizeof *o) : NULL;
    if (!o) {
        *ok = 0;
        return;
    }
    o->value = t->dtype == ASC_UNDEFINED ? ASC_NONE : place;
    if (o->value == ASC_NONE) return;
    o->dtype = (uint8_t)t->dtype;
    o->rank = (uint8_t)t->rank;
    o->kind = kind;
    o->bytes = (uint64_t)asc_numel(t) * asc_dtype_bytes(t->dtype);
    memcpy(o->dims, t->dims, sizeof(int64_t) * (size_t)t->rank);
}

int asc_trace_describe_call(asc_trace_buffer *out, const asc_traced_call *call, const char *schedule) {
    int ok = 1;
    uint64_t from = out->used, text;
    if (!asc_trace_reserve(out, sizeof(asc_trace_bound))) return 0;
    asc_trace_insn *insn = asc_trace_reserve(out, sizeof *insn);
    if (!insn) return 0;
    *insn = (asc_trace_insn){.n_in = (uint16_t)call->n_in, .n_out = (uint16_t)call->n_out};
    for (uint32_t k = 0; k < call->n_in + call->n_out; k++)
        put_tensor(out, &call->operands[k], k, k < call->n_in ? ASC_VALUE_INPUT : ASC_VALUE_OUTPUT, &ok);
    text = out->used;
    put_text(out, "", &ok); /* no file of a model */
    put_text(out, call->name, &ok);
    put_text(out, call->name, &ok);
    put_text(out, call->kernel, &ok);
    put_text(out, call->op_type, &ok);
    put_text(out, schedule, &ok);
    uint64_t text_bytes = out->used - text;
    if (!ok || (out->used % 8 && !asc_trace_reserve(out, 8 - out->used % 8))) return 0;
    asc_trace_bound head = {.record = {ASC_TRACE_BOUND, (uint32_t)(out->used - from)},
                            .partition = ASC_NONE,
                            .n_insns = 1,
                            .isa = asc_isa_current(),
                            .threads = (int32_t)call->blocks,
                            .text_bytes = (uint32_t)text_bytes};
    memcpy(out->bytes + from, &head, sizeof head);
    return 1;
}

/* Of a record, whose bytes are a multiple of 8: FNV-1a of words, with the upper half of each product, which the next
 * one would lose, folded in. 0 stands for none. */
static uint64_t hash_of(const uint8_t *bytes, uint64_t n) {
    uint64_t hash = 14695981039346656037u, word;
    for (uint64_t i = 0; i < n; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * 1099511628211u;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

uint32_t *asc_trace_place_of(asc_trace_known *known, const uint8_t *bytes, uint64_t n) {
    uint64_t hash = hash_of(bytes, n);
    uint32_t at = (uint32_t)(hash % ASC_TRACE_KNOWN);
    while (known->hashes[at] && known->hashes[at] != hash) at = (at + 1) % ASC_TRACE_KNOWN;
    if (known->hashes[at]) return &known->numbers[at];
    if (known->count >= ASC_TRACE_KNOWN / 2) return NULL;
    known->count++;
    known->hashes[at] = hash;
    known->numbers[at] = ASC_NONE;
    return &known->numbers[at];
}
