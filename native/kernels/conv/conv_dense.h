/* conv_dense.h - conv_last by register tiles, when channels aren't apart. */
#ifndef ASC_KERNELS_CONV_DENSE_H
#define ASC_KERNELS_CONV_DENSE_H

#include "conv_last.h"

/* prepare's notes to run. */
enum { SPANS, SPAN, PARTS, SCRATCH_BYTES, SERIAL, PIECES };

/* Nanoseconds of one thread; only to size chunks. */
int64_t ASC_FN(conv_cost)(const conv *c);

/* The notes, and one of the SPANS times PARTS chunks. */
int32_t ASC_FN(conv_dense_prepare)(asc_call *call, const conv *c);
void ASC_FN(conv_dense_chunk)(const asc_call *call, int64_t chunk, int32_t worker, void *arg);

#endif
