/* Verification of a plan, second half: partitions, values, instructions and edges. */
#include <stdlib.h>
#include <string.h>

#include "dims.h"
#include "rows.h"

#define MAX_TOTAL_BOUNDARY (1u << 18) /* inputs and outputs over all partitions */

static int same_edges(const asc_plan *plan, uint32_t first, uint32_t other, uint32_t n) {
    const uint32_t *indices = asc_plan_indices(plan);
    for (uint32_t i = 0; i < n; i++)
        if (indices[first + 2 * i] != indices[other + 2 * i]) return 0;
    return 1;
}

/* A fallback follows the partition that names it, which is native. */
static int fallback_is_good(const asc_plan *plan, uint32_t i) {
    const asc_partition *p = &asc_plan_partitions(plan)[i];
    if (p->kind == ASC_PARTITION_FALLBACK) return !p->fallback && i > 0 && p[-1].fallback == i;
    if (!p->fallback) return 1;
    return p->kind == ASC_PARTITION_NATIVE && p->fallback == i + 1 && p->fallback < asc_plan_n_partitions(plan) &&
           p[1].kind == ASC_PARTITION_FALLBACK;
}

/* A fallback reads and writes the same edges, and calls no library. */
static int fallback_replaces(const asc_plan *plan, const asc_partition *p) {
    const asc_partition *fallback = p + 1;
    for (uint32_t i = 0; i < fallback->n_insns; i++)
        if (asc_plan_insns(plan)[fallback->first_insn + i].native != ASC_NONE) return 0;
    return p->n_inputs == fallback->n_inputs && p->n_outputs == fallback->n_outputs &&
           same_edges(plan, p->first_input, fallback->first_input, p->n_inputs) &&
           same_edges(plan, p->first_output, fallback->first_output, p->n_outputs);
}

/* Every value and instruction belongs to one partition, in order. */
int32_t asc_verify_ranges(const asc_plan *plan, asc_status *status) {
    uint64_t values = 0, insns = 0, boundary = 0;
    for (uint32_t i = 0; i < asc_plan_n_partitions(plan); i++) {
        const asc_partition *p = &asc_plan_partitions(plan)[i];
        int host = p->kind == ASC_PARTITION_HOST;
        if (p->kind > ASC_PARTITION_FALLBACK || !fallback_is_good(plan, i) || p->first_value != values ||
            p->first_insn != insns || (host && (p->n_values || p->n_insns)))
            return asc_failf(status, ASC_E_FORMAT, "partition %u does not continue the one before it", i);
        values += p->n_values;
        insns += p->n_insns;
        boundary += (uint64_t)p->n_inputs + p->n_outputs;
        if (!asc_in_table(plan, ASC_SEC_INDICES, p->first_input, 2 * (uint64_t)p->n_inputs) ||
            !asc_in_table(plan, ASC_SEC_INDICES, p->first_output, 2 * (uint64_t)p->n_outputs) ||
            boundary > MAX_TOTAL_BOUNDARY)
            return asc_failf(status, ASC_E_FORMAT, "partition %u has its inputs or outputs outside the indices", i);
    }
    if (values != asc_plan_n_values(plan) || insns != asc_plan_n_insns(plan))
        return asc_fail(status, ASC_E_FORMAT, "there are values or instructions that belong to no partition");
    return ASC_OK;
}

static int are_dims(const asc_plan *p, uint32_t first, uint32_t n) {
    if (!asc_in_table(p, ASC_SEC_INDICES, first, n)) return 0;
    for (uint32_t i = 0; i < n; i++)
        if (asc_plan_indices(p)[first + i] >= asc_plan_n_dims(p)) return 0;
    return 1;
}

int asc_weight_bytes(const asc_value *value, const int64_t *dims, uint64_t *bytes) {
    int64_t n = (int64_t)asc_dtype_bytes(value->dtype);
    uint32_t rank = value->rank;
    if (value->layout != ASC_LAYOUT_PLAIN) {
        rank -= 2;
        n = asc_packed_bytes(value->layout, dims[rank], dims[rank + 1]);
    }
    for (uint32_t i = 0; i < rank; i++)
        if (n < 0 || !asc_mul_ok(n, dims[i], &n)) return 0;
    *bytes = (uint64_t)n;
    return n >= 0;
}

static int weight_fits(const asc_plan *p, const asc_value *v, const asc_dims *static_dims) {
    int64_t dims[ASC_MAX_RANK] = {0};
    uint64_t bytes;
    for (uint32_t i = 0; i < v->rank; i++) {
        uint32_t node = asc_plan_indices(p)[v->first_dim + i];
        if (asc_dims_take(static_dims, node, "", "", &dims[i], NULL) != ASC_OK) return 0;
    }
    return asc_weight_bytes(v, dims, &bytes) && bytes == asc_plan_weights(p)[v->base].bytes;
}

static int value_is_good(asc_plan *p, uint32_t index, uint32_t first, const asc_dims *static_dims) {
    const asc_value *v = &asc_plan_values(p)[index];
    if (!asc_dtype_bytes(v->dtype) || v->kind > ASC_VALUE_VIEW || v->rank > ASC_MAX_RANK || v->pad[0] || v->pad[1] ||
        !are_dims(p, v->first_dim, v->rank))
        return 0;
    p->roots[index] = index;
    if (v->layout != ASC_LAYOUT_PLAIN && (v->kind != ASC_VALUE_WEIGHT || v->rank < 2)) return 0;
    const asc_layout *layout = asc_layout_of((int32_t)v->layout);
    if (!layout || (layout->dtype && v->dtype != layout->dtype)) return 0;
    if (v->kind != ASC_VALUE_VIEW) {
        if (v->first_stride != ASC_NONE || v->offset != ASC_NONE) return 0;
        if (v->kind != ASC_VALUE_WEIGHT) return v->base == ASC_NONE;
        return v->base < asc_plan_n_weights(p) && weight_fits(p, v, static_dims);
    }
    if (v->base < first || v->base >= index) return 0;
    if (v->first_stride != ASC_NONE && !are_dims(p, v->first_stride, v->rank)) return 0;
    if (v->offset != ASC_NONE && v->offset >= asc_plan_n_dims(p)) return 0;
    const asc_value *base = &asc_plan_values(p)[v->base];
    p->roots[index] = p->roots[v->base];
    return base->dtype == v->dtype && base->layout == ASC_LAYOUT_PLAIN;
}

int32_t asc_verify_values(asc_plan *plan, asc_status *status) {
    asc_dims static_dims;
    int32_t code = asc_dims_make(&static_dims, plan, status);
    if (code != ASC_OK) return code;
    asc_dims_evaluate(&static_dims, plan);
    plan->roots = calloc(asc_plan_n_values(plan) + 1, sizeof *plan->roots);
    if (!plan->roots) code = asc_fail(status, ASC_E_MEMORY, "no memory for the plan");
    for (uint32_t i = 0; i < asc_plan_n_partitions(plan) && code == ASC_OK; i++) {
        const asc_partition *p = &asc_plan_partitions(plan)[i];
        for (uint32_t v = p->first_value; v < p->first_value + p->n_values && code == ASC_OK; v++)
            if (!value_is_good(plan, v, p->first_value, &static_dims))
                code = asc_failf(status, ASC_E_FORMAT, "value %u ('%s') is malformed", v,
                                 asc_plan_string(plan, asc_plan_values(plan)[v].name));
    }
    asc_dims_free(&static_dims);
    return code;
}

/* What the instructions of the plan have done so far. */
typedef struct flow {
    uint8_t *written; /* per value: an instruction wrote it */
    uint64_t operands, ints, floats, attrs;
    asc_row_index rows;
} flow;

/* Whether all operands are row-major, or the kernel (NULL: a library's) checks how they are laid out. */
static int knows_layouts(const asc_plan *p, const asc_insn *insn, const asc_kernel *row) {
    if (row && row->flags & ASC_K_PACKED) return 1;
    for (uint32_t i = 0; i < insn->n_in; i++) {
        uint32_t v = asc_plan_indices(p)[insn->first_operand + i];
        if (v != ASC_NONE && asc_plan_values(p)[v].layout != ASC_LAYOUT_PLAIN) return 0;
    }
    return 1;
}

static const char *check_operands(const asc_plan *p, const asc_partition *part, const asc_insn *insn, flow *f,
                                  int32_t *types) {
    const uint32_t *operands = asc_plan_indices(p) + insn->first_operand;
    for (uint32_t i = 0; i < (uint32_t)insn->n_in + insn->n_out; i++) {
        uint32_t v = operands[i];
        types[i] = ASC_UNDEFINED;
        if (v == ASC_NONE) continue;
        if (v < part->first_value || v - part->first_value >= part->n_values)
            return "an operand is of another partition";
        types[i] = asc_plan_values(p)[v].dtype;
        uint32_t kind = asc_plan_values(p)[p->roots[v]].kind;
        int written = kind == ASC_VALUE_INPUT || kind == ASC_VALUE_WEIGHT || f->written[p->roots[v]];
        if (i < insn->n_in && !written) return "an operand is read before it is written";
        if (i < insn->n_in) continue;
        kind = asc_plan_values(p)[v].kind;
        if (kind != ASC_VALUE_OUTPUT && kind != ASC_VALUE_TEMP) return "it writes to a value that may not be written";
        if (written) return "it writes a value that is already written";
        f->written[v] = 1;
    }
    return NULL;
}

static const char *check_ranges(const asc_plan *p, const asc_insn *insn, flow *f) {
    uint32_t n = (uint32_t)insn->n_in + insn->n_out;
    f->operands += n;
    f->ints += insn->n_ints;
    f->floats += insn->n_floats;
    f->attrs += insn->n_attrs;
    if (n > ASC_MAX_OPERANDS || f->operands > ASC_MAX_TOTAL_OPERANDS || f->ints > ASC_MAX_TOTAL_INTS ||
        f->floats > ASC_MAX_FLOATS || f->attrs > ASC_MAX_ATTRS)
        return "the plan has more operands or arguments than this reader takes";
    if (!asc_in_table(p, ASC_SEC_INDICES, insn->first_operand, n)) return "its operands are outside the indices";
    if (!are_dims(p, insn->first_int, insn->n_ints)) return "its integer arguments are outside the indices";
    if (!asc_in_table(p, ASC_SEC_FLOATS, insn->first_float, insn->n_floats))
        return "its floats are outside the section";
    if (!asc_in_table(p, ASC_SEC_ATTRS, insn->first_attr, insn->n_attrs))
        return "its attributes are outside the section";
    for (uint32_t i = 0; i < insn->n_attrs; i++) {
        const asc_attr_record *a = &asc_plan_attrs(p)[insn->first_attr + i];
        f->ints += a->kind == ASC_ATTR_INTS ? a->count : 0;
        if (f->ints > ASC_MAX_TOTAL_INTS) return "the plan has more attribute values than this reader takes";
        if (a->kind == ASC_ATTR_INTS && !are_dims(p, a->first, a->count))
            return "its attributes are outside the indices";
    }
    if (insn->native == ASC_NONE) return insn->n_attrs ? "a kernel of the table takes no attribute records" : NULL;
    return insn->native < asc_plan_n_natives(p) ? NULL : "its library does not exist";
}

static int32_t check_insn(asc_plan *p, const asc_partition *part, uint32_t index, flow *f, asc_status *status) {
    const asc_insn *insn = &asc_plan_insns(p)[index];
    int32_t types[ASC_MAX_OPERANDS];
    const char *kernel = asc_plan_string(p, insn->kernel), *fault = check_ranges(p, insn, f);
    if (!fault) fault = check_operands(p, part, insn, f, types);
    if (!fault && insn->native == ASC_NONE)
        p->rows[index] = asc_row_index_find(&f->rows, kernel, types, insn->n_in, insn->n_out);
    int found = !fault && (insn->native != ASC_NONE || p->rows[index]);
    if (found && !knows_layouts(p, insn, p->rows[index]))
        fault = "it reads a packed weight that its kernel has no layout for";
    if (found && !fault) return ASC_OK;
    if (fault) {
        asc_failf(status, ASC_E_FORMAT, "instruction %u: %s", index, fault);
    } else {
        char letters[ASC_MAX_OPERANDS + 2];
        asc_signature(types, insn->n_in, insn->n_out, letters);
        asc_failf(status, ASC_E_UNSUPPORTED, "this build has no kernel '%s' for the types %s", kernel, letters);
    }
    asc_blame(status, p, index);
    return fault ? ASC_E_FORMAT : ASC_E_UNSUPPORTED;
}

static int32_t check_flow(asc_plan *plan, flow *f, asc_status *status) {
    for (uint32_t i = 0; i < asc_plan_n_partitions(plan); i++) {
        const asc_partition *p = &asc_plan_partitions(plan)[i];
        for (uint32_t k = p->first_insn; k < p->first_insn + p->n_insns; k++) {
            int32_t code = check_insn(plan, p, k, f, status);
            if (code != ASC_OK) return code;
        }
    }
    for (uint32_t v = 0; v < asc_plan_n_values(plan); v++) {
        uint32_t kind = asc_plan_values(plan)[v].kind;
        if ((kind == ASC_VALUE_OUTPUT || kind == ASC_VALUE_TEMP) && !f->written[v])
            return asc_failf(status, ASC_E_FORMAT, "value %u ('%s') is written by no instruction", v,
                             asc_plan_string(plan, asc_plan_values(plan)[v].name));
    }
    return ASC_OK;
}

int32_t asc_verify_insns(asc_plan *plan, int32_t isa, asc_status *status) {
    flow f = {0};
    int32_t code = ASC_E_MEMORY;
    f.written = calloc(asc_plan_n_values(plan) + 1, 1);
    plan->rows = calloc(asc_plan_n_insns(plan) + 1, sizeof *plan->rows);
    if (!f.written || !plan->rows || !asc_row_index_make(&f.rows, isa))
        asc_fail(status, code, "no memory for the plan");
    else
        code = check_flow(plan, &f, status);
    asc_row_index_free(&f.rows);
    free(f.written);
    return code;
}

/* Edges of one side of a partition: each value of `kind` in it once, with the edge's type and rank. */
static const char *check_boundary(const asc_plan *p, const asc_partition *part, uint32_t kind, uint8_t *seen,
                                  uint8_t *made) {
    int input = kind == ASC_VALUE_INPUT;
    const uint32_t *pairs = asc_plan_indices(p) + (input ? part->first_input : part->first_output);
    uint32_t n = input ? part->n_inputs : part->n_outputs, expected = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e = pairs[2 * i], v = pairs[2 * i + 1];
        if (e >= asc_plan_n_edges(p)) return "has an edge that does not exist";
        if (input && !made[e]) return "reads an edge before it is produced";
        if (!input && made[e] && part->kind != ASC_PARTITION_FALLBACK) return "produces an edge that exists already";
        if (!input) made[e] = 1;
        if (part->kind == ASC_PARTITION_HOST) {
            if (v != ASC_NONE) return "is a host partition with values";
            continue;
        }
        if (v < part->first_value || v - part->first_value >= part->n_values) return "has a value of another partition";
        const asc_value *value = &asc_plan_values(p)[v];
        const asc_edge *edge = &asc_plan_edges(p)[e];
        if (value->kind != kind || seen[v]) return "lists a value that is none of its inputs or outputs, or twice";
        if (value->dtype != edge->dtype || value->rank != edge->rank)
            return "has an edge of another type than its value";
        seen[v] = 1;
    }
    if (part->kind == ASC_PARTITION_HOST) return NULL;
    for (uint32_t v = part->first_value; v < part->first_value + part->n_values; v++)
        expected += asc_plan_values(p)[v].kind == kind;
    return expected == n ? NULL : "does not list all its inputs or outputs";
}

/* The last of ONNX's element types. Strings, complex numbers, float8 and types of less than a byte travel
 * between host partitions and the boundary alone. */
enum { LAST_TYPE = 26 };

static int32_t check_edges(const asc_plan *plan, uint8_t *seen, uint8_t *made, asc_status *status) {
    for (uint32_t e = 0; e < asc_plan_n_edges(plan); e++) {
        const asc_edge *edge = &asc_plan_edges(plan)[e];
        int known = edge->dtype <= LAST_TYPE;
        if (!known || edge->rank > ASC_MAX_RANK || edge->role > (ASC_EDGE_INPUT | ASC_EDGE_OUTPUT) || edge->pad ||
            !are_dims(plan, edge->first_dim, edge->rank))
            return asc_failf(status, ASC_E_FORMAT, "edge %u is malformed", e);
        made[e] = edge->role & ASC_EDGE_INPUT;
    }
    for (uint32_t i = 0; i < asc_plan_n_partitions(plan); i++) {
        const asc_partition *p = &asc_plan_partitions(plan)[i];
        const char *fault = check_boundary(plan, p, ASC_VALUE_INPUT, seen, made);
        if (!fault && p->fallback && !fallback_replaces(plan, p))
            fault = "has a fallback of other edges or with libraries";
        if (!fault) fault = check_boundary(plan, p, ASC_VALUE_OUTPUT, seen, made);
        if (fault) return asc_failf(status, ASC_E_FORMAT, "partition %u %s", i, fault);
    }
    for (uint32_t e = 0; e < asc_plan_n_edges(plan); e++)
        if (!made[e]) return asc_failf(status, ASC_E_FORMAT, "edge %u is produced by no partition", e);
    return ASC_OK;
}

int32_t asc_verify_edges(const asc_plan *plan, asc_status *status) {
    uint8_t *marks = calloc((size_t)asc_plan_n_values(plan) + asc_plan_n_edges(plan) + 1, 1);
    if (!marks) return asc_fail(status, ASC_E_MEMORY, "no memory for the plan");
    int32_t code = check_edges(plan, marks, marks + asc_plan_n_values(plan), status);
    free(marks);
    return code;
}
