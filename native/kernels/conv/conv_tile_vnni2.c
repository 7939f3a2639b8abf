/* Tiles of convolution on pairs of bfloat16. */
#include "vnni2.h"

#define CONV_BROADCAST(p) vnni2_broadcast(p)
#define CONV_MULTIPLY(left, right, sum) vnni2_multiply(left, right, sum)
#define CONV_MULTIPLY_LANE(four, lane, right, sum) vnni2_multiply_lane(four, lane, right, sum)
#if ASC_VF == 8
#define CONV_HALF(pair, first) vnni2_half(pair, first)
#endif
#define CONV_TILE_RUN ASC_FN(conv_tile_vnni2_run)
#include "conv_tile_body.h"
