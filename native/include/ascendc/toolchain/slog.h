/* Levels and records of the log. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "../log/log.h"

/* The module that operators write as. */
constexpr int OP = 63;
constexpr int DLOG_DEBUG = 0, DLOG_INFO = 1, DLOG_WARN = 2, DLOG_ERROR = 3, DLOG_EVENT = 16;

/* Whether a level is written at all. */
inline int CheckLogLevel(int, int) {
    return asc_host::logs();
}
template <typename... A>
inline void DlogRecord(int, int level, const char *format, A... arguments) {
    asc_host::log(level >= DLOG_ERROR ? "ERROR" : level == DLOG_WARN ? "WARNING" : "INFO", format, arguments...);
}
template <typename... A>
inline void DlogSub(int module, const char *, int level, const char *format, A... arguments) {
    DlogRecord(module, level, format, arguments...);
}
inline void DlogFlush() {}

#define dlog_error(module, ...) DlogRecord(module, DLOG_ERROR, __VA_ARGS__)
#define dlog_warn(module, ...) DlogRecord(module, DLOG_WARN, __VA_ARGS__)
#define dlog_info(module, ...) DlogRecord(module, DLOG_INFO, __VA_ARGS__)
#define dlog_debug(module, ...) DlogRecord(module, DLOG_DEBUG, __VA_ARGS__)
