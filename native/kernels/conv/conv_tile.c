/* Tiles of convolution in float32. */
#include "simd.h"

#define CONV_BROADCAST(p) vf_set(*(p))
#define CONV_MULTIPLY(left, right, sum) vf_fma(left, right, sum)
#define CONV_MULTIPLY_LANE(four, lane, right, sum) vf_fma_lane(four, lane, right, sum)
#define CONV_TILE_RUN ASC_FN(conv_tile_run)
#include "conv_tile_body.h"
