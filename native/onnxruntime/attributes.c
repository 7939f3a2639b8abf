/* Attributes and tensors, from onnxruntime's objects into ONNX messages. */
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { ATTRIBUTE_FIELD = 5 }; /* of NodeProto */

/* Field numbers and type values of onnx.AttributeProto, by kind of onnxruntime's attribute. */
typedef struct attr_form {
    uint32_t field;
    uint32_t type;
} attr_form;
static const attr_form forms[] = {
    [ORT_ATTR_INT] = {3, 2},    [ORT_ATTR_INTS] = {8, 7},    [ORT_ATTR_FLOAT] = {2, 1},  [ORT_ATTR_FLOATS] = {7, 6},
    [ORT_ATTR_STRING] = {4, 3}, [ORT_ATTR_STRINGS] = {9, 8}, [ORT_ATTR_TENSOR] = {5, 4},
};

enum {
    TENSOR_DIMS = 1,
    TENSOR_DTYPE = 2,
    TENSOR_STRINGS = 6,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
};

ort_status *attr_bytes(const ort_attr *attr, int32_t kind, void **bytes, size_t *size) {
    size_t room = 64;
    *size = 0;
    void *data = malloc(room + 1);
    ort_status *status = data ? ort_attr_read(attr, kind, data, room, size) : fail_memory();
    if (status && data && *size > room) { /* too small: now the size is known */
        ort_release_status(status);
        room = *size;
        free(data);
        data = malloc(room + 1);
        status = data ? ort_attr_read(attr, kind, data, room, size) : fail_memory();
    }
    if (status) {
        free(data);
        return status;
    }
    ((char *)data)[*size] = 0;
    *bytes = data;
    return NULL;
}

static void write_values(uint32_t field, int32_t kind, const void *bytes, size_t size, wire *out) {
    const int64_t *ints = bytes;
    const float *floats = bytes;
    const char *text = bytes;
    switch (kind) {
        case ORT_ATTR_INT:
        case ORT_ATTR_INTS:
            for (size_t i = 0; i < size / sizeof *ints; i++) wire_int(out, field, ints[i]);
            break;
        case ORT_ATTR_FLOAT:
        case ORT_ATTR_FLOATS:
            for (size_t i = 0; i < size / sizeof *floats; i++) wire_float(out, field, floats[i]);
            break;
        case ORT_ATTR_STRING: wire_bytes(out, field, text, size); break;
        default: /* strings, each with its terminator */
            for (size_t at = 0; at < size; at += strlen(text + at) + 1) wire_text(out, field, text + at);
    }
}

static ort_status *write_attr_tensor(const ort_attr *attr, wire *out) {
    ort_value *tensor = NULL;
    TRY(ort_attr_tensor(attr, &tensor));
    if (!tensor) return fail(ORT_FAIL, "a tensor attribute can't be read", NULL);
    ort_status *status = tensor_write(tensor, "", forms[ORT_ATTR_TENSOR].field, 1, out);
    ort_release_value(tensor);
    return status;
}

ort_status *attr_write(const ort_attr *attr, wire *out) {
    int32_t kind;
    const char *name;
    TRY(ort_attr_kind(attr, &kind));
    TRY(ort_attr_name(attr, &name));
    if (kind == ORT_ATTR_GRAPH) return NULL; /* written by the graph's walk */
    if (kind < ORT_ATTR_INT || kind > ORT_ATTR_TENSOR)
        return fail(ORT_NOT_IMPLEMENTED, "an attribute has a type this provider can't read: ", name);
    size_t mark = wire_open(out, ATTRIBUTE_FIELD);
    wire_text(out, 1, name);
    wire_int(out, 20, forms[kind].type);
    if (kind == ORT_ATTR_TENSOR) {
        TRY(write_attr_tensor(attr, out));
    } else {
        void *bytes;
        size_t size;
        TRY(attr_bytes(attr, kind, &bytes, &size));
        write_values(forms[kind].field, kind, bytes, size, out);
        free(bytes);
    }
    wire_close(out, mark);
    return NULL;
}

static void write_pair(uint32_t field, const char *key, const char *value, wire *out) {
    size_t mark = wire_open(out, field);
    wire_text(out, 1, key);
    wire_text(out, 2, value);
    wire_close(out, mark);
}

static void write_reference(const void *data, size_t size, wire *out) {
    char address[24] = "", length[24] = "";
    text_add_number(address, sizeof address, (int64_t)(uintptr_t)data);
    text_add_number(length, sizeof length, (int64_t)size);
    wire_int(out, TENSOR_LOCATION, 1);
    write_pair(TENSOR_EXTERNAL, "location", "asc-memory", out);
    write_pair(TENSOR_EXTERNAL, "offset", address, out);
    write_pair(TENSOR_EXTERNAL, "length", length, out);
}

static ort_status *write_strings(const ort_value *tensor, size_t count, wire *out) {
    size_t bytes;
    TRY(ort_string_bytes(tensor, &bytes));
    char *text = malloc(bytes + 1);
    size_t *offsets = malloc((count + 1) * sizeof *offsets);
    ort_status *status = text && offsets ? ort_string_content(tensor, text, bytes, offsets, count) : fail_memory();
    if (!status) {
        offsets[count] = bytes;
        for (size_t i = 0; i < count; i++)
            wire_bytes(out, TENSOR_STRINGS, text + offsets[i], offsets[i + 1] - offsets[i]);
    }
    free(text);
    free(offsets);
    return status;
}

static ort_status *write_head(const ort_value *tensor, int32_t *dtype, size_t *count, wire *out) {
    ort_shape_info *shape;
    size_t rank;
    TRY(ort_tensor_shape(tensor, &shape));
    ort_status *status = ort_get_dtype(shape, dtype);
    if (!status) status = ort_get_rank(shape, &rank);
    int64_t *dims = status ? NULL : malloc((rank + 1) * sizeof *dims);
    if (!status) status = dims ? ort_get_dims(shape, dims, rank) : fail_memory();
    if (!status) {
        *count = 1;
        for (size_t i = 0; i < rank; i++) {
            wire_int(out, TENSOR_DIMS, dims[i]);
            *count *= (size_t)dims[i];
        }
        wire_int(out, TENSOR_DTYPE, *dtype);
    }
    free(dims);
    ort_release_shape(shape);
    return status;
}

ort_status *tensor_write(const ort_value *tensor, const char *name, uint32_t field, int copy, wire *out) {
    enum { INLINE_BYTES = 256 };
    int32_t dtype;
    size_t count, size;
    void *data;
    size_t mark = wire_open(out, field);
    wire_text(out, TENSOR_NAME, name);
    TRY(write_head(tensor, &dtype, &count, out));
    if (dtype == ASC_STRING) {
        TRY(write_strings(tensor, count, out));
    } else {
        TRY(ort_tensor_bytes(tensor, &size));
        TRY(ort_tensor_data((ort_value *)(uintptr_t)tensor, &data)); /* onnxruntime's only accessor; we just read */
        if (copy || size <= INLINE_BYTES)
            wire_bytes(out, TENSOR_RAW, data, size);
        else
            write_reference(data, size, out);
    }
    wire_close(out, mark);
    return NULL;
}
