/* High-level functions that take a scratch buffer, which they overwrite. Computed in float64 and rounded once. */
#pragma once

#include "vector.h"

namespace AscendC {

inline void use_scratch(const LocalTensor<uint8_t> &scratch, uint64_t bytes) {
    scratch.aligned("ErrorWrite4");
    scratch.write(0, bytes);
}

#define ASC_LIBRARY1(name, value)                                                                           \
    template <typename T>                                                                                   \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<uint8_t> &scratch, \
                     uint32_t n) {                                                                          \
        use_scratch(scratch, n * sizeof(T));                                                                \
        map1(d, x, int32_t(n), [](auto a) { return value; });                                               \
    }
ASC_LIBRARY1(Sin, std::sin(double(a)))
ASC_LIBRARY1(Cos, std::cos(double(a)))
ASC_LIBRARY1(Tan, std::tan(double(a)))
ASC_LIBRARY1(Asin, std::asin(double(a)))
ASC_LIBRARY1(Acos, std::acos(double(a)))
ASC_LIBRARY1(Atan, std::atan(double(a)))
ASC_LIBRARY1(Sinh, std::sinh(double(a)))
ASC_LIBRARY1(Cosh, std::cosh(double(a)))
ASC_LIBRARY1(Tanh, std::tanh(double(a)))
ASC_LIBRARY1(Asinh, std::asinh(double(a)))
ASC_LIBRARY1(Acosh, std::acosh(double(a)))
ASC_LIBRARY1(Atanh, std::atanh(double(a)))
ASC_LIBRARY1(Erf, std::erf(double(a)))
#undef ASC_LIBRARY1

#define ASC_LIBRARY2(name, value)                                                               \
    template <typename T>                                                                       \
    inline void name(const LocalTensor<T> &d, const LocalTensor<T> &x, const LocalTensor<T> &y, \
                     const LocalTensor<uint8_t> &scratch, uint32_t n) {                         \
        use_scratch(scratch, n * sizeof(T));                                                    \
        map2(d, x, y, int32_t(n), [](auto a, auto b) { return value; });                        \
    }
ASC_LIBRARY2(Power, std::pow(double(a), double(b)))
ASC_LIBRARY2(Fmod, std::fmod(a, b))
#undef ASC_LIBRARY2

}  // namespace AscendC
