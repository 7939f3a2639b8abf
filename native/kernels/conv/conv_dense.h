/* conv_dense.h - conv_last by register tiles, when channels aren't apart. */
#ifndef ASC_KERNELS_CONV_DENSE_H
#define ASC_KERNELS_CONV_DENSE_H

#include "conv_last.h"

/* Of conv_last and conv_transposed_last. */
typedef struct conv_last_note {
    conv conv;           /* whose pointers are prepare's */
    int64_t spans, span; /* how many, and the size of one */
    int64_t parts, pieces;
    int64_t scratch_bytes, serial;
} conv_last_note;

static inline conv_last_note *conv_last_note_of(const asc_call *call) {
    return call->note;
}

/* Nanoseconds of one thread; only to size chunks. */
int64_t ASC_FN(conv_cost)(const conv *c);

/* How many chunks something of that cost should have: one where a second thread saves nothing. */
static inline int64_t conv_chunks_wanted(const asc_call *call, int64_t ns) {
    return call->threads < 2 || ns < 7000 ? 1 : asc_least(asc_most(2, ns / 8000), (int64_t)call->threads * 4);
}

/* The note, and one of its spans times parts chunks. */
int32_t ASC_FN(conv_dense_prepare)(asc_call *call, const conv *c);
/* What multiplies pairs of bfloat16. */
const char *ASC_FN(conv_dense_tiles)(const conv *c);
void ASC_FN(conv_dense_chunk)(const asc_call *call, int64_t chunk, int32_t worker, void *arg);

#endif
