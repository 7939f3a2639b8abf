/* Forwards to the chip's description. */
#pragma once
#pragma GCC system_header
#include "platform_infos_def.h"
