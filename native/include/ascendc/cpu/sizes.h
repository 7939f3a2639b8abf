/* Sizes of elements, blocks and repeats by name. Our own implementation of public names.
 */
#pragma once

#include <cstdint>

namespace AscendC {

constexpr int32_t B8_BYTE_SIZE = 1, B16_BYTE_SIZE = 2, B32_BYTE_SIZE = 4, B64_BYTE_SIZE = 8;
constexpr int32_t B8_DATA_NUM_PER_BLOCK = 32, B16_DATA_NUM_PER_BLOCK = 16, B32_DATA_NUM_PER_BLOCK = 8;
constexpr int32_t B8_DATA_NUM_PER_REPEAT = 256, B16_DATA_NUM_PER_REPEAT = 128, B32_DATA_NUM_PER_REPEAT = 64;
constexpr int32_t B64_DATA_NUM_PER_BLOCK = 4, B64_DATA_NUM_PER_REPEAT = 32;

}  // namespace AscendC
