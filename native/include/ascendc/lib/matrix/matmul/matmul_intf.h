/* lib/matrix/matmul/matmul_intf.h: the Matmul object. Our own implementation of public names. */
#pragma once

#include "../../matmul_intf.h"
