/* A kernel as the host calls it: its function with arguments of any types. Included after kernel_operator.h. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace asc_host {

/* The tiling key of the launch, which TILING_KEY_IS compares. */
inline uint64_t &tiling_key() {
    static uint64_t key = 0;
    return key;
}

/* arguments[i]: the address that a pointer gets, or where the value of a number or structure lies. */
using KernelCall = void (*)(void *const *arguments);

/* One kernel for one column of element types. */
struct Kernel {
    KernelCall call;
    size_t n_arguments;
    const size_t *value_bytes; /* of each argument that is no pointer; 0 for pointers */
    const char *const *names;  /* of the arguments */
    size_t n_names;
};

template <typename T>
inline T argument_of(void *address) {
    if constexpr (std::is_pointer_v<T>) return reinterpret_cast<T>(address);
    else return *static_cast<const std::remove_reference_t<T> *>(address);
}

template <auto function>
struct KernelOf;
template <typename... A, void (*function)(A...)>
struct KernelOf<function> {
    static constexpr size_t COUNT = sizeof...(A);
    static constexpr size_t BYTES[COUNT + 1] = {(std::is_pointer_v<A> ? 0 : sizeof(A))..., 0};
    static void call(void *const *arguments) { call(arguments, std::make_index_sequence<COUNT>()); }

   private:
    template <size_t... i>
    static void call(void *const *arguments, std::index_sequence<i...>) {
        function(argument_of<A>(arguments[i])...);
    }
};

}  // namespace asc_host

#define asc_cpu_tiling_key (::asc_host::tiling_key())

/* Defines the table row `symbol` of a kernel; the rest are the names of its arguments. */
#define ASC_KERNEL_ROW(symbol, function, ...)                                                              \
    static const char *const symbol##_names[] = {__VA_ARGS__};                                             \
    extern const ::asc_host::Kernel symbol;                                                                \
    const ::asc_host::Kernel symbol = {&::asc_host::KernelOf<&function>::call,                              \
                                       ::asc_host::KernelOf<&function>::COUNT,                              \
                                       ::asc_host::KernelOf<&function>::BYTES, symbol##_names,              \
                                       sizeof symbol##_names / sizeof symbol##_names[0]};
