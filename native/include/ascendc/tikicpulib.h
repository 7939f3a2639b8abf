/* Programs that launch kernels on a CPU: their global memory, and ICPU_RUN_KF in the place of <<<...>>>. */
#pragma once

#include "host/launch.h"
#include "kernel_operator.h"
#include "securec.h"

enum class KernelMode { MIX_MODE, AIC_MODE, AIV_MODE, MIX_AIC_1_1, MIX_AIV_1_0, MIX_AIC_1_0 };

namespace AscendC {

using ::KernelMode;

/* Zeros in global memory, nullptr when there are none; its bounds are checked from now on. */
inline void *GmAlloc(size_t bytes) {
    void *memory = std::calloc(bytes + asc_cpu::BLOCK, 1);
    if (memory) asc_cpu::add_global(memory, bytes, "of GmAlloc", true, false);
    return memory;
}
inline void GmFree(void *memory) {
    asc_cpu::remove_global(memory);
    std::free(memory);
}
/* The cores of the launches that follow. */
inline void SetKernelMode(KernelMode mode) {
    using asc_cpu::Kernel;
    switch (mode) {
        case KernelMode::AIC_MODE:
        case KernelMode::MIX_AIC_1_0: asc_cpu::chosen_cores() = {Kernel::Cube, 1}; return;
        case KernelMode::AIV_MODE:
        case KernelMode::MIX_AIV_1_0: asc_cpu::chosen_cores() = {Kernel::Vector, 1}; return;
        case KernelMode::MIX_AIC_1_1: asc_cpu::chosen_cores() = {Kernel::Mix, 1}; return;
        case KernelMode::MIX_MODE: asc_cpu::chosen_cores() = {Kernel::Mix, 2};
    }
}

}  // namespace AscendC

#define ICPU_SET_TILING_KEY(key) (asc_cpu::tiling_key() = uint64_t(key))
/* kernel(arguments...) on `blocks` cores. A fault ends the program with status 3. */
#define ICPU_RUN_KF(kernel, blocks, ...)                                                             \
    ::asc_host::launcher(uint32_t(blocks))([&](auto &&...asc_argument) { kernel(asc_argument...); }, \
                                           #kernel)(__VA_ARGS__)
