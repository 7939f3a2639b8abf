/* plan.h - the sections of a PLAN partition in memory, and what verification derives from them. */
#ifndef ASC_CORE_PLAN_H
#define ASC_CORE_PLAN_H

#include "asc_origin.h"
#include "bundle.h"

/* Limits that keep loading and binding of any file linear and small. */
#define ASC_MAX_SYMBOLS (1u << 16)
#define ASC_MAX_DIMS (1u << 19)
#define ASC_MAX_INDICES (1u << 22)
#define ASC_MAX_FLOATS (1u << 20)
#define ASC_MAX_WEIGHTS (1u << 18)
#define ASC_MAX_VALUES (1u << 18)
#define ASC_MAX_INSNS (1u << 17)
#define ASC_MAX_PARTITIONS (1u << 12)
#define ASC_MAX_EDGES (1u << 16)
#define ASC_MAX_ATTRS (1u << 16)
#define ASC_MAX_NATIVES (1u << 8)
#define ASC_MAX_META (1u << 12)
#define ASC_MAX_SAMPLES (1u << 12)
#define ASC_MAX_PROFILE_SIZES (1u << 16)
#define ASC_MAX_CONSTRAINTS (1u << 12)
#define ASC_MAX_TOTAL_OPERANDS (1u << 19) /* over all instructions */
#define ASC_MAX_TOTAL_INTS (1u << 20)
#define ASC_MAX_NAME 4096 /* bytes of a name, the NUL included */

#define ASC_MAX_WEIGHT_FILES (1u << 14) /* each takes two of the 65530 mappings that a process may have */
#define ASC_MAX_WEIGHT_FILE_BYTES (1ull << 46)

#define ASC_SECTION_KINDS (ASC_SEC_ORIGINS + 1)

typedef struct asc_table {
    const void *data;
    uint64_t count;
    void *owned; /* when the file's elements are wider than this reader's */
} asc_table;

typedef struct asc_plan {
    asc_table tables[ASC_SECTION_KINDS];
    uint32_t *roots;         /* per value: the value at the end of its view chain */
    const asc_kernel **rows; /* per instruction: its row; NULL for a library's operator */
} asc_plan;

#define ASC_PLAN_TABLE(name, type, kind)                           \
    static inline const type *asc_plan_##name(const asc_plan *p) { \
        return (const type *)p->tables[kind].data;                 \
    }                                                              \
    static inline uint32_t asc_plan_n_##name(const asc_plan *p) {  \
        return (uint32_t)p->tables[kind].count;                    \
    }
ASC_PLAN_TABLE(symbols, asc_symbol, ASC_SEC_SYMBOLS)
ASC_PLAN_TABLE(dims, asc_dim, ASC_SEC_DIMS)
ASC_PLAN_TABLE(indices, uint32_t, ASC_SEC_INDICES)
ASC_PLAN_TABLE(floats, double, ASC_SEC_FLOATS)
ASC_PLAN_TABLE(weights, asc_weight, ASC_SEC_WEIGHTS)
ASC_PLAN_TABLE(values, asc_value, ASC_SEC_VALUES)
ASC_PLAN_TABLE(insns, asc_insn, ASC_SEC_INSNS)
ASC_PLAN_TABLE(partitions, asc_partition, ASC_SEC_PARTITIONS)
ASC_PLAN_TABLE(edges, asc_edge, ASC_SEC_EDGES)
ASC_PLAN_TABLE(attrs, asc_attr_record, ASC_SEC_ATTRS)
ASC_PLAN_TABLE(natives, asc_native, ASC_SEC_NATIVE)
ASC_PLAN_TABLE(metas, asc_meta, ASC_SEC_META)
ASC_PLAN_TABLE(samples, asc_sample, ASC_SEC_SAMPLES)
ASC_PLAN_TABLE(profile_sizes, asc_profile_size, ASC_SEC_PROFILES)
ASC_PLAN_TABLE(weight_files, asc_weight_file, ASC_SEC_WEIGHT_FILES)
ASC_PLAN_TABLE(constraints, asc_constraint, ASC_SEC_CONSTRAINTS)
ASC_PLAN_TABLE(origins, asc_origin, ASC_SEC_ORIGINS)

/* The string at an offset; "" beyond the section. */
static inline const char *asc_plan_string(const asc_plan *p, uint32_t offset) {
    const asc_table *strings = &p->tables[ASC_SEC_STRINGS];
    return offset < strings->count ? (const char *)strings->data + offset : "";
}

/* Reads the section table; bytes must stay as they are while the plan lives. */
int32_t asc_plan_parse(asc_plan *plan, const uint8_t *bytes, uint64_t size, asc_status *status);
/* Checks every index, reference and size, so that nothing after it needs to; fills roots and rows. */
int32_t asc_plan_verify(asc_plan *plan, const asc_frame *frame, const uint8_t *file, int32_t isa, asc_status *status);
void asc_plan_free(asc_plan *plan);

/* Parts of the verification. */
int32_t asc_verify_names(const asc_plan *plan, asc_status *status);
int32_t asc_verify_dims(const asc_plan *plan, asc_status *status);
int32_t asc_verify_weight_files(const asc_plan *plan, asc_status *status);
int32_t asc_verify_segments(const asc_plan *plan, const asc_frame *frame, const uint8_t *file, asc_status *status);
int32_t asc_verify_values(asc_plan *plan, asc_status *status);
int32_t asc_verify_insns(asc_plan *plan, int32_t isa, asc_status *status);
int32_t asc_verify_ranges(const asc_plan *plan, asc_status *status);
int32_t asc_verify_edges(const asc_plan *plan, asc_status *status);
int32_t asc_verify_profiles(const asc_plan *plan, asc_status *status);
int32_t asc_verify_constraints(const asc_plan *plan, asc_status *status);
int32_t asc_verify_origins(const asc_plan *plan, asc_status *status);
/* Notes the instruction a failure belongs to. */
void asc_blame(asc_status *status, const asc_plan *plan, uint32_t insn);
/* Bytes of a weight of these dims in its layout; returns 0 when they overflow. */
int asc_weight_bytes(const asc_value *value, const int64_t *dims, uint64_t *bytes);

/* Whether [first, first + n) lies in a table. */
static inline int asc_in_table(const asc_plan *p, uint32_t kind, uint32_t first, uint64_t n) {
    uint64_t count = p->tables[kind].count;
    return first <= count && n <= count - first;
}

#endif
