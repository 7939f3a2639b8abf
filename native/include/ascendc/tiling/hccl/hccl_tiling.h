/* tiling/hccl/hccl_tiling.h: what a host tells the Hccl of its kernel. A launch here is a group of one rank, so that
 * nothing of it changes what is done. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <cstring>
#include <string>

#include "../../kernel_tiling/kernel_tiling.h"

namespace AscendC {

class Mc2CcTilingConfig {
   public:
    Mc2CcTilingConfig(const std::string &group, uint32_t opType, const std::string &algorithm, uint32_t reduceType = 0,
                      uint8_t = 0, uint8_t = 0)
        : group_(group), algorithm_(algorithm), type_(opType), reduce_(reduceType) {}
    /* 0 where the tiling was filled. */
    template <typename Tiling>
    uint32_t GetTiling(Tiling &tiling) {
        if (group_.empty() || group_.size() > 127) return 1;
        std::memset(static_cast<void *>(&tiling), 0, sizeof tiling);
        std::memcpy(static_cast<void *>(&tiling), &type_, sizeof type_);
        return 0;
    }
    uint32_t SetOpType(uint32_t type) { return type_ = type, 0; }
    uint32_t SetGroupName(const std::string &group) { return group_ = group, 0; }
    uint32_t SetAlgConfig(const std::string &algorithm) { return algorithm_ = algorithm, 0; }
    uint32_t SetReduceType(uint32_t type, uint8_t = 0, uint8_t = 0) { return reduce_ = type, 0; }
    uint32_t SetStepSize(uint8_t) { return 0; }
    uint32_t SetSkipLocalRankCopy(uint8_t) { return 0; }
    uint32_t SetSkipBufferWindowCopy(uint8_t) { return 0; }
    uint32_t SetDebugMode(uint8_t) { return 0; }
    uint32_t SetCommBlockNum(uint16_t) { return 0; }
    uint32_t SetQueueNum(uint16_t) { return 0; }
    uint32_t SetCommEngine(uint8_t) { return 0; }

   private:
    std::string group_, algorithm_;
    uint32_t type_, reduce_;
};

}  // namespace AscendC
