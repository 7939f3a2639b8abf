/* Status codes of host functions, with the types that they are about. */
#pragma once
#pragma GCC system_header
#include "types.h"
