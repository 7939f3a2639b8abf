/* Part of kernel_operator.h. */
#pragma once

#include "../../../kernel_operator.h"
