#pragma once
#include "kernel_operator.h"
#include "tiling_strategy.h"

extern "C" __global__ __aicore__ void LinearAddGeluKernel(__gm__ float *x, __gm__ float *w, __gm__ float *bias,
                                                          __gm__ float *out, __gm__ LinearAddGeluTiling *tiling);
