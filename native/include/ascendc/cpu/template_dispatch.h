/* A kernel whose template arguments are its tiling key: the instance that a key means (tiling/template_argument.h). */
#pragma once

#include <utility>

#include "../tiling/template_instances.h"
#include "task_type.h"
#include "types.h"

namespace asc_tpl {

/* Beyond this a translation unit takes minutes to compile. */
constexpr size_t MAX_INSTANCES = 512;

/* The element type that a number of ge's means. */
template <uint32_t number>
struct ElementType;
#define ASC_TPL_TYPE(number, name)          \
    template <>                             \
    struct ElementType<number> {            \
        using type [[maybe_unused]] = name; \
    };
ASC_TPL_TYPE(C_DT_FLOAT, float)
ASC_TPL_TYPE(C_DT_FLOAT16, half)
ASC_TPL_TYPE(C_DT_INT8, int8_t)
ASC_TPL_TYPE(C_DT_INT32, int32_t)
ASC_TPL_TYPE(C_DT_UINT8, uint8_t)
ASC_TPL_TYPE(C_DT_INT16, int16_t)
ASC_TPL_TYPE(C_DT_UINT16, uint16_t)
ASC_TPL_TYPE(C_DT_UINT32, uint32_t)
ASC_TPL_TYPE(C_DT_INT64, int64_t)
ASC_TPL_TYPE(C_DT_UINT64, uint64_t)
ASC_TPL_TYPE(C_DT_DOUBLE, double)
ASC_TPL_TYPE(C_DT_BOOL, bool)
ASC_TPL_TYPE(C_DT_BF16, bfloat16_t)
#undef ASC_TPL_TYPE

/* Runs the instance of `Kernel` whose key the launch has. Kernel: DECLARED, SELECTED, INPUTS, OUTPUTS, and call<i>. */
template <typename Kernel, typename... A>
void run_instance(A... arguments) {
    constexpr size_t all = instances(Kernel::declared(), Kernel::selected());
    static_assert(all <= MAX_INSTANCES, "ASCENDC_TPL_SEL selects more than 512 instances: name one (--kernel)");
    const uint64_t key = asc_cpu::tiling_key();
    const auto tried = [&]<size_t i>() {
        constexpr Instance made = instance(Kernel::declared(), Kernel::selected(), i);
        if constexpr (is_of_column(Kernel::declared(), made, Kernel::INPUTS, Kernel::N_INPUTS, Kernel::OUTPUTS,
                                   Kernel::N_OUTPUTS)) {
            if (key_of(Kernel::declared(), made.values) != key) return false;
            if constexpr (made.kernel_type >= 0) asc_cpu::take_task_type(KernelMetaType(made.kernel_type));
            Kernel::template call<i>(arguments...);
            return true;
        }
        return false;
    };
    const bool found = [&]<size_t... i>(std::index_sequence<i...>) {
        return (tried.template operator()<i>() || ...);
    }(std::make_index_sequence<all>());
    if (!found)
        asc_cpu::fail("ErrorParam", "no instance that ASCENDC_TPL_SEL selects has the tiling key %llu",
                      (unsigned long long)key);
}

}  // namespace asc_tpl
