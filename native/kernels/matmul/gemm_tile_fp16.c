/* Register tiles of float32 whose right operand lies in memory as float16. */
#include "by_lane.h"
#include "float16.h"

#define GEMM_VECTOR (ASC_VF / 2)
#define GEMM_LOAD(p) vf_load_f16((const uint16_t *)(p))
#define GEMM_BROADCAST(p) vf_set(*(p))
#define GEMM_MULTIPLY(left, right, sum) vf_fma(left, right, sum)
#define GEMM_MULTIPLY_LANE(four, lane, right, sum) vf_fma_lane(four, lane, right, sum)
#define GEMM_GELU ASC_ACTIVATION_GELU
#define GEMM_TILE_RUN ASC_FN(gemm_tile_fp16_run)
#include "gemm_tile_body.h"
