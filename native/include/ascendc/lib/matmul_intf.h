/* lib/matmul_intf.h: the Matmul object and its registration. Our own implementation of public names. */
#pragma once

#include "../cpu/matmul/matmul.h"
#include "../kernel_operator.h"

namespace asc_cpu {

#ifdef ASCENDC_CUBE_ONLY
inline const bool cube_only_noted = is_cube_only() = true;
#endif

/* Objects, each with the address of its tiling behind it, or none where Init is called later. */
inline void init_products() {}
template <typename Object>
inline void init_products(Object &) {}
template <typename Object, typename Next, typename... Rest>
inline void init_products(Object &object, Next &&next, Rest &&...rest) {
    if constexpr (std::is_pointer_v<std::decay_t<Next>>) {
        object.Init(next);
        init_products(std::forward<Rest>(rest)...);
    } else {
        init_products(next, std::forward<Rest>(rest)...);
    }
}

}  // namespace asc_cpu

/* The cube core of a mixed kernel serves the products of its vector cores until they end, and returns. */
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) \
    do {                                         \
        (void)(tpipe);                           \
        (void)(workspace);                       \
        if (asc_cpu::serves_products()) return;  \
        asc_cpu::init_products(__VA_ARGS__);     \
    } while (0)
#define REGIST_MATMUL_OBJ_STATIC(tpipe, workspace, ...) REGIST_MATMUL_OBJ(tpipe, workspace, __VA_ARGS__)

namespace matmul {
using namespace AscendC;
using AscendC::Matmul;
using AscendC::MatmulCallBackFunc;
using AscendC::MatmulImpl;
using AscendC::MatmulType;
template <typename T, typename U>
constexpr T CeilDiv(T number, U by) {
    return by == 0 ? number : T((number + T(by) - 1) / T(by));
}
}  // namespace matmul
