/* pooling.h - the windows of a pooling over up to three spatial axes. */
#ifndef ASC_KERNELS_POOLING_H
#define ASC_KERNELS_POOLING_H

#include "asc_plan.h"
#include "chunks.h"
#include "simd.h"

enum { DEPTH, HEIGHT, WIDTH, AXES };

typedef struct pool {
    int64_t mode, batch, channels;
    int64_t in[AXES], out[AXES], kernel[AXES], stride[AXES], dilation[AXES], before[AXES], after[AXES];
    int64_t in_size, out_size;
    int x_narrow, y_narrow; /* x and y are bfloat16; only with channels last */
    const float *x;
    float *y;
    int64_t *index;
} pool;

/* Checks and reads what shapes decide; the channels of X and Y are their second axis, or the last. */
int32_t ASC_FN(pool_read)(const asc_call *call, int channels_last, pool *p);
/* The same, of a call that runs: with its pointers. */
pool ASC_FN(pool_at)(const asc_call *call, const pool *found);
/* Refuses maxima of windows whose taps all lie in the padding, as only an image narrower than a dilation has them. */
int32_t ASC_FN(pool_see)(const asc_call *call, const pool *p);

/* Taps [first, end) of a window. */
typedef struct taps {
    int64_t first, end;
} taps;

/* Those of output place o that lie in the input. */
taps ASC_FN(pool_taps)(const pool *p, int axis, int64_t o);
/* Those that lie in the input for any output place, first to last; more would be read in vain. */
taps ASC_FN(pool_reach)(const pool *p, int axis);
/* How many of those of output place o an average counts. */
int64_t ASC_FN(pool_counted)(const pool *p, int axis, int64_t o);

static inline int64_t pool_start(const pool *p, int axis, int64_t o) {
    return o * p->stride[axis] - p->before[axis];
}

/* How many of 0, step, 2 step.. lie below `end`. */
static inline int64_t pool_steps(int64_t end, int64_t step) {
    return asc_ceil_div(asc_most(end, 0), step);
}

/* The larger; NaN is larger than all. */
static inline vf pool_larger(vf a, vf b) {
    return vf_select((b > a) | (b != b), b, a);
}

#endif
