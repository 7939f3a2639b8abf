/* lib/matrix/matmul/matmul.h: the Matmul object. Our own implementation of public names. */
#pragma once

#include "../../matmul_intf.h"
