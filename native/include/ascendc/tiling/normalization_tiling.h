/* Scratch and tilings of BatchNorm, GroupNorm, DeepNorm, Welford's steps and ConfusionTranspose for hosts. Our own
 * implementation of public names. */
#pragma once
#pragma GCC system_header

#include "library_tiling.h"

namespace asc_host {

inline uint32_t dim_of(const ge::Shape &shape, size_t i) {
    return i < shape.GetDimNum() ? uint32_t(shape.GetDim(i)) : 1;
}
/* The axes from the given one on, as one. */
inline uint32_t dims_from(const ge::Shape &shape, size_t i) {
    uint32_t n = 1;
    for (; i < shape.GetDimNum(); i++) n *= uint32_t(shape.GetDim(i));
    return n;
}

}  // namespace asc_host

namespace AscendC {

inline bool GetBatchNormMaxMinTmpSize(const ge::Shape &shape, const ge::Shape &, const uint32_t, const bool,
                                      uint32_t &most, uint32_t &least, const bool = false) {
    asc_host::scratch_range(shape, 4, most, least);
    return true;
}
template <typename Tiling>
inline bool GetBatchNormNDTilingInfo(const ge::Shape &shape, const ge::Shape &original, const uint32_t scratch,
                                     const uint32_t typeBytes, const bool, Tiling &tiling, const bool = false) {
    BatchNormTiling t;
    t.originalBLength = asc_host::dim_of(original, 0), t.meanVarSize = asc_host::dims_from(shape, 1);
    t.tmpBufSize = scratch / 4, t.oneTmpSize = scratch / 12, t.loopRound = 1;
    t.shCurLength = t.meanVarSize, t.bshCurLength = t.originalBLength * t.meanVarSize;
    t.firstDimValueBack = 1.0f / float(std::max(t.originalBLength, 1u));
    asc_host::store_tiling(tiling, t);
    return t.originalBLength > 0 && uint64_t(t.meanVarSize) * typeBytes % 32 == 0;
}

inline void GetGroupNormMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const bool, const uint32_t groups,
                                      uint32_t &most, uint32_t &least) {
    const uint32_t one = asc_host::dims_from(shape, 1) / std::max(groups, 1u);
    least = std::max(3 * asc_host::scratch_of(ge::Shape({int64_t(one)}), 1), asc_host::SCRATCH_STEP);
    most = std::max(asc_host::scratch_of(shape, 3), least);
}
template <typename Tiling>
inline void GetGroupNormNDTilingInfo(const ge::Shape &shape, const uint32_t scratch, const uint32_t typeBytes,
                                     const bool, const uint32_t groups, Tiling &tiling) {
    const uint32_t block = 32 / std::max(typeBytes, 1u);
    GroupNormTiling t;
    t.n = asc_host::dim_of(shape, 0), t.c = asc_host::dim_of(shape, 1), t.hw = asc_host::dims_from(shape, 2);
    t.g = std::max(groups, 1u), t.d = t.c / t.g;
    t.hwAlignSize = (t.hw + block - 1) / block * block, t.dhwAlignSize = t.d * t.hwAlignSize;
    t.inputXSize = t.n * t.c * t.hwAlignSize, t.meanVarSize = t.n * t.g;
    t.numberOfTmpBuf = 3, t.tmpBufSize = scratch / 4, t.oneTmpSize = scratch / 12, t.loopRound = 1;
    t.factor = 1.0f / float(std::max(t.d * t.hw, 1u));
    asc_host::store_tiling(tiling, t);
}

inline bool GetDeepNormMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const bool, const bool, uint32_t &most,
                                     uint32_t &least) {
    asc_host::scratch_range(shape, 5, most, least);
    return true;
}
template <typename Tiling>
inline bool GetDeepNormTilingInfo(const ge::Shape &shape, const ge::Shape &original, const uint32_t scratch,
                                  const uint32_t, const bool, const bool, Tiling &tiling) {
    const asc_host::RowsOf rows(shape), counted(original);
    DeepNormTiling t;
    t.bLength = asc_host::dim_of(shape, 0), t.sLength = rows.m / std::max(t.bLength, 1u);
    t.hLength = rows.k, t.originalHLength = counted.k, t.inputXSize = rows.m * rows.k, t.meanVarSize = rows.m;
    t.numberOfTmpBuf = 3, t.tmpBufSize = scratch / 4, t.oneTmpSize = scratch / 12, t.loopRound = 1;
    t.lastDimValueBack = 1.0f / float(std::max(counted.k, 1u));
    asc_host::store_tiling(tiling, t);
    return true;
}

/* The forms of a LayerNorm that gives 1 / sqrt(variance + epsilon), and of Normalize. */
inline void GetLayerNormMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const bool, const bool, const bool,
                                      uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(shape, 4, most, least);
}
template <typename Tiling>
inline void GetLayerNormNDTilingInfo(const ge::Shape &shape, const uint32_t scratch, const uint32_t, const bool,
                                     const bool, Tiling &tiling) {
    const asc_host::RowsOf rows(shape);
    LayerNormSeparateTiling t;
    t.aLength = rows.m, t.rLength = rows.k, t.inputXSize = rows.m * rows.k, t.meanVarSize = rows.m;
    t.numberOfTmpBuf = 3, t.tmpBufSize = scratch / 4, t.oneTmpSize = scratch / 12, t.loopRound = 1;
    t.rValueBack = 1.0f / float(std::max(rows.k, 1u));
    asc_host::store_tiling(tiling, t);
}
inline void GetNormalizeMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const uint32_t, const bool, const bool,
                                      const bool, uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(shape, 3, most, least);
}

inline void GetWelfordUpdateMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const uint32_t, const bool,
                                          const bool, uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(shape, 3, most, least);
}
inline void GetWelfordFinalizeMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const bool, uint32_t &most,
                                            uint32_t &least) {
    asc_host::scratch_range(shape, 2, most, least);
}

/* The types of ConfusionTranspose are 1 to 7, in the order of TransposeType; 7 has two axes, the others four. */
#define ASC_TRANSPOSE_TILING(name)                                                                               \
    inline void Get##name##MaxMinTmpSize(const ge::Shape &shape, const uint32_t, const uint32_t, uint32_t &most, \
                                         uint32_t &least) {                                                      \
        asc_host::scratch_range(shape, 2, most, least);                                                          \
    }                                                                                                            \
    template <typename Tiling>                                                                                   \
    inline void Get##name##TilingInfo(const ge::Shape &shape, const uint32_t, const uint32_t, const uint32_t,    \
                                      Tiling &tiling) {                                                          \
        ConfusionTransposeTiling t;                                                                              \
        t.param0 = asc_host::dim_of(shape, 0), t.param1 = asc_host::dim_of(shape, 1);                            \
        t.param2 = asc_host::dim_of(shape, 2), t.param3 = asc_host::dim_of(shape, 3);                            \
        asc_host::store_tiling(tiling, t);                                                                       \
    }
ASC_TRANSPOSE_TILING(ConfusionTranspose)
ASC_TRANSPOSE_TILING(Transpose)
#undef ASC_TRANSPOSE_TILING
template <typename Tiling>
inline void GetConfusionTransposeOnlyTilingInfo(const ge::Shape &shape, const uint32_t scratch,
                                                const uint32_t typeBytes, Tiling &tiling) {
    GetConfusionTransposeTilingInfo(shape, scratch, typeBytes, 7, tiling);
}

}  // namespace AscendC
