/* handle.c - slots of handles. Lookups take no lock: chunks of slots stay where they are. */
#include "handle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "report.h"

#define CHUNK_SLOTS 4096u
#define MAX_CHUNKS 4096u
#define INDEX_BITS 24
#define INDEX_SHIFT 4 /* handles look aligned */
#define USE_BITS 18

typedef struct slot {
    atomic_uint_fast64_t tag; /* use << 8 | kind; kind 0 is free */
    void *_Atomic object;
    asc_site made;
    uint32_t next_free;
} slot;

static struct {
    pthread_mutex_t lock;
    slot *_Atomic chunks[MAX_CHUNKS];
    uint32_t used;
    uint32_t free_first, free_last; /* of a queue, so that a slot rests before it is used again; 0: none */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const names[ASC_KIND_COUNT] = {
    "nothing",
    "a context",
    "a stream",
    "an event",
    "a data buffer",
    "a tensor description",
    "a model description",
    "a dataset",
    "a set of AIPP parameters",
    "a load configuration",
    "an execution configuration",
    "a stream configuration",
    "a set of operator attributes",
    "an operator handle",
    "a group description",
    "a picture description",
    "a DVPP channel description",
    "a region",
    "a resize configuration",
    "an encoding configuration",
    "a batch of picture descriptions",
    "a stream of bytes",
    "a tensor",
    "a scalar",
    "an array of integers",
    "an array of floats",
    "an array of truth values",
    "a list of tensors",
    "a list of scalars",
    "a profiling configuration",
    "a notification",
    "an executor of an operator",
    "the data of a binary",
    "a binary of kernels",
    "a kernel",
    "a list of a kernel's arguments",
    "a communicator",
};

static slot *slot_at(uint32_t index) {
    slot *chunk = index / CHUNK_SLOTS < MAX_CHUNKS ? atomic_load(&table.chunks[index / CHUNK_SLOTS]) : NULL;
    return chunk ? &chunk[index % CHUNK_SLOTS] : NULL;
}

static slot *slot_of(const void *handle, uint64_t *use) {
    uintptr_t bits = (uintptr_t)handle;
    if (!bits || bits & ((1u << INDEX_SHIFT) - 1)) return NULL;
    *use = bits >> (INDEX_SHIFT + INDEX_BITS);
    return *use >> USE_BITS ? NULL : slot_at((uint32_t)(bits >> INDEX_SHIFT) & ((1u << INDEX_BITS) - 1));
}

/* The index of a slot that rested, or a new one; 0 when there is no room. */
static uint32_t take_slot(void) {
    uint32_t index = table.free_first;
    if (index) {
        table.free_first = slot_at(index)->next_free;
        if (!table.free_first) table.free_last = 0;
        return index;
    }
    index = table.used + 1;
    if (index / CHUNK_SLOTS >= MAX_CHUNKS) return 0;
    if (!slot_at(index)) {
        slot *chunk = calloc(CHUNK_SLOTS, sizeof *chunk);
        if (!chunk) return 0;
        atomic_store(&table.chunks[index / CHUNK_SLOTS], chunk);
    }
    table.used = index;
    return index;
}

void *asc_handle_new(asc_kind kind, void *object) {
    pthread_mutex_lock(&table.lock);
    uint32_t index = take_slot();
    void *handle = NULL;
    if (index) {
        slot *s = slot_at(index);
        uint64_t use = (atomic_load(&s->tag) >> 8) + 1;
        if (use >> USE_BITS) use = 1;
        s->made = asc_current_site();
        s->next_free = 0;
        atomic_store(&s->object, object);
        atomic_store(&s->tag, use << 8 | kind);
        handle = (void *)(uintptr_t)(use << (INDEX_SHIFT + INDEX_BITS) | (uint64_t)index << INDEX_SHIFT);
    }
    pthread_mutex_unlock(&table.lock);
    return handle;
}

void *asc_handle_get(asc_kind kind, const void *handle) {
    uint64_t use;
    slot *s = slot_of(handle, &use);
    if (!s || atomic_load(&s->tag) != (use << 8 | kind)) return NULL;
    return atomic_load(&s->object);
}

void *asc_handle_take(asc_kind kind, const void *handle) {
    uint64_t use;
    slot *s = slot_of(handle, &use);
    void *object = NULL;
    if (!s) return NULL;
    pthread_mutex_lock(&table.lock);
    if (atomic_load(&s->tag) == (use << 8 | kind)) {
        object = atomic_load(&s->object);
        atomic_store(&s->tag, use << 8);
        uint32_t index = (uint32_t)((uintptr_t)handle >> INDEX_SHIFT) & ((1u << INDEX_BITS) - 1);
        if (table.free_last)
            slot_at(table.free_last)->next_free = index;
        else
            table.free_first = index;
        table.free_last = index;
    }
    pthread_mutex_unlock(&table.lock);
    return object;
}

aclError asc_handle_fail(aclError code, asc_kind kind, const void *handle, const char *name) {
    uint64_t use = 0;
    if (!handle) return asc_acl_fail(code, "%s must not be NULL", name);
    slot *s = slot_of(handle, &use);
    uint64_t tag = s ? atomic_load(&s->tag) : 0;
    if (!s || use == 0 || use > tag >> 8)
        return asc_acl_fail(code, "%s (%p) is not %s: no call returned it", name, handle, names[kind]);
    if (use == tag >> 8 && (tag & 255) != ASC_KIND_NONE)
        return asc_acl_fail(code, "%s (%p) is %s, not %s", name, handle, names[tag & 255], names[kind]);
    return asc_acl_fail(code, "%s (%p) was destroyed before", name, handle);
}

static void report(const slot *s) {
    unsigned kind = atomic_load(&s->tag) & 255;
    if (kind != ASC_KIND_NONE && s->made.function) asc_report(s->made, "%s made here was never destroyed", names[kind]);
}

void asc_handle_report(const void *handle) {
    uint64_t use = 0;
    const slot *s = slot_of(handle, &use);
    if (s) report(s);
}

void asc_handle_report_left(void) {
    for (uint32_t i = 1; i <= table.used; i++) report(slot_at(i));
}
