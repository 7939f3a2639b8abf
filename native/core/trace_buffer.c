/* Bytes of a trace on their way to its file. */
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define FIRST_ROOM (320u << 10)

void *asc_trace_reserve(asc_trace_buffer *b, uint64_t bytes) {
    if (b->used + bytes > b->room) {
        uint64_t room = b->room ? b->room : FIRST_ROOM;
        while (room < b->used + bytes) room *= 2;
        uint8_t *grown = realloc(b->bytes, room);
        if (!grown) return NULL;
        b->bytes = grown;
        b->room = room;
    }
    void *at = b->bytes + b->used;
    memset(at, 0, bytes);
    b->used += bytes;
    return at;
}
