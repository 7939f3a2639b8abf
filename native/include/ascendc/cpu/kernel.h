/* What a kernel's entry takes from the tool chain: tiling data, keys, the kind of its cores. */
#pragma once

#include "library.h"
#include "task_type.h"
#include "vector_binary.h"

#define GET_TILING_DATA_WITH_STRUCT(type, name, address) \
    type name;                                           \
    std::memcpy(static_cast<void *>(&name), address, sizeof name)
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(ASC_TILING_STRUCT, name, address)
#define KERNEL_TASK_TYPE_DEFAULT(type) asc_cpu::take_task_type(type)
#define KERNEL_TASK_TYPE(key, type)                         \
    do {                                                    \
        if (TILING_KEY_IS(key)) asc_cpu::take_task_type(type); \
    } while (0)
#define REGISTER_TILING_DEFAULT(type)
#define TILING_KEY_IS(key) (asc_cpu_tiling_key == (key))
