/* What tiling asks of the chip. Our own implementation of public names. */
#pragma once

#include <cstdint>

namespace fe {
struct PlatFormInfos {
    uint64_t ub = 0;
    uint32_t vector_cores = 1, cube_cores = 1;
};
}  // namespace fe

namespace platform_ascendc {

enum class CoreMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM };

constexpr uint32_t LIBRARY_WORKSPACE = 4096;

class PlatformAscendC {
   public:
    explicit PlatformAscendC(fe::PlatFormInfos *infos) : infos_(infos) {}
    uint32_t GetCoreNum() const { return infos_->vector_cores; }
    uint32_t GetCoreNumAiv() const { return infos_->vector_cores; }
    uint32_t GetCoreNumAic() const { return infos_->cube_cores; }
    void GetCoreMemSize(const CoreMemType &type, uint64_t &size) const {
        size = type == CoreMemType::UB ? infos_->ub : 0;
    }
    /* Of the workspace, in front of what is the operator's; kernels skip it by GetUserWorkspace. */
    uint32_t GetLibApiWorkSpaceSize() const { return LIBRARY_WORKSPACE; }

   private:
    fe::PlatFormInfos *infos_;
};

}  // namespace platform_ascendc
