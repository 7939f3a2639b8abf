/* lib/hccl/hccl.h: collective communication of kernels. Our own implementation of public names. */
#pragma once

#include "../../cpu/hccl.h"
#include "../../kernel_operator.h"
