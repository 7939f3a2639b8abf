/* protobuf.h - fields of a protobuf message, read where they lie. */
#ifndef ASC_ACL_PROTOBUF_H
#define ASC_ACL_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

typedef struct asc_pb_span {
    const uint8_t *at, *end;
} asc_pb_span;

/* A field; `kind` 0: a number, 2: bytes, 1 and 5: eight and four bytes. */
typedef struct asc_pb_field {
    uint32_t number, kind;
    uint64_t value;
    asc_pb_span bytes;
} asc_pb_field;

bool asc_pb_varint(asc_pb_span *span, uint64_t *value);
/* The next field, which is taken off; false at the end, or where the bytes are none. */
bool asc_pb_next(asc_pb_span *span, asc_pb_field *field);

#endif
