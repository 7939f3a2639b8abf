/* formula_calls.h - how a generated kernel divides a call: chunks for threads, room in the workspace, and which outputs
 * go past the caches.
 */
#ifndef ASC_KERNELS_FORMULA_CALLS_H
#define ASC_KERNELS_FORMULA_CALLS_H

#include "formula_vector.h"

static inline int is_aligned(const void *p) {
    return (uintptr_t)p % sizeof(V) == 0;
}

#define STREAM_TURN 64

/* Of STREAM_TURN items, how many store their outputs past the caches: so many that of all `bytes`, of which `written`
 * are outputs, `cached` go through them. */
static inline int64_t streamed_items(int64_t bytes, int64_t written, int64_t cached) {
    if (bytes <= cached || written == 0) return 0;
    return bytes - cached >= written ? STREAM_TURN : (bytes - cached) * STREAM_TURN / written;
}
/* Whether an item is one of those, which lie evenly among the others. The same ones in every call. */
static inline int is_streamed(int64_t item, int64_t streamed) {
    int64_t at = item % STREAM_TURN;
    return (at + 1) * streamed / STREAM_TURN > at * streamed / STREAM_TURN;
}

static inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

static int32_t fail_call(const asc_custom_call *call, const char *text) {
    if (call->error && call->error_bytes) {
        uint32_t n = 0;
        for (; text[n] && n + 1 < call->error_bytes; n++) call->error[n] = text[n];
        call->error[n] = 0;
    }
    return 1;
}

/* Room for a temporary of these dims at the end of the workspace, at *at; whether it can have that. */
static inline int add_temp(uint64_t *bytes, uint64_t *at, const int64_t *dims, int rank, uint64_t size) {
    for (int d = 0; d < rank; d++)
        if (__builtin_mul_overflow(size, (uint64_t)dims[d], &size) || size >> 46) return 0;
    *at = *bytes;
    *bytes += size / 64 * 64 + 64;
    return *bytes >> 46 == 0;
}

/* Items per chunk: enough that a chunk costs some microseconds, and about four chunks a thread. The same when
 * the workspace is asked for and when the call runs. */
static inline int64_t items_per_chunk(const asc_custom_call *call, int64_t items, int64_t cost_of_item) {
    int64_t threads = call->threads > 1 ? call->threads : 1;
    int64_t least = 32768 / (cost_of_item > 0 ? cost_of_item : 1) + 1;
    int64_t fair = threads == 1 ? items : items / (threads * 4) + 1;
    return smaller(least > fair ? least : fair, items > 0 ? items : 1);
}

static void run_chunks(const asc_custom_call *call, int64_t n, void (*fn)(void *, int64_t), void *arg) {
    if (call->parallel && call->threads > 1 && n > 1)
        call->parallel(call, n, fn, arg);
    else
        for (int64_t i = 0; i < n; i++) fn(arg, i);
}

#endif
