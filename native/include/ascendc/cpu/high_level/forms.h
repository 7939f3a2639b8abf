/* The forms that elementwise functions of the library come in: with a scratch buffer (which they overwrite) or without,
 * and with a number of elements or for all of the source. */
#pragma once

#include "rows.h"

#define ASC_PARAMETERS(...) __VA_ARGS__
/* name(d, x, [scratch], [n]) of one tensor; the value of an element is an expression of a. */
#define ASC_FORMS1(name, PARAMETERS, ...)                                                                           \
    template <PARAMETERS>                                                                                           \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, uint32_t n,                                  \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                   \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(n), #name), {}, {},                            \
                       [](auto a) { return __VA_ARGS__; });                                                         \
    }                                                                                                               \
    template <PARAMETERS>                                                                                           \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, asc_cpu::Where w = asc_cpu::Where::here()) { \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(x.GetSize()), #name), {}, {},                  \
                       [](auto a) { return __VA_ARGS__; });                                                         \
    }                                                                                                               \
    template <PARAMETERS>                                                                                           \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch,         \
                     uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) {                                       \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                       \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(n), #name), {}, {},                            \
                       [](auto a) { return __VA_ARGS__; });                                                         \
    }                                                                                                               \
    template <PARAMETERS>                                                                                           \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch,         \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                   \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                       \
        asc_cpu::unary(#name, w, d, x, asc_cpu::Lanes::whole(int64_t(x.GetSize()), #name), {}, {},                  \
                       [](auto a) { return __VA_ARGS__; });                                                         \
    }

/* name(d, x, y, [scratch], [n]) of two. */
#define ASC_FORMS2(name, ...)                                                                                      \
    template <typename T, bool isReuseSource = false>                                                              \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, uint32_t n,        \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                  \
        asc_cpu::binary(#name, w, d, x, y, asc_cpu::Lanes::whole(int64_t(n), #name), {},                           \
                        [](auto a, auto b) { return __VA_ARGS__; });                                               \
    }                                                                                                              \
    template <typename T, bool isReuseSource = false>                                                              \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y,                    \
                     asc_cpu::Where w = asc_cpu::Where::here()) {                                                  \
        name<T, isReuseSource>(d, x, y, x.GetSize(), w);                                                           \
    }                                                                                                              \
    template <typename T, bool isReuseSource = false>                                                              \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y,                    \
                     const LocalTensor<uint8_t> &scratch, uint32_t n, asc_cpu::Where w = asc_cpu::Where::here()) { \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                      \
        name<T, isReuseSource>(d, x, y, n, w);                                                                     \
    }                                                                                                              \
    template <typename T, bool isReuseSource = false>                                                              \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y,                    \
                     const LocalTensor<uint8_t> &scratch, asc_cpu::Where w = asc_cpu::Where::here()) {             \
        asc_cpu::take_scratch(scratch, scratch.GetSize(), w);                                                      \
        name<T, isReuseSource>(d, x, y, x.GetSize(), w);                                                           \
    }
