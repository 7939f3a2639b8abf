/* bundle_builder.h - writes small bundles for the C tests, by the rules at the top of core/bundle.c. */
#ifndef ASC_TEST_BUNDLE_BUILDER_H
#define ASC_TEST_BUNDLE_BUILDER_H

#include <stdlib.h>
#include <string.h>

#include "asc_origin.h"
#include "ascend_rt.h"

#define BB_KINDS (ASC_SEC_ORIGINS + 1)
#define BB_N(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define BB_LIST(...) ((const uint32_t[]){__VA_ARGS__}), BB_N(__VA_ARGS__) /* an array of indices and its length */
#define BB_NOTHING NULL, 0

typedef struct bb_bytes {
    uint8_t *at;
    uint64_t size;
} bb_bytes;

typedef struct builder {
    bb_bytes sections[BB_KINDS];
    bb_bytes weights, native, host, samples;
    uint32_t first_value, first_insn; /* of the open partition */
} builder;

static const uint32_t BB_STRIDE[BB_KINDS] = {0,
                                             1,
                                             sizeof(asc_symbol),
                                             sizeof(asc_dim),
                                             4,
                                             8,
                                             sizeof(asc_weight),
                                             sizeof(asc_value),
                                             sizeof(asc_insn),
                                             sizeof(asc_partition),
                                             sizeof(asc_edge),
                                             sizeof(asc_attr_record),
                                             sizeof(asc_native),
                                             sizeof(asc_meta),
                                             sizeof(asc_sample),
                                             sizeof(asc_profile_size),
                                             sizeof(asc_weight_file),
                                             sizeof(asc_constraint),
                                             1,
                                             1,
                                             sizeof(asc_origin)};

/* Appends at the next multiple of align, zeros before; returns the offset. */
static inline uint64_t bb_append(bb_bytes *b, uint64_t align, const void *bytes, uint64_t size) {
    uint64_t at = (b->size + align - 1) / align * align;
    b->at = realloc(b->at, at + size + 1);
    memset(b->at + b->size, 0, at - b->size);
    if (size) memcpy(b->at + at, bytes, size);
    b->size = at + size;
    return at;
}

static inline uint32_t bb_add(builder *b, uint32_t kind, const void *element) {
    return (uint32_t)(bb_append(&b->sections[kind], 1, element, BB_STRIDE[kind]) / BB_STRIDE[kind]);
}

static inline uint32_t bb_string(builder *b, const char *text) {
    if (!b->sections[ASC_SEC_STRINGS].size) bb_append(&b->sections[ASC_SEC_STRINGS], 1, "", 1);
    return *text ? (uint32_t)bb_append(&b->sections[ASC_SEC_STRINGS], 1, text, strlen(text) + 1) : 0;
}

static inline uint32_t bb_indices(builder *b, const uint32_t *list, uint64_t n) {
    return (uint32_t)(bb_append(&b->sections[ASC_SEC_INDICES], 1, list, n * 4) / 4);
}

static inline uint32_t bb_dim(builder *b, uint32_t op, uint32_t x, uint32_t y, int64_t value) {
    asc_dim d = {.op = op, .a = x, .b = y, .value = value};
    return bb_add(b, ASC_SEC_DIMS, &d);
}

static inline uint32_t bb_const(builder *b, int64_t value) {
    return bb_dim(b, ASC_DIM_CONST, 0, 0, value);
}

static inline uint32_t bb_symbol(builder *b, const char *name, int64_t min, int64_t max) {
    asc_symbol s = {.name = bb_string(b, name), .min = min, .max = max};
    return bb_dim(b, ASC_DIM_SYMBOL, bb_add(b, ASC_SEC_SYMBOLS, &s), 0, 0);
}

static inline uint32_t bb_value(builder *b, const char *name, int dtype, int kind, const uint32_t *dims,
                                uint64_t rank) {
    asc_value v = {.name = bb_string(b, name), .dtype = (uint8_t)dtype, .kind = (uint8_t)kind, .rank = (uint8_t)rank};
    v.first_dim = bb_indices(b, dims, rank);
    v.first_stride = v.base = v.offset = ASC_NONE;
    return bb_add(b, ASC_SEC_VALUES, &v);
}

static inline asc_value *bb_value_at(builder *b, uint32_t v) {
    return (asc_value *)b->sections[ASC_SEC_VALUES].at + v;
}

static inline uint32_t bb_view(builder *b, const char *name, uint32_t base, const uint32_t *dims, uint64_t rank,
                               const uint32_t *strides, uint32_t offset) {
    uint32_t v = bb_value(b, name, bb_value_at(b, base)->dtype, ASC_VALUE_VIEW, dims, rank);
    uint32_t first = strides ? bb_indices(b, strides, rank) : ASC_NONE;
    bb_value_at(b, v)->base = base;
    bb_value_at(b, v)->first_stride = first;
    bb_value_at(b, v)->offset = offset;
    return v;
}

static inline uint32_t bb_weight(builder *b, const char *name, int dtype, const uint32_t *dims, uint64_t rank,
                                 const void *bytes, uint64_t size) {
    uint32_t v = bb_value(b, name, dtype, ASC_VALUE_WEIGHT, dims, rank);
    asc_weight w = {.offset = bb_append(&b->weights, ASC_ALIGN, bytes, size), .bytes = size};
    asc_sha256(bytes, size, w.sha256);
    bb_value_at(b, v)->base = bb_add(b, ASC_SEC_WEIGHTS, &w);
    return v;
}

static inline uint32_t bb_insn(builder *b, const char *kernel, const uint32_t *in, uint64_t n_in, const uint32_t *out,
                               uint64_t n_out, const uint32_t *ints, uint64_t n_ints) {
    asc_insn i = {.name = bb_string(b, kernel), .kernel = bb_string(b, kernel), .native = ASC_NONE};
    i.n_in = (uint16_t)n_in;
    i.n_out = (uint16_t)n_out;
    i.n_ints = (uint32_t)n_ints;
    i.first_operand = bb_indices(b, in, n_in);
    bb_indices(b, out, n_out);
    i.first_int = bb_indices(b, ints, n_ints);
    return bb_add(b, ASC_SEC_INSNS, &i);
}

static inline asc_insn *bb_insn_at(builder *b, uint32_t i) {
    return (asc_insn *)b->sections[ASC_SEC_INSNS].at + i;
}

static inline uint32_t bb_library(builder *b, const char *name, const void *bytes, uint64_t size) {
    asc_native n = {.name = bb_string(b, name), .offset = bb_append(&b->native, ASC_ALIGN, bytes, size), .bytes = size};
    asc_sha256(bytes, size, n.sha256);
    return bb_add(b, ASC_SEC_NATIVE, &n);
}

/* An edge like this value. */
static inline uint32_t bb_edge(builder *b, uint32_t value, uint32_t role) {
    const asc_value *v = bb_value_at(b, value);
    asc_edge e = {
        .name = v->name, .dtype = v->dtype, .rank = v->rank, .role = (uint8_t)role, .first_dim = v->first_dim};
    return bb_add(b, ASC_SEC_EDGES, &e);
}

static inline uint64_t bb_count(const builder *b, uint32_t kind) {
    return b->sections[kind].size / BB_STRIDE[kind];
}

static inline uint32_t bb_boundary(builder *b, const uint32_t *values, uint64_t n, uint32_t role) {
    uint32_t pairs[64];
    for (uint64_t i = 0; i < n; i++) {
        pairs[2 * i] = bb_edge(b, values[i], role);
        pairs[2 * i + 1] = values[i];
    }
    return bb_indices(b, pairs, 2 * n);
}

/* Everything added since the last partition becomes one of this kind; its inputs and outputs are pairs of an edge and
 * a value, from first_input and first_output on. */
static inline uint32_t bb_partition_of(builder *b, asc_partition p) {
    p.first_value = b->first_value;
    p.first_insn = b->first_insn;
    p.n_values = (uint32_t)bb_count(b, ASC_SEC_VALUES) - b->first_value;
    p.n_insns = (uint32_t)bb_count(b, ASC_SEC_INSNS) - b->first_insn;
    b->first_value += p.n_values;
    b->first_insn += p.n_insns;
    return bb_add(b, ASC_SEC_PARTITIONS, &p);
}

/* Everything added since the last partition becomes a native one with these inputs and outputs. */
static inline uint32_t bb_partition(builder *b, const char *name, const uint32_t *in, uint64_t n_in,
                                    const uint32_t *out, uint64_t n_out) {
    asc_partition p = {.name = bb_string(b, name), .n_inputs = (uint32_t)n_in, .n_outputs = (uint32_t)n_out};
    p.first_input = bb_boundary(b, in, n_in, ASC_EDGE_INPUT);
    p.first_output = bb_boundary(b, out, n_out, ASC_EDGE_OUTPUT);
    return bb_partition_of(b, p);
}

static inline asc_partition *bb_partition_at(builder *b, uint32_t i) {
    return (asc_partition *)b->sections[ASC_SEC_PARTITIONS].at + i;
}

static inline bb_bytes bb_plan(const builder *b) {
    bb_bytes plan = {0};
    asc_plan_header h = {
        .magic = ASC_PLAN_MAGIC, .version = ASC_PLAN_VERSION, .min_reader = 1, .header_bytes = sizeof h};
    asc_section table[BB_KINDS];
    for (uint32_t kind = 1; kind < BB_KINDS; kind++)
        if (b->sections[kind].size) table[h.n_sections++] = (asc_section){.kind = kind, .stride = BB_STRIDE[kind]};
    bb_append(&plan, 1, &h, sizeof h);
    bb_append(&plan, 1, table, sizeof *table * h.n_sections);
    for (uint32_t i = 0; i < h.n_sections; i++) {
        const bb_bytes *s = &b->sections[table[i].kind];
        table[i].offset = bb_append(&plan, ASC_ALIGN, s->at, s->size);
        table[i].count = s->size / table[i].stride;
    }
    h.plan_bytes = plan.size;
    memcpy(plan.at, &h, sizeof h);
    memcpy(plan.at + sizeof h, table, sizeof *table * h.n_sections);
    return plan;
}

static inline void bb_put(uint8_t *file, uint64_t at, uint64_t value, int bytes) {
    memcpy(file + at, &value, (size_t)bytes);
}

static inline void bb_header(bb_bytes *file) {
    memcpy(file->at, "IMOD", 4);
    bb_put(file->at, 4, 256, 4);
    bb_put(file->at, 8, 0x20000000, 4);
    bb_put(file->at, 76, file->size - 256, 4);
    memcpy(file->at + 84, "ascend-ep", 9);
    bb_put(file->at, 156, 1, 4);
    file->at[180] = 0xAE;
    bb_put(file->at, 184, file->size - 256, 8);
    asc_bundle_digest(file->at, file->size, file->at + 12, NULL);
}

/* A file of these partitions; empty ones are left out. */
static inline bb_bytes bb_file(bb_bytes plan, bb_bytes host, bb_bytes native, bb_bytes samples, bb_bytes weights) {
    const struct {
        uint32_t type, align;
        bb_bytes bytes;
    } parts[] = {{ASC_PART_PLAN, 64, plan},
                 {ASC_PART_HOST, 64, host},
                 {ASC_PART_NATIVE, 64, native},
                 {ASC_PART_SAMPLES, 64, samples},
                 {ASC_PART_WEIGHTS, 4096, weights}};
    bb_bytes file = {0};
    uint32_t n = 0;
    for (int i = 0; i < 5; i++) n += parts[i].bytes.size > 0;
    uint64_t table_end = 264 + 24 * (uint64_t)n, entry = 264;
    uint8_t head[512] = {0};
    bb_append(&file, 1, head, table_end);
    bb_put(file.at, 256, n, 4);
    for (int i = 0; i < 5; i++) {
        if (!parts[i].bytes.size) continue;
        uint64_t at = bb_append(&file, parts[i].align, parts[i].bytes.at, parts[i].bytes.size);
        bb_put(file.at, entry, parts[i].type, 4);
        bb_put(file.at, entry + 8, at - table_end, 8);
        bb_put(file.at, entry + 16, parts[i].bytes.size, 8);
        entry += 24;
    }
    bb_header(&file);
    return file;
}

/* The finished file; frees the builder. */
static inline bb_bytes bb_finish(builder *b) {
    bb_bytes plan = bb_plan(b), file = bb_file(plan, b->host, b->native, b->samples, b->weights);
    for (int i = 0; i < BB_KINDS; i++) free(b->sections[i].at);
    free(b->weights.at);
    free(b->native.at);
    free(b->host.at);
    free(b->samples.at);
    free(plan.at);
    memset(b, 0, sizeof *b);
    return file;
}

#endif
