/* tiling/tiling_api.h: what the libraries offer to hosts. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "library_tiling.h"
#include "matmul_tiling.h"
