#ifndef ASC_CORE_DISPATCH_H
#define ASC_CORE_DISPATCH_H

#include "kernel.h"

#define ASC_MAX_OPERANDS 256 /* of one instruction, inputs and outputs together */

#endif
