/* Errors that host functions report: they go to the log. Our own implementation of public names. */
#pragma once
#pragma GCC system_header
#include <string>

#include "../log/log.h"

namespace asc_host {

template <typename... A>
inline void report_error(const char *code, const char *format, A... arguments) {
    log("ERROR", (std::string(code) + ": " + format).c_str(), arguments...);
}

}  // namespace asc_host

#define REPORT_INNER_ERR_MSG(code, ...) ::asc_host::report_error(code, __VA_ARGS__)
#define REPORT_INNER_ERROR(code, ...) ::asc_host::report_error(code, __VA_ARGS__)
#define REPORT_CALL_ERROR(code, ...) ::asc_host::report_error(code, __VA_ARGS__)
