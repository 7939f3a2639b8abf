/* Forwards to the logging of host code. */
#pragma once
#include "log/ops_log.h"
