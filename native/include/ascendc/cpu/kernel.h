/* What a kernel's entry takes from the tool chain: tiling data, keys, the kind of its cores. */
#pragma once

#include "../tiling/template_argument.h"
#include "task_type.h"
#include "workspace.h"

/* The structure that the tiling of the operator is registered with, unless the kernel says so itself. */
#ifndef ASC_TILING_STRUCT
#define ASC_TILING_STRUCT AscTilingDefault
#endif
#define REGISTER_TILING_DEFAULT(type) using AscTilingDefault [[maybe_unused]] = type
#define REGISTER_TILING_FOR_TILINGKEY(condition, type)
#define REGISTER_NONE_TILING
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
    type name;                                           \
    std::memcpy(static_cast<void *>(&name), (const void *)(address), sizeof name)
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(ASC_TILING_STRUCT, name, address)
#define GET_TILING_DATA_MEMBER(type, member, name, address) \
    decltype(type::member) name;                            \
    std::memcpy((void *)(&name), (const uint8_t *)(address) + offsetof(type, member), sizeof name)
#define COPY_TILING_WITH_STRUCT(type, from, to)                                       \
    type asc_cpu_copy_of_##to;                                                        \
    std::memcpy((void *)(&asc_cpu_copy_of_##to), (const void *)(from), sizeof(type)); \
    const type *to = &asc_cpu_copy_of_##to
#define COPY_TILING_WITH_ARRAY(type, n, from, to) \
    type to[n];                                   \
    std::memcpy((void *)(to), (const void *)(from), sizeof(to))

/* One word, so that #if may compare it where no one has defined it for a variant. */
struct asc_cpu_key {
    operator uint64_t() const { return asc_cpu::tiling_key(); }
};
constexpr asc_cpu_key asc_cpu_tiling_key{};
#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR asc_cpu_tiling_key
#endif
#define TILING_KEY_IS(key) (asc_cpu::tiling_key() == uint64_t(key))
#define TILING_KEY_LIST(a, b) (TILING_KEY_IS(a) || TILING_KEY_IS(b))

#define KERNEL_TASK_TYPE_DEFAULT(type) asc_cpu::take_task_type(type)
#define KERNEL_TASK_TYPE(key, type)                            \
    do {                                                       \
        if (TILING_KEY_IS(key)) asc_cpu::take_task_type(type); \
    } while (0)
/* `if ASCEND_IS_AIC {`: without parentheses, and what the other core does is discarded where the unit is for one. */
#ifdef ASC_CORE_TYPE
#define ASCEND_IS_AIC constexpr(AscendC::g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV constexpr(AscendC::g_coreType == AscendC::AIV)
#define ASCEND_IS_NOT_AIC ASCEND_IS_AIV
#define ASCEND_IS_NOT_AIV ASCEND_IS_AIC
#else
#define ASCEND_IS_AIC (asc_cpu::core().kind == asc_cpu::CoreKind::Cube)
#define ASCEND_IS_AIV (asc_cpu::core().kind != asc_cpu::CoreKind::Cube)
#define ASCEND_IS_NOT_AIC (!ASCEND_IS_AIC)
#define ASCEND_IS_NOT_AIV (!ASCEND_IS_AIV)
#endif
#define ENABLE_PRINTF()
#define ASCENDC_DUMP 1
#define OOMCheckAddrRange(...)
#define OOMInit(...)
