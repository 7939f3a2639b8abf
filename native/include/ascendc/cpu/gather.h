/* Gather, Scatter, GatherMask and transposition within the unified buffer. Offsets are in bytes. */
#pragma once

#include "vector_reduce.h"

namespace asc_cpu {

template <typename T>
inline void offset_inside(const char *name, const LocalTensor<T> &from, uint64_t offset) {
    if constexpr (CHECKED) {
        if (offset % sizeof(T))
            fail_with("ErrorRead4", "offsets are in bytes", "%s: an offset of %llu bytes, which is no element", name,
                      (unsigned long long)offset);
        if (offset + sizeof(T) > from.GetLength())
            fail_with("ErrorRead3", "offsets are in bytes from the tensor's begin",
                      "%s: an offset of %llu bytes in a tensor of %u bytes", name, (unsigned long long)offset,
                      from.GetLength());
    }
}
/* What a tensor of offsets holds; they must be there to be checked, so that its writers take effect now. */
template <typename O>
inline const O *offsets_now(const LocalTensor<O> &offsets) {
    if constexpr (CHECKED) {
        Core &c = core();
        Memory &m = c.in(offsets.space());
        const uint8_t *base = m.data();
        for (uint64_t b = uint64_t(offsets.bytes() - base) / BLOCK, end = b + (offsets.GetLength() + BLOCK - 1) / BLOCK;
             b < end && b < m.writer.size(); b++) {
            const Issued &w = c.log[m.writer[size_t(b)]];
            if (c.before(1)[w.pipe] >= w.number || w.pipe == 1) c.force(w.pipe, w.number);
        }
    }
    return offsets.data();
}
/* Those of the lanes that take part, unless the results have taken their place. */
template <typename T>
inline void offsets_inside(const char *name, const LocalTensor<T> &to, const LocalTensor<T> &from,
                           const LocalTensor<uint32_t> &offsets, uint32_t base, const Lanes &lanes) {
    if constexpr (CHECKED) {
        const uint32_t *const now = offsets_now(offsets);
        if (offsets.bytes() == to.bytes()) return;
        lanes.each([&](int32_t r, uint32_t k) {
            const uint64_t i = uint64_t(r) * lanes.per_repeat() + k;
            if (i < offsets.GetSize()) offset_inside(name, from, uint64_t(now[i]) + base);
        });
    }
}

}  // namespace asc_cpu

namespace AscendC {

/* dst[i] = the element at base + offsets[i] bytes of src */
template <typename T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset,
                   const uint32_t srcBaseAddr, const uint32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    T *y = dst.data();
    const uint8_t *x = src.bytes();
    const uint32_t *at = srcOffset.data();
    const uint64_t most = src.GetLength();
    asc_cpu::issue(PIPE_V, "Gather", w, {dst.writes(count), srcOffset.reads(count), src.reads(src.GetSize()).loosely()},
                   [=] {
                       for (uint32_t i = 0; i < count; i++) {
                           const uint64_t place = uint64_t(at[i]) + srcBaseAddr;
                           if (place + sizeof(T) <= most) std::memcpy(&y[i], x + place, sizeof(T));
                       }
                   });
    if constexpr (asc_cpu::CHECKED) {
        const uint32_t *now = asc_cpu::offsets_now(srcOffset);
        for (uint32_t i = 0; i < count; i++) {
            if (reinterpret_cast<const uint8_t *>(now) == reinterpret_cast<const uint8_t *>(y)) break;
            asc_cpu::offset_inside("Gather", src, uint64_t(now[i]) + srcBaseAddr);
        }
    }
}
#define ASC_GATHER(Mask, is_set)                                                                                     \
    template <typename T>                                                                                            \
    inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, \
                       const uint32_t srcBaseAddr, Mask, const uint8_t repeatTimes, const uint16_t dstRepStride,     \
                       asc_cpu::Where w = asc_cpu::Where::here()) {                                                  \
        T *y = dst.data();                                                                                           \
        const uint8_t *x = src.bytes();                                                                              \
        const uint32_t *at = srcOffset.data();                                                                       \
        const uint64_t most = src.GetLength();                                                                       \
        const asc_cpu::Stride to{1, dstRepStride};                                                                   \
        asc_cpu::at(w);                                                                                              \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "Gather");                        \
        const std::vector<asc_cpu::Run> written = lanes.runs(to, asc_cpu::bits_of<T>);                               \
        const uint64_t n = uint64_t(lanes.repeats()) * lanes.per_repeat();                                           \
        asc_cpu::issue_lanes(                                                                                        \
            PIPE_V, "Gather", w,                                                                                     \
            {dst.writes_runs(written), srcOffset.reads(n < srcOffset.GetSize() ? n : srcOffset.GetSize()),           \
             src.reads(src.GetSize()).loosely()},                                                                    \
            [=] {                                                                                                    \
                lanes.each([&](int32_t r, uint32_t k) {                                                              \
                    const uint64_t place = uint64_t(at[uint32_t(r) * lanes.per_repeat() + k]) + srcBaseAddr;         \
                    if (place + sizeof(T) <= most)                                                                   \
                        std::memcpy(&y[asc_cpu::Lanes::at(r, k, to, asc_cpu::bits_of<T>)], x + place, sizeof(T));    \
                });                                                                                                  \
            });                                                                                                      \
        asc_cpu::offsets_inside("Gather", dst, src, srcOffset, srcBaseAddr, lanes);                                  \
    }
ASC_GATHER(const uint64_t mask, mask != MASK_PLACEHOLDER)
ASC_GATHER(const uint64_t mask[], true)
#undef ASC_GATHER

/* Whole blocks of 32 bytes at offsets[i] bytes, eight to a repeat. */
template <typename T>
inline void Gatherb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offset,
                    const uint8_t repeatTimes, const GatherRepeatParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    uint8_t *y = dst.bytes();
    const uint8_t *x = src.bytes();
    const uint32_t *at = offset.data();
    const uint64_t most = src.GetLength();
    std::vector<asc_cpu::Run> written;
    for (uint32_t b = 0; b < 8; b++)
        written.push_back({int64_t(b) * p.dstBlkStride * 32, 32, repeatTimes, int64_t(p.dstRepStride) * 32});
    asc_cpu::issue(
        PIPE_V, "Gatherb", w,
        {dst.writes_runs(written), offset.reads(uint64_t(repeatTimes) * 8), src.reads(src.GetSize()).loosely()}, [=] {
            for (uint32_t r = 0; r < repeatTimes; r++)
                for (uint32_t b = 0; b < 8; b++) {
                    const uint64_t place = at[r * 8 + b];
                    if (place + 32 <= most)
                        std::memcpy(y + (r * p.dstRepStride + b * p.dstBlkStride) * 32, x + place, 32);
                }
        });
}

/* The element at base + offsets[i] bytes of dst = src[i] */
template <typename T>
inline void Scatter(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &dstOffset,
                    const uint32_t dstBaseAddr, const uint32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    uint8_t *y = dst.bytes();
    const T *x = src.data();
    const uint32_t *at = dstOffset.data();
    const uint64_t most = dst.GetLength();
    asc_cpu::issue(PIPE_V, "Scatter", w, {dst.writes(dst.GetSize()), src.reads(count), dstOffset.reads(count)}, [=] {
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t place = uint64_t(at[i]) + dstBaseAddr;
            if (place + sizeof(T) <= most) std::memcpy(y + place, &x[i], sizeof(T));
        }
    });
}

}  // namespace AscendC

namespace asc_cpu {

/* The patterns of GatherMask by number: of each two, of each four, all. */
inline bool pattern_has(uint8_t pattern, uint64_t i) {
    switch (pattern) {
        case 1: return i % 2 == 0;
        case 2: return i % 2 == 1;
        case 3:
        case 4:
        case 5:
        case 6: return i % 4 == uint64_t(pattern - 3);
        default: return true;
    }
}
template <typename T, typename F>
inline void gather_mask(Where w, const LocalTensor<T> &dst, const LocalTensor<T> &src, const Operand &mask,
                        uint32_t elements, bool counter, const AscendC::GatherMaskParams &p, uint64_t &count, F has) {
    const uint32_t per_repeat = 256 / sizeof(T), block = 32 / sizeof(T);
    const uint32_t n = counter ? elements : per_repeat, repeats = p.repeatTimes;
    std::vector<Run> read;
    if (p.src0BlockStride == 1) {
        read.push_back({0, n * sizeof(T), repeats, int64_t(p.src0RepeatStride) * 32});
    } else {
        for (uint32_t b = 0; b * block < n; b++)
            read.push_back({int64_t(b) * p.src0BlockStride * 32,
                            std::uint64_t((n - b * block < block ? n - b * block : block) * sizeof(T)), repeats,
                            int64_t(p.src0RepeatStride) * 32});
    }
    T *y = dst.data();
    const T *x = src.data();
    /* How many there are is a result that the scalar unit has at once: what the mask depends on takes effect now. */
    uint64_t most = 0;
    if constexpr (CHECKED) {
        Core &c = core();
        if (mask.base) {
            const uint32_t pipe = 1;
            c.force(pipe, c.issued[pipe]);
            c.catch_up(c.before(pipe));
        }
    }
    for (uint32_t r = 0; r < repeats; r++)
        for (uint32_t k = 0; k < n; k++) most += has(r, k);
    count = most;
    const auto work = [=] {
        uint64_t at = 0;
        for (uint32_t r = 0; r < repeats; r++)
            for (uint32_t k = 0; k < n; k++)
                if (has(r, k))
                    y[at++] = x[(uint64_t(r) * p.src0RepeatStride + uint64_t(k / block) * p.src0BlockStride) * block +
                                k % block];
    };
    if (mask.base)
        issue_lanes(PIPE_V, "GatherMask", w, {dst.writes(most), src.reads_runs(read), mask}, work);
    else
        issue_lanes(PIPE_V, "GatherMask", w, {dst.writes(most), src.reads_runs(read)}, work);
}

}  // namespace asc_cpu

namespace AscendC {

enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };
constexpr GatherMaskMode defaultGahterMaskMode = GatherMaskMode::VERSION_V2;
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;

/* The elements of a built-in pattern, one behind the other; rsvdCnt is their number. In reduceMode `mask` elements of
 * each repeat are looked at. */
template <typename T, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const uint8_t src1Pattern,
                       const bool reduceMode, const uint32_t mask, const GatherMaskParams &p, uint64_t &rsvdCnt,
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::Operand none{};
    asc_cpu::gather_mask(w, dst, src0, none, mask, reduceMode, p, rsvdCnt,
                         [=](uint32_t, uint32_t k) { return asc_cpu::pattern_has(src1Pattern, k); });
}
/* The same where a bit is set, the lowest first. */
template <typename T, typename U, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<U> &src1Pattern,
                       const bool reduceMode, const uint32_t mask, const GatherMaskParams &p, uint64_t &rsvdCnt,
                       asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint32_t n = reduceMode ? mask : 256 / uint32_t(sizeof(T));
    const uint8_t *bits = src1Pattern.bytes();
    const uint64_t step = uint64_t(p.src1RepeatStride) * 32,
                   bytes = step * (p.repeatTimes ? p.repeatTimes - 1 : 0) + (n + 7) / 8;
    const uint64_t words = (bytes + sizeof(U) - 1) / sizeof(U);
    asc_cpu::gather_mask(w, dst, src0, src1Pattern.reads(words < src1Pattern.GetSize() ? words : src1Pattern.GetSize()),
                         mask, reduceMode, p, rsvdCnt,
                         [=](uint32_t r, uint32_t k) { return asc_cpu::bit_at(bits + r * step, k); });
}
template <typename T>
inline uint64_t GetGatherMaskRemainCount();

enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW
};
struct TransposeParamsExt {
    uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

/* A matrix of 16 by 16 elements of two bytes. */
template <typename T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, asc_cpu::Where w = asc_cpu::Where::here()) {
    T *y = dst.data();
    const T *x = src.data();
    asc_cpu::issue(PIPE_V, "Transpose", w, {dst.writes(256), src.reads(256)}, [=] {
        T copy[256];
        std::memcpy(copy, x, sizeof copy);
        for (uint32_t i = 0; i < 256; i++) y[i % 16 * 16 + i / 16] = copy[i];
    });
}
/* [N,C,H,W] to [N,H,W,C], back, or 16 by 16. */
template <typename T>
inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &,
                      const TransposeParamsExt &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    if (p.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) return Transpose(dst, src, w);
    if (p.transposeType != TransposeType::TRANSPOSE_NCHW2NHWC && p.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW)
        asc_cpu::fail("ErrorParam", "Transpose: this transposeType is not among those of this header");
    const bool last = p.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
    const uint32_t images = p.nSize, c = p.cSize, area = uint32_t(p.hSize) * p.wSize;
    T *y = dst.data();
    const T *x = src.data();
    const uint64_t n = uint64_t(images) * c * area;
    asc_cpu::issue(PIPE_V, "Transpose", w, {dst.writes(n), src.reads(n)}, [=] {
        const std::vector<T> copy(x, x + n);
        for (uint64_t i = 0; i < images; i++)
            for (uint64_t k = 0; k < c; k++)
                for (uint64_t a = 0; a < area; a++) {
                    const uint64_t chw = (i * c + k) * area + a, hwc = (i * area + a) * c + k;
                    y[last ? hwc : chw] = copy[size_t(last ? chw : hwc)];
                }
    });
}

struct TransDataTo5HDParams {
    bool dstHighHalf = false, srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0, srcRepStride = 0;
    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dst, bool src, uint8_t repeats, uint16_t dstStride, uint16_t srcStride)
        : dstHighHalf(dst), srcHighHalf(src), repeatTimes(repeats), dstRepStride(dstStride), srcRepStride(srcStride) {}
};
constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
}  // namespace AscendC

namespace asc_cpu {
/* Sixteen blocks of source to sixteen of destination, element j of block i to element i of block j. Four-byte elements:
 * two destination blocks take a row of sixteen. One-byte ones: half of a block each. */
template <typename T>
inline void transpose_blocks(Where w, uint8_t *const *to, uint8_t *const *from, Space space,
                             const AscendC::TransDataTo5HDParams &p) {
    std::array<uint8_t *, 16> y, x;
    for (uint32_t i = 0; i < 16; i++) y[i] = to[i], x[i] = from[i];
    const auto operand = [&](uint8_t *base, bool write, uint32_t step) {
        return Operand{space,
                       write,
                       bits_of<T>,
                       BLOCK,
                       nullptr,
                       base,
                       uint64_t(core().in(space).data() + core().in(space).size() - base),
                       {0, 32, p.repeatTimes, int64_t(step) * 32}};
    };
    std::vector<Operand> all;
    for (uint32_t i = 0; i < 16; i++) all.push_back(operand(x[i], false, p.srcRepStride));
    for (uint32_t i = 0; i < 16; i++) all.push_back(operand(y[i], true, p.dstRepStride));
    const auto work = [=] {
        for (uint32_t r = 0; r < p.repeatTimes; r++) {
            const uint64_t a = uint64_t(r) * p.srcRepStride * 32, b = uint64_t(r) * p.dstRepStride * 32;
            if constexpr (sizeof(T) == 4) {
                T block[16][8];
                for (uint32_t i = 0; i < 16; i++) std::memcpy(block[i], x[i] + a, 32);
                for (uint32_t j = 0; j < 8; j++)
                    for (uint32_t i = 0; i < 16; i++) std::memcpy(y[2 * j + i / 8] + b + i % 8 * 4, &block[i][j], 4);
            } else if constexpr (sizeof(T) == 2) {
                T block[16][16];
                for (uint32_t i = 0; i < 16; i++) std::memcpy(block[i], x[i] + a, 32);
                for (uint32_t j = 0; j < 16; j++)
                    for (uint32_t i = 0; i < 16; i++) std::memcpy(y[j] + b + i * 2, &block[i][j], 2);
            } else {
                uint8_t block[16][32];
                for (uint32_t i = 0; i < 16; i++) std::memcpy(block[i], x[i] + a, 32);
                for (uint32_t j = 0; j < 16; j++)
                    for (uint32_t i = 0; i < 16; i++)
                        y[j][b + i + (p.dstHighHalf ? 16 : 0)] = block[i][j + (p.srcHighHalf ? 16 : 0)];
            }
        }
    };
    if constexpr (CHECKED)
        later(PIPE_V, check(PIPE_V, "TransDataTo5HD", w, all.data(), all.size(), true), work);
    else
        work();
}
}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void TransDataTo5HD(const LocalTensor<T> (&dstList)[16], const LocalTensor<T> (&srcList)[16],
                           const TransDataTo5HDParams &p, asc_cpu::Where w = asc_cpu::Where::here()) {
    uint8_t *to[16], *from[16];
    for (uint32_t i = 0; i < 16; i++) to[i] = dstList[i].bytes(), from[i] = srcList[i].bytes();
    asc_cpu::transpose_blocks<T>(w, to, from, dstList[0].space(), p);
}
template <typename T>
inline void TransDataTo5HD(uint64_t dstList[16], uint64_t srcList[16], const TransDataTo5HDParams &p,
                           asc_cpu::Where w = asc_cpu::Where::here()) {
    uint8_t *to[16], *from[16];
    for (uint32_t i = 0; i < 16; i++)
        to[i] = reinterpret_cast<uint8_t *>(uintptr_t(dstList[i])),
        from[i] = reinterpret_cast<uint8_t *>(uintptr_t(srcList[i]));
    asc_cpu::transpose_blocks<T>(w, to, from, asc_cpu::Space::UB, p);
}

}  // namespace AscendC
