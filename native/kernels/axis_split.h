/* axis_split.h - a tensor seen as [outer, n, inner] around a run of neighbouring axes. */
#ifndef ASC_KERNELS_AXIS_SPLIT_H
#define ASC_KERNELS_AXIS_SPLIT_H

#include "isa.h"

typedef struct asc_axis_split {
    int64_t outer, n, inner;
} asc_axis_split;

/* Whether [axis, axis + count) are axes of t; then *split describes them. count may be 0: n is 1. */
static inline int asc_split_axes(const asc_tensor *t, int64_t axis, int64_t count, asc_axis_split *split) {
    *split = (asc_axis_split){0, 0, 0};
    if (axis < 0 || count < 0 || axis > t->rank || count > t->rank - axis) return 0;
    int from = (int)axis, to = (int)(axis + count);
    *split = (asc_axis_split){asc_count(t, 0, from), asc_count(t, from, to), asc_count(t, to, t->rank)};
    return 1;
}

#endif
