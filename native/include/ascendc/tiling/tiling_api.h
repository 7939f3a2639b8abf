/* tiling/tiling_api.h: what the libraries offer to hosts. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "hccl/hccl_tiling.h"
#include "library_tiling.h"
#include "matmul_tiling.h"
#include "normalization_tiling.h"

#ifdef __FLT16_MANT_DIG__
using half = _Float16; /* hosts take its size */
#endif
