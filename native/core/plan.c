/* The PLAN partition: parsing its header and its section table, and naming its instructions. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct section_rule {
    uint32_t stride; /* of this reader */
    uint32_t limit;
    int exact; /* plain numbers and bytes don't grow fields */
} section_rule;

static const section_rule RULES[ASC_SECTION_KINDS] = {
    [ASC_SEC_STRINGS] = {1, UINT32_MAX, 1},
    [ASC_SEC_SYMBOLS] = {sizeof(asc_symbol), ASC_MAX_SYMBOLS, 0},
    [ASC_SEC_DIMS] = {sizeof(asc_dim), ASC_MAX_DIMS, 0},
    [ASC_SEC_INDICES] = {sizeof(uint32_t), ASC_MAX_INDICES, 1},
    [ASC_SEC_FLOATS] = {sizeof(double), ASC_MAX_FLOATS, 1},
    [ASC_SEC_WEIGHTS] = {sizeof(asc_weight), ASC_MAX_WEIGHTS, 0},
    [ASC_SEC_VALUES] = {sizeof(asc_value), ASC_MAX_VALUES, 0},
    [ASC_SEC_INSNS] = {sizeof(asc_insn), ASC_MAX_INSNS, 0},
    [ASC_SEC_PARTITIONS] = {sizeof(asc_partition), ASC_MAX_PARTITIONS, 0},
    [ASC_SEC_EDGES] = {sizeof(asc_edge), ASC_MAX_EDGES, 0},
    [ASC_SEC_ATTRS] = {sizeof(asc_attr_record), ASC_MAX_ATTRS, 0},
    [ASC_SEC_NATIVE] = {sizeof(asc_native), ASC_MAX_NATIVES, 0},
    [ASC_SEC_META] = {sizeof(asc_meta), ASC_MAX_META, 0},
    [ASC_SEC_SAMPLES] = {sizeof(asc_sample), ASC_MAX_SAMPLES, 0},
    [ASC_SEC_PROFILES] = {sizeof(asc_profile_size), ASC_MAX_PROFILE_SIZES, 0},
    [ASC_SEC_WEIGHT_FILES] = {sizeof(asc_weight_file), ASC_MAX_WEIGHT_FILES, 0},
    [ASC_SEC_CONSTRAINTS] = {sizeof(asc_constraint), ASC_MAX_CONSTRAINTS, 0},
    [ASC_SEC_APART] = {1, UINT32_MAX, 1},
    [ASC_SEC_APART_HOST] = {1, UINT32_MAX, 1},
    [ASC_SEC_ORIGINS] = {sizeof(asc_origin), ASC_MAX_VALUES, 0},
};
#define MAX_SECTIONS 64
#define MAX_STRIDE 4096

/* Copies elements that a newer writer made wider. */
static int32_t narrow(asc_table *table, const uint8_t *from, uint32_t written, uint32_t stride, asc_status *status) {
    uint8_t *to = malloc(table->count * stride);
    if (!to) return asc_fail(status, ASC_E_MEMORY, "no memory for the plan");
    for (uint64_t i = 0; i < table->count; i++) memcpy(to + i * stride, from + i * written, stride);
    table->data = table->owned = to;
    return ASC_OK;
}

static int32_t take_section(asc_plan *plan, const asc_section *s, const uint8_t *bytes, asc_status *status) {
    if (s->kind >= ASC_SECTION_KINDS || !RULES[s->kind].stride)
        return ASC_OK; /* of a newer writer; min_reader allowed it */
    const section_rule *rule = &RULES[s->kind];
    asc_table *table = &plan->tables[s->kind];
    if (table->data) return asc_failf(status, ASC_E_FORMAT, "section kind %u occurs twice", s->kind);
    if (s->count > rule->limit)
        return asc_failf(status, ASC_E_FORMAT, "section kind %u has %lu elements; at most %u are read", s->kind,
                         s->count, rule->limit);
    if (rule->exact ? s->stride != rule->stride : s->stride < rule->stride || s->stride % 4)
        return asc_failf(status, ASC_E_FORMAT, "section kind %u has elements of %u bytes instead of %u", s->kind,
                         s->stride, rule->stride);
    table->data = bytes + s->offset;
    table->count = s->count;
    return s->stride > rule->stride && s->count ? narrow(table, bytes + s->offset, s->stride, rule->stride, status)
                                                : ASC_OK;
}

static int32_t parse_sections(asc_plan *plan, const uint8_t *bytes, const asc_plan_header *h, asc_status *status) {
    uint64_t end = h->header_bytes + sizeof(asc_section) * (uint64_t)h->n_sections;
    for (uint32_t i = 0; i < h->n_sections; i++) {
        asc_section s;
        memcpy(&s, bytes + h->header_bytes + sizeof s * i, sizeof s);
        uint64_t at = asc_align_up(end, ASC_ALIGN);
        if (s.offset != at || at > h->plan_bytes || !s.stride || s.stride > MAX_STRIDE ||
            s.count > (h->plan_bytes - at) / s.stride || !asc_all_zero(bytes + end, at - end))
            return asc_failf(status, ASC_E_FORMAT, "section %u does not lie where the format puts it", i);
        int32_t code = take_section(plan, &s, bytes, status);
        if (code != ASC_OK) return code;
        end = at + s.count * s.stride;
    }
    if (end != h->plan_bytes) return asc_fail(status, ASC_E_FORMAT, "there are bytes behind the last section");
    return ASC_OK;
}

int32_t asc_plan_parse(asc_plan *plan, const uint8_t *bytes, uint64_t size, asc_status *status) {
    asc_plan_header h;
    *plan = (asc_plan){0};
    if (size < sizeof h) return asc_fail(status, ASC_E_FORMAT, "the plan is shorter than its header");
    memcpy(&h, bytes, sizeof h);
    if (h.magic != ASC_PLAN_MAGIC)
        return asc_fail(status, ASC_E_FORMAT, "the plan does not begin with its magic number");
    if (h.min_reader > ASC_READER_VERSION)
        return asc_failf(status, ASC_E_VERSION,
                         "the plan needs reader version %u, this is version %d; update ascend-ep", h.min_reader,
                         ASC_READER_VERSION);
    if (!h.version || !h.min_reader || h.plan_bytes != size || h.header_bytes < sizeof h || h.header_bytes % 8 ||
        h.header_bytes > size || h.n_sections > MAX_SECTIONS ||
        sizeof(asc_section) * (uint64_t)h.n_sections > size - h.header_bytes)
        return asc_fail(status, ASC_E_FORMAT, "the plan's header is damaged");
    if (h.version == ASC_PLAN_VERSION &&
        (h.header_bytes != sizeof h || !asc_all_zero((const uint8_t *)h.pad, sizeof h.pad)))
        return asc_fail(status, ASC_E_FORMAT, "the plan's header has bytes this version does not use");
    int32_t code = parse_sections(plan, bytes, &h, status);
    if (code != ASC_OK) asc_plan_free(plan);
    return code;
}

void asc_plan_free(asc_plan *plan) {
    for (uint32_t i = 0; i < ASC_SECTION_KINDS; i++) free(plan->tables[i].owned);
    free(plan->roots);
    free(plan->rows);
    *plan = (asc_plan){0};
}

void asc_blame(asc_status *status, const asc_plan *plan, uint32_t insn) {
    if (!status) return;
    status->node = (int32_t)insn;
    asc_format(status->node_name, sizeof status->node_name, "%s",
               asc_plan_string(plan, asc_plan_insns(plan)[insn].name));
}
