/* indexing.h - reading index tensors (int32 or int64) whose values come with the data. */
#ifndef ASC_KERNELS_INDEXING_H
#define ASC_KERNELS_INDEXING_H

#include "isa.h"

static inline int64_t asc_index_at(const asc_tensor *t, int64_t i) {
    return t->dtype == ASC_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

/* Negative indices count from the end. Whether the index lies in [-n, n); then *index lies in [0, n). */
static inline int asc_wrap_index(int64_t *index, int64_t n) {
    if (*index < 0) *index += n;
    return *index >= 0 && *index < n;
}

/* ASC_E_RUN, naming the index and the length it had to fit. */
static inline int32_t asc_fail_index(const asc_call *call, int64_t index, int64_t n) {
    return asc_failn(call->status, ASC_E_RUN, "index % is outside an axis of length %", 2, (int64_t[]){index, n});
}

/* Whether dims [at, at + n) of a equal dims [b_at, b_at + n) of b. */
static inline int asc_dims_match(const asc_tensor *a, int at, const asc_tensor *b, int b_at, int n) {
    for (int i = 0; i < n; i++)
        if (a->dims[at + i] != b->dims[b_at + i]) return 0;
    return 1;
}

/* Reads axes that come with the data: chosen[axis] = its place in t, from 0, or -1. Fails for one that is
 * outside the rank, and with the code `twice`, unless that is ASC_OK, for one that is there twice. */
static inline int32_t asc_read_axes(const asc_call *call, const asc_tensor *t, int rank, int *chosen, int32_t twice) {
    int64_t count = asc_numel(t);
    for (int i = 0; i < rank; i++) chosen[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t given = asc_index_at(t, i), axis = given;
        if (!asc_wrap_index(&axis, rank))
            return asc_failn(call->status, ASC_E_RUN, "axis % is outside a rank of %", 2, (int64_t[]){given, rank});
        if (chosen[axis] >= 0 && twice != ASC_OK)
            return asc_failn(call->status, twice, "axis % is given twice", 1, &given);
        chosen[axis] = (int)i;
    }
    return ASC_OK;
}

#endif
