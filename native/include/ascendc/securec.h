/* Bounds-checked copies of Annex K, as host files call them. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdarg>
#include <cstdio>
#include <cstring>

using errno_t = int;
constexpr errno_t EOK = 0, ASC_RANGE_ERROR = 34;

inline errno_t memcpy_s(void *to, size_t room, const void *from, size_t n) {
    if (!to || !from || n > room) return ASC_RANGE_ERROR;
    std::memcpy(to, from, n);
    return EOK;
}
inline errno_t memset_s(void *to, size_t room, int value, size_t n) {
    if (!to || n > room) return ASC_RANGE_ERROR;
    std::memset(to, value, n);
    return EOK;
}
inline errno_t strcpy_s(char *to, size_t room, const char *from) {
    return from ? memcpy_s(to, room, from, std::strlen(from) + 1) : ASC_RANGE_ERROR;
}
/* The characters written; -1 where they had no room. */
inline int snprintf_s(char *to, size_t room, size_t most, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(to, room, format, arguments);
    va_end(arguments);
    return n < 0 || size_t(n) >= room || size_t(n) > most ? -1 : n;
}
inline int sprintf_s(char *to, size_t room, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(to, room, format, arguments);
    va_end(arguments);
    return n < 0 || size_t(n) >= room ? -1 : n;
}
