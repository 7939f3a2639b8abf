/* Register tiles of bfloat16 pairs. */
#include "pairs.h"

#define GEMM_VECTOR ASC_VF
#define GEMM_LOAD(p) vf_load(p)
#define GEMM_BROADCAST(p) pairs_broadcast(p)
#define GEMM_MULTIPLY(left, right, sum) pairs_multiply(left, right, sum)
#define GEMM_GELU EPILOGUE_GELU_COARSE
#define GEMM_TILE_RUN ASC_FN(gemm_tile_pairs_run)
#include "gemm_tile_body.h"
