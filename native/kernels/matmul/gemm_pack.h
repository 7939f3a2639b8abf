/* gemm_pack.h - bringing operands of any strides into the order the register tiles read. */
#ifndef ASC_KERNELS_GEMM_PACK_H
#define ASC_KERNELS_GEMM_PACK_H

#include "isa.h"

/* out[k * width + i] = from[i * lane_stride + k * k_stride] for i < lanes, zero for lanes <= i < width. */
void ASC_FN(gemm_interleave)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                             int64_t width, float *out);

/* The same of pairs (vnni2.h) of neighbours along k, the last of an odd k with zero: (k + 1) / 2 lines of `width`.
 * `room` is for lanes * (k + 1) / 2 floats; not read if lane_stride is 1, when lines may also be replaced in place. */
void ASC_FN(gemm_interleave_vnni2)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                                   int64_t width, float *room, float *out);

/* What elements are multiplied by as they are interleaved: first one factor for each lane, then one for each line (of
 * pairs: for each of the two lines that become one). */
typedef struct gemm_scaling {
    const float *lanes, *lines;
} gemm_scaling;

/* Of lanes of k consecutive elements each, as lines of `lanes`, or of their pairs with `vnni2`. `room` is for lanes *
 * (k + (k + 1) / 2) floats. */
void ASC_FN(gemm_interleave_scaled)(const float *from, int64_t lane_stride, int64_t lanes, int64_t k, int vnni2,
                                    const gemm_scaling *scaling, float *room, float *out);

#endif
