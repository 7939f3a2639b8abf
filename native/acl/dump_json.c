/* dump_json.c - the header of a dump file as JSON, by the name under which CANN's libascend_dump_parser has it: what
 * comparison tools (msprobe's msaccucmp) call. */
#include <stdio.h>
#include <string.h>

#include "acl/acl_base.h"
#include "dump_format.h"
#include "protobuf.h"
#include "replaced_file.h"

static void write_text(FILE *file, asc_pb_span text) {
    fputc('"', file);
    for (; text.at < text.end; text.at++)
        if (*text.at == '"' || *text.at == '\\')
            fprintf(file, "\\%c", *text.at);
        else if (*text.at < 0x20)
            fprintf(file, "\\u%04x", *text.at);
        else
            fputc(*text.at, file);
    fputc('"', file);
}

static bool write_shape(FILE *file, const char *key, asc_pb_span shape) {
    asc_pb_field f;
    uint64_t value;
    int count = 0;
    fprintf(file, ",\"%s\":{\"dim\":[", key);
    while (asc_pb_next(&shape, &f)) {
        if (f.number != ASC_SHAPE_DIM) continue;
        if (f.kind == 0) fprintf(file, "%s%llu", count++ ? "," : "", (unsigned long long)f.value);
        while (f.kind == 2 && asc_pb_varint(&f.bytes, &value))
            fprintf(file, "%s%llu", count++ ? "," : "", (unsigned long long)value);
    }
    fputs("]}", file);
    return shape.at == shape.end;
}

static bool write_original(FILE *file, asc_pb_span original) {
    asc_pb_field f;
    asc_pb_span name = {0};
    uint64_t output = 0;
    while (asc_pb_next(&original, &f)) {
        if (f.number == ASC_ORIGINAL_NAME && f.kind == 2) name = f.bytes;
        if (f.number == ASC_ORIGINAL_OUTPUT && f.kind == 0) output = f.value;
    }
    fputs(",\"original_op\":{\"name\":", file);
    write_text(file, name);
    fprintf(file, ",\"output_index\":%llu}", (unsigned long long)output);
    return original.at == original.end;
}

/* An input or output; `bytes` gets the size of its data. */
static bool write_tensor(FILE *file, asc_pb_span tensor, bool output, uint64_t *bytes) {
    asc_pb_field f;
    uint64_t type = 0, format = 0;
    bool whole = true;
    uint32_t size = output ? ASC_OUTPUT_SIZE : ASC_INPUT_SIZE;
    uint32_t original = output ? ASC_OUTPUT_ORIGINAL_SHAPE : ASC_INPUT_ORIGINAL_SHAPE;
    *bytes = 0;
    fputs("{\"sub_format\":0", file);
    while (asc_pb_next(&tensor, &f)) {
        if (f.number == ASC_TENSOR_TYPE && f.kind == 0) type = f.value;
        if (f.number == ASC_TENSOR_FORMAT && f.kind == 0) format = f.value;
        if (f.number == size && f.kind == 0) *bytes = f.value;
        if (f.number == ASC_TENSOR_SHAPE && f.kind == 2) whole &= write_shape(file, "shape", f.bytes);
        if (f.number == original && f.kind == 2) whole &= write_shape(file, "original_shape", f.bytes);
        if (output && f.number == ASC_OUTPUT_ORIGINAL_OP && f.kind == 2) whole &= write_original(file, f.bytes);
    }
    fprintf(file, ",\"data_type\":%llu,\"format\":%llu,\"size\":%llu}", (unsigned long long)type,
            (unsigned long long)format, (unsigned long long)*bytes);
    return whole && tensor.at == tensor.end;
}

/* All inputs, or all outputs; `left` are the bytes that the file has for them. */
static bool write_side(FILE *file, asc_pb_span data, bool output, uint64_t *left) {
    asc_pb_field f;
    uint64_t bytes;
    bool first = true;
    fprintf(file, ",\"%s\":[", output ? "output" : "input");
    while (asc_pb_next(&data, &f)) {
        if (f.number != (output ? ASC_DATA_OUTPUT : ASC_DATA_INPUT) || f.kind != 2) continue;
        if (!first) fputc(',', file);
        first = false;
        if (!write_tensor(file, f.bytes, output, &bytes) || bytes > *left) return false;
        *left -= bytes;
    }
    fputc(']', file);
    return data.at == data.end;
}

static bool write_all(FILE *file, asc_pb_span data, uint64_t left) {
    asc_pb_field f;
    asc_pb_span copy = data, version = {0}, name = {0};
    uint64_t time = 0;
    while (asc_pb_next(&copy, &f)) {
        if (f.number == ASC_DATA_VERSION && f.kind == 2) version = f.bytes;
        if (f.number == ASC_DATA_OP_NAME && f.kind == 2) name = f.bytes;
        if (f.number == ASC_DATA_TIME && f.kind == 0) time = f.value;
    }
    fputs("{\"version\":", file);
    write_text(file, version);
    fprintf(file, ",\"dump_time\":%llu,\"op_name\":", (unsigned long long)time);
    write_text(file, name);
    bool whole = write_side(file, data, false, &left) && write_side(file, data, true, &left);
    fputs("}\n", file);
    return whole;
}

/* 0, or -1 when the bytes are no dump file or the JSON can't be written. */
ACL_FUNC_VISIBILITY int ParseDumpProtoToJson(const char *data, size_t length, const char *json_path);

int ParseDumpProtoToJson(const char *data, size_t length, const char *json_path) {
    uint64_t header = 0;
    if (!data || !json_path || length <= sizeof header) return -1;
    memcpy(&header, data, sizeof header);
    if (header > length - sizeof header) return -1;
    asc_replaced json;
    if (!asc_replace_begin(&json, json_path)) return -1;
    const uint8_t *begin = (const uint8_t *)data + sizeof header;
    bool whole = write_all(json.file, (asc_pb_span){begin, begin + header}, length - sizeof header - header);
    return asc_replace_end(&json, whole) ? 0 : -1;
}
