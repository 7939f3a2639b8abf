/* DataCopy between rows (ND) in global memory and strips (Nz) in L1 or the unified buffer. */
#pragma once

#include "cube_operand.h"

namespace AscendC {

/* ndNum matrices of nValue rows and dValue columns. Source strides are in elements. dstNzC0Stride: blocks of 32 bytes
 * from strip to strip, dstNzNStride from row to row; dstNzMatrixStride: elements. */
struct Nd2NzParams {
    Nd2NzParams() = default;
    Nd2NzParams(uint16_t number, uint16_t n, uint16_t d, uint64_t source_matrix, uint16_t source_row,
                uint16_t target_strip, uint16_t target_row, uint64_t target_matrix)
        : ndNum(number),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(source_matrix),
          srcDValue(source_row),
          dstNzC0Stride(target_strip),
          dstNzNStride(target_row),
          dstNzMatrixStride(target_matrix) {}
    uint16_t ndNum = 0, nValue = 0;
    uint32_t dValue = 0;
    uint64_t srcNdMatrixStride = 0, srcDValue = 0;
    uint32_t dstNzC0Stride = 0, dstNzNStride = 0;
    uint64_t dstNzMatrixStride = 0;
};

/* The way back, of strips of 16 columns. srcNdMatrixStride: fractals of 256 elements, srcNStride: rows of a strip;
 * dstDStride and dstNdMatrixStride: elements. */
struct Nz2NdParamsFull {
    Nz2NdParamsFull() = default;
    Nz2NdParamsFull(uint16_t number, uint16_t n, uint16_t d, uint16_t source_matrix, uint16_t source_strip,
                    uint16_t target_row, uint16_t target_matrix)
        : ndNum(number),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(source_matrix),
          srcNStride(source_strip),
          dstDStride(target_row),
          dstNdMatrixStride(target_matrix) {}
    uint16_t ndNum = 0, nValue = 0, dValue = 0, srcNdMatrixStride = 0, srcNStride = 0, dstDStride = 0;
    uint16_t dstNdMatrixStride = 0;
};

}  // namespace AscendC

namespace asc_cpu {

/* The last strip's missing columns become zero. Rows of a strip that lie one after the other are one run. */
template <typename T>
inline void copy_nd_to_nz(const AscendC::LocalTensor<T> &to, const AscendC::GlobalTensor<T> &from,
                          const AscendC::Nd2NzParams &p, Where w) {
    const uint64_t strips = divide_up(p.dValue, c0_of<T>), row_bytes = bytes_of<T>(p.dValue);
    std::vector<Run> read, written;
    for (uint32_t i = 0; i < p.ndNum; i++) {
        read.push_back(
            {int64_t(bytes_of<T>(i * p.srcNdMatrixStride)), row_bytes, p.nValue, int64_t(bytes_of<T>(p.srcDValue))});
        for (uint64_t c1 = 0; c1 < strips; c1++)
            written.push_back({int64_t(bytes_of<T>(i * p.dstNzMatrixStride) + c1 * p.dstNzC0Stride * C0_BYTES),
                               C0_BYTES, p.nValue, int64_t(p.dstNzNStride) * C0_BYTES});
    }
    const Operand target = to.writes_runs(written), source = from.reads_runs(read);
    uint8_t *const t = target.base;
    const uint8_t *const s = source.base;
    issue(PIPE_MTE2, "DataCopy", w, {target, source}, [=] {
        for (uint64_t i = 0; i < p.ndNum; i++)
            for (uint64_t row = 0; row < p.nValue; row++)
                for (uint64_t c1 = 0; c1 < strips; c1++) {
                    uint8_t *block = t + bytes_of<T>(i * p.dstNzMatrixStride) +
                                     (c1 * p.dstNzC0Stride + row * p.dstNzNStride) * C0_BYTES;
                    const uint64_t left = row_bytes - c1 * C0_BYTES, n = left < C0_BYTES ? left : C0_BYTES;
                    std::memcpy(block, s + bytes_of<T>(i * p.srcNdMatrixStride + row * p.srcDValue) + c1 * C0_BYTES, n);
                    std::memset(block + n, 0, C0_BYTES - n);
                }
    });
}

template <typename T>
inline void copy_nz_to_nd(const AscendC::GlobalTensor<T> &to, const AscendC::LocalTensor<T> &from,
                          const AscendC::Nz2NdParamsFull &p, Where w) {
    constexpr uint64_t strip_bytes = bytes_of<T>(FRACTAL_ROWS);
    const uint64_t strips = divide_up(p.dValue, FRACTAL_ROWS);
    std::vector<Run> read, written;
    for (uint64_t i = 0; i < p.ndNum; i++) {
        written.push_back({int64_t(bytes_of<T>(i * p.dstNdMatrixStride)), bytes_of<T>(p.dValue), p.nValue,
                           int64_t(bytes_of<T>(p.dstDStride))});
        for (uint64_t c1 = 0; c1 < strips; c1++)
            read.push_back({int64_t(bytes_of<T>(i * p.srcNdMatrixStride * 256) + c1 * p.srcNStride * strip_bytes),
                            p.nValue * strip_bytes});
    }
    const Operand target = to.writes_runs(written), source = from.reads_runs(read);
    uint8_t *const t = target.base;
    const uint8_t *const s = source.base;
    issue(PIPE_MTE3, "DataCopy", w, {target, source}, [=] {
        for (uint64_t i = 0; i < p.ndNum; i++)
            for (uint64_t row = 0; row < p.nValue; row++)
                for (uint64_t c1 = 0; c1 < strips; c1++) {
                    const uint64_t left = bytes_of<T>(p.dValue) - c1 * strip_bytes;
                    std::memcpy(
                        t + bytes_of<T>(i * p.dstNdMatrixStride + row * p.dstDStride) + c1 * strip_bytes,
                        s + bytes_of<T>(i * p.srcNdMatrixStride * 256) + (c1 * p.srcNStride + row) * strip_bytes,
                        left < strip_bytes ? left : strip_bytes);
                }
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void DataCopy(const LocalTensor<T> &to, const GlobalTensor<T> &from, const Nd2NzParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::copy_nd_to_nz(to, from, p, w);
}
template <typename T>
inline void DataCopy(const GlobalTensor<T> &to, const LocalTensor<T> &from, const Nz2NdParamsFull &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::copy_nz_to_nd(to, from, p, w);
}

}  // namespace AscendC
