/* LoadData 3D: a feature map in L1, unrolled on the way into L0A or L0B (image to column). */
#pragma once

#include "load_data.h"

namespace AscendC {

/* padList: left, right, top, bottom. A fractal is 16 positions of the window, from (leftTopW, leftTopH) on, times the
 * C0 channels of (c1Index, fetchFilterW, fetchFilterH); repeatMode 0 steps through the filter, 1 through positions. */
template <typename T>
struct LoadData3DParamsV1 {
    uint8_t padList[4] = {0, 0, 0, 0};
    uint16_t l1H = 0, l1W = 0, c1Index = 0;
    uint8_t fetchFilterW = 0, fetchFilterH = 0;
    int16_t leftTopW = 0, leftTopH = 0;
    uint8_t strideW = 0, strideH = 0, filterW = 0, filterH = 0, dilationFilterW = 0, dilationFilterH = 0;
    uint8_t jumpStride = 0, repeatMode = 0, repeatTime = 0, cSize = 0;
    T padValue = T(0);
};

/* Rows mStartPt to mStartPt + mExtension of the unrolled matrix, its columns likewise. */
template <typename T>
struct LoadData3DParamsV2 {
    LoadData3DParamsV2() = default;
    LoadData3DParamsV2(const uint8_t (&pads)[4], uint16_t h, uint16_t w, uint16_t channels, uint16_t k, uint16_t m,
                       uint16_t k_start, uint16_t m_start, uint8_t stride_w, uint8_t stride_h, uint8_t filter_w,
                       uint8_t filter_h, uint8_t dilation_w, uint8_t dilation_h, bool transpose, bool small_k, T pad)
        : l1H(h),
          l1W(w),
          channelSize(channels),
          kExtension(k),
          mExtension(m),
          kStartPt(k_start),
          mStartPt(m_start),
          strideW(stride_w),
          strideH(stride_h),
          filterW(filter_w),
          filterH(filter_h),
          dilationFilterW(dilation_w),
          dilationFilterH(dilation_h),
          enTranspose(transpose),
          enSmallK(small_k),
          padValue(pad) {
        for (int i = 0; i < 4; i++) padList[i] = pads[i];
    }
    LoadData3DParamsV2(const uint8_t (&pads)[4], uint16_t h, uint16_t w, uint16_t channels, uint16_t k, uint16_t m,
                       uint16_t k_start, uint16_t m_start, uint8_t stride_w, uint8_t stride_h, uint8_t filter_w,
                       uint8_t filter_h, uint8_t dilation_w, uint8_t dilation_h, bool transpose, bool small_k, T pad,
                       bool more_w, bool more_h, bool matrix)
        : LoadData3DParamsV2(pads, h, w, channels, k, m, k_start, m_start, stride_w, stride_h, filter_w, filter_h,
                             dilation_w, dilation_h, transpose, small_k, pad) {
        filterSizeW = more_w, filterSizeH = more_h, fMatrixCtrl = matrix;
    }
    uint8_t padList[4] = {0, 0, 0, 0};
    uint16_t l1H = 0, l1W = 0, channelSize = 0, kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
    uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
    bool enTranspose = false, enSmallK = false;
    T padValue = T(0);
    bool filterSizeW = false, filterSizeH = false, fMatrixCtrl = false; /* a 256 more of filterW and filterH */
};

/* Whether LoadData takes the map's size and padding from its parameters, or from what SetFmatrix and
 * SetLoadDataPaddingValue left. */
struct IsResetLoad3dConfig {
    bool isSetFMatrix = true, isSetPadding = true;
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};

enum class FmatrixMode : uint8_t { FMATRIX_LEFT, FMATRIX_RIGHT };

}  // namespace AscendC

namespace asc_cpu {

template <typename T>
inline uint32_t pad_bits_of(T value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof value < 4 ? sizeof value : 4);
    return bits;
}

template <typename T>
inline void load_3d(const AscendC::LocalTensor<T> &to, const AscendC::LocalTensor<T> &from, const Im2col &map,
                    const Im2colPart &wanted, uint32_t pad, Where w) {
    mark_cube_code<T>();
    constexpr uint32_t bits = bits_of<T>, c0 = c0_of<T>;
    need_parameter(w, map.filter_w && map.filter_h && map.stride_w && map.stride_h && map.dilation_w && map.dilation_h,
                   "LoadData", "filters, strides and dilations are not 0");
    need_parameter(w,
                   map.width + map.pad_left + map.pad_right > (map.filter_w - 1) * map.dilation_w &&
                       map.height + map.pad_top + map.pad_bottom > (map.filter_h - 1) * map.dilation_h,
                   "LoadData", "the filter is not larger than the padded map");
    Im2colPart part = wanted;
    const uint64_t rows = align_up(part.m, FRACTAL_ROWS), columns = align_up(part.k, c0);
    Operand target = writes_bytes(to, {0, bytes_of<T>(rows * columns)});
    target.align = load_align(target);
    part.by_column = target.space == Space::L0B;
    const uint64_t channels = align_up(map.channels, c0);
    const Operand source = reads_bytes(from, {0, bytes_of<T>(channels * map.height * map.width)});
    uint8_t *const t = target.base;
    const uint8_t *const s = source.base;
    need_loadable(w, source, "LoadData");
    issue(PIPE_MTE1, "LoadData", w, {target, source.loosely()}, [=] { load_im2col<bits>(t, s, map, part, pad); });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T, const IsResetLoad3dConfig &config = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U>
inline void LoadData(const LocalTensor<T> &to, const LocalTensor<T> &from, const LoadData3DParamsV2<U> &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::CubeModes &modes = asc_cpu::cube_modes();
    const bool own = config.isSetFMatrix;
    const uint8_t *const pads = own ? p.padList : modes.map_pads;
    const uint32_t filter_w = p.filterW + 256u * p.filterSizeW, filter_h = p.filterH + 256u * p.filterSizeH;
    const asc_cpu::Im2col map{own ? p.l1H : modes.map_height,
                              own ? p.l1W : modes.map_width,
                              p.channelSize,
                              pads[0],
                              pads[1],
                              pads[2],
                              pads[3],
                              p.strideW,
                              p.strideH,
                              filter_w,
                              filter_h,
                              p.dilationFilterW,
                              p.dilationFilterH};
    const uint32_t pad = config.isSetPadding ? asc_cpu::pad_bits_of(T(p.padValue)) : modes.pad_bits;
    asc_cpu::load_3d(to, from, map, {p.mStartPt, p.mExtension, p.kStartPt, p.kExtension, false, p.enTranspose}, pad, w);
}

/* Fractal by fractal; the map's channels before c1Index are not read. */
template <typename T, const IsResetLoad3dConfig &config = IS_RESER_LOAD3D_DEFAULT_CONFIG, typename U>
inline void LoadData(const LocalTensor<T> &to, const LocalTensor<T> &from, const LoadData3DParamsV1<U> &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    constexpr uint32_t c0 = asc_cpu::c0_of<T>, fractal = asc_cpu::FRACTAL_ROWS * c0;
    const uint32_t window = uint32_t(p.filterW) * p.filterH;
    asc_cpu::need_parameter(w, window > 0 && p.strideW && p.strideH, "LoadData", "filters and strides are not 0");
    uint32_t column = (p.c1Index * window + uint32_t(p.fetchFilterH) * p.filterW + p.fetchFilterW) * c0;
    asc_cpu::Im2col map{
        p.l1H,     p.l1W,     0,         p.padList[0], p.padList[1],      p.padList[2],     p.padList[3],
        p.strideW, p.strideH, p.filterW, p.filterH,    p.dilationFilterW, p.dilationFilterH};
    const int32_t x = (p.leftTopW + p.padList[0]) / p.strideW, y = (p.leftTopH + p.padList[2]) / p.strideH;
    uint32_t row = uint32_t(y) * map.out_w() + uint32_t(x);
    const uint32_t pad = config.isSetPadding ? asc_cpu::pad_bits_of(T(p.padValue)) : asc_cpu::cube_modes().pad_bits;
    for (uint32_t i = 0; i < p.repeatTime; i++) {
        map.channels = (column / c0 / window + 1) * c0;
        asc_cpu::load_3d(to[i * (p.jumpStride ? p.jumpStride : 1) * fractal], from, map,
                         {row, asc_cpu::FRACTAL_ROWS, column, c0}, pad, w);
        p.repeatMode ? row += asc_cpu::FRACTAL_ROWS : column += c0;
    }
}

inline void SetFmatrix(uint16_t height, uint16_t width, const uint8_t pads[4],
                       const FmatrixMode & = FmatrixMode::FMATRIX_LEFT) {
    asc_cpu::CubeModes &modes = asc_cpu::cube_modes();
    modes.map_height = height, modes.map_width = width;
    for (int i = 0; i < 4; i++) modes.map_pads[i] = pads[i];
}
template <typename T>
inline void SetLoadDataPaddingValue(T value) {
    asc_cpu::cube_modes().pad_bits = asc_cpu::pad_bits_of(value);
}
/* Iterations of one LoadData, repeatStride apart, by rows (repeatMode 0) or by columns (1) of the unrolled matrix. One
 * is what is simulated: where the others' results would lie no public page says. */
struct LoadDataRepeatParam {
    uint16_t repeatStride = 0;
    uint8_t repeatTime = 1;
    uint8_t repeatMode = 0;
};
inline void SetLoadDataRepeat(const LoadDataRepeatParam &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::need_parameter(w, p.repeatTime == 1 && p.repeatMode < 2, "SetLoadDataRepeat",
                            "repeatMode is 0 or 1, and only a repeatTime of 1 is simulated");
}
/* A ring of L1 that reads wrap in; 0, which is none, is what is simulated. */
inline void SetLoadDataBoundary(uint32_t bytes, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::need_parameter(w, bytes == 0, "SetLoadDataBoundary", "only 0, no boundary, is simulated");
}

}  // namespace AscendC
