/* copy.c - aclrt's functions that copy and set memory. */
#include <stdlib.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "context.h"
#include "memory.h"
#include "settings.h"

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

/* Copies of which attrs[k] says the places, from attrsIndexes[k] on to the next one's. */
typedef struct batch {
    void **dsts, **srcs;
    size_t *rooms, *sizes, count;
    const aclrtMemcpyBatchAttr *attrs;
    const size_t *first;
    size_t n_attrs;
} batch;

static aclError check_batch(const batch *b) {
    ASC_NEED(b->dsts);
    ASC_NEED(b->srcs);
    ASC_NEED(b->rooms);
    ASC_NEED(b->sizes);
    ASC_NEED(b->attrs);
    ASC_NEED(b->first);
    if (!b->count || !b->n_attrs || b->n_attrs > b->count)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "numBatches (%zu) and numAttrs (%zu) must be positive, numAttrs at most numBatches",
                            b->count, b->n_attrs);
    for (size_t k = 0; k < b->n_attrs; k++)
        if (k ? b->first[k] <= b->first[k - 1] || b->first[k] >= b->count : b->first[k] != 0)
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                                "attrsIndexes[%zu] is %zu; they begin with 0 and rise, below numBatches (%zu)", k,
                                b->first[k], b->count);
    return ACL_SUCCESS;
}

/* The kind of copy of a batch that attrs[k] describes. */
static aclrtMemcpyKind kind_of(const batch *b, size_t k) {
    bool from = b->attrs[k].srcLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
    bool to = b->attrs[k].dstLoc.type == ACL_MEM_LOCATION_TYPE_DEVICE;
    return from ? (to ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST)
                : (to ? ACL_MEMCPY_HOST_TO_DEVICE : ACL_MEMCPY_HOST_TO_HOST);
}

/* All copies of a batch, or none: what can be wrong is checked before the first one. *failed: the copy that is;
 * SIZE_MAX where it isn't one alone. */
static aclError copy_batch(const batch *b, aclError (*run)(aclError, const copy *, aclrtStream), aclrtStream stream,
                           size_t *failed) {
    ASC_NEED(failed);
    *failed = SIZE_MAX;
    aclError code = check_batch(b);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0, k = 0; i < b->count && code == ACL_SUCCESS; i++) {
            copy c = {0};
            while (k + 1 < b->n_attrs && b->first[k + 1] <= i) k++;
            code = check_copy(b->dsts[i], b->rooms[i], b->srcs[i], b->sizes[i], kind_of(b, k), &c);
            if (pass == 1) code = run(code, &c, stream);
            if (code != ACL_SUCCESS) *failed = i;
        }
    }
    return code;
}

static aclError at_once_in(aclError code, const copy *c, aclrtStream stream) {
    (void)stream;
    return now(code, c);
}

aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex) {
    ASC_ENTER();
    batch b = {dsts, srcs, destMaxs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
    return copy_batch(&b, at_once_in, NULL, failIndex);
}

aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex,
                               aclrtStream stream) {
    ASC_ENTER();
    batch b = {dsts, srcs, destMaxs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
    return asc_stream_launched(stream, copy_batch(&b, later, stream, failIndex));
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
