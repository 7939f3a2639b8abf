/* What a condition mostly is, for the compiler: names that kernels and host files use without a header. */
#pragma once

#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif
