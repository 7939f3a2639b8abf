/* The combinations of values that ASCENDC_TPL_SEL selects, one by one. */
#pragma once

#include "template_argument.h"

namespace asc_tpl {

/* One combination of values, in the order of the template's parameters. */
struct Instance {
    uint32_t values[MAX_ARGUMENTS] = {};
    int kernel_type = -1; /* KernelMetaType; -1: the kernel says it, or nobody does */
};

/* How many combinations a selection has. */
template <size_t n>
constexpr size_t combinations(const Values (&declared)[n], const Selection &selection) {
    size_t all = 1;
    for (const Values &argument : declared) {
        if (argument.kind == Kind::IGNORED || argument.kind == Kind::KERNEL_TYPE) continue;
        const Values *choice = find(selection, argument.name);
        all *= choice ? choice->size() : argument.size();
    }
    return all;
}

template <size_t n, size_t selections>
constexpr size_t instances(const Values (&declared)[n], const Selection (&selected)[selections]) {
    size_t all = 0;
    for (const Selection &selection : selected) all += combinations(declared, selection);
    return all;
}

template <size_t n, size_t selections>
constexpr Instance instance(const Values (&declared)[n], const Selection (&selected)[selections], size_t number) {
    Instance made;
    size_t s = 0;
    while (number >= combinations(declared, selected[s])) number -= combinations(declared, selected[s++]);
    size_t at = 0;
    for (const Values &argument : declared) {
        if (argument.kind == Kind::IGNORED || argument.kind == Kind::KERNEL_TYPE) continue;
        const Values *choice = find(selected[s], argument.name);
        const Values &allowed = choice ? *choice : argument;
        made.values[at++] = allowed[uint32_t(number % allowed.size())];
        number /= allowed.size();
    }
    for (uint32_t i = 0; i < selected[s].count; i++) {
        const Values &v = selected[s].arguments[i];
        if (v.kind == Kind::KERNEL_TYPE && v.count) made.kernel_type = int(v.numbers[0]);
    }
    return made;
}

/* Whether an instance is for these element types of inputs and outputs (-1: any). */
template <size_t n>
constexpr bool is_of_column(const Values (&declared)[n], const Instance &made, const int *inputs, size_t n_inputs,
                            const int *outputs, size_t n_outputs) {
    size_t at = 0;
    for (const Values &argument : declared) {
        if (argument.kind == Kind::IGNORED || argument.kind == Kind::KERNEL_TYPE) continue;
        const uint32_t value = made.values[at++];
        if (!argument.tensor) continue;
        const bool is_input = (argument.tensor & ~TENSOR_MASK) == OF_INPUT;
        const size_t place = argument.tensor & TENSOR_MASK;
        const int type = place < (is_input ? n_inputs : n_outputs) ? (is_input ? inputs : outputs)[place] : -1;
        if (type >= 0 && uint32_t(type) != value) return false;
    }
    return true;
}

}  // namespace asc_tpl
