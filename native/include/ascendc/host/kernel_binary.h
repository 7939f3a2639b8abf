/* A kernel as a part of a binary: its arguments' sizes, and its launch, behind a C structure. */
#pragma once

#include "asc_kernel_binary.h"
#include "launch.h"

namespace asc_host {

template <auto function>
struct BinaryOf;
template <typename... A, void (*function)(A...)>
struct BinaryOf<function> {
    static constexpr uint32_t COUNT = sizeof...(A);
    static constexpr uint32_t BYTES[COUNT + 1] = {(std::is_pointer_v<A> ? 0 : uint32_t(sizeof(A)))..., 0};
    static constexpr uint32_t ALIGNS[COUNT + 1] = {uint32_t(alignof(A))..., 1};

    static void launch(uint32_t blocks, void *const *arguments, void (*tell)(void *, int32_t, const char *), void *to) {
        struct Told {
            void (*tell)(void *, int32_t, const char *);
            void *to;
        } told{tell, to};
        LaunchRequest request{};
        request.blocks = blocks;
        request.key = asc_cpu::tiling_key();
        request.chip = chip_of_programs();
        request.ub = asc_cpu::chip_of(request.chip).ub;
        request.arguments = arguments;
        request.tell = [](void *where, bool advice, const char *line) {
            const Told *t = static_cast<const Told *>(where);
            t->tell(t->to, advice, line);
        };
        request.to = &told;
        KernelOf<function>::launch(request);
        if (const asc_cpu::Work &work = asc_cpu::launch_work(); asc_cpu::CHECKED && asc_launch_work && work.cores)
            asc_launch_work(work.cores, work.all, work.most);
    }
};

}  // namespace asc_host

#define ASC_KERNEL_BINARY(kernel)                                                                         \
    extern "C" __attribute__((visibility("default"))) const asc_kernel_binary asc_kernel_binary_##kernel; \
    const asc_kernel_binary asc_kernel_binary_##kernel = {ASC_KERNEL_BINARY_VERSION,                      \
                                                          ::asc_host::BinaryOf<&kernel>::COUNT,           \
                                                          #kernel,                                        \
                                                          ::asc_host::BinaryOf<&kernel>::BYTES,           \
                                                          ::asc_host::BinaryOf<&kernel>::ALIGNS,          \
                                                          ::asc_host::BinaryOf<&kernel>::launch};
