/* memory.c - the map of allocated memory: blocks in the order of their addresses. */
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory_apart.h"
#include "memory_kept.h"
#include "report.h"
#include "settings.h"
#include "usage.h"

#define ALIGNMENT 512

typedef struct entry {
    asc_acl_block block;
    uint32_t pins, writes;
    bool freed; /* kept in checking mode, whose addresses aren't used twice */
    asc_site freed_at;
} entry;

static struct {
    pthread_rwlock_t lock;
    entry *items;
    size_t count, room;
    uint64_t used[ASC_MAX_DEVICES];
} map = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* The number of entries that start at or below the address. */
static size_t at_or_below(uintptr_t address) {
    size_t low = 0, high = map.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (map.items[middle].block.start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static entry *entry_of(const void *pointer) {
    size_t n = at_or_below((uintptr_t)pointer);
    if (!n) return NULL;
    entry *e = &map.items[n - 1];
    return (uintptr_t)pointer - e->block.start <= e->block.bytes ? e : NULL;
}

static bool insert(asc_acl_block block) {
    if (map.count == map.room) {
        size_t room = map.room ? map.room * 2 : 256;
        entry *items = realloc(map.items, room * sizeof *items);
        if (!items) return false;
        map.items = items;
        map.room = room;
    }
    size_t at = at_or_below(block.start);
    memmove(&map.items[at + 1], &map.items[at], (map.count - at) * sizeof *map.items);
    map.items[at] = (entry){.block = block};
    map.count++;
    return true;
}

static bool is_apart(asc_place place) {
    return place == ASC_PLACE_DEVICE && asc_get_settings()->check;
}

/* What a card gives to who asks for so many bytes of a device: whole pieces of 32, and one more. */
static size_t padded(size_t bytes) {
    return (bytes + 63) / 32 * 32;
}

static size_t whole(size_t bytes) {
    return (padded(bytes) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void *asc_memory_new(size_t bytes, asc_place place, int32_t device) {
    const asc_settings *settings = asc_get_settings();
    if (bytes > SIZE_MAX - 2 * ALIGNMENT) {
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "%zu bytes are more than an address space holds", bytes);
        return NULL;
    }
    pthread_rwlock_wrlock(&map.lock);
    uint64_t there = place == ASC_PLACE_DEVICE ? settings->memory - map.used[device] : UINT64_MAX;
    void *made = NULL;
    if (bytes <= there) {
        if (is_apart(place))
            made = asc_acl_apart_new(bytes);
        else
            made = asc_kept_new(whole(bytes), ALIGNMENT);
    }
    if (made && !insert((asc_acl_block){(uintptr_t)made, bytes, place, device, asc_current_site()})) {
        if (is_apart(place))
            asc_acl_apart_free(made, bytes);
        else
            asc_kept_free(made, whole(bytes));
        made = NULL;
    }
    if (made && place == ASC_PLACE_DEVICE) {
        map.used[device] += bytes;
        asc_usage_write(map.used, settings->devices);
    }
    pthread_rwlock_unlock(&map.lock);
    if (!made && bytes > there)
        asc_acl_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %d has %llu bytes left, not %zu", device,
                     (unsigned long long)there, bytes);
    else if (!made)
        asc_acl_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "this machine has no %zu bytes left", bytes);
    return made;
}

static aclError not_a_block(const void *pointer, asc_place place, aclError code) {
    const char *kind = place == ASC_PLACE_DEVICE ? "aclrtMalloc" : "aclrtMallocHost";
    asc_acl_block block;
    if (!asc_memory_find(pointer, &block))
        return asc_acl_fail(code, "%p is not what %s returned, or was freed", pointer, kind);
    if (block.place != place)
        return asc_acl_fail(
            code, "%p is memory of %s", pointer,
            place == ASC_PLACE_DEVICE ? "the host; aclrtFreeHost frees it" : "a device; aclrtFree frees it");
    return asc_acl_fail(code, "%p lies inside a block that starts at %p; free that", pointer, (void *)block.start);
}

aclError asc_memory_free(void *pointer, asc_place place, aclError code) {
    pthread_rwlock_wrlock(&map.lock);
    entry *e = entry_of(pointer);
    if (!e || e->block.start != (uintptr_t)pointer || e->block.place != place || e->freed) {
        bool twice = e && e->freed && e->block.start == (uintptr_t)pointer;
        asc_site before = twice ? e->freed_at : (asc_site){0};
        pthread_rwlock_unlock(&map.lock);
        if (!twice) return not_a_block(pointer, place, code);
        char text[512];
        asc_describe_site(before.caller, text, sizeof text);
        return asc_acl_fail(code, "%p was freed before, by %s at %s", pointer, before.function, text);
    }
    entry copy = *e;
    if (copy.block.place == ASC_PLACE_DEVICE) {
        map.used[copy.block.device] -= copy.block.bytes;
        asc_usage_write(map.used, asc_get_settings()->devices);
    }
    if (is_apart(place)) {
        e->freed = true;
        e->freed_at = asc_current_site();
    } else {
        size_t at = (size_t)(e - map.items);
        memmove(e, e + 1, (map.count - at - 1) * sizeof *e);
        map.count--;
    }
    pthread_rwlock_unlock(&map.lock);
    if (copy.pins)
        asc_report(asc_current_site(), "a stream has yet to use this memory; synchronize it before memory is freed");
    if (is_apart(place))
        asc_acl_apart_free(pointer, copy.block.bytes);
    else
        asc_kept_free(pointer, whole(copy.block.bytes));
    return ACL_SUCCESS;
}

bool asc_memory_find(const void *pointer, asc_acl_block *found) {
    pthread_rwlock_rdlock(&map.lock);
    entry *e = entry_of(pointer);
    bool is = e && !e->freed;
    if (is) *found = e->block;
    pthread_rwlock_unlock(&map.lock);
    return is;
}

static aclError after_free(const entry *e, const void *pointer, const char *name) {
    char made[512], gone[512];
    asc_describe_site(e->block.made.caller, made, sizeof made);
    asc_describe_site(e->freed_at.caller, gone, sizeof gone);
    return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "%s (%p) was freed at %s; it was allocated at %s", name, pointer,
                        gone, made);
}

aclError asc_memory_check(const void *pointer, size_t bytes, asc_place place, const char *name) {
    bool check = asc_get_settings()->check;
    char made[512] = "";
    pthread_rwlock_rdlock(&map.lock);
    entry *e = entry_of(pointer);
    entry copy = e ? *e : (entry){0};
    pthread_rwlock_unlock(&map.lock);
    if (!e) {
        if (!check || place != ASC_PLACE_DEVICE) return ACL_SUCCESS;
        return asc_acl_fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE,
                            "%s (%p) is memory of the host where memory of a device is asked for", name, pointer);
    }
    if (copy.freed) return after_free(&copy, pointer, name);
    size_t left = copy.block.bytes - ((uintptr_t)pointer - copy.block.start);
    if (!check && copy.block.place == ASC_PLACE_DEVICE) left += padded(copy.block.bytes) - copy.block.bytes;
    if (bytes > left) {
        if (check) asc_describe_site(copy.block.made.caller, made, sizeof made);
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "%s has %zu bytes left in its block of %zu, not %zu%s%s", name,
                            left, copy.block.bytes, bytes, check ? "; allocated at " : "", made);
    }
    if (check && place != ASC_PLACE_ANY && place != copy.block.place) {
        asc_describe_site(copy.block.made.caller, made, sizeof made);
        return asc_acl_fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE,
                            "%s (%p) is memory of %s where that of %s is asked for; allocated at %s", name, pointer,
                            copy.block.place == ASC_PLACE_DEVICE ? "a device" : "the host",
                            place == ASC_PLACE_DEVICE ? "a device" : "the host", made);
    }
    return ACL_SUCCESS;
}

void *asc_real(const void *pointer) {
    return asc_get_settings()->check ? asc_acl_apart_real(pointer) : (void *)(uintptr_t)pointer;
}

uint64_t asc_memory_used(int32_t device) {
    pthread_rwlock_rdlock(&map.lock);
    uint64_t used = map.used[device];
    pthread_rwlock_unlock(&map.lock);
    return used;
}

static void count(const void *pointer, bool written, uint32_t by) {
    if (!asc_get_settings()->check) return;
    pthread_rwlock_wrlock(&map.lock);
    entry *e = entry_of(pointer);
    if (e) e->pins += by;
    if (e && written) e->writes += by;
    pthread_rwlock_unlock(&map.lock);
}

void asc_memory_pin(const void *pointer, bool written) {
    count(pointer, written, 1);
}

void asc_memory_unpin(const void *pointer, bool written) {
    count(pointer, written, (uint32_t)-1);
}

void asc_memory_report_unwritten(const void *pointer) {
    if (!asc_get_settings()->check) return;
    pthread_rwlock_rdlock(&map.lock);
    entry *e = entry_of(pointer);
    bool pending = e && e->writes;
    pthread_rwlock_unlock(&map.lock);
    if (pending) asc_report(asc_current_site(), "a stream has yet to write what is read here; synchronize it first");
}

void asc_memory_report_left(void) {
    if (!asc_get_settings()->check) return;
    pthread_rwlock_rdlock(&map.lock);
    for (size_t i = 0; i < map.count; i++) {
        const entry *e = &map.items[i];
        if (!e->freed && e->block.made.function)
            asc_report(e->block.made, "%zu bytes allocated here were never freed", e->block.bytes);
    }
    pthread_rwlock_unlock(&map.lock);
}
