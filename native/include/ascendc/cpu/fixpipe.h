/* Fixpipe: sums of L0C converted on their way to global memory, L1 or the unified buffer. */
#pragma once

#include "cube_operand.h"
#include "fixpipe_values.h"

namespace AscendC {

using ::QuantMode_t;

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR, COLUMN_MAJOR };
struct FixpipeConfig {
    CO2Layout format;
    bool isToUB = false;
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};
constexpr FixpipeConfig CFG_COLUMN_MAJOR = {CO2Layout::COLUMN_MAJOR};
constexpr FixpipeConfig CFG_NZ_UB = {CO2Layout::NZ, true};
constexpr FixpipeConfig CFG_ROW_MAJOR_UB = {CO2Layout::ROW_MAJOR, true};

struct QuantParams {
    QuantMode_t quantPre = NoQuant;
    uint64_t deqScalar = 0;
};
struct Nz2NdParams {
    bool nz2ndEn = false;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0, originalNSize = 0;
};
/* cburstNum strips of 16 columns, of burstLen blocks of 32 bytes each; strides are blocks between them. With nz2ndEn
 * cburstNum is the number of columns, and dstStride elements from row to row. */
template <typename T>
struct FixpipeParams {
    FixpipeParams() = default;
    FixpipeParams(uint16_t strips, uint16_t length, uint16_t source_stride, uint32_t target_stride)
        : cburstNum(strips), burstLen(length), srcStride(source_stride), dstStride(target_stride) {}
    uint16_t cburstNum = 0, burstLen = 1;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    QuantParams quantParams;
    bool reluEn = false;
    Nz2NdParams nz2ndParams;
    uint8_t unitFlag = 0;
};

/* mSize rows and nSize columns, ndNum times. srcStride: rows of L0C from strip to strip. dstStride: elements from row
 * to row, or (Nz) blocks of 32 bytes from strip to strip. srcNdStride: fractals of L0C, dstNdStride: elements. */
struct FixpipeParamsV220 {
    FixpipeParamsV220() = default;
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t source_stride, uint32_t target_stride, bool relu)
        : nSize(n), mSize(m), srcStride(source_stride), dstStride(target_stride), reluEn(relu) {}
    FixpipeParamsV220(uint16_t n, uint16_t m, uint16_t source_stride, uint32_t target_stride, bool relu,
                      QuantMode_t mode, int64_t scalar, uint16_t nd, uint16_t nd_source, uint16_t nd_target,
                      uint8_t unit)
        : nSize(n),
          mSize(m),
          srcStride(source_stride),
          dstStride(target_stride),
          quantPre(mode),
          deqScalar(uint64_t(scalar)),
          ndNum(nd),
          srcNdStride(nd_source),
          dstNdStride(nd_target),
          reluEn(relu),
          unitFlag(unit) {}
    uint16_t nSize = 0, mSize = 0, srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = NoQuant;
    uint64_t deqScalar = 0;
    uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
};
using FixpipeParamsM300 = FixpipeParamsV220;
using FixpipeParamsM310 = FixpipeParamsV220;

struct FixpipeNdParams {
    uint32_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
};
/* The same in the form of the newest chips; subBlockId and dualDstCtl say which vector core's buffer it fills. */
template <CO2Layout format = CO2Layout::ROW_MAJOR>
struct FixpipeParamsC310 {
    FixpipeParamsC310() = default;
    FixpipeParamsC310(uint16_t n, uint16_t m, uint16_t source_stride, uint32_t target_stride)
        : nSize(n), mSize(m), srcStride(source_stride), dstStride(target_stride) {}
    uint16_t nSize = 0, mSize = 0, srcStride = 0;
    uint32_t dstStride = 0;
    QuantMode_t quantPre = NoQuant;
    uint64_t deqScalar = 0;
    bool reluEn = false;
    uint8_t unitFlag = 0;
    bool isChannelSplit = false;
    uint8_t dualDstCtl = 0;
    bool subBlockId = false;
    FixpipeNdParams params;
};
template <CO2Layout format = CO2Layout::ROW_MAJOR>
using FixpipeParamsArch3510 = FixpipeParamsC310<format>;

}  // namespace AscendC

namespace asc_cpu {

/* How a value meets what global memory holds. */
template <typename T>
inline void store_by(T &at, T value, Atomic mode) {
    if (mode == Atomic::Add)
        at = T(at + value);
    else if (mode == Atomic::Max)
        at = at < value ? value : at;
    else if (mode == Atomic::Min)
        at = value < at ? value : at;
    else
        at = value;
}

struct FixpipeMatrices {
    uint32_t number = 1;
    uint64_t source_step = 0, target_step = 0; /* elements from one to the next */
    uint8_t unit = 0;
};

/* Bytes of a matrix in the target, as runs. */
template <typename T>
inline void append_target_runs(std::vector<Run> &runs, const FixpipeShape &s, uint64_t first) {
    const int64_t begin = int64_t(bytes_of<T>(first)), apart = int64_t(bytes_of<T>(s.target));
    if (!s.strips) {
        runs.push_back({begin, bytes_of<T>(s.columns), s.rows, apart});
        return;
    }
    const uint32_t strips = uint32_t(divide_up(s.columns, s.strip));
    runs.push_back({begin, bytes_of<T>(uint64_t(s.rows) * s.strip), strips, apart});
}

template <typename T, typename Sum, typename Target>
inline void fixpipe(const Target &to, const AscendC::LocalTensor<Sum> &from, const Operand *factors,
                    const FixpipeShape &shape, FixpipeConversion how, const FixpipeMatrices &all, Where w) {
    mark_cube_code<T>();
    need_parameter(w, sizeof(T) == sizeof(Sum) || how.mode != NoQuant, "Fixpipe",
                   "a target narrower than the sums needs a quantPre");
    std::vector<Run> written, read;
    for (uint32_t i = 0; i < all.number; i++) {
        append_target_runs<T>(written, shape, i * all.target_step);
        read.push_back({int64_t(i * all.source_step * sizeof(Sum)), shape.rows * uint64_t(64),
                        uint32_t(divide_up(shape.columns, FRACTAL_ROWS)), int64_t(shape.source_strip * 64)});
    }
    const Operand target = to.writes_runs(written), source = from.reads_runs(read);
    need_space(w, source, Space::L0C, "Fixpipe", "L0C (CO1)");
    Operand vector = factors ? *factors : source;
    vector.more = nullptr, vector.n_more = 0;
    vector.run = {0, factors && quant_by_column(how.mode) ? shape.columns * uint64_t(8) : 0};
    if (all.unit) wait_by_unit_flag(PIPE_FIX, PIPE_M);
    T *const t = reinterpret_cast<T *>(target.base);
    const Sum *const s = reinterpret_cast<const Sum *>(source.base);
    if (factors) how.vector = reinterpret_cast<const uint64_t *>(factors->base);
    need_parameter(w, !quant_by_column(how.mode) || how.vector, "Fixpipe", "a quantPre by columns needs their factors");
    const Atomic mode = target.space == Space::GM ? core().atomic : Atomic::None;
    issue(PIPE_FIX, "Fixpipe", w, {target, source, vector}, [=] {
        for (uint32_t i = 0; i < all.number; i++)
            fixpipe_values(t + i * all.target_step, s + i * all.source_step, shape, how,
                           [mode](T &at, T value) { store_by(at, value, mode); });
    });
}

/* Columns of a strip in the target. */
template <typename T>
constexpr uint32_t strip_of(bool split) {
    return sizeof(T) == 1 ? 32 : sizeof(T) == 4 && split ? 8 : 16;
}

template <typename T, typename Sum, typename Target, typename Params>
inline void fixpipe_by_size(const Target &to, const AscendC::LocalTensor<Sum> &from, const Operand *factors,
                            const Params &p, AscendC::CO2Layout format, const FixpipeMatrices &all, Where w) {
    const bool strips = format == AscendC::CO2Layout::NZ;
    need_parameter(w, format != AscendC::CO2Layout::COLUMN_MAJOR, "Fixpipe",
                   "columns (CFG_COLUMN_MAJOR) are not simulated");
    const uint64_t apart = strips ? uint64_t(p.dstStride) * C0_BYTES / sizeof(T) : p.dstStride;
    const FixpipeShape shape{p.mSize, p.nSize, p.srcStride, apart, strips, strip_of<T>(p.isChannelSplit)};
    fixpipe<T>(to, from, factors, shape, {p.quantPre, p.deqScalar, nullptr, p.reluEn}, all, w);
}
template <typename T, typename Sum, typename Target>
inline void fixpipe_by_strips(const Target &to, const AscendC::LocalTensor<Sum> &from, const Operand *factors,
                              const AscendC::FixpipeParams<Sum> &p, Where w) {
    const uint32_t rows = uint32_t(p.burstLen) * C0_BYTES / (FRACTAL_ROWS * sizeof(Sum));
    const uint64_t source_strip = rows + uint64_t(p.srcStride) * C0_BYTES / (FRACTAL_ROWS * sizeof(Sum));
    const FixpipeConversion how{p.quantParams.quantPre, p.quantParams.deqScalar, nullptr, p.reluEn};
    if (p.nz2ndParams.nz2ndEn) {
        const FixpipeShape shape{rows, p.nz2ndParams.originalNSize ? p.nz2ndParams.originalNSize : p.cburstNum,
                                 source_strip, p.dstStride};
        const FixpipeMatrices all{p.nz2ndParams.ndNum, p.nz2ndParams.srcNdStride * uint64_t(256),
                                  p.nz2ndParams.dstNdStride, p.unitFlag};
        return fixpipe<T>(to, from, factors, shape, how, all, w);
    }
    const uint32_t strip = strip_of<T>(false), columns = uint32_t(p.cburstNum) * FRACTAL_ROWS;
    const uint64_t apart = uint64_t(rows) * strip + uint64_t(p.dstStride) * C0_BYTES / sizeof(T);
    fixpipe<T>(to, from, factors, {rows, columns, source_strip, apart, true, strip}, how, {1, 0, 0, p.unitFlag}, w);
}

template <typename T, typename Sum, typename Target, typename Params>
inline void copy_out_of_l0c(const Target &to, const AscendC::LocalTensor<Sum> &from, const Params &p, Where w) {
    const CubeModes &modes = cube_modes();
    const uint64_t apart = p.nz2ndEn ? p.dstStride : uint64_t(p.dstStride) * C0_BYTES / sizeof(T);
    const FixpipeShape shape{p.mSize, p.nSize, p.srcStride, apart, !p.nz2ndEn, strip_of<T>(p.channelSplit)};
    FixpipeMatrices all{1, 0, 0, p.unitFlag};
    if (p.nz2ndEn) all = {modes.nd_number, modes.nd_source * uint64_t(256), modes.nd_target, p.unitFlag};
    fixpipe<T>(to, from, nullptr, shape, {p.quantPre, modes.quant_scalar, modes.quant_vector, p.reluPre != 0}, all, w);
}

template <typename Params>
inline FixpipeMatrices matrices_of(const Params &p) {
    return {p.ndNum, p.srcNdStride * uint64_t(256), p.dstNdStride, p.unitFlag};
}
template <AscendC::CO2Layout format>
inline FixpipeMatrices matrices_of(const AscendC::FixpipeParamsC310<format> &p) {
    return {p.params.ndNum, p.params.srcNdStride * uint64_t(FRACTAL_ROWS), p.params.dstNdStride, p.unitFlag};
}

}  // namespace asc_cpu

namespace AscendC {

#define ASC_FIXPIPE(Target)                                                                                    \
    template <typename T, typename U, const FixpipeConfig &config = CFG_ROW_MAJOR>                             \
    inline void Fixpipe(const Target<T> &to, const LocalTensor<U> &from, const FixpipeParamsV220 &p,           \
                        asc_cpu::Where w = asc_cpu::Where::here()) {                                           \
        asc_cpu::fixpipe_by_size<T>(to, from, nullptr, p, config.format, asc_cpu::matrices_of(p), w);          \
    }                                                                                                          \
    template <typename T, typename U, const FixpipeConfig &config = CFG_ROW_MAJOR>                             \
    inline void Fixpipe(const Target<T> &to, const LocalTensor<U> &from, const LocalTensor<uint64_t> &factors, \
                        const FixpipeParamsV220 &p, asc_cpu::Where w = asc_cpu::Where::here()) {               \
        const asc_cpu::Operand vector = factors.reads(0);                                                      \
        asc_cpu::fixpipe_by_size<T>(to, from, &vector, p, config.format, asc_cpu::matrices_of(p), w);          \
    }                                                                                                          \
    template <typename T, typename U, const FixpipeConfig &config = CFG_ROW_MAJOR, CO2Layout format>           \
    inline void Fixpipe(const Target<T> &to, const LocalTensor<U> &from, const FixpipeParamsC310<format> &p,   \
                        asc_cpu::Where w = asc_cpu::Where::here()) {                                           \
        asc_cpu::fixpipe_by_size<T>(to, from, nullptr, p, format, asc_cpu::matrices_of(p), w);                 \
    }                                                                                                          \
    template <typename T, typename U, const FixpipeConfig &config = CFG_ROW_MAJOR, CO2Layout format>           \
    inline void Fixpipe(const Target<T> &to, const LocalTensor<U> &from, const LocalTensor<uint64_t> &factors, \
                        const FixpipeParamsC310<format> &p, asc_cpu::Where w = asc_cpu::Where::here()) {       \
        const asc_cpu::Operand vector = factors.reads(0);                                                      \
        asc_cpu::fixpipe_by_size<T>(to, from, &vector, p, format, asc_cpu::matrices_of(p), w);                 \
    }                                                                                                          \
    template <typename T, typename U>                                                                          \
    inline void Fixpipe(const Target<T> &to, const LocalTensor<U> &from, const FixpipeParams<U> &p,            \
                        asc_cpu::Where w = asc_cpu::Where::here()) {                                           \
        asc_cpu::fixpipe_by_strips<T>(to, from, nullptr, p, w);                                                \
    }                                                                                                          \
    template <typename T, typename U>                                                                          \
    inline void Fixpipe(const Target<T> &to, const LocalTensor<U> &from, const LocalTensor<uint64_t> &factors, \
                        const FixpipeParams<U> &p, asc_cpu::Where w = asc_cpu::Where::here()) {                \
        const asc_cpu::Operand vector = factors.reads(0);                                                      \
        asc_cpu::fixpipe_by_strips<T>(to, from, &vector, p, w);                                                \
    }
ASC_FIXPIPE(GlobalTensor)
ASC_FIXPIPE(LocalTensor)
#undef ASC_FIXPIPE

/* What DataCopy out of L0C takes beside its parameters: matrices, one factor, or a factor per column. */
inline void SetFixpipeNz2ndFlag(uint16_t number, uint16_t source_stride, uint16_t target_stride) {
    asc_cpu::CubeModes &modes = asc_cpu::cube_modes();
    modes.nd_number = number, modes.nd_source = source_stride, modes.nd_target = target_stride;
}
inline void SetFixpipePreQuantFlag(uint64_t scalar) {
    asc_cpu::cube_modes().quant_scalar = scalar;
}
template <typename T, bool setRelu = false>
inline void SetFixPipeConfig(const LocalTensor<T> &factors, bool = false) {
    asc_cpu::cube_modes().quant_vector = reinterpret_cast<const uint64_t *>(factors.bytes());
}
template <typename T>
inline void SetFixPipeConfig(const LocalTensor<T> &, const LocalTensor<T> &factors, bool = false) {
    asc_cpu::cube_modes().quant_vector = reinterpret_cast<const uint64_t *>(factors.bytes());
}

template <typename T>
inline void SetFixPipeConfigImpl(const LocalTensor<T> &factors) {
    SetFixPipeConfig<T>(factors);
}

/* mSize rows and nSize columns; strides as of FixpipeParamsV220. */
struct DataCopyCO12DstParams {
    DataCopyCO12DstParams() = default;
    DataCopyCO12DstParams(uint16_t n, uint16_t m, uint32_t target_stride, uint16_t source_stride, QuantMode_t mode,
                          uint8_t relu, bool split, bool nd)
        : nSize(n),
          mSize(m),
          dstStride(target_stride),
          srcStride(source_stride),
          quantPre(mode),
          reluPre(relu),
          channelSplit(split),
          nz2ndEn(nd) {}
    uint8_t sid = 0;
    uint16_t nSize = 0, mSize = 0;
    uint32_t dstStride = 0;
    uint16_t srcStride = 0;
    uint8_t unitFlag = 0, clipReluPre = 0, eltWiseOp = 0;
    QuantMode_t quantPre = NoQuant;
    uint8_t reluPre = 0;
    bool channelSplit = false, nz2ndEn = false;
};
#define ASC_COPY_OUT(Target)                                                                              \
    template <typename T, typename U>                                                                     \
    inline void DataCopy(const Target<T> &to, const LocalTensor<U> &from, const DataCopyCO12DstParams &p, \
                         asc_cpu::Where w = asc_cpu::Where::here()) {                                     \
        asc_cpu::copy_out_of_l0c<T>(to, from, p, w);                                                      \
    }
ASC_COPY_OUT(GlobalTensor)
ASC_COPY_OUT(LocalTensor)
#undef ASC_COPY_OUT

}  // namespace AscendC
