/* Loads and stores of registers, and moves within them. Addresses are of the unified buffer. */
#pragma once

#include "register.h"

namespace AscendC::MicroAPI {

enum class LoadDist : uint8_t {
    DIST_NORM,
    DIST_BRC_B8,
    DIST_BRC_B16,
    DIST_BRC_B32,
    DIST_US_B8,
    DIST_US_B16,
    DIST_DS_B8,
    DIST_DS_B16,
    DIST_UNPACK_B8,
    DIST_UNPACK_B16,
    DIST_UNPACK_B32,
    DIST_BLK,
    DIST_E2B_B16,
    DIST_E2B_B32,
    DIST_UNPACK4_B8,
    DIST_DINTLV_B8,
    DIST_DINTLV_B16,
    DIST_DINTLV_B32
};
enum class StoreDist : uint8_t {
    DIST_NORM,
    DIST_NORM_B8,
    DIST_NORM_B16,
    DIST_NORM_B32,
    DIST_FIRST_ELEMENT_B8,
    DIST_FIRST_ELEMENT_B16,
    DIST_FIRST_ELEMENT_B32,
    DIST_PACK_B16,
    DIST_PACK_B32,
    DIST_PACK_B64,
    DIST_PACK4_B32,
    DIST_INTLV_B8,
    DIST_INTLV_B16,
    DIST_INTLV_B32
};
enum class PostLiteral : uint8_t { POST_MODE_NORMAL, POST_MODE_UPDATE };
struct UnalignReg {};
using UnalignRegForLoad = UnalignReg;
using UnalignRegForStore = UnalignReg;

}  // namespace AscendC::MicroAPI

namespace asc_cpu::registers {

using AscendC::MicroAPI::LoadDist;
using AscendC::MicroAPI::RegTensor;
using AscendC::MicroAPI::StoreDist;

/* Bytes from an address: each of `size` bytes, `times` of them over, widened to `lane` bytes with zeros. */
inline void spread(uint8_t *to, const uint8_t *from, uint32_t size, uint32_t times, uint32_t lane) {
    std::memset(to, 0, 256);
    for (uint32_t at = 0, i = 0; at < 256; at += lane, i++) std::memcpy(to + at, from + i / times * size, size);
}
inline void load(uint8_t *to, const uint8_t *from, LoadDist dist) {
    switch (dist) {
        case LoadDist::DIST_NORM: std::memcpy(to, from, 256); return;
        case LoadDist::DIST_BRC_B8: return spread(to, from, 1, 256, 1);
        case LoadDist::DIST_BRC_B16: return spread(to, from, 2, 128, 2);
        case LoadDist::DIST_BRC_B32: return spread(to, from, 4, 64, 4);
        case LoadDist::DIST_US_B8: return spread(to, from, 1, 2, 1);
        case LoadDist::DIST_US_B16: return spread(to, from, 2, 2, 2);
        case LoadDist::DIST_UNPACK_B8: return spread(to, from, 1, 1, 2);
        case LoadDist::DIST_UNPACK_B16: return spread(to, from, 2, 1, 4);
        case LoadDist::DIST_UNPACK_B32: return spread(to, from, 4, 1, 8);
        case LoadDist::DIST_UNPACK4_B8: return spread(to, from, 1, 1, 4);
        case LoadDist::DIST_BLK: return spread(to, from, 32, 8, 32);
        case LoadDist::DIST_E2B_B16: return spread(to, from, 2, 16, 2);
        case LoadDist::DIST_E2B_B32: return spread(to, from, 4, 8, 4);
        case LoadDist::DIST_DS_B8:
            for (uint32_t i = 0; i < 256; i++) to[i] = from[2 * i];
            return;
        case LoadDist::DIST_DS_B16:
            for (uint32_t i = 0; i < 128; i++) std::memcpy(to + 2 * i, from + 4 * i, 2);
            return;
        default: fail("ErrorParam", "DataCopy: this LoadDist fills two registers");
    }
}
inline uint32_t unit_of(LoadDist dist) {
    return dist == LoadDist::DIST_DINTLV_B8 ? 1 : dist == LoadDist::DIST_DINTLV_B16 ? 2 : 4;
}
/* Of each `lane` bytes that the mask names, the first `size`, one behind the other. */
inline void store(uint8_t *to, const uint8_t *from, const MaskReg &mask, uint32_t lane, uint32_t size) {
    for (uint32_t at = 0, i = 0; at < 256; at += lane, i++)
        if (mask.at(at)) std::memcpy(to + i * size, from + at, size);
}
inline void store(uint8_t *to, const uint8_t *from, const MaskReg &mask, StoreDist dist, uint32_t element) {
    switch (dist) {
        case StoreDist::DIST_NORM: return store(to, from, mask, element, element);
        case StoreDist::DIST_NORM_B8: return store(to, from, mask, 1, 1);
        case StoreDist::DIST_NORM_B16: return store(to, from, mask, 2, 2);
        case StoreDist::DIST_NORM_B32: return store(to, from, mask, 4, 4);
        case StoreDist::DIST_FIRST_ELEMENT_B8: std::memcpy(to, from, 1); return;
        case StoreDist::DIST_FIRST_ELEMENT_B16: std::memcpy(to, from, 2); return;
        case StoreDist::DIST_FIRST_ELEMENT_B32: std::memcpy(to, from, 4); return;
        case StoreDist::DIST_PACK_B16: return store(to, from, mask, 2, 1);
        case StoreDist::DIST_PACK_B32: return store(to, from, mask, 4, 2);
        case StoreDist::DIST_PACK_B64: return store(to, from, mask, 8, 4);
        case StoreDist::DIST_PACK4_B32: return store(to, from, mask, 4, 1);
        default: fail("ErrorParam", "DataCopy: this StoreDist takes two registers");
    }
}
template <typename T>
inline uint8_t *bytes(RegTensor<T> &r) {
    return reinterpret_cast<uint8_t *>(r.lane);
}
template <typename T>
inline const uint8_t *bytes(const RegTensor<T> &r) {
    return reinterpret_cast<const uint8_t *>(r.lane);
}

}  // namespace asc_cpu::registers

namespace AscendC::MicroAPI {

template <typename T, LoadDist dist = LoadDist::DIST_NORM>
inline void DataCopy(RegTensor<T> &dst, const asc_cpu::Same<T> *address) {
    asc_cpu::registers::load(asc_cpu::registers::bytes(dst), reinterpret_cast<const uint8_t *>(address), dist);
}
/* The address is `step` elements further then. */
template <typename T, PostLiteral post, LoadDist dist = LoadDist::DIST_NORM>
inline void DataCopy(RegTensor<T> &dst, asc_cpu::Same<T> *&address, int32_t step) {
    DataCopy<T, dist>(dst, post == PostLiteral::POST_MODE_UPDATE ? address : address + step);
    if (post == PostLiteral::POST_MODE_UPDATE) address += step;
}
/* Elements in turn to two registers. */
template <typename T, LoadDist dist>
inline void DataCopy(RegTensor<T> &dst0, RegTensor<T> &dst1, const asc_cpu::Same<T> *address) {
    const uint32_t unit = asc_cpu::registers::unit_of(dist);
    const auto *from = reinterpret_cast<const uint8_t *>(address);
    for (uint32_t at = 0; at < 256; at += unit) {
        std::memcpy(asc_cpu::registers::bytes(dst0) + at, from + 2 * at, unit);
        std::memcpy(asc_cpu::registers::bytes(dst1) + at, from + 2 * at + unit, unit);
    }
}
template <typename T, StoreDist dist = StoreDist::DIST_NORM>
inline void DataCopy(asc_cpu::Same<T> *address, const RegTensor<T> &src, const MaskReg &mask) {
    asc_cpu::registers::store(reinterpret_cast<uint8_t *>(address), asc_cpu::registers::bytes(src), mask, dist,
                              sizeof(T));
}
template <typename T, PostLiteral post, StoreDist dist = StoreDist::DIST_NORM>
inline void DataCopy(asc_cpu::Same<T> *&address, const RegTensor<T> &src, int32_t step, const MaskReg &mask) {
    DataCopy<T, dist>(post == PostLiteral::POST_MODE_UPDATE ? address : address + step, src, mask);
    if (post == PostLiteral::POST_MODE_UPDATE) address += step;
}
template <typename T, StoreDist dist>
inline void DataCopy(asc_cpu::Same<T> *address, const RegTensor<T> &src0, const RegTensor<T> &src1,
                     const MaskReg &mask) {
    auto *to = reinterpret_cast<uint8_t *>(address);
    const uint32_t unit = dist == StoreDist::DIST_INTLV_B8 ? 1 : dist == StoreDist::DIST_INTLV_B16 ? 2 : 4;
    for (uint32_t at = 0; at < 256; at += unit) {
        if (!mask.at(at)) continue;
        std::memcpy(to + 2 * at, asc_cpu::registers::bytes(src0) + at, unit);
        std::memcpy(to + 2 * at + unit, asc_cpu::registers::bytes(src1) + at, unit);
    }
}
/* The same by the names of later versions. */
template <typename T, LoadDist dist = LoadDist::DIST_NORM>
inline void LoadAlign(RegTensor<T> &dst, const asc_cpu::Same<T> *address) {
    DataCopy<T, dist>(dst, address);
}
template <typename T, StoreDist dist = StoreDist::DIST_NORM>
inline void StoreAlign(asc_cpu::Same<T> *address, const RegTensor<T> &src, const MaskReg &mask) {
    DataCopy<T, dist>(address, src, mask);
}

/* Addresses of any element; they go on by as many as are moved. */
template <typename T>
inline void DataCopyUnAlignPre(UnalignReg &, const T *) {}
template <typename T, PostLiteral post = PostLiteral::POST_MODE_UPDATE>
inline void DataCopyUnAlign(RegTensor<T> &dst, UnalignReg &, asc_cpu::Same<T> *&address,
                            uint32_t step = RegTensor<T>::LANES) {
    std::memcpy(dst.lane, address, 256);
    if (post == PostLiteral::POST_MODE_UPDATE) address += step;
}
template <typename T, PostLiteral post = PostLiteral::POST_MODE_UPDATE>
inline void DataCopyUnAlign(asc_cpu::Same<T> *&address, const RegTensor<T> &src, UnalignReg &, uint32_t n) {
    std::memcpy(address, src.lane, std::min<size_t>(n * sizeof(T), 256));
    if (post == PostLiteral::POST_MODE_UPDATE) address += n;
}
template <typename T, typename... Rest>
inline void DataCopyUnAlignPost(T *&, UnalignReg &, Rest...) {}

template <typename T>
inline void Interleave(RegTensor<T> &dst0, RegTensor<T> &dst1, const RegTensor<T> &src0, const RegTensor<T> &src1) {
    const RegTensor<T> a = src0, b = src1;
    constexpr uint32_t n = RegTensor<T>::LANES;
    for (uint32_t i = 0; i < 2 * n; i++) (i < n ? dst0 : dst1).lane[i % n] = i % 2 ? b.lane[i / 2] : a.lane[i / 2];
}
template <typename T>
inline void DeInterleave(RegTensor<T> &dst0, RegTensor<T> &dst1, const RegTensor<T> &src0, const RegTensor<T> &src1) {
    const RegTensor<T> a = src0, b = src1;
    constexpr uint32_t n = RegTensor<T>::LANES;
    for (uint32_t i = 0; i < 2 * n; i++) (i % 2 ? dst1 : dst0).lane[i / 2] = i < n ? a.lane[i] : b.lane[i - n];
}

}  // namespace AscendC::MicroAPI
