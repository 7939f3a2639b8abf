/* Select with masks of its own, and Compare whose result stays in the core's compare mask. */
#pragma once

#include "vector_compare.h"

namespace asc_cpu {

/* to[i] = condition(repeat, lane) ? left : right, for the lanes of each repeat. */
template <typename T, typename C, typename R>
inline void select_repeats(Where w, const LocalTensor<T> &to, const Operand &mask, const LocalTensor<T> &left,
                           const Operand &right, const Lanes &lanes, const AscendC::BinaryRepeatParams &p, C condition,
                           R other) {
    const Stride into{p.dstBlkStride, p.dstRepStride}, from{p.src0BlkStride, p.src0RepStride};
    const std::vector<Run> written = lanes.runs(into, bits_of<T>), read = lanes.runs(from, bits_of<T>);
    T *y = to.data();
    const T *a = left.data();
    issue(PIPE_V, "Select", w, {to.writes_runs(written), mask, left.reads_runs(read), right}, [=] {
        lanes.each([&](int32_t r, uint32_t k) {
            y[Lanes::at(r, k, into, bits_of<T>)] = condition(r, k) ? a[Lanes::at(r, k, from, bits_of<T>)] : other(r, k);
        });
    });
}

/* The bit of a lane: of the compare mask's words, which every repeat takes, or of consecutive ones. */
struct MaskBits {
    const uint8_t *bits;
    uint32_t per_repeat;
    bool same;
    bool operator()(int32_t r, uint32_t k) const {
        return bit_at(bits, same ? int64_t(k) : int64_t(r) * per_repeat + k);
    }
};
/* An operand that nothing of is read. */
inline Operand nothing(const Operand &like) {
    Operand none = like;
    none.run.bytes = 0;
    none.n_more = 0;
    return none;
}

}  // namespace asc_cpu

namespace AscendC {

#define ASC_SELECT(Mask, is_set)                                                                                    \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,        \
                       const LocalTensor<T> &src1, SELMODE mode, Mask, uint8_t repeatTimes,                         \
                       const BinaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {                    \
        asc_cpu::at(w);                                                                                             \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "Select");                       \
        const asc_cpu::Stride right{p.src1BlkStride, p.src1RepStride};                                              \
        const std::vector<asc_cpu::Run> read = lanes.runs(right, asc_cpu::bits_of<T>);                              \
        const bool same = mode == SELMODE::VSEL_CMPMASK_SPR;                                                        \
        const uint64_t n = lanes.per_repeat(), bytes = same ? n / 8 : uint64_t(lanes.repeats()) * n / 8;            \
        const T *b = src1.data();                                                                                   \
        asc_cpu::select_repeats(w, dst, selMask.reads(bytes / sizeof(U)), src0, src1.reads_runs(read), lanes, p,    \
                                asc_cpu::MaskBits{selMask.bytes(), uint32_t(n), same}, [=](int32_t r, uint32_t k) { \
                                    return b[asc_cpu::Lanes::at(r, k, right, asc_cpu::bits_of<T>)];                 \
                                });                                                                                 \
    }                                                                                                               \
    template <typename T, typename U, bool isSetMask = true>                                                        \
    inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask, const LocalTensor<T> &src0,        \
                       const asc_cpu::Same<T> scalar, SELMODE mode, Mask, uint8_t repeatTimes,                      \
                       const BinaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {                    \
        asc_cpu::at(w);                                                                                             \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "Select");                       \
        const bool same = mode == SELMODE::VSEL_CMPMASK_SPR;                                                        \
        const uint64_t n = lanes.per_repeat(), bytes = same ? n / 8 : uint64_t(lanes.repeats()) * n / 8;            \
        const T b = scalar;                                                                                         \
        asc_cpu::select_repeats(w, dst, selMask.reads(bytes / sizeof(U)), src0, asc_cpu::nothing(src0.reads(0)),    \
                                lanes, p, asc_cpu::MaskBits{selMask.bytes(), uint32_t(n), same},                    \
                                [b](int32_t, uint32_t) { return b; });                                              \
    }                                                                                                               \
    template <typename T, bool isSetMask = true>                                                                    \
    inline void Compare(const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode, Mask,                 \
                        const BinaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {                   \
        asc_cpu::at(w);                                                                                             \
        const asc_cpu::Lanes lanes(mask, is_set, 1, asc_cpu::bits_of<T>, "Compare");                                \
        const asc_cpu::Stride left{p.src0BlkStride, p.src0RepStride}, right{p.src1BlkStride, p.src1RepStride};      \
        const std::vector<asc_cpu::Run> first = lanes.runs(left, asc_cpu::bits_of<T>),                              \
                                        second = lanes.runs(right, asc_cpu::bits_of<T>);                            \
        const T *a = src0.data(), *b = src1.data();                                                                 \
        uint8_t *bits = reinterpret_cast<uint8_t *>(asc_cpu::core().compare_mask);                                  \
        asc_cpu::issue(PIPE_V, "Compare", w, {src0.reads_runs(first), src1.reads_runs(second)}, [=] {               \
            lanes.each([&](int32_t r, uint32_t k) {                                                                 \
                asc_cpu::set_bit(                                                                                   \
                    bits, int64_t(k),                                                                               \
                    asc_cpu::compares(asc_cpu::Compute<T>(a[asc_cpu::Lanes::at(r, k, left, asc_cpu::bits_of<T>)]),  \
                                      asc_cpu::Compute<T>(b[asc_cpu::Lanes::at(r, k, right, asc_cpu::bits_of<T>)]), \
                                      mode));                                                                       \
            });                                                                                                     \
        });                                                                                                         \
    }
ASC_SELECT(const uint64_t mask, isSetMask &&mask != MASK_PLACEHOLDER)
ASC_SELECT(const uint64_t mask[], isSetMask)
#undef ASC_SELECT

/* By the compare mask. */
template <typename T, SELMODE mode = SELMODE::VSEL_CMPMASK_SPR>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1,
                   uint8_t repeatTimes, const BinaryRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    const asc_cpu::Lanes lanes(MASK_PLACEHOLDER, false, repeatTimes, asc_cpu::bits_of<T>, "Select");
    const asc_cpu::Stride right{p.src1BlkStride, p.src1RepStride};
    const std::vector<asc_cpu::Run> read = lanes.runs(right, asc_cpu::bits_of<T>);
    const T *b = src1.data();
    const uint8_t *bits = reinterpret_cast<const uint8_t *>(asc_cpu::core().compare_mask);
    asc_cpu::select_repeats(w, dst, asc_cpu::nothing(src0.reads(0)), src0, src1.reads_runs(read), lanes, p,
                            asc_cpu::MaskBits{bits, lanes.per_repeat(), true}, [=](int32_t r, uint32_t k) {
                                return b[asc_cpu::Lanes::at(r, k, right, asc_cpu::bits_of<T>)];
                            });
}

/* The compare mask from a tensor of 16 bytes, and back. */
template <typename T>
inline void SetCmpMask(const LocalTensor<T> &src, asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint8_t *x = src.bytes();
    void *mask = asc_cpu::core().compare_mask;
    asc_cpu::issue(PIPE_V, "SetCmpMask", w, {src.reads(16 / sizeof(T))}, [=] { std::memcpy(mask, x, 16); });
}
template <typename T>
inline void GetCmpMask(const LocalTensor<T> &dst, asc_cpu::Where w = asc_cpu::Where::here()) {
    uint8_t *y = dst.bytes();
    const void *mask = asc_cpu::core().compare_mask;
    asc_cpu::issue(PIPE_V, "GetCmpMask", w, {dst.writes(16 / sizeof(T))}, [=] { std::memcpy(y, mask, 16); });
}

}  // namespace AscendC

namespace AscendC {

/* Axes of SelectWithBytesMask: rows, and elements of a row in the source and in the mask. */
struct SelectWithBytesMaskShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};

}  // namespace AscendC

namespace asc_cpu {

/* dst = mask ? chosen : other, of which one is a number; the mask has a byte or more to an element. */
template <typename T, typename M>
inline void select_bytes(Where w, const LocalTensor<T> &dst, const LocalTensor<T> &src, T number, bool number_at_zero,
                         const LocalTensor<M> &mask, const LocalTensor<uint8_t> &scratch,
                         const AscendC::SelectWithBytesMaskShapeInfo &info) {
    const uint64_t rows = info.firstAxis, n = info.srcLastAxis, step = info.maskLastAxis;
    T *y = dst.data();
    const T *x = src.data();
    const M *m = mask.data();
    issue(PIPE_V, "SelectWithBytesMask", w,
          {dst.writes(rows * n), src.reads(rows * n), mask.reads(rows * step),
           scratch.there() ? scratch.writes(scratch.GetSize()) : nothing(dst.reads(0))},
          [=] {
              for (uint64_t i = 0; i < rows; i++)
                  for (uint64_t k = 0; k < n; k++)
                      y[i * n + k] = (m[i * step + k] == M(0)) == number_at_zero ? number : x[i * n + k];
          });
}

}  // namespace asc_cpu

namespace AscendC {

/* src0 where the mask is 0, src1 elsewhere. */
template <typename T, typename U, bool reuseMask = true>
inline void SelectWithBytesMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, asc_cpu::Same<T> src1,
                                const LocalTensor<U> &mask, const LocalTensor<uint8_t> &sharedTmpBuffer,
                                const SelectWithBytesMaskShapeInfo &info, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::select_bytes(w, dst, src0, src1, false, mask, sharedTmpBuffer, info);
}
template <typename T, typename U, bool reuseMask = true>
inline void SelectWithBytesMask(const LocalTensor<T> &dst, asc_cpu::Same<T> src0, const LocalTensor<T> &src1,
                                const LocalTensor<U> &mask, const LocalTensor<uint8_t> &sharedTmpBuffer,
                                const SelectWithBytesMaskShapeInfo &info, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::select_bytes(w, dst, src1, src0, true, mask, sharedTmpBuffer, info);
}

}  // namespace AscendC
