/* Sizes of elements, blocks and repeats by name, and divisions that round up. Our own implementation of public names.
 */
#pragma once

#include <cstdint>
#include <type_traits>

#include "../base/branch_hints.h"

namespace AscendC {

constexpr int32_t B8_BYTE_SIZE = 1, B16_BYTE_SIZE = 2, B32_BYTE_SIZE = 4, B64_BYTE_SIZE = 8;
constexpr int32_t B8_DATA_NUM_PER_BLOCK = 32, B16_DATA_NUM_PER_BLOCK = 16, B32_DATA_NUM_PER_BLOCK = 8;
constexpr int32_t B8_DATA_NUM_PER_REPEAT = 256, B16_DATA_NUM_PER_REPEAT = 128, B32_DATA_NUM_PER_REPEAT = 64;
constexpr int32_t ONE_REPEAT_FLOAT_SIZE = 64, ONE_REPEAT_HALF_SIZE = 128, ONE_BLK_FLOAT_NUM = 8, ONE_BLK_HALF_NUM = 16;
/* Rows of a fractal, and bytes of a line of the cache. */
constexpr int32_t BLOCK_CUBE = 16;
constexpr uint32_t CACHE_LINE_SIZE = 64;
constexpr int32_t B64_DATA_NUM_PER_BLOCK = 4, B64_DATA_NUM_PER_REPEAT = 32;

/* a / b, rounded up; of any integers. */
template <typename A, typename B, typename = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>
constexpr std::common_type_t<A, B> Ceil(A a, B b) {
    using C = std::common_type_t<A, B>;
    return b == 0 ? C(a) : C((C(a) + C(b) - 1) / C(b));
}
}  // namespace AscendC
