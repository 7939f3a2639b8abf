/* DEVICE_IMPL_OP_OPTILING: a tiling function that the device's own processor may run. The host runs it here. Our own
 * implementation of public names. */
#pragma once
#pragma GCC system_header

#include "op_impl_registry.h"

#define DEVICE_IMPL_OP_OPTILING(type) IMPL_OP_OPTILING(type)
