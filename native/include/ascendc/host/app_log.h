/* aclAppLog for host code that logs by ACL_APP_LOG and is linked without libascendcl. */
#pragma once

#include <cstdarg>
#include <cstdint>

#include "../log/log.h"

extern "C" __attribute__((weak)) void aclAppLog(int level, const char *function, const char *, uint32_t,
                                                const char *format, ...) {
    if (!asc_host::logs()) return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    asc_host::log(level >= 3 ? "ERROR" : level == 2 ? "WARNING" : "INFO", "%s: %s", function, text);
}
