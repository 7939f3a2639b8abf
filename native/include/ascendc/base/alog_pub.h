/* The log under its newer names. Our own implementation of public names. */
#pragma once
#pragma GCC system_header
#include "../toolchain/slog.h"

constexpr int DLOG_TYPE_DEBUG = 0, DLOG_TYPE_RUN = 1;

inline int AlogCheckDebugLevel(int module, int level) {
    return CheckLogLevel(module, level);
}
template <typename... A>
inline void AlogRecord(int module, int, int level, const char *format, A... arguments) {
    DlogRecord(module, level, format, arguments...);
}
