/* Forwards to the logging of host code. */
#pragma once
#pragma GCC system_header
#include "ops_log.h"
