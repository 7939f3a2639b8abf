/* The bundle that the hostile tests start from when they are given none:
 *   partition 0: t = matmul(x [N,4], w [4,5] panel32, c [5]); y = copy(t transposed); s = ints(N*5)
 *   partition 1: host, y -> z
 *   partition 2: gather(z, index) by way of strided views
 *   partition 3: matmul(x [2,3], w [3,33] int8 in panels, scale and zero point for each two rows)
 *   partition 4: a library call that is never trusted
 * N has profiles, and a constraint. */
#include "sample_bundle.h"

#include "bundle_builder.h"

static void add_matmul(builder *b, uint32_t n) {
    float panel[4 * 32] = {1, 2, 3}, bias[5] = {5, 4, 3};
    uint32_t four = bb_const(b, 4), five = bb_const(b, 5), zero = bb_const(b, 0), one = bb_const(b, 1);
    uint32_t n5 = bb_dim(b, ASC_DIM_MUL, n, five, 0);
    uint32_t x = bb_value(b, "x", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(n, four));
    uint32_t w = bb_weight(b, "w", ASC_FLOAT32, BB_LIST(four, five), panel, sizeof panel);
    bb_value_at(b, w)->layout = ASC_LAYOUT_PANEL32;
    uint32_t c = bb_weight(b, "c", ASC_FLOAT32, BB_LIST(five), bias, sizeof bias);
    uint32_t t = bb_value(b, "t", ASC_FLOAT32, ASC_VALUE_TEMP, BB_LIST(n, five));
    uint32_t strides[] = {one, five};
    uint32_t v = bb_view(b, "v", t, BB_LIST(five, n), strides, zero);
    uint32_t y = bb_value(b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(five, n));
    uint32_t s = bb_value(b, "s", ASC_INT64, ASC_VALUE_OUTPUT, BB_LIST(one));
    const double floats[] = {1, 0.5, -1, 1};
    uint32_t insn = bb_insn(b, "matmul", BB_LIST(x, w, c), &t, 1, BB_LIST(zero, zero, zero));
    bb_insn_at(b, insn)->first_float =
        (uint32_t)(bb_append(&b->sections[ASC_SEC_FLOATS], 1, floats, sizeof floats) / 8);
    bb_insn_at(b, insn)->n_floats = 4;
    bb_insn(b, "copy", &v, 1, &y, 1, BB_NOTHING);
    bb_insn(b, "ints", BB_NOTHING, &s, 1, &n5, 1);
    bb_partition(b, "main", &x, 1, BB_LIST(y, s));
}

/* An edge by name and type; a host partition from the first output of the previous one to it. */
static uint32_t add_host(builder *b, uint32_t from_edge, uint32_t dims) {
    asc_edge z = {.name = bb_string(b, "z"), .dtype = ASC_FLOAT32, .rank = 2, .first_dim = dims};
    uint32_t edge = bb_add(b, ASC_SEC_EDGES, &z);
    asc_partition p = {.name = bb_string(b, "host"), .kind = ASC_PARTITION_HOST, .reason = bb_string(b, "no kernel")};
    p.first_value = b->first_value;
    p.first_insn = b->first_insn;
    p.first_input = bb_indices(b, BB_LIST(from_edge, ASC_NONE));
    p.first_output = bb_indices(b, BB_LIST(edge, ASC_NONE));
    p.n_inputs = p.n_outputs = 1;
    p.host_offset = bb_append(&b->host, ASC_ALIGN, "an ONNX model", 13);
    p.host_bytes = 13;
    bb_add(b, ASC_SEC_PARTITIONS, &p);
    return edge;
}

static void add_gather(builder *b, uint32_t n, uint32_t z_edge) {
    int64_t numbers[] = {2, 0, -1};
    uint32_t five = bb_const(b, 5), three = bb_const(b, 3), zero = bb_const(b, 0);
    uint32_t z = bb_value(b, "z", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(five, n));
    uint32_t i = bb_weight(b, "index", ASC_INT64, BB_LIST(three), numbers, sizeof numbers);
    uint32_t strides[] = {n}, at = bb_dim(b, ASC_DIM_SUB, n, bb_const(b, 1), 0);
    uint32_t column = bb_view(b, "column", z, BB_LIST(five), strides, at);
    uint32_t dense = bb_value(b, "dense", ASC_FLOAT32, ASC_VALUE_TEMP, BB_LIST(five));
    uint32_t picked = bb_value(b, "picked", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(three));
    uint32_t all = bb_value(b, "all", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(bb_dim(b, ASC_DIM_ADD, five, three, 0)));
    bb_insn(b, "copy", &column, 1, &dense, 1, BB_NOTHING);
    bb_insn(b, "gather", BB_LIST(dense, i), &picked, 1, &zero, 1);
    bb_insn(b, "concat", BB_LIST(dense, picked), &all, 1, &zero, 1);
    uint32_t part = bb_partition(b, "tail", &z, 1, BB_LIST(picked, all));
    asc_partition *p = (asc_partition *)b->sections[ASC_SEC_PARTITIONS].at + part;
    ((uint32_t *)b->sections[ASC_SEC_INDICES].at)[p->first_input] =
        z_edge; /* the edge made for it stays a plain input */
}

static void add_int8_matmul(builder *b) {
    int8_t weights[2 * 3 * 32] = {1, -2, 3};
    float scale[2 * 2 * 32] = {0.5}, point[2 * 2 * 32] = {1};
    uint32_t two = bb_const(b, 2), three = bb_const(b, 3), wide = bb_const(b, 33), zero = bb_const(b, 0);
    uint32_t x = bb_value(b, "i", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(two, three));
    uint32_t w = bb_weight(b, "w8", ASC_INT8, BB_LIST(three, wide), weights, sizeof weights);
    uint32_t s = bb_weight(b, "scale", ASC_FLOAT32, BB_LIST(two, wide), scale, sizeof scale);
    uint32_t p = bb_weight(b, "point", ASC_FLOAT32, BB_LIST(two, wide), point, sizeof point);
    bb_value_at(b, w)->layout = ASC_LAYOUT_BYTES32;
    bb_value_at(b, s)->layout = bb_value_at(b, p)->layout = ASC_LAYOUT_PANEL32;
    uint32_t y = bb_value(b, "j", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(two, wide));
    const double floats[] = {1, 1, 0, 0};
    uint32_t insn =
        bb_insn(b, "matmul", BB_LIST(x, w, ASC_NONE, ASC_NONE, s, p), &y, 1, BB_LIST(zero, zero, zero, two));
    bb_insn_at(b, insn)->first_float =
        (uint32_t)(bb_append(&b->sections[ASC_SEC_FLOATS], 1, floats, sizeof floats) / 8);
    bb_insn_at(b, insn)->n_floats = 4;
    bb_partition(b, "int8", &x, 1, &y, 1);
}

static void add_library_call(builder *b) {
    asc_attr_record a = {
        .name = bb_string(b, "alpha"), .kind = ASC_ATTR_STRING, .first = bb_string(b, "text"), .count = 1};
    uint32_t two = bb_const(b, 2);
    uint32_t library = bb_library(b, "lib.so", "not a shared object", 19);
    uint32_t x = bb_value(b, "q", ASC_FLOAT32, ASC_VALUE_INPUT, BB_LIST(two));
    uint32_t y = bb_value(b, "r", ASC_FLOAT32, ASC_VALUE_OUTPUT, BB_LIST(two));
    uint32_t insn = bb_insn(b, "Custom", &x, 1, &y, 1, BB_NOTHING);
    bb_insn_at(b, insn)->native = library;
    bb_insn_at(b, insn)->first_attr = bb_add(b, ASC_SEC_ATTRS, &a);
    bb_insn_at(b, insn)->n_attrs = 1;
    bb_partition(b, "library", &x, 1, &y, 1);
}

uint8_t *sample_bundle(uint64_t *size) {
    builder b = {0};
    uint32_t n = bb_symbol(&b, "N", 1, 1000);
    add_matmul(&b, n);
    const asc_edge *y = (const asc_edge *)b.sections[ASC_SEC_EDGES].at + 1;
    uint32_t z = add_host(&b, 1, y->first_dim);
    add_gather(&b, n, z);
    add_int8_matmul(&b);
    add_library_call(&b);
    for (uint32_t i = 0; i < 40; i++) {
        asc_profile_size size = {.profile = i, .symbol = 0, .size = i + 1};
        bb_add(&b, ASC_SEC_PROFILES, &size);
    }
    asc_constraint constraint = {n, n, 1, bb_string(&b, "'N' is itself")};
    bb_add(&b, ASC_SEC_CONSTRAINTS, &constraint);
    asc_origin origin = {1, bb_string(&b, "y"), 0};
    bb_add(&b, ASC_SEC_ORIGINS, &origin);
    asc_meta meta = {.key = bb_string(&b, "producer"), .value = bb_string(&b, "a test")};
    bb_add(&b, ASC_SEC_META, &meta);
    bb_bytes file = bb_finish(&b);
    *size = file.size;
    return file.at;
}
