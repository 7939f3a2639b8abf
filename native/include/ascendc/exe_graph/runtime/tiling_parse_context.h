/* Forwards to tiling_context.h, which has TilingParseContext. */
#pragma once
#include "tiling_context.h"
