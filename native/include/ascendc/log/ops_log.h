/* Forwards to log.h. */
#pragma once
#include "log.h"
