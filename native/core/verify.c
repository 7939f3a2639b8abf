/* Verification of a plan, first half: names, dimension nodes, and the segments of the other partitions. */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

/* Length of the well-formed UTF-8 character at s, or 0. The byte after the last one is readable. */
static int character_bytes(const uint8_t *s) {
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xC2 && s[0] <= 0xDF ? 2 : (s[0] & 0xF0) == 0xE0 ? 3 : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80) return 0; /* also stops at the NUL that ends the section */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F)) return 0;
    if ((s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) return 0;
    return n;
}

static int is_text(const asc_plan *p, uint32_t offset) {
    const asc_table *strings = &p->tables[ASC_SEC_STRINGS];
    return offset < strings->count && (((const uint8_t *)strings->data)[offset] & 0xC0) != 0x80;
}

static int is_name(const asc_plan *p, uint32_t offset) {
    if (!is_text(p, offset)) return 0;
    uint64_t left = p->tables[ASC_SEC_STRINGS].count - offset;
    return memchr(asc_plan_string(p, offset), 0, left < ASC_MAX_NAME ? left : ASC_MAX_NAME) != NULL;
}

static int names_are_good(const asc_plan *p) {
    for (uint32_t i = 0; i < asc_plan_n_symbols(p); i++)
        if (!is_name(p, asc_plan_symbols(p)[i].name)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_values(p); i++)
        if (!is_name(p, asc_plan_values(p)[i].name)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_insns(p); i++) {
        const asc_insn *insn = &asc_plan_insns(p)[i];
        if (!is_name(p, insn->name) || !is_name(p, insn->kernel) || !is_name(p, insn->op_type)) return 0;
    }
    for (uint32_t i = 0; i < asc_plan_n_partitions(p); i++)
        if (!is_name(p, asc_plan_partitions(p)[i].name) || !is_text(p, asc_plan_partitions(p)[i].reason)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_edges(p); i++)
        if (!is_name(p, asc_plan_edges(p)[i].name)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_natives(p); i++)
        if (!is_name(p, asc_plan_natives(p)[i].name)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_metas(p); i++)
        if (!is_name(p, asc_plan_metas(p)[i].key) || !is_text(p, asc_plan_metas(p)[i].value)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_weight_files(p); i++)
        if (!is_name(p, asc_plan_weight_files(p)[i].name)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_constraints(p); i++)
        if (!is_text(p, asc_plan_constraints(p)[i].text)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_origins(p); i++)
        if (!is_name(p, asc_plan_origins(p)[i].name)) return 0;
    for (uint32_t i = 0; i < asc_plan_n_attrs(p); i++) {
        const asc_attr_record *a = &asc_plan_attrs(p)[i];
        if (!is_name(p, a->name) || (a->kind == ASC_ATTR_STRING && !is_text(p, a->first))) return 0;
    }
    return 1;
}

int32_t asc_verify_names(const asc_plan *plan, asc_status *status) {
    const uint8_t *s = plan->tables[ASC_SEC_STRINGS].data;
    uint64_t n = plan->tables[ASC_SEC_STRINGS].count;
    if (!n || n > UINT32_MAX || s[0] || s[n - 1])
        return asc_fail(status, ASC_E_FORMAT, "the strings section must begin and end with a NUL");
    for (uint64_t i = 0; i < n;) {
        int bytes = character_bytes(s + i);
        if (!bytes) return asc_failf(status, ASC_E_FORMAT, "the strings section is not UTF-8 at byte %lu", i);
        i += (uint64_t)bytes;
    }
    if (!names_are_good(plan))
        return asc_fail(status, ASC_E_FORMAT, "a name points outside the strings, or is too long");
    return ASC_OK;
}

static int dim_is_good(const asc_plan *p, uint32_t i) {
    const asc_dim *d = &asc_plan_dims(p)[i];
    if (d->pad) return 0;
    if (d->op == ASC_DIM_CONST) return !d->a && !d->b;
    if (d->op == ASC_DIM_SYMBOL) return d->a < asc_plan_n_symbols(p) && !d->b && !d->value;
    return d->op <= ASC_DIM_MIN && d->a < i && d->b < i && !d->value;
}

int32_t asc_verify_dims(const asc_plan *plan, asc_status *status) {
    for (uint32_t i = 0; i < asc_plan_n_symbols(plan); i++) {
        const asc_symbol *s = &asc_plan_symbols(plan)[i];
        if (s->pad || s->min < 0 || s->max < s->min)
            return asc_failf(status, ASC_E_FORMAT, "symbol %u has the impossible range %ld..%ld", i, s->min, s->max);
    }
    for (uint32_t i = 0; i < asc_plan_n_dims(plan); i++)
        if (!dim_is_good(plan, i)) return asc_failf(status, ASC_E_FORMAT, "dimension node %u is malformed", i);
    for (uint32_t i = 0; i < asc_plan_n_attrs(plan); i++) {
        const asc_attr_record *a = &asc_plan_attrs(plan)[i];
        uint32_t kind = a->kind == ASC_ATTR_FLOATS ? ASC_SEC_FLOATS : ASC_SEC_INDICES;
        if (a->kind < ASC_ATTR_INTS || a->kind > ASC_ATTR_STRING ||
            (a->kind == ASC_ATTR_STRING ? a->count != 1 : !asc_in_table(plan, kind, a->first, a->count)))
            return asc_failf(status, ASC_E_FORMAT, "attribute record %u is malformed", i);
    }
    return ASC_OK;
}

/* Walks the segments of one partition of the file. */
typedef struct segment_walk {
    const asc_part *part; /* NULL when the file has none */
    const uint8_t *file;
    uint64_t end;
    int check_gaps;
} segment_walk;

static segment_walk walk_part(const asc_frame *frame, const uint8_t *file, uint32_t type, int check_gaps) {
    return (segment_walk){asc_frame_part(frame, type), file, 0, check_gaps};
}

static int next_segment(segment_walk *w, uint64_t offset, uint64_t bytes) {
    uint64_t at = asc_align_up(w->end, ASC_ALIGN), size = w->part ? w->part->size : 0;
    if (offset != at || at > size || bytes > size - at) return 0;
    if (w->check_gaps && w->part && !asc_all_zero(w->file + w->part->offset + w->end, at - w->end)) return 0;
    w->end = at + bytes;
    return 1;
}

static int walk_ended(const segment_walk *w) {
    return w->end == (w->part ? w->part->size : 0);
}

static int sample_is_good(const asc_plan *p, const asc_sample *s) {
    if (s->edge >= asc_plan_n_edges(p) || s->rank > ASC_MAX_RANK) return 0;
    const asc_edge *edge = &asc_plan_edges(p)[s->edge];
    int64_t bytes = (int64_t)asc_dtype_bytes(edge->dtype);
    if (!bytes || edge->rank != s->rank) return 0;
    for (uint32_t i = 0; i < ASC_MAX_RANK; i++)
        if (i < s->rank ? !asc_mul_ok(bytes, s->dims[i], &bytes) : s->dims[i] != 0) return 0;
    return (uint64_t)bytes == s->bytes;
}

/* The gaps between weights are outside the digest and left to asc_model_verify_weights: looking at
 * them here would read a page of every weight at load. */
static int32_t verify_weights(const asc_plan *plan, const asc_frame *frame, const uint8_t *file, asc_status *status) {
    segment_walk inner = walk_part(frame, file, ASC_PART_WEIGHTS, 0), outer = {0};
    const asc_weight_file *f = asc_plan_weight_files(plan), *end = f + asc_plan_n_weight_files(plan);
    asc_part whole = {0};
    for (uint32_t i = 0; i < asc_plan_n_weights(plan); i++) {
        const asc_weight *w = &asc_plan_weights(plan)[i];
        int outside = f < end && i >= f->first_weight;
        if (outside && i == f->first_weight) {
            whole.size = f->bytes;
            outer = (segment_walk){.part = &whole};
        }
        if (!next_segment(outside ? &outer : &inner, w->offset, w->bytes))
            return asc_failf(status, ASC_E_FORMAT, "weight %u does not lie where the format puts it", i);
        if (!outside || i + 1 < f->first_weight + f->n_weights) continue;
        if (!walk_ended(&outer))
            return asc_failf(status, ASC_E_FORMAT, "a file of weights holds bytes behind weight %u", i);
        f++;
    }
    return walk_ended(&inner) ? ASC_OK : asc_fail(status, ASC_E_FORMAT, "there are bytes behind the last weight");
}

int32_t asc_verify_segments(const asc_plan *plan, const asc_frame *frame, const uint8_t *file, asc_status *status) {
    int32_t code = verify_weights(plan, frame, file, status);
    if (code != ASC_OK) return code;
    segment_walk native = walk_part(frame, file, ASC_PART_NATIVE, 1);
    for (uint32_t i = 0; i < asc_plan_n_natives(plan); i++) {
        const asc_native *n = &asc_plan_natives(plan)[i];
        if (n->pad || !n->bytes || !next_segment(&native, n->offset, n->bytes))
            return asc_failf(status, ASC_E_FORMAT, "native library %u does not lie where the format puts it", i);
    }
    segment_walk samples = walk_part(frame, file, ASC_PART_SAMPLES, 1);
    for (uint32_t i = 0; i < asc_plan_n_samples(plan); i++) {
        const asc_sample *s = &asc_plan_samples(plan)[i];
        if (!sample_is_good(plan, s) || !next_segment(&samples, s->offset, s->bytes))
            return asc_failf(status, ASC_E_FORMAT, "sample %u is malformed", i);
    }
    segment_walk hosts = walk_part(frame, file, ASC_PART_HOST, 1);
    for (uint32_t i = 0; i < asc_plan_n_partitions(plan); i++) {
        const asc_partition *p = &asc_plan_partitions(plan)[i];
        int host = p->kind == ASC_PARTITION_HOST;
        if (host ? !p->host_bytes || !next_segment(&hosts, p->host_offset, p->host_bytes)
                 : p->host_offset || p->host_bytes)
            return asc_failf(status, ASC_E_FORMAT, "partition %u: its host model does not lie where the format puts it",
                             i);
    }
    if (!walk_ended(&native) || !walk_ended(&samples) || !walk_ended(&hosts))
        return asc_fail(status, ASC_E_FORMAT, "a partition of the file holds bytes that nothing in the plan describes");
    return ASC_OK;
}

/* Records are in the order of their values; an image has three axes or more. */
int32_t asc_verify_origins(const asc_plan *plan, asc_status *status) {
    const asc_origin *o = asc_plan_origins(plan);
    for (uint32_t i = 0; i < asc_plan_n_origins(plan); i++) {
        int known = o[i].value < asc_plan_n_values(plan) && (!i || o[i].value > o[i - 1].value);
        if (!known || (o[i].last && asc_plan_values(plan)[o[i].value].rank < 3))
            return asc_failf(status, ASC_E_FORMAT, "the record of a value's origin %u is malformed", i);
    }
    return ASC_OK;
}

int32_t asc_plan_verify(asc_plan *plan, const asc_frame *frame, const uint8_t *file, int32_t isa, asc_status *status) {
    int32_t code = asc_verify_names(plan, status);
    if (code == ASC_OK) code = asc_verify_dims(plan, status);
    if (code == ASC_OK) code = asc_verify_ranges(plan, status);
    if (code == ASC_OK) code = asc_verify_profiles(plan, status);
    if (code == ASC_OK) code = asc_verify_constraints(plan, status);
    if (code == ASC_OK) code = asc_verify_weight_files(plan, status);
    if (code == ASC_OK) code = asc_verify_segments(plan, frame, file, status);
    if (code == ASC_OK) code = asc_verify_values(plan, status);
    if (code == ASC_OK) code = asc_verify_origins(plan, status);
    if (code == ASC_OK) code = asc_verify_insns(plan, isa, status);
    if (code == ASC_OK) code = asc_verify_edges(plan, status);
    return code;
}
