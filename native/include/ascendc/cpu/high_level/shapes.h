/* Broadcast, padding and its removal: moves of whole elements. */
#pragma once

#include "rows.h"

namespace AscendC {

struct PadParams {
    uint16_t leftPad = 0, rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams {
    uint16_t leftPad = 0, rightPad = 0;
};

/* An axis of 1 in srcShape takes its one element for all of dstShape. */
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim], asc_cpu::Where w = asc_cpu::Where::here()) {
    static_assert(dim >= 1 && dim <= 4, "Broadcast has one to four dimensions");
    uint32_t to[4] = {1, 1, 1, 1}, from[4] = {1, 1, 1, 1};
    for (int32_t i = 0; i < dim; i++) to[4 - dim + i] = dstShape[i], from[4 - dim + i] = srcShape[i];
    uint64_t written = 1, read = 1;
    for (int i = 0; i < 4; i++) {
        asc_cpu::need_parameter(w, from[i] == 1 || from[i] == to[i], "Broadcast",
                                "an axis of the source is 1 or the result's");
        written *= to[i], read *= from[i];
    }
    uint64_t step[4], size = 1;
    for (int i = 3; i >= 0; i--) step[i] = from[i] == 1 ? 0 : size, size *= from[i];
    T *const y = dst.data();
    const T *const x = src.data();
    const uint32_t a = to[0], b = to[1], c = to[2], d = to[3];
    const uint64_t sa = step[0], sb = step[1], sc = step[2], sd = step[3];
    asc_cpu::issue(PIPE_V, "Broadcast", w, {dst.writes(written), src.reads(read)}, [=] {
        T *out = y;
        for (uint32_t i = 0; i < a; i++)
            for (uint32_t j = 0; j < b; j++)
                for (uint32_t k = 0; k < c; k++)
                    for (uint32_t l = 0; l < d; l++) *out++ = x[i * sa + j * sb + k * sc + l * sd];
    });
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim], const LocalTensor<uint8_t> &scratch,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    Broadcast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, w);
}
/* The older spelling. */
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void BroadCast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim], asc_cpu::Where w = asc_cpu::Where::here()) {
    Broadcast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, w);
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
inline void BroadCast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t dstShape[dim],
                      const uint32_t srcShape[dim], const LocalTensor<uint8_t> &scratch,
                      asc_cpu::Where w = asc_cpu::Where::here()) {
    Broadcast<T, dim, axis, isReuseSource>(dst, src, dstShape, srcShape, scratch, w);
}

/* Rows of tiling.srcWidth elements, of which srcOriWidth count, become rows of leftPad + srcOriWidth + rightPad. */
template <typename T, typename Tiling>
inline void Pad(const LocalTensor<T> &dst, const LocalTensor<T> &src, const PadParams &p, const Tiling &tiling,
                asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t rows = tiling.srcHeight, width = tiling.srcWidth, used = tiling.srcOriWidth;
    const uint32_t result = p.leftPad + used + p.rightPad;
    T *const y = dst.data();
    const T *const x = src.data();
    const T value = T(float(p.padValue));
    const uint32_t left = p.leftPad;
    asc_cpu::issue(PIPE_V, "Pad", w, {dst.writes(uint64_t(rows) * result), src.reads(uint64_t(rows) * width)}, [=] {
        for (uint32_t row = rows; row--;) {
            std::vector<T> line(result, value);
            for (uint32_t i = 0; i < used; i++) line[left + i] = x[uint64_t(row) * width + i];
            std::copy(line.begin(), line.end(), y + uint64_t(row) * result);
        }
    });
}
template <typename T, typename Tiling>
inline void Pad(const LocalTensor<T> &dst, const LocalTensor<T> &src, const PadParams &p,
                const LocalTensor<uint8_t> &scratch, const Tiling &tiling, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    Pad(dst, src, p, tiling, w);
}
/* The way back: rows of tiling.srcWidth lose leftPad and rightPad elements. */
template <typename T, typename Tiling>
inline void UnPad(const LocalTensor<T> &dst, const LocalTensor<T> &src, const UnPadParams &p, const Tiling &tiling,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t rows = tiling.srcHeight, width = tiling.srcWidth, left = p.leftPad;
    asc_cpu::need_parameter(w, width >= uint32_t(p.leftPad) + p.rightPad, "UnPad",
                            "a row is not shorter than its padding");
    const uint32_t result = width - p.leftPad - p.rightPad;
    T *const y = dst.data();
    const T *const x = src.data();
    asc_cpu::issue(PIPE_V, "UnPad", w, {dst.writes(uint64_t(rows) * result), src.reads(uint64_t(rows) * width)}, [=] {
        for (uint32_t row = 0; row < rows; row++)
            for (uint32_t i = 0; i < result; i++) y[uint64_t(row) * result + i] = x[uint64_t(row) * width + left + i];
    });
}
template <typename T, typename Tiling>
inline void UnPad(const LocalTensor<T> &dst, const LocalTensor<T> &src, const UnPadParams &p,
                  const LocalTensor<uint8_t> &scratch, const Tiling &tiling,
                  asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::take_scratch(scratch, scratch.GetSize(), w);
    UnPad(dst, src, p, tiling, w);
}

}  // namespace AscendC
