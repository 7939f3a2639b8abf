/* copy.c - aclrt's functions that allocate, copy and set memory. */
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "context.h"
#include "memory.h"
#include "settings.h"

/* ---- allocation ---------------------------------------------------------------------------------- */

static aclError allocate(void **pointer, size_t size, aclrtMemMallocPolicy policy) {
    if (!pointer) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "devPtr must not be NULL");
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    unsigned low = (unsigned)policy & 0xFF;
    if (policy < 0 || low > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "policy is %d, no aclrtMemMallocPolicy", (int)policy);
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    void *made = asc_memory_new(size, ASC_PLACE_DEVICE, context->device);
    if (!made) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    *pointer = made;
    return ACL_SUCCESS;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    ASC_ENTER();
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    ASC_ENTER();
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    ASC_ENTER();
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    ASC_ENTER();
    if (cfg && cfg->numAttrs && !cfg->attrs)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs must not be NULL");
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    ASC_ENTER();
    if (cfg && cfg->numAttrs && !cfg->attrs)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs must not be NULL");
    return allocate(devPtr, size, policy);
}

aclError aclrtFree(void *devPtr) {
    ASC_ENTER();
    ASC_NEED(devPtr);
    return asc_memory_free(devPtr, ASC_PLACE_DEVICE, ACL_ERROR_RT_PARAM_INVALID);
}

static aclError allocate_host(void **pointer, size_t size) {
    if (!pointer) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "hostPtr must not be NULL");
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    void *made = asc_memory_new(size, ASC_PLACE_HOST, 0);
    if (!made) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    *pointer = made;
    return ACL_SUCCESS;
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    ASC_ENTER();
    return allocate_host(hostPtr, size);
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg) {
    ASC_ENTER();
    if (cfg && cfg->numAttrs && !cfg->attrs)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs must not be NULL");
    return allocate_host(ptr, size);
}

aclError aclrtFreeHost(void *hostPtr) {
    ASC_ENTER();
    ASC_NEED(hostPtr);
    return asc_memory_free(hostPtr, ASC_PLACE_HOST, ACL_ERROR_RT_PARAM_INVALID);
}

/* There is one cache for host and device: nothing to write back. */
static aclError cached(void *pointer, size_t size) {
    if (!pointer) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "devPtr must not be NULL");
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    return asc_memory_check(pointer, size, ASC_PLACE_DEVICE, "devPtr");
}

aclError aclrtMemFlush(void *devPtr, size_t size) {
    ASC_ENTER();
    return cached(devPtr, size);
}

aclError aclrtMemInvalidate(void *devPtr, size_t size) {
    ASC_ENTER();
    return cached(devPtr, size);
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes) {
    ASC_ENTER();
    ASC_NEED(ptr);
    ASC_NEED(attributes);
    asc_acl_block block;
    *attributes = (aclrtPtrAttributes){.location = {0, ACL_MEM_LOCATION_TYPE_UNREGISTERED}, .pageSize = 4096};
    if (asc_memory_find(ptr, &block)) {
        attributes->location.id = (uint32_t)block.device;
        attributes->location.type =
            block.place == ASC_PLACE_DEVICE ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
    }
    return ACL_SUCCESS;
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr) {
    ASC_ENTER();
    ASC_NEED(ptr);
    ASC_NEED(devPtr);
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    if (type != ACL_HOST_REG_MAPPED && type != ACL_HOST_REG_PINNED)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "type is %d, no aclrtHostRegisterType", (int)type);
    *devPtr = ptr;
    return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void *ptr) {
    ASC_ENTER();
    ASC_NEED(ptr);
    return ACL_SUCCESS;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* Rows of `width` bytes; one row is a plain copy. value < 0: src is copied; else the bytes of dst become value. */
typedef struct copy {
    char *dst;
    const char *src;
    size_t dst_pitch, src_pitch, width, rows;
    int32_t value;
    asc_place from, to;
} copy;

static aclError places(aclrtMemcpyKind kind, asc_place *from, asc_place *to) {
    static const asc_place table[][2] = {
        [ACL_MEMCPY_HOST_TO_HOST] = {ASC_PLACE_HOST, ASC_PLACE_HOST},
        [ACL_MEMCPY_HOST_TO_DEVICE] = {ASC_PLACE_HOST, ASC_PLACE_DEVICE},
        [ACL_MEMCPY_DEVICE_TO_HOST] = {ASC_PLACE_DEVICE, ASC_PLACE_HOST},
        [ACL_MEMCPY_DEVICE_TO_DEVICE] = {ASC_PLACE_DEVICE, ASC_PLACE_DEVICE},
        [ACL_MEMCPY_DEFAULT] = {ASC_PLACE_ANY, ASC_PLACE_ANY},
        [ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE] = {ASC_PLACE_HOST, ASC_PLACE_DEVICE},
        [ACL_MEMCPY_INNER_DEVICE_TO_DEVICE] = {ASC_PLACE_DEVICE, ASC_PLACE_DEVICE},
        [ACL_MEMCPY_INTER_DEVICE_TO_DEVICE] = {ASC_PLACE_DEVICE, ASC_PLACE_DEVICE},
    };
    if (kind < 0 || (size_t)kind >= sizeof table / sizeof *table)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "kind is %d, no aclrtMemcpyKind", (int)kind);
    *from = table[kind][0];
    *to = table[kind][1];
    return ACL_SUCCESS;
}

static size_t extent(size_t pitch, const copy *c) {
    return c->rows ? pitch * (c->rows - 1) + c->width : 0;
}

static aclError check_memory(const copy *c) {
    aclError code = asc_memory_check(c->dst, extent(c->dst_pitch, c), c->to, c->value < 0 ? "dst" : "devPtr");
    if (code == ACL_SUCCESS && c->value < 0) code = asc_memory_check(c->src, extent(c->src_pitch, c), c->from, "src");
    return code;
}

static aclError check_copy(const void *dst, size_t room, const void *src, size_t count, aclrtMemcpyKind kind, copy *c) {
    ASC_NEED(dst);
    ASC_NEED(src);
    asc_place from = ASC_PLACE_ANY, to = ASC_PLACE_ANY;
    aclError code = places(kind, &from, &to);
    if (code != ACL_SUCCESS) return code;
    if (count > room)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "count is %zu, more than destMax (%zu)", count, room);
    *c = (copy){(char *)(uintptr_t)dst, src, count, count, count, 1, -1, from, to};
    return check_memory(c);
}

static aclError check_rows(const void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width,
                           size_t height, aclrtMemcpyKind kind, copy *c) {
    ASC_NEED(dst);
    ASC_NEED(src);
    asc_place from = ASC_PLACE_ANY, to = ASC_PLACE_ANY;
    aclError code = places(kind, &from, &to);
    if (code != ACL_SUCCESS) return code;
    if (!width || !height || width > dst_pitch || width > src_pitch)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "width (%zu) and height (%zu) must be positive, width at most dpitch (%zu) "
                            "and spitch (%zu)",
                            width, height, dst_pitch, src_pitch);
    if (height > SIZE_MAX / 2 / (dst_pitch > src_pitch ? dst_pitch : src_pitch))
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "height (%zu) rows are more than an address space holds",
                            height);
    *c = (copy){(char *)(uintptr_t)dst, src, dst_pitch, src_pitch, width, height, -1, from, to};
    return check_memory(c);
}

static aclError check_set(const void *dst, size_t room, int32_t value, size_t count, copy *c) {
    if (!dst) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "devPtr must not be NULL");
    if (count > room)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "count is %zu, more than maxCount (%zu)", count, room);
    *c = (copy){(char *)(uintptr_t)dst, NULL, count, 0, count, 1, value & 0xFF, ASC_PLACE_ANY, ASC_PLACE_ANY};
    return check_memory(c);
}

static void do_copy(const copy *c) {
    char *dst = asc_real(c->dst);
    if (c->value >= 0) {
        memset(dst, c->value, c->width);
        return;
    }
    const char *src = asc_real(c->src);
    for (size_t row = 0; row < c->rows; row++) memmove(dst + row * c->dst_pitch, src + row * c->src_pitch, c->width);
}

static aclError run_copy(void *argument) {
    const copy *c = argument;
    aclError code = check_memory(c); /* again: it may have been freed meanwhile */
    if (code == ACL_SUCCESS) do_copy(c);
    return code;
}

static void end_copy(void *argument) {
    copy *c = argument;
    asc_memory_unpin(c->dst, true);
    if (c->value < 0) asc_memory_unpin(c->src, false);
    free(c);
}

static aclError now(aclError code, const copy *c) {
    if (code != ACL_SUCCESS) return code;
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    if (c->value < 0) asc_memory_report_unwritten(c->src);
    do_copy(c);
    return ACL_SUCCESS;
}

/* Memory that is neither a device's nor page-locked. */
static bool pageable(const void *pointer) {
    asc_acl_block block;
    return !asc_memory_find(pointer, &block);
}

/* Whether a copy is done before its function returns, as a device does it with memory that isn't page-locked: programs
 * go on as if it were there. A stream that has other work first keeps the order, and in checking mode nothing hides
 * that a program doesn't wait. */
static bool at_once(const copy *c, const asc_stream *stream) {
    return c->value < 0 && !asc_get_settings()->check && (pageable(c->src) || pageable(c->dst)) &&
           asc_queue_idle(stream->queue);
}

static aclError later(aclError code, const copy *c, aclrtStream stream) {
    asc_stream *found = NULL;
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    if (at_once(c, found)) {
        do_copy(c);
        return ACL_SUCCESS;
    }
    copy *kept = malloc(sizeof *kept);
    if (!kept) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *kept = *c;
    asc_memory_pin(c->dst, true);
    if (c->value < 0) asc_memory_pin(c->src, false);
    return asc_stream_push(found, run_copy, end_copy, kept);
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
    ASC_ENTER();
    copy c = {0};
    return now(check_copy(dst, destMax, src, count, kind, &c), &c);
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    ASC_ENTER();
    copy c = {0};
    return asc_stream_launched(stream, later(check_copy(dst, destMax, src, count, kind, &c), &c, stream));
}

/* Real devices copy synchronously where memory isn't page-locked; here a stream that has work copies that too. */
aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                       aclrtStream stream) {
    ASC_ENTER();
    copy c = {0};
    return asc_stream_launched(stream, later(check_copy(dst, destMax, src, count, kind, &c), &c, stream));
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
    ASC_ENTER();
    copy c = {0};
    return now(check_rows(dst, dpitch, src, spitch, width, height, kind, &c), &c);
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
    ASC_ENTER();
    copy c = {0};
    return asc_stream_launched(stream,
                               later(check_rows(dst, dpitch, src, spitch, width, height, kind, &c), &c, stream));
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    ASC_ENTER();
    copy c = {0};
    return now(check_set(devPtr, maxCount, value, count, &c), &c);
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    ASC_ENTER();
    copy c = {0};
    return asc_stream_launched(stream, later(check_set(devPtr, maxCount, value, count, &c), &c, stream));
}

static aclError check_cmo(const void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
    ASC_NEED(src);
    asc_stream *found = NULL;
    if (cmoType < ACL_RT_CMO_TYPE_PREFETCH || cmoType > ACL_RT_CMO_TYPE_INVALID)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cmoType is %d, no aclrtCmoType", (int)cmoType);
    aclError code = asc_memory_check(src, size, ASC_PLACE_DEVICE, "src");
    return code == ACL_SUCCESS ? asc_stream_get(stream, &found) : code; /* caches look after themselves */
}

aclError aclrtCmoAsync(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, check_cmo(src, size, cmoType, stream));
}
