/* LoadData: fractals from global memory or L1 into L1, L0A and L0B, as they are, transposed, or unrolled from a feature
 * map. */
#pragma once

#include "cube_operand.h"
#include "load_data_values.h"

namespace AscendC {

/* Fractals of 512 bytes: number startIndex and every srcStride-th after it, each dstGap fractals behind the one before.
 * ifTranspose turns each fractal of 16-bit elements; addrMode 1 goes backwards through the source. */
struct LoadData2DParams {
    LoadData2DParams() = default;
    LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t stride, uint8_t sid_in, uint16_t gap, bool transpose,
                     uint8_t mode)
        : startIndex(start),
          dstGap(gap),
          srcStride(stride),
          ifTranspose(transpose),
          repeatTimes(repeats),
          sid(sid_in),
          addrMode(mode) {}
    uint16_t startIndex = 0, dstGap = 0, srcStride = 0;
    bool ifTranspose = false;
    uint8_t repeatTimes = 0, sid = 0, addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;

/* kStep strips of mStep fractals from (mStartPosition, kStartPosition); strides are fractals from strip to strip. */
struct LoadData2DParamsV2 {
    LoadData2DParamsV2() = default;
    LoadData2DParamsV2(uint32_t m_start, uint32_t k_start, uint16_t m_step, uint16_t k_step, int32_t source_stride,
                       uint16_t target_stride, bool transpose, uint8_t sid_in)
        : mStartPosition(m_start),
          kStartPosition(k_start),
          mStep(m_step),
          kStep(k_step),
          srcStride(source_stride),
          dstStride(target_stride),
          ifTranspose(transpose),
          sid(sid_in) {}
    uint32_t mStartPosition = 0, kStartPosition = 0;
    uint16_t mStep = 0, kStep = 0;
    int32_t srcStride = 0;
    uint16_t dstStride = 0;
    bool ifTranspose = false;
    uint8_t sid = 0;
};

/* Squares of fractals, each transposed. startIndex and srcStride count squares, dstGap and dstFracGap the fractals
 * between the end of one and the start of the next. */
struct LoadData2dTransposeParams {
    LoadData2dTransposeParams() = default;
    LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap, uint16_t fractal_gap,
                              uint8_t mode)
        : startIndex(start),
          repeatTimes(repeats),
          srcStride(stride),
          dstGap(gap),
          dstFracGap(fractal_gap),
          addrMode(mode) {}
    LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t stride, uint16_t gap, uint16_t fractal_gap)
        : LoadData2dTransposeParams(start, repeats, stride, gap, fractal_gap, 0) {}
    uint16_t startIndex = 0;
    uint8_t repeatTimes = 0;
    uint16_t srcStride = 0, dstGap = 0, dstFracGap = 0;
    uint8_t addrMode = 0;
};
using LoadData2DTransposeParams = LoadData2dTransposeParams;

/* The same with a step between the source's fractals, srcFracGap. */
struct LoadData2dTransposeParamsV2 : LoadData2dTransposeParams {
    LoadData2dTransposeParamsV2() = default;
    uint16_t srcFracGap = 0;
};

}  // namespace AscendC

namespace asc_cpu {

/* Loads move whole fractals, of which a part may never have been written: it counts as unwritten in the target too. The
 * `n` elements at `from` of the source become the elements place(0 ... n - 1) at `to` of the target. */
template <uint32_t bits, typename Place>
inline void carry_unwritten(const Operand &target, const Operand &source, int64_t to, int64_t from, uint32_t n,
                            Place place) {
    if (!CHECKED || source.space == Space::GM || is_foreign({target, source})) return;
    Memory &read = core().in(source.space), &written = core().in(target.space);
    const uint64_t s = uint64_t(source.base - read.data() + from), t = uint64_t(target.base - written.data() + to);
    if (read.written.all(s, uint64_t(n) * bits / 8)) return;
    for (uint32_t i = 0; i < n; i++)
        if (!read.written.at(s + uint64_t(i) * bits / 8))
            written.written.clear(t + uint64_t(place(i)) * bits / 8, (bits + 7) / 8);
}

inline void need_loadable(Where w, const Operand &source, const char *instruction) {
    if (source.space != Space::GM) need_space(w, source, Space::L1, instruction, "L1 (A1, B1)");
}
inline pipe_t load_pipe(Space source) {
    return source == Space::GM ? PIPE_MTE2 : PIPE_MTE1;
}
inline uint32_t load_align(const Operand &o) {
    return o.space == Space::L0A || o.space == Space::L0B ? L0_ALIGN : C0_BYTES;
}

template <uint32_t bits>
inline void carry_fractals(const Operand &target, const Operand &source, const FractalWalk &walk) {
    constexpr uint32_t n = FRACTAL_BYTES * 8 / bits;
    for (uint32_t i = 0; i < walk.count; i++)
        carry_unwritten<bits>(target, source, walk.target(i), walk.source(i), n, [&](uint32_t e) {
            return walk.transposed ? e % FRACTAL_ROWS * FRACTAL_ROWS + e / FRACTAL_ROWS : e;
        });
}

template <typename T, typename Source>
inline void load_2d(const AscendC::LocalTensor<T> &to, const Source &from, const AscendC::LoadData2DParams &p,
                    Where w) {
    mark_cube_code<T>();
    const int64_t step = p.addrMode ? -int64_t(p.srcStride) : int64_t(p.srcStride);
    const FractalWalk walk{p.startIndex, step, int64_t(p.dstGap) + 1, p.repeatTimes, p.ifTranspose};
    need_parameter(w, !p.ifTranspose || bits_of<T> == 16, "LoadData",
                   "ifTranspose takes 16-bit elements; LoadDataWithTranspose takes the others");
    Operand target = writes_bytes(to, {0, FRACTAL_BYTES, walk.count, walk.target(1)});
    target.align = load_align(target);
    Operand source = reads_bytes(from, {walk.source(0), FRACTAL_BYTES, walk.count, step * int64_t(FRACTAL_BYTES)});
    uint8_t *const t = target.base;
    const uint8_t *const s = source.base;
    need_loadable(w, source, "LoadData");
    issue(load_pipe(source.space), "LoadData", w, {target, source.loosely()}, [=] { load_fractals(t, s, walk); });
    carry_fractals<bits_of<T>>(target, source, walk);
}

template <typename T>
inline void load_squares_of(const AscendC::LocalTensor<T> &to, const AscendC::LocalTensor<T> &from,
                            const AscendC::LoadData2dTransposeParams &p, Where w) {
    mark_cube_code<T>();
    constexpr uint32_t bits = bits_of<T>, parts = fractals_of_square<bits>;
    const int64_t step = p.addrMode ? -int64_t(p.srcStride) : int64_t(p.srcStride);
    const SquareWalk walk{p.startIndex, step, int64_t(p.dstGap) + 1, int64_t(p.dstFracGap) + 1, p.repeatTimes};
    const uint64_t square = uint64_t(FRACTAL_BYTES) * parts;
    std::vector<Run> more;
    for (uint32_t i = 1; i < parts; i++)
        more.push_back({int64_t(i) * walk.apart * FRACTAL_BYTES, FRACTAL_BYTES, walk.count, walk.target(1)});
    Operand target = writes_bytes(to, {0, FRACTAL_BYTES, walk.count, walk.target(1)});
    target.align = load_align(target);
    target.more = more.data(), target.n_more = uint32_t(more.size());
    const Operand source = reads_bytes(from, {walk.source<bits>(0), square, walk.count, step * int64_t(square)});
    uint8_t *const t = target.base;
    const uint8_t *const s = source.base;
    need_loadable(w, source, "LoadDataWithTranspose");
    issue(PIPE_MTE1, "LoadDataWithTranspose", w, {target, source.loosely()}, [=] { load_squares<bits>(t, s, walk); });
    constexpr uint32_t side = side_of_square<bits>, c0 = c0_of<T>;
    for (uint32_t i = 0; i < walk.count; i++)
        carry_unwritten<bits>(target, source, walk.target(i), walk.source<bits>(i), side * side, [&](uint32_t e) {
            const uint32_t fractal = e / (FRACTAL_ROWS * c0), row = e / c0 % FRACTAL_ROWS, column = e % c0;
            const bool across = bits == 32; /* fractals side by side */
            return square_offset<bits>(column + (across ? fractal * c0 : 0),
                                       row + (across ? 0 : fractal * FRACTAL_ROWS),
                                       uint64_t(walk.apart) * FRACTAL_BYTES);
        });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void LoadData(const LocalTensor<T> &to, const LocalTensor<T> &from, const LoadData2DParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::load_2d(to, from, p, w);
}
template <typename T>
inline void LoadData(const LocalTensor<T> &to, const GlobalTensor<T> &from, const LoadData2DParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::load_2d(to, from, p, w);
}

/* Strip by strip: the fractals of one lie one after the other. */
template <typename T>
inline void LoadData(const LocalTensor<T> &to, const LocalTensor<T> &from, const LoadData2DParamsV2 &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::need_parameter(w, !p.ifTranspose || asc_cpu::bits_of<T> == 16, "LoadData",
                            "ifTranspose takes 16-bit elements");
    for (uint32_t k = 0; k < p.kStep; k++) {
        const int64_t first = (int64_t(p.kStartPosition) + k) * p.srcStride + p.mStartPosition;
        const int64_t bytes = asc_cpu::FRACTAL_BYTES, strip = p.ifTranspose ? 1 : p.dstStride;
        const asc_cpu::FractalWalk walk{first, 1, p.ifTranspose ? int64_t(p.dstStride) : 1, p.mStep, p.ifTranspose};
        asc_cpu::Operand target = asc_cpu::writes_bytes(
            to, {int64_t(k) * strip * bytes, uint64_t(bytes), walk.count, walk.target(1)}, asc_cpu::L0_ALIGN);
        const asc_cpu::Operand source =
            asc_cpu::reads_bytes(from, {walk.source(0), uint64_t(bytes), walk.count, bytes});
        uint8_t *const t = target.base + int64_t(k) * strip * bytes;
        const uint8_t *const s = source.base;
        asc_cpu::need_loadable(w, source, "LoadData");
        asc_cpu::issue(PIPE_MTE1, "LoadData", w, {target, source.loosely()},
                       [=] { asc_cpu::load_fractals(t, s, walk); });
        asc_cpu::Operand strip_target = target;
        strip_target.base += int64_t(k) * strip * bytes;
        asc_cpu::carry_fractals<asc_cpu::bits_of<T>>(strip_target, source, walk);
    }
}

template <typename T>
inline void LoadDataWithTranspose(const LocalTensor<T> &to, const LocalTensor<T> &from,
                                  const LoadData2dTransposeParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::load_squares_of(to, from, p, w);
}

}  // namespace AscendC
