/* chunks.h - how work is cut into parallel chunks. Items never share a result, so the split may depend on the number
 * of threads without touching a bit. */
#ifndef ASC_KERNELS_CHUNKS_H
#define ASC_KERNELS_CHUNKS_H

#include "isa.h"

#define ASC_CHUNK_COST 32768 /* the least a chunk should cost, in units of a byte moved: a few microseconds */

/* Items per chunk: at least ASC_CHUNK_COST of work, and about eight chunks a thread: the last one to end is waited for.
 */
static inline int64_t asc_chunk_items(const asc_call *call, int64_t items, int64_t cost_per_item) {
    int64_t least = ASC_CHUNK_COST / (cost_per_item > 0 ? cost_per_item : 1) + 1;
    int64_t fair = (items - 1) / ((int64_t)call->threads * 8) + 1; /* rounded up: all but the last are as large */
    return least > fair ? least : fair;
}

static inline int64_t asc_ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}
static inline int64_t asc_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t asc_most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* What a schedule says of a form of so many chunks. */
static inline void asc_say_chunks(const asc_call *call, const char *form, int64_t chunks, char *text, size_t room) {
    asc_format(text, room, "%s chunks=%ld threads=%ld", form, chunks, asc_least(chunks, call->threads));
}
/* Of a call that has nothing to write. */
#define ASC_NO_SCHEDULE "nothing"

/* Where part i of n items begins when they are cut into parts that differ by one at most. */
static inline int64_t asc_split_at(int64_t n, int64_t parts, int64_t i) {
    return n / parts * i + asc_least(i, n % parts);
}

#endif
