/* How TopK is asked to work, for the host and for kernels. */
#pragma once

#include <cstdint>

namespace AscendC {

enum class TopKMode : uint8_t { TOPK_NORMAL, TOPK_NSMALL };
enum class TopKAlgo : uint8_t { RADIX_SELECT, MERGE_SORT };
/* Which elements are taken; UNSET: those that the call's last argument says. */
enum class TopKOrder : uint8_t { UNSET, LARGEST, SMALLEST };
/* Without `sorted` the order of the results is free; here they are in order always, by whichever algorithm. */
struct TopKConfig {
    TopKAlgo algo = TopKAlgo::MERGE_SORT;
    TopKOrder order = TopKOrder::UNSET;
    bool sorted = true;
};
constexpr TopKConfig defaultTopKConfig{};

}  // namespace AscendC
