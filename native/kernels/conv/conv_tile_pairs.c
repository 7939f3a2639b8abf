/* Tiles of convolution on pairs of bfloat16. */
#include "pairs.h"

#define CONV_BROADCAST(p) pairs_broadcast(p)
#define CONV_MULTIPLY(left, right, sum) pairs_multiply(left, right, sum)
#define CONV_TILE_RUN ASC_FN(conv_tile_pairs_run)
#include "conv_tile_body.h"
