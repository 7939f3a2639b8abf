/* Forwards to the chip's description. */
#pragma once
#include "platform_infos_def.h"
