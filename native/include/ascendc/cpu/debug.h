/* What a kernel says: prints, dumps of tensors, assertions, the clock. */
#pragma once

#include <cassert>
#include <chrono>

#include "cross_core.h"

namespace asc_cpu {

/* Where prints go. */
inline std::FILE *&kernel_output() {
    static std::FILE *output = stdout;
    return output;
}
template <typename T>
inline auto printable(T value) {
    if constexpr (is_half_type<T>)
        return double(float(value));
    else
        return value;
}
inline void print() {}
template <typename... Values>
inline void print(const char *format, Values... values) {
    if constexpr (sizeof...(values) == 0)
        std::fputs(format, kernel_output());
    else
        std::fprintf(kernel_output(), format, printable(values)...);
}
[[noreturn]] inline int assertion_failed(const char *condition, Where w) {
    at(w);
    fail_with("ErrorAssert", "see the condition", "assertion %s", condition);
}
template <typename Tensor>
inline void dump(const Tensor &tensor, uint32_t desc, uint32_t n, Where w) {
    using T = typename Tensor::PrimType;
    std::fprintf(kernel_output(), "DumpTensor: desc=%u, block=%lld, line=%d, %u elements:", desc,
                 (long long)core().block_idx, w.line, n);
    for (uint32_t i = 0; i < n; i++) {
        if (i % 8 == 0) std::fprintf(kernel_output(), "\n ");
        if constexpr (is_floating<T>)
            std::fprintf(kernel_output(), " %f", double(float(tensor.GetValue(i, w))));
        else
            std::fprintf(kernel_output(), " %lld", (long long)tensor.GetValue(i, w));
    }
    std::fprintf(kernel_output(), "\n");
}

}  // namespace asc_cpu

namespace AscendC {

template <typename... Values>
inline void printf(const char *format, Values... values) {
    asc_cpu::print(format, values...);
}
/* A function, as kernels write AscendC::PRINTF, too. */
template <typename... Values>
inline void PRINTF(const char *format, Values... values) {
    asc_cpu::print(format, values...);
}
template <typename T>
inline void DumpTensor(const LocalTensor<T> &tensor, uint32_t desc, uint32_t dumpSize,
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::dump(tensor, desc, dumpSize, w);
}
template <typename T>
inline void DumpTensor(const GlobalTensor<T> &tensor, uint32_t desc, uint32_t dumpSize,
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::dump(tensor, desc, dumpSize, w);
}
template <typename T, typename Shape>
inline void DumpTensor(const T &tensor, uint32_t desc, uint32_t dumpSize, const Shape &,
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::dump(tensor, desc, dumpSize, w);
}
template <typename T>
inline void DumpAccChkPoint(const T &tensor, uint32_t index, uint32_t countOff, uint32_t dumpSize,
                            asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::dump(tensor[countOff], index, dumpSize, w);
}
/* In steps of 20 ns. */
inline int64_t GetSystemCycle() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
               .count() /
           20;
}
inline void Trap(asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::at(w);
    asc_cpu::fail("ErrorAssert", "Trap");
}
inline void PrintTimeStamp(uint32_t) {}
/* The core begins in a known state here. */
inline void InitSocState() {}

}  // namespace AscendC

inline int64_t get_system_cycle() {
    return AscendC::GetSystemCycle();
}
inline void trap(asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::Trap(w);
}

using AscendC::PRINTF;

/* No text at all for the device's compiler: kernels have assertions that it would refuse, or that don't hold. */
#define ASCENDC_ASSERT(...)
#define ASCENDC_REPORT_NOT_SUPPORT(...)
#undef ASSERT
/* Begins with a sign so that what lacks a semicolon before it goes on, as with the device's compiler. That doesn't read
 * the condition, so that kernels name AscendC's functions there without their namespace. */
#define ASSERT(...)              \
    +(({                         \
        using namespace AscendC; \
        bool((__VA_ARGS__));     \
    })                           \
          ? 0                    \
          : asc_cpu::assertion_failed("(" #__VA_ARGS__ ")", asc_cpu::Where::here()))
/* With a text or without, unlike the C library's. */
#undef assert
#define assert(condition, ...) static_cast<void>(ASSERT_MSG(condition, ##__VA_ARGS__))
#define ascendc_assert(condition, ...) static_cast<void>(ASSERT_MSG(condition, ##__VA_ARGS__))
/* The text goes out before the kernel ends. */
#define ASSERT_MSG(condition, ...) \
    +((condition)                  \
          ? 0                      \
          : (asc_cpu::print(__VA_ARGS__), asc_cpu::assertion_failed("(" #condition ")", asc_cpu::Where::here())))
