/* protobuf.c - see protobuf.h. */
#include "protobuf.h"

bool asc_pb_varint(asc_pb_span *span, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 64 && span->at < span->end; shift += 7) {
        uint8_t byte = *span->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

bool asc_pb_next(asc_pb_span *span, asc_pb_field *field) {
    uint64_t key, bytes;
    if (span->at >= span->end || !asc_pb_varint(span, &key)) return false;
    *field = (asc_pb_field){.number = (uint32_t)(key >> 3), .kind = key & 7};
    if (field->kind == 0) return asc_pb_varint(span, &field->value);
    if (field->kind == 2) {
        if (!asc_pb_varint(span, &bytes)) return false;
    } else if (field->kind == 1 || field->kind == 5)
        bytes = field->kind == 1 ? 8 : 4;
    else
        return false;
    if (bytes > (uint64_t)(span->end - span->at)) return false;
    field->bytes = (asc_pb_span){span->at, span->at + bytes};
    span->at += bytes;
    return true;
}
