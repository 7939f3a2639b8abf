/* Forwards to the chip's description. */
#pragma once
#include "../../../platform/platform_infos_def.h"
