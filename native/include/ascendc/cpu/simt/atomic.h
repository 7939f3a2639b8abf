/* Atomic functions of SIMT threads, which give what was there before. One thread has its turn at a time. */
#pragma once

#include <algorithm>

#include "call.h"

namespace AscendC::Simt {

/* name(address, value): what becomes of `old`, an expression of it and of `value`. */
#define ASC_ATOMIC(name, ...)                                    \
    template <typename T>                                        \
    inline T name(T *address, asc_cpu::Same<T> value) {          \
        const T old = *address;                                  \
        *address = T(__VA_ARGS__);                               \
        return old;                                              \
    }                                                            \
    template <typename T>                                        \
    inline T name(volatile T *address, asc_cpu::Same<T> value) { \
        return name(const_cast<T *>(address), value);            \
    }
ASC_ATOMIC(AtomicAdd, old + value)
ASC_ATOMIC(AtomicSub, old - value)
ASC_ATOMIC(AtomicExch, value)
ASC_ATOMIC(AtomicMax, old > value ? old : value)
ASC_ATOMIC(AtomicMin, old < value ? old : value)
ASC_ATOMIC(AtomicAnd, old &value)
ASC_ATOMIC(AtomicOr, old | value)
ASC_ATOMIC(AtomicXor, old ^ value)
/* Counts up to `value` and begins again, and down from it. */
ASC_ATOMIC(AtomicInc, old >= value ? T(0) : old + 1)
ASC_ATOMIC(AtomicDec, old == T(0) || old > value ? value : old - 1)
#undef ASC_ATOMIC

template <typename T>
inline T AtomicCas(T *address, asc_cpu::Same<T> expected, asc_cpu::Same<T> value) {
    const T old = *address;
    if (old == expected) *address = value;
    return old;
}
template <typename T>
inline T AtomicCas(volatile T *address, asc_cpu::Same<T> expected, asc_cpu::Same<T> value) {
    return AtomicCas(const_cast<T *>(address), expected, value);
}

}  // namespace AscendC::Simt
