/* Register tiles of bfloat16 pairs. */
#include "vnni2.h"

#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#include "gemm_tile_blocks.h"
#define GEMM_BLOCKS(t, rows, vectors) (rows > 1 && (tile_of_blocks(t, rows, vectors), 1))
#endif

#define GEMM_VECTOR ASC_VF
#define GEMM_LOAD(p) vf_load(p)
#define GEMM_BROADCAST(p) vnni2_broadcast(p)
#define GEMM_MULTIPLY(left, right, sum) vnni2_multiply(left, right, sum)
#define GEMM_MULTIPLY_LANE(four, lane, right, sum) vnni2_multiply_lane(four, lane, right, sum)
#if ASC_VF == 8
#define GEMM_HALF(pair, first) vnni2_half(pair, first)
#endif
#define GEMM_GELU EPILOGUE_GELU_COARSE
#define GEMM_TILE_RUN ASC_FN(gemm_tile_vnni2_run)
#include "gemm_tile_body.h"
