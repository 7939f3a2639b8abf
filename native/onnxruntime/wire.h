/* wire.h - an append-only buffer that writes protobuf's wire format.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_EP_WIRE_H
#define ASC_EP_WIRE_H

#include <stddef.h>
#include <stdint.h>

typedef struct wire {
    uint8_t *bytes;
    size_t size;
    size_t room;
    int failed; /* out of memory: everything after is dropped */
} wire;

void wire_free(wire *w);
void wire_int(wire *w, uint32_t field, int64_t value);
void wire_float(wire *w, uint32_t field, float value);
void wire_bytes(wire *w, uint32_t field, const void *bytes, size_t size);
void wire_text(wire *w, uint32_t field, const char *text);
/* A nested message: everything between open and close. Its length is a 5-byte varint, patched on close. */
size_t wire_open(wire *w, uint32_t field);
void wire_close(wire *w, size_t mark);

/* A set of names. The texts must outlive it. */
typedef struct name_set {
    const char **slots;
    size_t room;
    size_t n;
    int failed;
} name_set;
int name_set_add(name_set *set, const char *name); /* 1 when it was new */
int name_set_has(const name_set *set, const char *name);
void name_set_free(name_set *set);

#endif
