/* DataCopy of a slice of a tensor of up to eight dimensions, the innermost first. */
#pragma once

#include "copy.h"

namespace AscendC {

/* Of one dimension: the first and last element taken, and the elements left out between two pieces. A piece is one
 * element, in the innermost dimension burstLen blocks of 32 bytes. shapeValue: the dimension's length. */
struct SliceInfo {
    uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 0, shapeValue = 0;
    SliceInfo() = default;
    SliceInfo(uint32_t first, uint32_t last, uint32_t between, uint32_t length, uint32_t shape = 0)
        : startIndex(first), endIndex(last), stride(between), burstLen(length), shapeValue(shape) {}
};

}  // namespace AscendC

namespace asc_cpu {

/* The first elements of the pieces of a slice, in order. */
inline std::vector<uint64_t> pieces(const AscendC::SliceInfo *slice, uint32_t dims, uint32_t piece) {
    std::vector<uint64_t> found{0};
    uint64_t size = 1;
    for (uint32_t d = 0; d < dims; d++) {
        std::vector<uint64_t> next;
        const uint64_t step = d ? 1 : piece;
        for (uint64_t at = slice[d].startIndex; at <= slice[d].endIndex; at += step + slice[d].stride)
            for (const uint64_t inner : found) next.push_back(inner + at * size);
        found = next;
        size *= slice[d].shapeValue;
    }
    return found;
}
template <typename D, typename S>
inline void copy_slices(Where w, const D &to, const S &from, const AscendC::SliceInfo *to_slice,
                        const AscendC::SliceInfo *from_slice, uint32_t dims, pipe_t pipe, Atomic atomic) {
    using T = typename D::PrimType;
    if (w.line) place().where = w;
    const uint64_t bytes = uint64_t(from_slice[0].burstLen) * 32;
    const uint32_t piece = uint32_t(bytes / sizeof(T));
    if (!piece)
        fail_with("ErrorParam", "give the length of a piece in blocks of 32 bytes",
                  "DataCopy of a slice with burstLen 0");
    const std::vector<uint64_t> targets = pieces(to_slice, dims, piece), sources = pieces(from_slice, dims, piece);
    if (targets.size() != sources.size())
        fail("ErrorParam", "DataCopy: slices of %zu and of %zu pieces", targets.size(), sources.size());
    std::vector<Run> written, read;
    for (size_t i = 0; i < targets.size(); i++) {
        written.push_back({int64_t(targets[i] * sizeof(T)), bytes, 1, 0});
        read.push_back({int64_t(sources[i] * sizeof(T)), bytes, 1, 0});
    }
    uint8_t *y = to.bytes();
    const uint8_t *x = from.bytes();
    issue(pipe, "DataCopy", w, {to.writes_runs(written), from.reads_runs(read)}, [=] {
        for (size_t i = 0; i < targets.size(); i++)
            combine<T>(y + targets[i] * sizeof(T), x + sources[i] * sizeof(T), bytes, atomic);
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const SliceInfo dstSliceInfo[],
                     const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::copy_slices(w, dst, src, dstSliceInfo, srcSliceInfo, dimValue, PIPE_MTE2, asc_cpu::Atomic::None);
}
template <typename T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const SliceInfo dstSliceInfo[],
                     const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::copy_slices(w, dst, src, dstSliceInfo, srcSliceInfo, dimValue, PIPE_MTE3, asc_cpu::core().atomic);
}

}  // namespace AscendC
