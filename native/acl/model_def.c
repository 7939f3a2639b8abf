/* model_def.c - reads the protobuf of MODEL_DEF where it lies: names and shapes only. */
#include "model_def.h"

#include <stdlib.h>
#include <string.h>

#include "protobuf.h"

/* Numbers of fields, as real models have them. */
enum { MODEL_NAME = 1, MODEL_GRAPH = 7, GRAPH_OP = 6, OP_NAME = 1, OP_OUTPUT_DESC = 34 };
enum { DESC_NAME = 1, DESC_SHAPE = 3, SHAPE_DIM = 1 };

static void add_dim(asc_def_tensor *t, uint64_t value) {
    if (t->rank >= 0 && t->rank < ASC_MAX_RANK) t->dims[t->rank] = (int64_t)value;
    t->rank = t->rank < 0 || t->rank >= ASC_MAX_RANK ? -1 : t->rank + 1;
}

/* A single dim of -2 says that the rank isn't known. */
static void read_shape(asc_pb_span s, asc_def_tensor *t) {
    asc_pb_field f;
    while (asc_pb_next(&s, &f)) {
        if (f.number != SHAPE_DIM) continue;
        if (f.kind == 0) add_dim(t, f.value);
        uint64_t value;
        while (f.kind == 2 && asc_pb_varint(&f.bytes, &value)) add_dim(t, value);
    }
    if (t->rank == 1 && t->dims[0] == -2) t->rank = -1;
}

static void read_desc(asc_pb_span s, asc_def_tensor *t) {
    asc_pb_field f;
    while (asc_pb_next(&s, &f)) {
        if (f.number == DESC_NAME && f.kind == 2) {
            t->name = (const char *)f.bytes.at;
            t->name_bytes = (uint32_t)(f.bytes.end - f.bytes.at);
        }
        if (f.number == DESC_SHAPE && f.kind == 2) read_shape(f.bytes, t);
    }
}

/* The tensors of an operator; with `tensors` NULL they are counted. */
static uint32_t read_op(asc_pb_span s, asc_def_tensor *tensors) {
    asc_pb_field f;
    asc_pb_span copy = s, name = {0};
    uint32_t count = 0;
    while (asc_pb_next(&copy, &f))
        if (f.number == OP_NAME && f.kind == 2) name = f.bytes;
    while (asc_pb_next(&s, &f)) {
        if (f.number != OP_OUTPUT_DESC || f.kind != 2) continue;
        if (tensors) {
            asc_def_tensor *t = &tensors[count];
            *t = (asc_def_tensor){.op = (const char *)name.at, .output = count};
            t->op_bytes = (uint32_t)(name.end - name.at);
            read_desc(f.bytes, t);
        }
        count++;
    }
    return count;
}

static uint32_t read_model(asc_pb_span s, asc_def_tensor *tensors, asc_pb_span *name) {
    asc_pb_field f, op;
    uint32_t count = 0;
    while (asc_pb_next(&s, &f)) {
        if (f.number == MODEL_NAME && f.kind == 2) *name = f.bytes;
        if (f.number != MODEL_GRAPH || f.kind != 2) continue;
        while (asc_pb_next(&f.bytes, &op))
            if (op.number == GRAPH_OP && op.kind == 2) count += read_op(op.bytes, tensors ? tensors + count : NULL);
    }
    return count;
}

static int compare(const char *a, size_t a_bytes, const char *b, size_t b_bytes) {
    size_t both = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = both ? memcmp(a, b, both) : 0;
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int by_name(const void *left, const void *right) {
    const asc_def_tensor *a = left, *b = right;
    return compare(a->name, a->name_bytes, b->name, b->name_bytes);
}

bool asc_model_def_read(const asc_model *model, asc_model_def *def) {
    uint64_t bytes = 0;
    const uint8_t *begin = asc_model_part(model, ASC_PART_MODEL_DEF, &bytes);
    asc_pb_span all = {begin, begin ? begin + bytes : begin}, name = {0};
    *def = (asc_model_def){0};
    uint32_t count = begin ? read_model(all, NULL, &name) : 0;
    def->tensors = calloc(count + 1u, sizeof *def->tensors);
    def->name = name.at ? strndup((const char *)name.at, (size_t)(name.end - name.at)) : strdup("");
    if (!def->tensors || !def->name) {
        asc_model_def_free(def);
        return false;
    }
    def->count = begin ? read_model(all, def->tensors, &name) : 0;
    qsort(def->tensors, def->count, sizeof *def->tensors, by_name);
    return true;
}

void asc_model_def_free(asc_model_def *def) {
    free(def->name);
    free(def->tensors);
    *def = (asc_model_def){0};
}

const asc_def_tensor *asc_model_def_find(const asc_model_def *def, const char *name) {
    asc_def_tensor key = {.name = name, .name_bytes = (uint32_t)strlen(name)};
    return *name ? bsearch(&key, def->tensors, def->count, sizeof key, by_name) : NULL;
}
