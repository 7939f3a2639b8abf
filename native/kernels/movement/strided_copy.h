/* strided_copy.h - the one way to move a block of elements between two layouts. */
#ifndef ASC_KERNELS_STRIDED_COPY_H
#define ASC_KERNELS_STRIDED_COPY_H

#include "isa.h"

/* A block of elements of `size` bytes (1, 2, 4 or 8) and its strides, in elements, on both sides. */
typedef struct asc_block {
    const char *from;
    char *to;
    int64_t size;
    int rank;
    int64_t dims[ASC_MAX_RANK];
    int64_t from_strides[ASC_MAX_RANK];
    int64_t to_strides[ASC_MAX_RANK];
} asc_block;

/* Copies the block, in parallel when it is large. The target's elements must be distinct. */
void ASC_FN(asc_copy_block)(const asc_call *call, const asc_block *block);
/* How it does that (asc_schedule_fn). */
void ASC_FN(asc_copy_schedule)(const asc_call *call, const asc_block *block, char *text, size_t room);

/* The row-major strides of `dims`. */
static inline void asc_row_major(const int64_t *dims, int rank, int64_t *strides) {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims[i];
    }
}

#endif
