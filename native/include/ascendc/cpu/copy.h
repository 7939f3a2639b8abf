/* DataCopy and DataCopyPad between global memory and the unified buffer. */
#pragma once

#include "queue.h"

namespace AscendC {

/* blockLen and strides in blocks of 32 bytes. */
struct DataCopyParams {
    uint16_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
};
/* blockLen in bytes; strides in bytes on the global side and in blocks on the local one. */
struct DataCopyExtParams {
    uint32_t blockCount = 1, blockLen = 0;
    int64_t srcStride = 0, dstStride = 0;
    uint32_t rsv = 0;
};
template <typename T>
struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
};

inline void whole_blocks(uint64_t bytes, const char *kind) {
    if (bytes % asc_cpu::BLOCK)
        asc_cpu::fail(kind, "DataCopy of %llu bytes, which are no whole blocks of %u (DataCopyPad copies any number)",
                      (unsigned long long)bytes, asc_cpu::BLOCK);
}

template <typename T>
inline void DataCopy(const LocalTensor<T> &to, const GlobalTensor<T> &from, uint32_t n) {
    whole_blocks(n * sizeof(T), "ErrorRead4");
    to.aligned("ErrorWrite4");
    const T *source = from.read(0, n);
    std::memcpy(to.write(0, n, false), source, n * sizeof(T));
}
template <typename T>
inline void DataCopy(const GlobalTensor<T> &to, const LocalTensor<T> &from, uint32_t n) {
    whole_blocks(n * sizeof(T), "ErrorWrite4");
    from.aligned("ErrorRead4");
    const T *source = from.read(0, n, false);
    std::memcpy(to.write(0, n), source, n * sizeof(T));
}
template <typename T>
inline void DataCopy(const LocalTensor<T> &to, const LocalTensor<T> &from, uint32_t n) {
    whole_blocks(n * sizeof(T), "ErrorWrite4");
    to.aligned("ErrorWrite4");
    from.aligned("ErrorRead4");
    const T *source = from.read(0, n);
    std::memmove(to.write(0, n), source, n * sizeof(T));
}

/* Each of blockCount runs of blockLen bytes begins at a block of the unified buffer; padding fills its last one. */
template <typename T>
inline void DataCopyPad(const LocalTensor<T> &to, const GlobalTensor<T> &from, const DataCopyExtParams &p,
                        const DataCopyPadExtParams<T> &pad) {
    to.aligned("ErrorWrite4");
    if (p.blockLen % sizeof(T))
        asc_cpu::fail("ErrorRead4", "DataCopyPad: blockLen %u is no number of elements", p.blockLen);
    const uint32_t n = p.blockLen / uint32_t(sizeof(T)), left = pad.isPad ? pad.leftPadding : 0;
    const uint32_t right = pad.isPad ? pad.rightPadding : 0;
    if (left * sizeof(T) > 32 || right * sizeof(T) > 32)
        asc_cpu::fail("ErrorWrite2", "DataCopyPad: padding of more than 32 bytes");
    const uint32_t line = uint32_t((left + n + right) * sizeof(T) + 31) / 32 * 32;
    for (uint32_t i = 0; i < p.blockCount; i++) {
        const T *source = from.read(i * (uint64_t(p.blockLen) + uint64_t(p.srcStride)) / sizeof(T), n);
        const uint32_t first = i * (line + uint32_t(p.dstStride) * 32) / uint32_t(sizeof(T));
        T *target = to.write(first, left + n + right, false);
        for (uint32_t k = 0; k < left; k++) target[k] = pad.paddingValue;
        std::memcpy(target + left, source, n * sizeof(T));
        for (uint32_t k = 0; k < right; k++) target[left + n + k] = pad.paddingValue;
    }
}
template <typename T>
inline void DataCopyPad(const GlobalTensor<T> &to, const LocalTensor<T> &from, const DataCopyExtParams &p) {
    from.aligned("ErrorRead4");
    if (p.blockLen % sizeof(T))
        asc_cpu::fail("ErrorWrite4", "DataCopyPad: blockLen %u is no number of elements", p.blockLen);
    const uint32_t n = p.blockLen / uint32_t(sizeof(T)), line = (p.blockLen + 31) / 32 * 32;
    for (uint32_t i = 0; i < p.blockCount; i++) {
        const T *source = from.read(i * (line + uint32_t(p.srcStride) * 32) / uint32_t(sizeof(T)), n, false);
        std::memcpy(to.write(i * (uint64_t(p.blockLen) + uint64_t(p.dstStride)) / sizeof(T), n), source, n * sizeof(T));
    }
}

}  // namespace AscendC
