/* Forwards to tiling_context.h, which has TilingParseContext. */
#pragma once
#pragma GCC system_header
#include "tiling_context.h"
