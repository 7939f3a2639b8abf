/* lib/matrix/matmul/tiling.h: the tiling of a Matmul. Our own implementation of public names. */
#pragma once

#include "../../../kernel_tiling/kernel_tiling.h"
