/* gemm_pack.h - bringing operands of any strides into the order the register tiles read. */
#ifndef ASC_KERNELS_GEMM_PACK_H
#define ASC_KERNELS_GEMM_PACK_H

#include "isa.h"

/* out[k * width + i] = from[i * lane_stride + k * k_stride] for i < lanes, zero for lanes <= i < width. */
void ASC_FN(gemm_interleave)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                             int64_t width, float *out);

#endif
