/* What the library's functions of whole tensors ask of the host: bytes of scratch, and tilings.
 *
 * The functions need no scratch of a CPU. The sizes stand for a chip's: `live` tensors of float at a time, over the
 * whole source at most and over 256 bytes at least. Our own implementation of public names.
 */
#pragma once
#pragma GCC system_header

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../base/topk_modes.h"
#include "../graph/operator.h"
#include "../kernel_tiling/kernel_tiling.h"
#include "library_tiling_data.h"
#include "platform/platform_ascendc.h"

namespace asc_host {

constexpr uint32_t SCRATCH_STEP = 256;

inline uint32_t scratch_of(const ge::Shape &shape, uint32_t live) {
    const uint64_t bytes = (uint64_t(shape.GetShapeSize()) * 4 + SCRATCH_STEP - 1) / SCRATCH_STEP * SCRATCH_STEP;
    return uint32_t(bytes) * live;
}
inline void scratch_range(const ge::Shape &shape, uint32_t live, uint32_t &most, uint32_t &least) {
    least = live * SCRATCH_STEP;
    most = std::max(scratch_of(shape, live), least);
}

/* A shape as rows of its last axis. */
struct RowsOf {
    uint32_t m = 1, k = 1;
    explicit RowsOf(const ge::Shape &shape) {
        const size_t n = shape.GetDimNum();
        for (size_t i = 0; i + 1 < n; i++) m *= uint32_t(shape.GetDim(i));
        if (n) k = uint32_t(shape.GetDim(n - 1));
    }
};

/* Hosts keep tilings in their own classes or in the kernel's structures, which have the same bytes. */
template <typename Tiling, typename Plain>
inline void store_tiling(Tiling &to, const Plain &from) {
    static_assert(sizeof(Tiling) == sizeof(Plain), "a tiling of another function");
    std::memcpy(static_cast<void *>(&to), &from, sizeof from);
}

/* Rows of softmax, in steps whose scratch fits `scratch` bytes: one value and one block for each element and row. */
inline AscendC::SoftMaxTiling softmax_tiling(const ge::Shape &shape, uint32_t type_bytes, uint32_t scratch) {
    const RowsOf rows(shape);
    const uint32_t block = 32 / std::max(type_bytes, 1u), row_bytes = (rows.k + 3 * block) * 4;
    const uint32_t step = std::min(std::max(scratch / row_bytes, 1u), rows.m), rest = rows.m % step;
    AscendC::SoftMaxTiling t;
    t.srcM = rows.m, t.srcK = rows.k, t.srcSize = rows.m * rows.k;
    t.outMaxM = rows.m, t.outMaxK = block, t.outMaxSize = rows.m * block;
    t.splitM = step, t.splitK = rows.k, t.splitSize = step * rows.k;
    t.reduceM = step, t.reduceK = block, t.reduceSize = step * block;
    t.rangeM = rows.m / step, t.tailM = rest, t.tailSplitSize = rest * rows.k, t.tailReduceSize = rest * block;
    return t;
}

}  // namespace asc_host

namespace AscendC {

/* Elementwise functions: Get<Name>MaxMinTmpSize and Get<Name>TmpBufferFactorSize. */
#define ASC_SCRATCH(name, live)                                                                              \
    inline void Get##name##MaxMinTmpSize(const ge::Shape &shape, const uint32_t, const bool, uint32_t &most, \
                                         uint32_t &least) {                                                  \
        asc_host::scratch_range(shape, live, most, least);                                                   \
    }                                                                                                        \
    inline void Get##name##TmpBufferFactorSize(const uint32_t, uint32_t &tensors, uint32_t &bytes) {         \
        tensors = live, bytes = 0;                                                                           \
    }
ASC_SCRATCH(Acos, 4)
ASC_SCRATCH(Acosh, 3)
ASC_SCRATCH(Asin, 4)
ASC_SCRATCH(Asinh, 4)
ASC_SCRATCH(Atan, 4)
ASC_SCRATCH(Atanh, 3)
ASC_SCRATCH(Axpy, 2)
ASC_SCRATCH(Ceil, 2)
ASC_SCRATCH(ClampMax, 1)
ASC_SCRATCH(ClampMin, 1)
ASC_SCRATCH(Cos, 4)
ASC_SCRATCH(Cosh, 3)
ASC_SCRATCH(Digamma, 7)
ASC_SCRATCH(Erf, 4)
ASC_SCRATCH(Erfc, 5)
ASC_SCRATCH(Exp, 3)
ASC_SCRATCH(Floor, 2)
ASC_SCRATCH(Fmod, 3)
ASC_SCRATCH(Frac, 2)
ASC_SCRATCH(Gelu, 3)
ASC_SCRATCH(GeGLU, 3)
ASC_SCRATCH(Hypot, 3)
ASC_SCRATCH(Lgamma, 8)
ASC_SCRATCH(Log, 2)
ASC_SCRATCH(Log2, 2)
ASC_SCRATCH(Log10, 2)
ASC_SCRATCH(ReGlu, 3)
ASC_SCRATCH(Round, 2)
ASC_SCRATCH(Sigmoid, 2)
ASC_SCRATCH(Sign, 3)
ASC_SCRATCH(Silu, 2)
ASC_SCRATCH(Sin, 4)
ASC_SCRATCH(Sinh, 3)
ASC_SCRATCH(SwiGLU, 3)
ASC_SCRATCH(Swish, 2)
ASC_SCRATCH(Tan, 5)
ASC_SCRATCH(Tanh, 2)
ASC_SCRATCH(Trunc, 2)
ASC_SCRATCH(Xor, 2)
ASC_SCRATCH(DropOut, 2)
ASC_SCRATCH(LayerNorm, 4)
ASC_SCRATCH(LayerNormGrad, 9)
ASC_SCRATCH(LayerNormGradBeta, 4)
ASC_SCRATCH(Normalize, 3)
ASC_SCRATCH(FasterGelu, 3)
ASC_SCRATCH(FasterGeluV2, 3)
ASC_SCRATCH(Clamp, 1)
ASC_SCRATCH(Fma, 2)
ASC_SCRATCH(Rint, 1)
ASC_SCRATCH(SinCos, 5)
ASC_SCRATCH(IsNan, 1)
ASC_SCRATCH(IsInf, 1)
ASC_SCRATCH(IsFinite, 1)
ASC_SCRATCH(LogicalNot, 1)
ASC_SCRATCH(ReduceXorSum, 2)
#undef ASC_SCRATCH

/* The same under names of their own, and one size at a time. */
inline void GetSiluTmpSize(const ge::Shape &shape, const uint32_t typeBytes, const bool reuse, uint32_t &most,
                           uint32_t &least) {
    GetSiluMaxMinTmpSize(shape, typeBytes, reuse, most, least);
}
inline void GetSwishTmpSize(const ge::Shape &shape, const uint32_t typeBytes, const bool reuse, uint32_t &most,
                            uint32_t &least) {
    GetSwishMaxMinTmpSize(shape, typeBytes, reuse, most, least);
}
inline uint32_t GetDropOutMaxTmpSize(const ge::Shape &shape, const uint32_t, const bool) {
    return std::max(asc_host::scratch_of(shape, 2), 2 * asc_host::SCRATCH_STEP);
}
inline uint32_t GetDropOutMinTmpSize(const ge::Shape &, const uint32_t, const bool) {
    return 2 * asc_host::SCRATCH_STEP;
}

/* Reductions along a pattern. */
enum class ReducePattern : uint32_t { AR, RA, R, ARA, ARAR, ARARA, ARARAR, ARARARA, ARARARAR, RAR, RARA };
#define ASC_SCRATCH_OF_PATTERN(name)                                                                            \
    inline void Get##name##MaxMinTmpSize(const ge::Shape &shape, const ge::DataType, ReducePattern, const bool, \
                                         const bool, uint32_t &most, uint32_t &least) {                         \
        asc_host::scratch_range(shape, 1, most, least);                                                         \
    }
ASC_SCRATCH_OF_PATTERN(ReduceSum)
ASC_SCRATCH_OF_PATTERN(ReduceMean)
ASC_SCRATCH_OF_PATTERN(ReduceMax)
ASC_SCRATCH_OF_PATTERN(ReduceMin)
ASC_SCRATCH_OF_PATTERN(ReduceProd)
ASC_SCRATCH_OF_PATTERN(ReduceAny)
ASC_SCRATCH_OF_PATTERN(ReduceAll)
#undef ASC_SCRATCH_OF_PATTERN

inline void GetPowerMaxMinTmpSize(const ge::Shape &x, const ge::Shape &, const bool, const uint32_t, const bool,
                                  uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(x, 6, most, least);
}
#define ASC_SCRATCH_OF_SHAPE(name, live)                                                                            \
    inline void Get##name##MaxMinTmpSize(const ge::Shape &shape, const uint32_t, uint32_t &most, uint32_t &least) { \
        asc_host::scratch_range(shape, live, most, least);                                                          \
    }
ASC_SCRATCH_OF_SHAPE(AscendQuant, 2)
ASC_SCRATCH_OF_SHAPE(AscendDequant, 2)
ASC_SCRATCH_OF_SHAPE(Pad, 2)
ASC_SCRATCH_OF_SHAPE(UnPad, 2)
inline void GetUnPadMaxMinTmpSize(const platform_ascendc::PlatformAscendC &, const ge::Shape &shape, const uint32_t,
                                  uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(shape, 2, most, least);
}
#undef ASC_SCRATCH_OF_SHAPE
template <typename InputType, typename OutputType>
inline void GetAscendAntiQuantMaxMinTmpSize(const ge::Shape &shape, const ge::Shape &, bool, InputType, OutputType,
                                            uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(shape, 2, most, least);
}
inline uint32_t GetSelectWithBytesMaskMaxTmpSize(const ge::Shape &x, const ge::Shape &, const uint32_t,
                                                 const ge::Shape &, const uint32_t, const bool) {
    return std::max(asc_host::scratch_of(x, 1), asc_host::SCRATCH_STEP);
}
inline uint32_t GetSelectWithBytesMaskMinTmpSize(const ge::Shape &, const ge::Shape &, const uint32_t,
                                                 const ge::Shape &, const uint32_t, const bool) {
    return asc_host::SCRATCH_STEP;
}
inline void GetSumMaxMinTmpSize(const uint32_t n, const uint32_t, const bool, uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(ge::Shape({int64_t(n)}), 1, most, least);
}
inline void GetMeanMaxMinTmpSize(const uint32_t n, const uint32_t, const uint32_t, const bool, uint32_t &most,
                                 uint32_t &least) {
    asc_host::scratch_range(ge::Shape({int64_t(n)}), 2, most, least);
}
inline bool GetCumSumMaxMinTmpSize(const ge::Shape &shape, const uint32_t, const bool, const bool, uint32_t &most,
                                   uint32_t &least) {
    asc_host::scratch_range(shape, 2, most, least);
    return true;
}
inline void GetBroadCastMaxMinTmpSize(const platform_ascendc::PlatformAscendC &, const ge::Shape &,
                                      const ge::Shape &result, uint32_t, const bool, uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(result, 1, most, least);
}

/* Softmax and its forms. */
#define ASC_SOFTMAX_SCRATCH(name, ...)                                                                      \
    inline uint32_t Get##name##MaxTmpSize(const ge::Shape &shape, const uint32_t, __VA_ARGS__) {            \
        return std::max(asc_host::scratch_of(shape, 2), 2 * asc_host::SCRATCH_STEP);                        \
    }                                                                                                       \
    inline uint32_t Get##name##MinTmpSize(const ge::Shape &shape, const uint32_t, __VA_ARGS__) {            \
        const asc_host::RowsOf rows(shape);                                                                 \
        return std::max(asc_host::scratch_of(ge::Shape({int64_t(rows.k)}), 2), 2 * asc_host::SCRATCH_STEP); \
    }
ASC_SOFTMAX_SCRATCH(SoftMax, const bool)
ASC_SOFTMAX_SCRATCH(LogSoftMax, const bool)
ASC_SOFTMAX_SCRATCH(SoftMaxFlash, const bool, const bool)
ASC_SOFTMAX_SCRATCH(SoftMaxGrad, const bool, const bool)
ASC_SOFTMAX_SCRATCH(SoftMaxFlashV2, const uint32_t, const bool, const bool = false, const bool = false)
#undef ASC_SOFTMAX_SCRATCH

template <typename Tiling>
inline void SoftMaxTilingFunc(const ge::Shape &shape, const uint32_t typeBytes, const uint32_t scratch,
                              Tiling &tiling) {
    asc_host::store_tiling(tiling, asc_host::softmax_tiling(shape, typeBytes, scratch));
}
template <typename Tiling>
inline void SoftMaxFlashTilingFunc(const ge::Shape &shape, const uint32_t typeBytes, const uint32_t scratch,
                                   Tiling &tiling, const bool = false) {
    SoftMaxTilingFunc(shape, typeBytes, scratch, tiling);
}
template <typename Tiling>
inline void SoftMaxFlashV2TilingFunc(const ge::Shape &shape, const uint32_t typeBytes, const uint32_t,
                                     const uint32_t scratch, Tiling &tiling, const bool, const bool = false,
                                     const bool = false) {
    SoftMaxTilingFunc(shape, typeBytes, scratch, tiling);
}
template <typename Tiling>
inline void SoftMaxGradTilingFunc(const ge::Shape &shape, const uint32_t typeBytes, const uint32_t scratch,
                                  Tiling &tiling, const bool = false) {
    SoftMaxTilingFunc(shape, typeBytes, scratch, tiling);
}
template <typename Tiling>
inline void LogSoftMaxTilingFunc(const ge::Shape &shape, const uint32_t typeBytes, const uint32_t scratch,
                                 Tiling &tiling) {
    SoftMaxTilingFunc(shape, typeBytes, scratch, tiling);
}
/* Whether each step of the tiling is of whole blocks of eight rows and 64 columns. */
template <typename Tiling>
inline bool IsBasicBlockInSoftMax(const Tiling &tiling, const uint32_t = 2) {
    return tiling.srcM % 8 == 0 && tiling.srcK % 64 == 0 && tiling.reduceM % 8 == 0;
}

/* [b, s, h] of LayerNorm; the last axis is as long as it counts. */
template <typename Tiling>
inline void GetLayerNormNDTilingInfo(const ge::Shape &shape, const uint32_t scratch, const uint32_t typeBytes,
                                     const bool, Tiling &tiling) {
    const asc_host::RowsOf rows(shape);
    const uint32_t block = 32 / std::max(typeBytes, 1u);
    LayerNormTiling t;
    t.bLength = shape.GetDimNum() > 2 ? uint32_t(shape.GetDim(0)) : 1, t.sLength = rows.m / std::max(t.bLength, 1u);
    t.hLength = (rows.k + block - 1) / block * block, t.originalHLength = rows.k;
    t.inputXSize = rows.m * t.hLength, t.meanVarSize = rows.m;
    t.numberOfTmpBuf = 3, t.tmpBufSize = scratch / 4, t.oneTmpSize = scratch / 12, t.loopRound = 1;
    t.lastDimValueBack = 1.0f / float(std::max(rows.k, 1u));
    asc_host::store_tiling(tiling, t);
}
/* As it is spelt in older versions. */
template <typename Tiling>
inline void GetLayerNormNDTillingInfo(const ge::Shape &shape, const uint32_t scratch, const uint32_t typeBytes,
                                      const bool reuse, Tiling &tiling) {
    GetLayerNormNDTilingInfo(shape, scratch, typeBytes, reuse, tiling);
}
template <typename Tiling>
inline void GetLayerNormGradNDTilingInfo(const ge::Shape &shape, const uint32_t scratch, const uint32_t typeBytes,
                                         const bool, Tiling &tiling) {
    const asc_host::RowsOf rows(shape);
    const uint32_t block = 32 / std::max(typeBytes, 1u);
    const float one = 1.0f / float(std::max(rows.k, 1u)), two = 2 * one;
    LayerNormGradTiling t;
    t.bLength = shape.GetDimNum() > 2 ? uint32_t(shape.GetDim(0)) : 1, t.sLength = rows.m / std::max(t.bLength, 1u);
    t.hLength = (rows.k + block - 1) / block * block, t.originalHLength = rows.k;
    t.stackBufferSize = scratch / 4, t.oneCalSize = rows.m * t.hLength, t.nohCalSize = rows.m, t.loopNum = 1;
    std::memcpy(&t.lastDimValueBack, &one, sizeof one);
    std::memcpy(&t.lastDimValueBackMulTwo, &two, sizeof two);
    asc_host::store_tiling(tiling, t);
}
template <typename Tiling>
inline void GetLayerNormGradBetaNDTilingInfo(const ge::Shape &shape, const uint32_t scratch, const uint32_t typeBytes,
                                             const bool, Tiling &tiling) {
    const asc_host::RowsOf rows(shape);
    const uint32_t block = 32 / std::max(typeBytes, 1u);
    LayerNormGradBetaTiling t;
    t.bLength = shape.GetDimNum() > 2 ? uint32_t(shape.GetDim(0)) : 1, t.sLength = rows.m / std::max(t.bLength, 1u);
    t.hLength = (rows.k + block - 1) / block * block, t.originalHLength = rows.k;
    t.bsLength = rows.m, t.bshLength = rows.m * t.hLength;
    t.stackBufferSize = scratch / 4, t.oneCalSize = t.bshLength, t.numberOfTmpBuf = 2, t.loopRound = 1;
    asc_host::store_tiling(tiling, t);
}
inline bool GetRmsNormMaxMinTmpSize(const ge::Shape &shape, const uint32_t, uint32_t &most, uint32_t &least,
                                    const bool = false) {
    asc_host::scratch_range(shape, 2, most, least);
    return true;
}
template <typename Tiling>
inline bool GetRmsNormTilingInfo(const ge::Shape &shape, const ge::Shape &original, const uint32_t, const uint32_t,
                                 Tiling &tiling, const bool = false) {
    const asc_host::RowsOf rows(shape), counted(original);
    RmsNormTiling t;
    t.bLength = shape.GetDimNum() > 2 ? uint32_t(shape.GetDim(0)) : 1, t.sLength = rows.m / std::max(t.bLength, 1u);
    t.hLength = rows.k, t.originalHLength = counted.k;
    t.reciprocalOfHLength = 1.0f / float(std::max(counted.k, 1u));
    t.mainBshLength = rows.m * rows.k, t.mainBsLength = rows.m, t.loopRound = 1;
    asc_host::store_tiling(tiling, t);
    return true;
}

template <typename Tiling>
inline void PadTilingFunc(const ge::Shape &shape, const ge::Shape &original, const uint32_t, const uint32_t typeBytes,
                          Tiling &tiling) {
    const asc_host::RowsOf rows(shape), counted(original);
    PadTiling t;
    t.srcHeight = rows.m, t.srcWidth = rows.k, t.srcOriWidth = counted.k, t.blocksPerRow = rows.k * typeBytes / 32;
    asc_host::store_tiling(tiling, t);
}
template <typename Tiling>
inline void UnPadTilingFunc(const ge::Shape &shape, const uint32_t, const uint32_t, Tiling &tiling) {
    const asc_host::RowsOf rows(shape);
    UnPadTiling t;
    t.srcHeight = rows.m, t.srcWidth = rows.k;
    asc_host::store_tiling(tiling, t);
}

/* Sort, MrgSort and Concat keep pairs of a value and an index, 8 bytes each. */
inline uint32_t GetSortTmpSize(const platform_ascendc::PlatformAscendC &, const uint32_t n, const uint32_t) {
    return 8 * n;
}
inline uint32_t GetConcatTmpSize(const platform_ascendc::PlatformAscendC &, const uint32_t n, const uint32_t) {
    return 8 * n;
}
template <typename Mode>
inline bool GetTopKMaxMinTmpSize(const platform_ascendc::PlatformAscendC &, const int32_t inner, const int32_t outter,
                                 const bool, const bool, Mode, const bool, const uint32_t, uint32_t &most,
                                 uint32_t &least) {
    asc_host::scratch_range(ge::Shape({int64_t(inner) * outter}), 4, most, least);
    least = most;
    return true;
}
template <typename Mode>
inline bool GetTopKMaxMinTmpSize(const int32_t inner, const int32_t outter, const int32_t, const bool, const bool, Mode,
                                 const bool, ge::DataType, const TopKConfig &, uint32_t &most, uint32_t &least) {
    asc_host::scratch_range(ge::Shape({int64_t(inner) * outter}), 4, most, least);
    least = most;
    return true;
}
template <typename Mode, typename Tiling>
inline bool TopKTilingFunc(const platform_ascendc::PlatformAscendC &, const int32_t inner, const int32_t outter,
                           const int32_t k, const uint32_t, const bool, Mode, const bool, Tiling &tiling) {
    TopkTiling t;
    t.allDataSize = inner * outter, t.innerDataSize = inner, t.tmpLocalSize = 4 * inner * outter;
    t.sortRepeat = uint32_t(inner / 32), t.kAlignFourBytes = (k + 7) / 8 * 8, t.kAlignTwoBytes = (k + 15) / 16 * 16;
    asc_host::store_tiling(tiling, t);
    return inner % 32 == 0 && k > 0 && k <= inner;
}

}  // namespace AscendC
