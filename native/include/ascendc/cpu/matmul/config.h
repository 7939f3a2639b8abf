/* What a Matmul is told at compile time: its operands, and how the library is to go about it.
 *
 * The configuration changes the way of the data through the memories and so the time, not the result: everything in
 * MatmulConfig is taken, and nothing of it changes a value here.
 */
#pragma once

#include "../position.h"

enum class CubeFormat : uint8_t { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN, ROW_MAJOR, COLUMN_MAJOR };
enum class LayoutMode : uint8_t { NONE, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode : uint8_t { NONE, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum class IterateOrder : uint8_t { ORDER_M, ORDER_N, UNDEF };
enum class ScheduleType : uint8_t { INNER_PRODUCT, OUTER_PRODUCT, N_BUFFER_33 };
enum IterateMode : uint8_t {
    ITERATE_MODE_NORMAL = 1,
    ITERATE_MODE_ALL = 2,
    ITERATE_MODE_BATCH = 4,
    ITERATE_MODE_N_BATCH = 8,
    ITERATE_MODE_DEFAULT = 255
};

namespace AscendC {

using ::BatchMode;
using ::CubeFormat;
using ::IterateOrder;
using ::LayoutMode;
using ::ScheduleType;

/* An operand: where it lies, its layout, its elements, whether it may be transposed, and the layout of a batch. */
template <TPosition POSITION, CubeFormat FORMAT, typename TYPE, bool ISTRANS = false,
          LayoutMode LAYOUT = LayoutMode::NONE, bool IBSHARE = false, TPosition SOURCE = TPosition::GM>
struct MatmulType {
    static constexpr TPosition pos = POSITION;
    static constexpr CubeFormat format = FORMAT;
    using T = TYPE;
    static constexpr bool isTrans = ISTRANS;
    static constexpr LayoutMode layout = LAYOUT;
    static constexpr bool ibShare = IBSHARE;
    static constexpr TPosition srcPos = SOURCE;
};

struct MatmulConfig {
    bool doNorm = true, doBasicBlock = false, doMultiDataLoad = false;
    uint32_t basicM = 0, basicN = 0, basicK = 0;
    bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
    uint32_t doMTE2Preload = 0;
    uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0, singleCoreMN = 0;
    bool enUnitFlag = true, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false;
    bool doSpecialMDL = false, enableInit = true;
    BatchMode batchMode = BatchMode::NONE;
    bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true;
    bool enableSetTail = true, enableQuantVector = true, enableSetDefineData = true;
    uint8_t iterateMode = ITERATE_MODE_DEFAULT;
    bool enableReuse = true, enableUBReuse = true, enableL1CacheUB = false, intraBlockPartSum = false;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false;
    bool enableMixDualMaster = false, isA2B2Shared = false, isEnableChannelSplit = false;
    bool enableKdimReorderLoad = false, isCO1Shared = false;
    uint32_t sharedCO1BufferSize = 65536;
};

enum class MatmulConfigMode : uint8_t { CONFIG_NORM, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };
struct MatmulShapeParams {
    uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, basicM = 0, basicN = 0, basicK = 0;
};
struct MatmulQuantParams {
    bool isPerTensor = false, hasAntiQuantOffset = false;
};
struct MatmulBatchParams {
    bool isNBatch = false;
    BatchMode batchMode = BatchMode::NONE;
    bool isBiasBatch = true;
};
struct MatmulFuncParams {
    bool intrinsicsCheck = false, enVecND2NZ = false, enableDoubleCache = false, enableL1CacheUB = false;
    uint32_t doMTE2Preload = 0;
    IterateOrder iterateOrder = IterateOrder::UNDEF;
    ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
    bool enableReuse = true, enableUBReuse = true, isPartialOutput = false, isA2B2Shared = false;
    bool isEnableChannelSplit = false, enableKdimReorderLoad = false;
};
struct MatmulBiasParams {
    bool enableSetBias = true;
};

constexpr MatmulConfig GetNormalConfig(bool intrinsicsLimit = false, bool batchLoop = false, bool vecNd2Nz = false,
                                       BatchMode mode = BatchMode::BATCH_LESS_THAN_L1, bool = true,
                                       IterateOrder order = IterateOrder::UNDEF,
                                       ScheduleType schedule = ScheduleType::INNER_PRODUCT, bool unitFlag = true,
                                       bool dualMaster = false) {
    MatmulConfig c;
    c.intrinsicsCheck = intrinsicsLimit, c.isNBatch = batchLoop, c.enVecND2NZ = vecNd2Nz, c.batchMode = mode;
    c.iterateOrder = order, c.scheduleType = schedule, c.enUnitFlag = unitFlag, c.enableMixDualMaster = dualMaster;
    return c;
}
constexpr MatmulConfig GetMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t preload = 0,
                                    bool vecNd2Nz = false, bool perTensor = false, bool antiQuantOffset = false,
                                    bool unitFlag = false, bool = true, bool ubReuse = true, bool l1CacheUb = false,
                                    bool dualMaster = false, bool kReorder = false) {
    MatmulConfig c;
    c.doNorm = false, c.doMultiDataLoad = true;
    c.intrinsicsCheck = intrinsicsLimit, c.isNBatch = batchLoop, c.doMTE2Preload = preload, c.enVecND2NZ = vecNd2Nz;
    c.isPerTensor = perTensor, c.hasAntiQuantOffset = antiQuantOffset, c.enUnitFlag = unitFlag;
    c.enableUBReuse = ubReuse, c.enableL1CacheUB = l1CacheUb, c.enableMixDualMaster = dualMaster;
    c.enableKdimReorderLoad = kReorder;
    return c;
}
constexpr MatmulConfig GetSpecialMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t preload = 0,
                                           bool vecNd2Nz = false, bool perTensor = false, bool offset = false,
                                           bool = false) {
    MatmulConfig c = GetMDLConfig(intrinsicsLimit, batchLoop, preload, vecNd2Nz, perTensor, offset);
    c.doMultiDataLoad = false, c.doSpecialMDL = true;
    return c;
}
constexpr MatmulConfig GetIBShareNormConfig(bool intrinsicsLimit = false, bool batchLoop = false, bool vecNd2Nz = false,
                                            BatchMode mode = BatchMode::BATCH_LESS_THAN_L1, bool doubleCache = false,
                                            bool unitFlag = true) {
    MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, vecNd2Nz, mode);
    c.doNorm = false, c.doIBShareNorm = true, c.enableDoubleCache = doubleCache, c.enUnitFlag = unitFlag;
    return c;
}
constexpr MatmulConfig GetBasicConfig(uint32_t m, uint32_t n, uint32_t k, bool intrinsicsLimit = false,
                                      bool batchLoop = false, BatchMode mode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c = GetNormalConfig(intrinsicsLimit, batchLoop, false, mode);
    c.doNorm = false, c.doBasicBlock = true, c.basicM = m, c.basicN = n, c.basicK = k;
    return c;
}
constexpr MatmulConfig GetSpecialBasicConfig(uint32_t m, uint32_t n, uint32_t k, uint32_t coreM, uint32_t coreN,
                                             uint32_t coreK, uint32_t stepM, uint32_t stepN,
                                             bool intrinsicsLimit = false, bool batchLoop = false,
                                             BatchMode mode = BatchMode::BATCH_LESS_THAN_L1) {
    MatmulConfig c = GetBasicConfig(m, n, k, intrinsicsLimit, batchLoop, mode);
    c.doBasicBlock = false, c.doSpecialBasicBlock = true;
    c.singleCoreM = coreM, c.singleCoreN = coreN, c.singleCoreK = coreK, c.stepM = stepM, c.stepN = stepN;
    return c;
}

}  // namespace AscendC

namespace asc_cpu {

constexpr void apply(AscendC::MatmulConfig &c, const AscendC::MatmulShapeParams &p) {
    c.singleCoreM = p.singleCoreM, c.singleCoreN = p.singleCoreN, c.singleCoreK = p.singleCoreK;
    c.basicM = p.basicM, c.basicN = p.basicN, c.basicK = p.basicK;
}
constexpr void apply(AscendC::MatmulConfig &c, const AscendC::MatmulQuantParams &p) {
    c.isPerTensor = p.isPerTensor, c.hasAntiQuantOffset = p.hasAntiQuantOffset;
}
constexpr void apply(AscendC::MatmulConfig &c, const AscendC::MatmulBatchParams &p) {
    c.isNBatch = p.isNBatch, c.batchMode = p.batchMode, c.isBiasBatch = p.isBiasBatch;
}
constexpr void apply(AscendC::MatmulConfig &c, const AscendC::MatmulFuncParams &p) {
    c.intrinsicsCheck = p.intrinsicsCheck, c.enVecND2NZ = p.enVecND2NZ, c.doMTE2Preload = p.doMTE2Preload;
    c.iterateOrder = p.iterateOrder, c.scheduleType = p.scheduleType;
}
constexpr void apply(AscendC::MatmulConfig &c, const AscendC::MatmulBiasParams &p) {
    c.enableSetBias = p.enableSetBias;
}

}  // namespace asc_cpu

namespace AscendC {

template <MatmulConfigMode mode, typename... Params>
constexpr MatmulConfig GetMMConfig(const Params &...params) {
    MatmulConfig c = mode == MatmulConfigMode::CONFIG_MDL          ? GetMDLConfig()
                     : mode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig()
                     : mode == MatmulConfigMode::CONFIG_IBSHARE    ? GetIBShareNormConfig()
                                                                   : GetNormalConfig();
    (asc_cpu::apply(c, params), ...);
    return c;
}

/* A configuration with a tiling that the compiler knows: a Matmul of it needs none of the host's. */
struct MatmulApiStaticTiling {
    int32_t usedCoreNum = 1, M = 0, N = 0, Ka = 0, Kb = 0, singleCoreM = 0, singleCoreN = 0, singleCoreK = 0;
    int32_t baseM = 0, baseN = 0, baseK = 0, depthA1 = 1, depthB1 = 1, stepM = 1, stepN = 1, stepKa = 1, stepKb = 1;
    int32_t isBias = 0, transLength = 0, iterateOrder = 0, dbL0A = 2, dbL0B = 2, dbL0C = 1;
    int32_t shareMode = 0, shareL1Size = 0, shareL0CSize = 0, shareUbSize = 0, batchM = 0, batchN = 0, singleBatchM = 0;
    int32_t singleBatchN = 0, depthAL1CacheUB = 0, depthBL1CacheUB = 0;
    MatmulConfig cfg;
};
template <class A, class B, class C, class Bias = C>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig &config, int32_t = 524288) {
    MatmulApiStaticTiling t;
    t.cfg = config;
    t.M = t.singleCoreM = int32_t(config.singleCoreM), t.N = t.singleCoreN = int32_t(config.singleCoreN);
    t.Ka = t.Kb = t.singleCoreK = int32_t(config.singleCoreK);
    t.baseM = int32_t(config.basicM), t.baseN = int32_t(config.basicN), t.baseK = int32_t(config.basicK);
    t.isBias = config.enableSetBias;
    return t;
}

}  // namespace AscendC

/* The ready-made configurations. In a namespace of their own, since kernels within AscendC define some of these names.
 */
namespace asc_matmul_configs {
constexpr AscendC::MatmulConfig CFG_NORM = AscendC::GetNormalConfig();
constexpr AscendC::MatmulConfig CFG_MDL = AscendC::GetMDLConfig();
constexpr AscendC::MatmulConfig CFG_IBSHARE_NORM = AscendC::GetIBShareNormConfig();
constexpr AscendC::MatmulConfig MM_CFG_BB = AscendC::GetBasicConfig(128, 128, 128);
}  // namespace asc_matmul_configs
namespace AscendC {
using namespace asc_matmul_configs;
}
using namespace asc_matmul_configs;

namespace asc_cpu {

/* What a Matmul's template argument says. */
constexpr const AscendC::MatmulConfig &config_of(const AscendC::MatmulConfig &c) {
    return c;
}
constexpr const AscendC::MatmulConfig &config_of(const AscendC::MatmulApiStaticTiling &c) {
    return c.cfg;
}
template <typename T>
constexpr bool is_static_tiling =
    std::is_same_v<std::remove_cv_t<std::remove_reference_t<T>>, AscendC::MatmulApiStaticTiling>;
/* The same as a tiling of the host. */
template <typename Tiling>
inline Tiling tiling_of(const AscendC::MatmulApiStaticTiling &s) {
    Tiling t;
    t.usedCoreNum = s.usedCoreNum, t.M = s.M, t.N = s.N, t.Ka = s.Ka, t.Kb = s.Kb;
    t.singleCoreM = s.singleCoreM, t.singleCoreN = s.singleCoreN, t.singleCoreK = s.singleCoreK;
    t.baseM = s.baseM, t.baseN = s.baseN, t.baseK = s.baseK, t.depthA1 = s.depthA1, t.depthB1 = s.depthB1;
    t.stepM = s.stepM, t.stepN = s.stepN, t.stepKa = s.stepKa, t.stepKb = s.stepKb, t.isBias = s.isBias;
    t.iterateOrder = s.iterateOrder, t.dbL0A = s.dbL0A, t.dbL0B = s.dbL0B, t.dbL0C = s.dbL0C;
    return t;
}

}  // namespace asc_cpu

/* Names that kernels use without the namespace. */
using AscendC::GetBasicConfig;
using AscendC::GetIBShareNormConfig;
using AscendC::GetMatmulApiTiling;
using AscendC::GetMDLConfig;
using AscendC::GetMMConfig;
using AscendC::GetNormalConfig;
using AscendC::GetSpecialBasicConfig;
using AscendC::GetSpecialMDLConfig;
using AscendC::MatmulApiStaticTiling;
using AscendC::MatmulBatchParams;
using AscendC::MatmulBiasParams;
using AscendC::MatmulConfig;
using AscendC::MatmulConfigMode;
using AscendC::MatmulFuncParams;
using AscendC::MatmulQuantParams;
using AscendC::MatmulShapeParams;
