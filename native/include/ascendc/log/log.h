/* Logging of host code: what operators write goes nowhere unless ASCEND_SLOG_PRINT_TO_STDOUT is 1. Our own
 * implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../graph/types.h"

namespace asc_host {
inline bool logs() {
    static const bool wanted = [] {
        const char *value = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
        return value && std::strcmp(value, "1") == 0;
    }();
    return wanted;
}
template <typename... A>
inline void log(const char *level, const char *format, A... arguments) {
    if (!logs()) return;
    std::fprintf(stderr, "[%s] ", level);
    if constexpr (sizeof...(A) == 0)
        std::fputs(format, stderr);
    else
        std::fprintf(stderr, format, arguments...);
    std::fputc('\n', stderr);
}
}  // namespace asc_host

#ifndef OP_LOGD
#define OP_LOGD(name, ...) ::asc_host::log("DEBUG", __VA_ARGS__)
#define OP_LOGI(name, ...) ::asc_host::log("INFO", __VA_ARGS__)
#define OP_LOGW(name, ...) ::asc_host::log("WARNING", __VA_ARGS__)
#define OP_LOGE(name, ...) ::asc_host::log("ERROR", __VA_ARGS__)
#define OP_LOGE_WITHOUT_REPORT(name, ...) OP_LOGE(name, __VA_ARGS__)
#define OP_LOGE_IF(condition, result, name, ...) \
    do {                                         \
        if (condition) {                         \
            OP_LOGE(name, __VA_ARGS__);          \
            return result;                       \
        }                                        \
    } while (0)
#endif
#ifndef OP_CHECK_IF
#define OP_CHECK_IF(condition, log_text, result) \
    do {                                         \
        if (condition) {                         \
            log_text;                            \
            result;                              \
        }                                        \
    } while (0)
#endif
#ifndef OP_CHECK_NULL_WITH_CONTEXT
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer)  \
    do {                                              \
        if ((pointer) == nullptr) {                   \
            OP_LOGE(context, "%s is null", #pointer); \
            return ge::GRAPH_FAILED;                  \
        }                                             \
    } while (0)
#endif
#ifndef OP_TILING_CHECK
#define OP_TILING_CHECK(condition, log_text, result) OP_CHECK_IF(condition, log_text, result)
#endif
