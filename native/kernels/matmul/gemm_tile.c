/* Register tiles of float32. */
#include "gemm_tile.h"

#include "by_lane.h"

#define GEMM_VECTOR ASC_VF
#define GEMM_LOAD(p) vf_load(p)
#define GEMM_BROADCAST(p) vf_set(*(p))
#define GEMM_MULTIPLY(left, right, sum) vf_fma(left, right, sum)
#define GEMM_MULTIPLY_LANE(four, lane, right, sum) vf_fma_lane(four, lane, right, sum)
#define GEMM_GELU ASC_ACTIVATION_GELU
#define GEMM_TILE_RUN ASC_FN(gemm_tile_run)
#include "gemm_tile_body.h"
