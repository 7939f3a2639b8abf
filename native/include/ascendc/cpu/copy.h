/* DataCopy and DataCopyPad between global memory and the memories of a core. */
#pragma once

#include "params.h"
#include "pipe.h"

namespace AscendC {

/* blockLen and strides in blocks of 32 bytes; a stride is what lies between one run's end and the next one's begin. */
struct DataCopyParams {
    uint16_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
    DataCopyParams() = default;
    DataCopyParams(uint16_t count, uint16_t length, uint16_t src, uint16_t dst)
        : blockCount(count), blockLen(length), srcStride(src), dstStride(dst) {}
};
/* blockLen in bytes; strides in bytes on the global side and in blocks on the local one. */
struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0;
    int64_t srcStride = 0, dstStride = 0;
    uint32_t rsv = 0;
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t length, int64_t src, int64_t dst, uint32_t reserved)
        : blockCount(count), blockLen(length), srcStride(src), dstStride(dst), rsv(reserved) {}
};
struct DataCopyPadParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0;
    DataCopyPadParams() = default;
    DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};
template <typename T>
struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};

}  // namespace AscendC

namespace asc_cpu {

using AscendC::DataCopyExtParams;
using AscendC::DataCopyParams;
using AscendC::GlobalTensor;
using AscendC::LocalTensor;

/* The pipe that moves between two memories. */
constexpr pipe_t mover(Space from, Space to) {
    if (from == Space::GM) return PIPE_MTE2;
    if (from == Space::L0C) return to == Space::UB ? PIPE_V : PIPE_FIX;
    if (from == Space::L1)
        return to == Space::GM || to == Space::UB ? PIPE_MTE3 : to == Space::FB ? PIPE_FIX : PIPE_MTE1;
    if (to == Space::GM || to == Space::L1) return PIPE_MTE3;
    return to == Space::L0C ? PIPE_V : PIPE_V;
}

/* Bytes that a block of DataCopyParams stands for: more on the way into the small memories beside L0. */
constexpr int64_t copy_unit(Space to) {
    return to == Space::BT ? 64 : to == Space::FB ? 128 : 32;
}

inline void whole_blocks(uint64_t bytes, const char *kind) {
    if (CHECKED && bytes % BLOCK)
        report(kind, "copy any number of bytes with DataCopyPad", nullptr, -1,
               "DataCopy of %llu bytes, which are no whole blocks of %u (DataCopyPad copies any number)",
               (unsigned long long)bytes, BLOCK);
}

/* What an instruction has room for: 12 bits of runs, 21 bits of bytes. */
inline void copy_limits(const DataCopyExtParams &p, Where w) {
    if (p.blockCount <= 4095 && p.blockLen <= 2097151) return;
    at(w);
    fail_with("ErrorParam", "split it: blockCount is at most 4095, blockLen 2097151 bytes",
              "DataCopyPad: blockCount %u, blockLen %u", unsigned(p.blockCount), unsigned(p.blockLen));
}

/* What a copy to global memory does to what is there. */
template <typename T>
inline void combine(uint8_t *to, const uint8_t *from, uint64_t bytes, Atomic atomic) {
    if (atomic == Atomic::None) {
        std::memmove(to, from, bytes);
        return;
    }
    if constexpr (bits_of<T> >= 8) {
        T *y = reinterpret_cast<T *>(to);
        const T *x = reinterpret_cast<const T *>(from);
        for (uint64_t i = 0; i < bytes / sizeof(T); i++) {
            const Compute<T> a = Compute<T>(y[i]), b = Compute<T>(x[i]);
            y[i] = T(atomic == Atomic::Add ? a + b : atomic == Atomic::Max ? (a > b ? a : b) : (a < b ? a : b));
        }
    }
}

/* `count` runs of `bytes`, each `from_step` and `to_step` bytes behind the one before. */
template <typename D, typename S>
inline void copy_runs(const char *name, Where w, const D &to, const S &from, pipe_t pipe, uint32_t count,
                      uint64_t bytes, int64_t from_step, int64_t to_step, Atomic atomic) {
    using T = typename D::PrimType;
    const std::vector<Run> written{{0, bytes, count, to_step}}, read{{0, bytes, count, from_step}};
    uint8_t *y = to.bytes();
    const uint8_t *x = from.bytes();
    const bool global_source = std::is_same_v<S, GlobalTensor<typename S::PrimType>>;
    const bool global_target = std::is_same_v<D, GlobalTensor<T>>;
    const auto work = [=] {
        for (uint32_t i = 0; i < count; i++) {
            uint8_t *const target = y + int64_t(i) * to_step;
            const uint8_t *const source = x + int64_t(i) * from_step;
            const uint64_t n = global_source ? inside(source, bytes) : global_target ? inside(target, bytes) : bytes;
            combine<T>(target, source, n, atomic);
        }
    };
    const Operand target = to.writes_runs(written), source = from.reads_runs(read);
    if (source.space != Space::GM && target.space != Space::GM)
        issue_lanes(pipe, name, w, {target, source}, work);
    else
        issue(pipe, name, w, {target, source}, work);
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const uint32_t count,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t bytes = asc_cpu::bytes_of<T>(count);
    if (w.line) asc_cpu::place().where = w;
    asc_cpu::whole_blocks(bytes, "ErrorRead4");
    asc_cpu::copy_runs("DataCopy", w, dst, src, PIPE_MTE2, 1, bytes, 0, 0, asc_cpu::Atomic::None);
}
template <typename T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t bytes = asc_cpu::bytes_of<T>(count);
    if (w.line) asc_cpu::place().where = w;
    asc_cpu::whole_blocks(bytes, "ErrorWrite4");
    asc_cpu::copy_runs("DataCopy", w, dst, src, asc_cpu::mover(src.space(), asc_cpu::Space::GM), 1, bytes, 0, 0,
                       asc_cpu::core().atomic);
}
template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t bytes = asc_cpu::bytes_of<T>(count);
    if (w.line) asc_cpu::place().where = w;
    asc_cpu::whole_blocks(bytes, "ErrorWrite4");
    asc_cpu::copy_runs("DataCopy", w, dst, src, asc_cpu::mover(src.space(), dst.space()), 1, bytes, 0, 0,
                       asc_cpu::Atomic::None);
}
template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const int64_t bytes = p.blockLen * 32;
    asc_cpu::copy_runs("DataCopy", w, dst, src, PIPE_MTE2, p.blockCount, uint64_t(bytes), bytes + p.srcStride * 32,
                       bytes + p.dstStride * 32, asc_cpu::Atomic::None);
}
template <typename T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const int64_t bytes = p.blockLen * 32;
    asc_cpu::copy_runs("DataCopy", w, dst, src, asc_cpu::mover(src.space(), asc_cpu::Space::GM), p.blockCount,
                       uint64_t(bytes), bytes + p.srcStride * 32, bytes + p.dstStride * 32, asc_cpu::core().atomic);
}
template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const int64_t unit = asc_cpu::copy_unit(dst.space()), bytes = p.blockLen * unit;
    asc_cpu::copy_runs("DataCopy", w, dst, src, asc_cpu::mover(src.space(), dst.space()), p.blockCount, uint64_t(bytes),
                       bytes + p.srcStride * 32, bytes + p.dstStride * unit, asc_cpu::Atomic::None);
}

}  // namespace AscendC

namespace asc_cpu {

/* Each of `count` runs of `bytes` begins at a block of the local memory; padding fills its last one, and what it leaves
 * of that is undefined. */
template <typename T>
inline void copy_padded(Where w, const LocalTensor<T> &to, const GlobalTensor<T> &from, const DataCopyExtParams &p,
                        bool pad, uint32_t left, uint32_t right, T value) {
    if (w.line) place().where = w;
    copy_limits(p, w);
    if (!pad) left = right = 0;
    if (CHECKED && settings().strict && p.blockLen % sizeof(T))
        fail("ErrorRead4", "DataCopyPad: blockLen %u is no number of elements", p.blockLen);
    if (left * sizeof(T) > 32 || right * sizeof(T) > 32)
        fail("ErrorWrite2", "DataCopyPad: padding of more than 32 bytes");
    const uint64_t bytes = p.blockLen, ahead = left * sizeof(T), used = ahead + bytes + right * sizeof(T);
    const uint64_t line = (used + 31) / 32 * 32, marked = settings().strict ? used : line;
    const uint32_t count = p.blockCount;
    const int64_t from_step = int64_t(bytes) + p.srcStride, to_step = int64_t(line) + p.dstStride * 32;
    const std::vector<Run> written{{0, marked, count, to_step}}, read{{0, bytes, count, from_step}};
    uint8_t *y = to.bytes();
    const uint8_t *x = from.bytes();
    issue(PIPE_MTE2, "DataCopyPad", w, {to.writes_runs(written), from.reads_runs(read)}, [=] {
        for (uint32_t i = 0; i < count; i++) {
            uint8_t *at = y + int64_t(i) * to_step;
            if (bits_of<T> >= 8) {
                for (uint32_t k = 0; k < left; k++) std::memcpy(at + k * sizeof(T), &value, sizeof(T));
                for (uint32_t k = 0; k < right; k++) std::memcpy(at + ahead + bytes + k * sizeof(T), &value, sizeof(T));
            }
            const uint8_t *const source = x + int64_t(i) * from_step;
            std::memcpy(at + ahead, source, inside(source, bytes));
        }
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &p,
                        const DataCopyPadExtParams<asc_cpu::Same<T>> &pad, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::copy_padded(w, dst, src, p, pad.isPad, pad.leftPadding, pad.rightPadding, pad.paddingValue);
}
template <typename T>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &p,
                        const DataCopyPadParams &pad, asc_cpu::Where w = asc_cpu::Where::here()) {
    T value{};
    std::memcpy(&value, &pad.paddingValue, sizeof value < 8 ? sizeof value : 8);
    asc_cpu::copy_padded(w, dst, src, DataCopyExtParams(p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0),
                         pad.isPad, pad.leftPadding, pad.rightPadding, value);
}
template <typename T>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &p,
                        asc_cpu::Where w = asc_cpu::Where::here()) {
    const int64_t bytes = p.blockLen, line = (bytes + 31) / 32 * 32;
    asc_cpu::copy_limits(p, w);
    asc_cpu::copy_runs("DataCopyPad", w, dst, src, PIPE_MTE3, p.blockCount, uint64_t(bytes), line + p.srcStride * 32,
                       bytes + p.dstStride, asc_cpu::core().atomic);
}
template <typename T>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &p,
                        asc_cpu::Where w = asc_cpu::Where::here()) {
    DataCopyPad(dst, src, DataCopyExtParams(p.blockCount, p.blockLen, p.srcStride, p.dstStride, 0), w);
}

/* Compact: in the local memory the runs lie one behind the other, with no padding between them. */
enum class PaddingMode : uint8_t { Normal, Compact };
template <typename T, PaddingMode mode>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &p,
                        const DataCopyPadExtParams<asc_cpu::Same<T>> &pad, asc_cpu::Where w = asc_cpu::Where::here()) {
    if constexpr (mode == PaddingMode::Normal) return DataCopyPad(dst, src, p, pad, w);
    const int64_t bytes = p.blockLen;
    asc_cpu::copy_limits(p, w);
    asc_cpu::copy_runs("DataCopyPad", w, dst, src, PIPE_MTE2, p.blockCount, uint64_t(bytes), bytes + p.srcStride, bytes,
                       asc_cpu::Atomic::None);
}
template <typename T, PaddingMode mode>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &p,
                        asc_cpu::Where w = asc_cpu::Where::here()) {
    if constexpr (mode == PaddingMode::Normal) return DataCopyPad(dst, src, p, w);
    const int64_t bytes = p.blockLen;
    asc_cpu::copy_limits(p, w);
    asc_cpu::copy_runs("DataCopyPad", w, dst, src, PIPE_MTE3, p.blockCount, uint64_t(bytes), bytes, bytes + p.dstStride,
                       asc_cpu::core().atomic);
}

}  // namespace AscendC
