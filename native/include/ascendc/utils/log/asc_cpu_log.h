/* The log under the names of the tool chain's CPU mode. Our own implementation of public names. */
#pragma once
#pragma GCC system_header
#include "../../log/log.h"

#define ASC_CPU_LOG_ERROR(...) ::asc_host::log("ERROR", __VA_ARGS__)
#define ASC_CPU_LOG_WARNING(...) ::asc_host::log("WARNING", __VA_ARGS__)
#define ASC_CPU_LOG_INFO(...) ::asc_host::log("INFO", __VA_ARGS__)
#define ASC_CPU_LOG_DEBUG(...) ::asc_host::log("DEBUG", __VA_ARGS__)
