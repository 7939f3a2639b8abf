/* What tiling asks of the chip. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include "../../host/kernel.h"
#include "../../host/standard_headers.h"
#include "../../platform/platform_infos_def.h"
#include "../../platform/soc_spec.h"

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };
enum class SocVersion {
    ASCEND910 = 0,
    ASCEND910B,
    ASCEND310P,
    ASCEND310B,
    ASCEND910_93,
    ASCEND910_95,
    ASCEND950 = ASCEND910_95,
    ASCEND310,
    RESERVED_VERSION = 99999
};

/* Of the workspace, in front of what is the operator's; kernels skip it by GetUserWorkspace. */
constexpr uint32_t LIBRARY_WORKSPACE = asc_host::WORKSPACE_IN_FRONT;

class PlatformAscendC {
   public:
    explicit PlatformAscendC(const fe::PlatFormInfos *infos) : infos_(infos) {}
    /* On chips whose cubes and vector units are cores of their own, the vector cores. */
    uint32_t GetCoreNum() const { return infos_->GetCoreNum(); }
    uint32_t GetCoreNumAiv() const { return infos_->vector_cores; }
    uint32_t GetCoreNumAic() const { return infos_->cube_cores; }
    uint32_t GetCoreNumVector() const { return infos_->extra_vector_cores; }
    void GetCoreMemSize(const CoreMemType &type, uint64_t &size) const { size = infos_->memory(int(type)); }
    uint32_t GetLibApiWorkSpaceSize() const { return LIBRARY_WORKSPACE; }
    uint32_t GetResCubeGroupWorkSpaceSize() const { return LIBRARY_WORKSPACE; }
    uint32_t GetResGroupBarrierWorkSpaceSize() const { return LIBRARY_WORKSPACE; }
    void ReserveLocalMemory(int) {}
    SocVersion GetSocVersion() const {
        std::string family;
        infos_->GetPlatformResWithLock("version", "Short_SoC_version", family);
        if (family == "Ascend910B") return SocVersion::ASCEND910B;
        if (family == "Ascend910_93") return SocVersion::ASCEND910_93;
        if (family == "Ascend910_95") return SocVersion::ASCEND910_95;
        if (family == "Ascend310P") return SocVersion::ASCEND310P;
        if (family == "Ascend310B") return SocVersion::ASCEND310B;
        return family == "Ascend310" ? SocVersion::ASCEND310 : SocVersion::ASCEND910;
    }
    NpuArch GetCurNpuArch() const {
        switch (GetSocVersion()) {
            case SocVersion::ASCEND910B:
            case SocVersion::ASCEND910_93: return NpuArch::DAV_2201;
            case SocVersion::ASCEND910_95: return NpuArch::DAV_3510;
            case SocVersion::ASCEND310P: return NpuArch::DAV_2002;
            case SocVersion::ASCEND310B: return NpuArch::DAV_3002;
            case SocVersion::ASCEND910: return NpuArch::DAV_1001;
            default: return NpuArch::DAV_RESV;
        }
    }
    /* Blocks to launch so that `slices` parts of work run on vector cores, where each cube core brings some. */
    uint32_t CalcTschBlockDim(uint32_t slices, uint32_t cubes, uint32_t vectors) const {
        if (cubes == 0 || vectors == 0 || cubes > vectors) return slices;
        const uint32_t ratio = vectors / cubes;
        return (slices + ratio - 1) / ratio;
    }

   private:
    const fe::PlatFormInfos *infos_;
};

/* The chip that this run is for. */
inline fe::PlatFormInfos &asc_chip() {
    static fe::PlatFormInfos chip;
    return chip;
}

class PlatformAscendCManager {
   public:
    static PlatformAscendC *GetInstance() {
        static PlatformAscendC platform(&asc_chip());
        return &platform;
    }
    static PlatformAscendC *GetInstance(const char *) { return GetInstance(); }
};

}  // namespace platform_ascendc
