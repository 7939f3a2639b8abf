/* The cube's instructions under the compiler's names, on addresses: a number of bytes from the begin of L1, L0A, L0B or
 * L0C, as the memory that an instruction is about. */
#pragma once

#include "fixpipe.h"
#include "intrinsics.h"
#include "load_data.h"
#include "mmad.h"
#include "nd_nz.h"

/* Which way through a source's fractals. */
enum addr_cal_mode_t : uint8_t { inc = 0, dec = 1 };

#define ASC_LOAD(intrinsic, target)                                                                                   \
    template <typename T>                                                                                             \
    inline void intrinsic(T *dst, const T *src, uint16_t first, uint8_t repeat, uint16_t srcStride, uint16_t dstGap,  \
                          uint8_t sid, bool transpose, addr_cal_mode_t mode = inc,                                    \
                          asc_cpu::Where w = asc_cpu::Where::here()) {                                                \
        AscendC::LoadData(asc_cpu::local_at(dst, asc_cpu::Space::target), asc_cpu::local_at(src, asc_cpu::Space::L1), \
                          AscendC::LoadData2DParams(first, repeat, srcStride, sid, dstGap, transpose, mode), w);      \
    }                                                                                                                 \
    template <typename T>                                                                                             \
    inline void intrinsic##_transpose(T *dst, const T *src, uint16_t first, uint8_t repeat, uint16_t srcStride,       \
                                      uint16_t dstGap, addr_cal_mode_t mode, uint16_t dstFracGap,                     \
                                      asc_cpu::Where w = asc_cpu::Where::here()) {                                    \
        AscendC::LoadDataWithTranspose(                                                                               \
            asc_cpu::local_at(dst, asc_cpu::Space::target), asc_cpu::local_at(src, asc_cpu::Space::L1),               \
            AscendC::LoadData2dTransposeParams(first, repeat, srcStride, dstGap, dstFracGap, mode), w);               \
    }
ASC_LOAD(load_cbuf_to_ca, L0A)
ASC_LOAD(load_cbuf_to_cb, L0B)
#undef ASC_LOAD

/* c += a * b, or c = a * b where initVal is set. */
template <typename C, typename A, typename B>
inline void mad(C *c, A *a, B *b, uint16_t m, uint16_t k, uint16_t n, uint8_t unitFlag, bool kDirectionAlign,
                bool cmatrixSource, bool initVal, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::MmadParams p(m, n, k, unitFlag, cmatrixSource, initVal);
    p.kDirectionAlign = kDirectionAlign;
    AscendC::Mmad(asc_cpu::local_at(c, asc_cpu::Space::L0C), asc_cpu::local_at(a, asc_cpu::Space::L0A),
                  asc_cpu::local_at(b, asc_cpu::Space::L0B), p, w);
}

/* lenBurst and gaps in blocks of 32 bytes. */
template <typename T>
inline void copy_gm_to_cbuf(T *dst, const T *src, uint8_t, uint16_t nBurst, uint16_t lenBurst, uint16_t srcGap,
                            uint16_t dstGap, pad_t = PAD_NONE, asc_cpu::Where w = asc_cpu::Where::here()) {
    AscendC::DataCopy(asc_cpu::local_at(dst, asc_cpu::Space::L1), asc_cpu::global_from(src),
                      AscendC::DataCopyParams(nBurst, lenBurst, srcGap, dstGap), w);
}
#define ASC_ND2NZ(suffix, bytes)                                                                                     \
    template <typename T>                                                                                            \
    inline void copy_gm_to_cbuf_multi_nd2nz_##suffix(                                                                \
        T *dst, const T *src, uint8_t, uint16_t ndNum, uint16_t nValue, uint16_t dValue, uint64_t srcNdMatrixStride, \
        uint64_t srcDValue, uint16_t dstNzC0Stride, uint16_t dstNzNStride, uint64_t dstNzMatrixStride,               \
        asc_cpu::Where w = asc_cpu::Where::here()) {                                                                 \
        static_assert(sizeof(T) == bytes, "elements of another size than the instruction's");                        \
        AscendC::Nd2NzParams p(ndNum, nValue, dValue, srcNdMatrixStride, 0, dstNzC0Stride, dstNzNStride,             \
                               dstNzMatrixStride);                                                                   \
        p.srcDValue = srcDValue;                                                                                     \
        AscendC::DataCopy(asc_cpu::local_at(dst, asc_cpu::Space::L1), asc_cpu::global_from(src), p, w);              \
    }
ASC_ND2NZ(b8, 1)
ASC_ND2NZ(b16, 2)
ASC_ND2NZ(b32s, 4)
#undef ASC_ND2NZ

/* Matrices of the next copy out of L0C, their distance in fractals of L0C, and in elements of the result. */
template <int = 0>
inline void set_nd_para(uint64_t config) {
    AscendC::SetFixpipeNz2ndFlag(uint16_t(config), uint16_t(config >> 16), uint16_t(config >> 32));
}
template <int = 0>
inline void set_quant_pre(uint64_t factor) {
    AscendC::SetFixpipePreQuantFlag(factor);
}
/* What LoadData pads a feature map with. */
template <int = 0>
inline void set_padding(uint64_t bits) {
    asc_cpu::cube_modes().pad_bits = uint32_t(bits);
}
template <typename T, typename U>
inline void copy_matrix_cc_to_gm(T *dst, U *src, uint8_t, uint16_t nSize, uint16_t mSize, uint32_t dstStride,
                                 uint16_t srcStride, uint8_t unitFlag, QuantMode_t quantPre, uint8_t reluPre,
                                 bool channelSplit, bool nz2nd, asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::CubeModes &modes = asc_cpu::cube_modes();
    AscendC::FixpipeParamsV220 p(nSize, mSize, srcStride, dstStride, reluPre != 0, quantPre,
                                 int64_t(modes.quant_scalar), modes.nd_number, modes.nd_source, modes.nd_target,
                                 unitFlag);
    p.isChannelSplit = channelSplit;
    const auto to = asc_cpu::global_from(dst);
    const auto from = asc_cpu::local_at(src, asc_cpu::Space::L0C);
    if (nz2nd)
        AscendC::Fixpipe<T, U, AscendC::CFG_ROW_MAJOR>(to, from, p, w);
    else
        AscendC::Fixpipe<T, U, AscendC::CFG_NZ>(to, from, p, w);
}
