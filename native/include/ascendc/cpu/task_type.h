/* On which cores a kernel runs: vector cores, cube cores, or a cube core with one or two vector cores beside it.
 *
 * Who launches a kernel may say so. Where nobody does, KERNEL_TASK_TYPE in the kernel does, as soon as it is reached:
 * the launch begins anew on those cores. Without one it is mixed if the translation unit has instructions of the cube,
 * as the device's compiler decides, and the chip's cube and vector cores are apart.
 */
#pragma once

#include <optional>

#include "blocks.h"

enum KernelMetaType {
    KERNEL_TYPE_AIV_ONLY,
    KERNEL_TYPE_AIC_ONLY,
    KERNEL_TYPE_MIX_AIV_1_0,
    KERNEL_TYPE_MIX_AIC_1_0,
    KERNEL_TYPE_MIX_AIC_1_1,
    KERNEL_TYPE_MIX_AIC_1_2,
    KERNEL_TYPE_AICORE,
    KERNEL_TYPE_VECTORCORE,
    KERNEL_TYPE_MIX_AICORE,
    KERNEL_TYPE_MIX_VECTOR_CORE,
    KERNEL_TYPE_MAX
};

namespace AscendC {

constexpr int32_t AIC = 1, AIV = 2, MIX = 3;
#ifdef ASC_CORE_TYPE
/* AIC or AIV: what this unit is compiled for. */
constexpr int32_t g_coreType = ASC_CORE_TYPE;
#else
/* AIC or AIV: what the kernel runs on at the moment. */
struct CoreTypeNow {
    operator int32_t() const { return asc_cpu::core().kind == asc_cpu::CoreKind::Cube ? AIC : AIV; }
};
constexpr CoreTypeNow g_coreType{};
#endif

}  // namespace AscendC
using AscendC::g_coreType;

namespace asc_cpu {

struct TaskCores {
    Kernel kernel = Kernel::Vector;
    uint32_t ratio = 1;
    bool operator==(const TaskCores &other) const { return kernel == other.kernel && ratio == other.ratio; }
};
constexpr TaskCores cores_of(KernelMetaType type) {
    switch (type) {
        case KERNEL_TYPE_AIC_ONLY:
        case KERNEL_TYPE_MIX_AIC_1_0: return {Kernel::Cube, 1};
        case KERNEL_TYPE_MIX_AIC_1_1: return {Kernel::Mix, 1};
        case KERNEL_TYPE_MIX_AIC_1_2: return {Kernel::Mix, 2};
        default: return {Kernel::Vector, 1};
    }
}

/* The cores of the launch, and whether the kernel may still choose others. */
struct Task {
    TaskCores cores;
    bool open = false;
};
inline Task &task() {
    static Task the_task;
    return the_task;
}
constexpr const char *OTHER_CORES = "OtherCores";

/* KERNEL_TASK_TYPE: ends an open launch on other cores than these, for run_on_its_cores to begin it anew. */
inline void take_task_type(KernelMetaType type) {
    Task &t = task();
    if (!t.open) return;
    t.open = false;
    if (t.cores == cores_of(type)) return;
    t.cores = cores_of(type);
    fail(OTHER_CORES, "it runs on other cores");
}

#ifdef ASC_CORES_JOINED
/* What a core does with a kernel that has code for the other kind alone: nothing, if the launch has any of those. */
extern "C" __attribute__((used, weak)) void asc_no_code_for_core() {
    Task &t = task();
    if (!t.open || t.cores.kernel == Kernel::Mix) return;
    t.cores = {core().kind == CoreKind::Cube ? Kernel::Vector : Kernel::Cube, 1};
    fail(OTHER_CORES, "it runs on other cores");
}
#endif

/* Whether this translation unit has instructions of the cube. */
inline bool &has_cube_code() {
    static bool found = false;
    return found;
}
template <typename>
struct CubeCode {
    static inline const bool found = has_cube_code() = true;
};
/* Called by templates of the cube's instructions: marks the unit when one of them is instantiated. */
template <typename T>
inline void mark_cube_code() {
    (void)&CubeCode<T>::found;
}

/* Whether it has instructions that only chips with one kind of core have. */
inline bool &has_joined_code() {
    static bool found = false;
    return found;
}
template <typename>
struct JoinedCode {
    static inline const bool found = has_joined_code() = true;
};
template <typename T>
inline void mark_joined_code() {
    (void)&JoinedCode<T>::found;
}

/* Whether it defines ASCENDC_CUBE_ONLY: its products are the cube cores' own. */
inline bool &is_cube_only() {
    static bool yes = false;
    return yes;
}

#ifdef ASC_CORES_JOINED
/* What the cube's compilation says of itself, where the unit runs before main what the vector core's has. */
extern "C" {
__attribute__((used, weak)) void asc_mark_cube_code() {
    has_cube_code() = true;
}
__attribute__((used, weak)) void asc_mark_joined_code() {
    has_joined_code() = true;
}
__attribute__((used, weak)) void asc_mark_cube_only() {
    is_cube_only() = true;
}
}
#endif

/* The cores of a kernel that says nothing. */
inline TaskCores default_cores(const Chip &chip) {
#if defined(ASC_CORE_TYPE) && !defined(ASC_CORES_JOINED)
    return {ASC_CORE_TYPE == AscendC::AIC ? Kernel::Cube : Kernel::Vector, 1}; /* it has no code for others */
#endif
    const bool apart = chip.l1 <= 512 * 1024 && !has_joined_code();
    if (!has_cube_code() || !apart) return {Kernel::Vector, 1};
    return is_cube_only() ? TaskCores{Kernel::Cube, 1} : TaskCores{Kernel::Mix, 2};
}

/* The cores that a program has chosen for its launches (SetKernelMode). */
inline std::optional<TaskCores> &chosen_cores() {
    static std::optional<TaskCores> cores;
    return cores;
}

/* Runs body() on the cores that the kernel asks for. begin() makes global memory as it was before the launch. */
ASC_RUNTIME void run_on_its_cores(uint32_t n, const Chip &chip, ActionRef begin, ActionRef body);
#ifndef ASC_CPU_APART
ASC_RUNTIME void run_on_its_cores(uint32_t n, const Chip &chip, ActionRef begin, ActionRef body) {
    task() = {chosen_cores().value_or(default_cores(chip)), !chosen_cores()};
    for (bool again = true; again;) {
        again = false;
        begin();
        try {
            Blocks all;
            const TaskCores cores = task().cores;
            all.run(n, chip, cores.kernel, cores.ratio, body);
        } catch (const Fault &fault) {
            if (std::strcmp(fault.kind, OTHER_CORES) != 0) throw;
            again = true;
        }
    }
    task().open = false;
}
#endif

}  // namespace asc_cpu
