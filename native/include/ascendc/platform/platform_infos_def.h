/* fe::PlatFormInfos: what is known of a chip. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <map>
#include <string>

namespace fe {

enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };

class PlatFormInfos {
   public:
    std::string name = "Ascend910B1";
    uint64_t ub = 196608, l1 = 524288, l0a = 65536, l0b = 65536, l0c = 131072, l2 = 201326592, hbm = 68719476736;
    /* Cores with a cube, cores that vector kernels run on, and vector cores beside AI cores with both. */
    uint32_t cube_cores = 24, vector_cores = 48, extra_vector_cores = 0;
    bool separate = true; /* whether cubes and vector units are cores of their own */

    uint32_t GetCoreNum() const { return separate ? vector_cores : cube_cores; }
    void SetCoreNumByCoreType(const std::string &) {}
    uint32_t GetCoreNumByType(const std::string &type) const {
        return type == "VectorCore" ? vector_cores : cube_cores;
    }
    void GetLocalMemSize(const LocalMemType &type, uint64_t &size) const { size = memory(int(type)); }
    /* Entries of the chip's configuration file, those that programs ask for. */
    bool GetPlatformResWithLock(const std::string &group, const std::string &key, std::string &value) const {
        value = entry(group, key);
        return !value.empty();
    }
    bool GetPlatformRes(const std::string &group, const std::string &key, std::string &value) const {
        return GetPlatformResWithLock(group, key, value);
    }
    uint64_t memory(int type) const {
        const uint64_t sizes[] = {l0a, l0b, l0c, l1, l2, ub, hbm};
        return type >= 0 && type < 7 ? sizes[type] : 0;
    }

   private:
    std::string entry(const std::string &group, const std::string &key) const {
        const std::map<std::string, std::string> known = {
            {"version.SoC_version", name},
            {"version.Short_SoC_version", short_name()},
            {"SoCInfo.ai_core_cnt", std::to_string(cube_cores)},
            {"SoCInfo.cube_core_cnt", std::to_string(cube_cores)},
            {"SoCInfo.vector_core_cnt", std::to_string(separate ? vector_cores : extra_vector_cores)},
            {"SoCInfo.l2_size", std::to_string(l2)},
            {"AICoreSpec.ub_size", std::to_string(ub)},
            {"AICoreSpec.l1_size", std::to_string(l1)},
            {"AICoreSpec.l0_a_size", std::to_string(l0a)},
            {"AICoreSpec.l0_b_size", std::to_string(l0b)},
            {"AICoreSpec.l0_c_size", std::to_string(l0c)},
            {"AICoreSpec.cube_vector_split", separate ? "1" : "0"},
        };
        const auto found = known.find(group + "." + key);
        return found == known.end() ? std::string() : found->second;
    }
    std::string short_name() const {
        for (const char *family : {"Ascend910_95", "Ascend910_93", "Ascend910B", "Ascend310P", "Ascend310B"})
            if (name.rfind(family, 0) == 0 && name != "Ascend910B") return family;
        return name.rfind("Ascend910", 0) == 0 ? "Ascend910" : name;
    }
};

}  // namespace fe
