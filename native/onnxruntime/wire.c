#include "wire.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT = 0, LENGTH = 2, FIXED32 = 5, LENGTH_BYTES = 5 };

static uint8_t *reserve(wire *w, size_t more) {
    if (w->failed) return NULL;
    if (w->room - w->size < more) {
        size_t room = w->room ? w->room : 4096;
        while (room - w->size < more) room *= 2;
        uint8_t *bytes = realloc(w->bytes, room);
        if (!bytes) {
            w->failed = 1;
            return NULL;
        }
        w->bytes = bytes;
        w->room = room;
    }
    return w->bytes + w->size;
}

static void put_varint(wire *w, uint64_t value) {
    uint8_t *at = reserve(w, 10);
    if (!at) return;
    do {
        *at++ = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
    w->size = (size_t)(at - w->bytes);
}

static void put_raw(wire *w, const void *bytes, size_t size) {
    uint8_t *at = reserve(w, size);
    if (!at || !size) return;
    memcpy(at, bytes, size);
    w->size += size;
}

static void put_tag(wire *w, uint32_t field, uint32_t kind) {
    put_varint(w, (uint64_t)field << 3 | kind);
}

void wire_free(wire *w) {
    free(w->bytes);
    *w = (wire){0};
}

void wire_int(wire *w, uint32_t field, int64_t value) {
    put_tag(w, field, VARINT);
    put_varint(w, (uint64_t)value);
}

void wire_float(wire *w, uint32_t field, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t little[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
    put_tag(w, field, FIXED32);
    put_raw(w, little, sizeof little);
}

void wire_bytes(wire *w, uint32_t field, const void *bytes, size_t size) {
    put_tag(w, field, LENGTH);
    put_varint(w, size);
    put_raw(w, bytes, size);
}

void wire_text(wire *w, uint32_t field, const char *text) {
    wire_bytes(w, field, text, strlen(text));
}

size_t wire_open(wire *w, uint32_t field) {
    put_tag(w, field, LENGTH);
    if (reserve(w, LENGTH_BYTES)) w->size += LENGTH_BYTES;
    return w->size;
}

void wire_close(wire *w, size_t mark) {
    if (w->failed) return;
    uint64_t length = w->size - mark;
    uint8_t *at = w->bytes + mark - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++) {
        at[i] = (uint8_t)((length & 0x7F) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
        length >>= 7;
    }
    if (length) w->failed = 1;
}

static size_t slot_of(const name_set *set, const char *name) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = name; *c; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    size_t at = (size_t)hash & (set->room - 1);
    while (set->slots[at] && strcmp(set->slots[at], name) != 0) at = (at + 1) & (set->room - 1);
    return at;
}

static void grow(name_set *set) {
    name_set wider = {.room = set->room ? set->room * 2 : 64, .n = set->n};
    wider.slots = calloc(wider.room, sizeof *wider.slots);
    if (!wider.slots) {
        set->failed = 1;
        return;
    }
    for (size_t i = 0; i < set->room; i++)
        if (set->slots[i]) wider.slots[slot_of(&wider, set->slots[i])] = set->slots[i];
    free(set->slots);
    *set = wider;
}

int name_set_add(name_set *set, const char *name) {
    if (set->n * 2 >= set->room) grow(set);
    if (set->failed) return 0;
    size_t at = slot_of(set, name);
    if (set->slots[at]) return 0;
    set->slots[at] = name;
    set->n++;
    return 1;
}

int name_set_has(const name_set *set, const char *name) {
    return set->room && set->slots[slot_of(set, name)] != NULL;
}

void name_set_free(name_set *set) {
    free(set->slots);
    *set = (name_set){0};
}
