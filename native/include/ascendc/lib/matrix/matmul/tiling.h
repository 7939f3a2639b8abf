/* The tiling of Matmul as kernels take it. */
#pragma once

#include "../../../kernel_tiling/kernel_tiling.h"
