/* Another place of tiling/platform/platform_ascendc.h. */
#pragma once
#pragma GCC system_header
#include "../tiling/platform/platform_ascendc.h"
