/* Sorting: descending, equal ones in the order they came. Sort32 and what builds on it keep a value and its index in
 * eight bytes; the older region proposals are eight numbers, of which the fifth is the score. */
#pragma once

#include <algorithm>
#include <memory>

#include "gather.h"

namespace asc_cpu {

/* Eight bytes: the value first, the index in the last four. */
template <typename T>
struct Sorted {
    T value;
    uint32_t index;
    static Sorted at(const uint8_t *p) {
        Sorted s;
        std::memcpy(&s.value, p, sizeof(T));
        std::memcpy(&s.index, p + 4, 4);
        return s;
    }
    void put(uint8_t *p) const {
        std::memset(p, 0, 8);
        std::memcpy(p, &value, sizeof(T));
        std::memcpy(p + 4, &index, 4);
    }
};
template <typename T>
inline bool comes_first(T a, T b) {
    const float x = float(a), y = float(b);
    return x != x ? y == y : x > y;
}

/* Merges up to four runs of `step`-byte records, each sorted. Gives how many of each it took: all, or with `suspend`
 * until one is used up. Plain variables: a checked run is compiled with little optimisation. */
template <typename Score>
inline std::array<uint32_t, 4> merge_runs(uint8_t *to, const std::array<const uint8_t *, 4> &from,
                                          const std::array<uint32_t, 4> &n, uint32_t step, bool suspend, Score score) {
    const uint8_t *at[4];
    uint32_t left[4], total = 0;
    float head[4] = {};
    for (uint32_t q = 0; q < 4; q++) {
        at[q] = from[q], left[q] = n[q], total += n[q];
        if (left[q]) head[q] = float(score(at[q]));
    }
    const std::unique_ptr<uint8_t[]> merged(new uint8_t[size_t(total) * step + 1]);
    uint8_t *out = merged.get();
    for (uint32_t taken = 0; taken < total; taken++) {
        uint32_t best = 4;
        for (uint32_t q = 0; q < 4; q++) {
            if (!left[q]) continue;
            const float x = head[q], y = best < 4 ? head[best] : 0.0f;
            if (best == 4 || (x != x ? y == y : x > y)) best = q;
        }
        std::memcpy(out, at[best], step);
        out += step, at[best] += step;
        if (--left[best])
            head[best] = float(score(at[best]));
        else if (suspend)
            break;
    }
    if (out != merged.get()) std::memcpy(to, merged.get(), size_t(out - merged.get()));
    return {n[0] - left[0], n[1] - left[1], n[2] - left[2], n[3] - left[3]};
}

/* What the last MrgSort took of each queue. */
inline std::array<uint32_t, 4> &merged_last() {
    static std::array<uint32_t, 4> taken;
    return taken;
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T> &a, const LocalTensor<T> &b, const LocalTensor<T> &c, const LocalTensor<T> &d)
        : src1(a), src2(b), src3(c), src4(d) {}
};
struct MrgSort4Info {
    uint16_t elementLengths[4] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint8_t repeatTimes = 1;
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t lengths[4], bool suspend, uint16_t valid, uint16_t repeats)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(uint8_t(repeats)) {
        for (uint32_t i = 0; i < 4; i++) elementLengths[i] = lengths[i];
    }
};

template <typename T>
inline void Sort32(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<uint32_t> &src1,
                   const int32_t repeatTimes, asc_cpu::Where w = asc_cpu::Where::here()) {
    uint8_t *y = dst.bytes();
    const T *x = src0.data();
    const uint32_t *index = src1.data();
    const uint64_t n = uint64_t(repeatTimes) * 32;
    asc_cpu::issue(PIPE_V, "Sort32", w, {dst.writes(n * 8 / sizeof(T)), src0.reads(n), src1.reads(n)}, [=] {
        for (int32_t r = 0; r < repeatTimes; r++) {
            asc_cpu::Sorted<T> s[32];
            for (uint32_t i = 0; i < 32; i++) s[i] = {x[r * 32 + int(i)], index[r * 32 + int(i)]};
            std::stable_sort(s, s + 32,
                             [](const auto &a, const auto &b) { return asc_cpu::comes_first(a.value, b.value); });
            for (uint32_t i = 0; i < 32; i++) s[i].put(y + (uint64_t(r) * 32 + i) * 8);
        }
    });
}

}  // namespace AscendC

namespace asc_cpu {

/* MrgSort and MrgSort4: records of `step` bytes. */
template <typename T, typename Score>
inline void merge_sort(const char *name, Where w, const LocalTensor<T> &dst, const AscendC::MrgSortSrcList<T> &src,
                       const std::array<uint32_t, 4> &lengths, bool suspend, uint16_t valid, uint32_t repeats,
                       uint32_t step, Score score) {
    const LocalTensor<T> *const all[4] = {&src.src1, &src.src2, &src.src3, &src.src4};
    std::array<const uint8_t *, 4> from{};
    std::array<uint32_t, 4> n{};
    std::vector<Operand> operands;
    uint64_t total = 0;
    for (uint32_t q = 0; q < 4; q++) {
        if (!(valid >> q & 1)) continue;
        n[q] = lengths[q];
        from[q] = all[q]->bytes();
        total += n[q];
    }
    for (uint32_t q = 0; q < 4; q++)
        if (n[q]) operands.push_back(all[q]->reads_runs({{0, n[q] * step, repeats, int64_t(total * step)}}));
    operands.push_back(dst.writes_runs({{0, total * step, repeats, int64_t(total * step)}}));
    for (Operand &o : operands) o.more = nullptr, o.n_more = 0;
    uint8_t *y = dst.bytes();
    const auto work = [=] {
        for (uint32_t r = 0; r < repeats; r++) {
            std::array<const uint8_t *, 4> here = from;
            for (auto &p : here)
                if (p) p += r * total * step;
            merged_last() = merge_runs(y + r * total * step, here, n, step, suspend, score);
        }
    };
    if constexpr (CHECKED)
        later(PIPE_V, check(PIPE_V, name, w, operands.data(), operands.size(), false), work);
    else
        work();
}
template <typename T>
inline T value_of(const uint8_t *p) {
    return Sorted<T>::at(p).value;
}
template <typename T>
inline T score_of(const uint8_t *p) {
    T score;
    std::memcpy(&score, p + 4 * sizeof(T), sizeof(T));
    return score;
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T>
inline void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &src, const MrgSort4Info &p,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    const std::array<uint32_t, 4> lengths{p.elementLengths[0], p.elementLengths[1], p.elementLengths[2],
                                          p.elementLengths[3]};
    asc_cpu::merge_sort("MrgSort", w, dst, src, lengths, p.ifExhaustedSuspension, p.validBit, p.repeatTimes, 8,
                        asc_cpu::value_of<T>);
}
template <typename T, bool isExhaustedSuspension = false>
inline void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &sortList, const uint16_t elementCountList[4],
                    uint32_t sortedNum[4], uint16_t validBit, const int32_t repeatTimes,
                    asc_cpu::Where w = asc_cpu::Where::here()) {
    const std::array<uint32_t, 4> lengths{elementCountList[0], elementCountList[1], elementCountList[2],
                                          elementCountList[3]};
    asc_cpu::merge_sort("MrgSort", w, dst, sortList, lengths, isExhaustedSuspension, validBit, uint32_t(repeatTimes), 8,
                        asc_cpu::value_of<T>);
    if (isExhaustedSuspension && asc_cpu::CHECKED) asc_cpu::core().force(1, asc_cpu::core().issued[1]);
    for (uint32_t i = 0; i < 4; i++)
        sortedNum[i] = isExhaustedSuspension ? asc_cpu::merged_last()[i] : elementCountList[i];
}
/* How many of each queue the last suspended MrgSort took. */
inline void GetMrgSortResult(uint16_t &a, uint16_t &b, uint16_t &c, uint16_t &d) {
    if (asc_cpu::CHECKED) asc_cpu::core().force(1, asc_cpu::core().issued[1]);
    const auto &taken = asc_cpu::merged_last();
    a = uint16_t(taken[0]), b = uint16_t(taken[1]), c = uint16_t(taken[2]), d = uint16_t(taken[3]);
}
template <typename T>
inline void MrgSort4(const LocalTensor<T> &dst, const MrgSortSrcList<asc_cpu::Same<T>> &src, const MrgSort4Info &p,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    const std::array<uint32_t, 4> lengths{p.elementLengths[0], p.elementLengths[1], p.elementLengths[2],
                                          p.elementLengths[3]};
    asc_cpu::merge_sort("MrgSort4", w, dst, src, lengths, p.ifExhaustedSuspension, p.validBit, p.repeatTimes,
                        8 * sizeof(T), asc_cpu::score_of<T>);
}
/* Each sixteen region proposals by their score. */
template <typename T>
inline void RpSort16(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes,
                     asc_cpu::Where w = asc_cpu::Where::here()) {
    struct Proposal {
        T fields[8];
    };
    T *y = dst.data();
    const T *x = src.data();
    asc_cpu::issue(PIPE_V, "RpSort16", w,
                   {dst.writes(uint64_t(repeatTimes) * 128), src.reads(uint64_t(repeatTimes) * 128)}, [=] {
                       for (int32_t r = 0; r < repeatTimes; r++) {
                           Proposal all[16];
                           std::memcpy(static_cast<void *>(all), x + r * 128, sizeof all);
                           std::stable_sort(all, all + 16, [](const Proposal &a, const Proposal &b) {
                               return asc_cpu::comes_first(a.fields[4], b.fields[4]);
                           });
                           std::memcpy(static_cast<void *>(y + r * 128), all, sizeof all);
                       }
                   });
}
/* Field `modeNumber` of sixteen proposals from sixteen numbers, and back. */
template <typename T>
inline void ProposalConcat(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes,
                           const int32_t modeNumber, asc_cpu::Where w = asc_cpu::Where::here()) {
    T *y = dst.data();
    const T *x = src.data();
    const uint64_t n = uint64_t(repeatTimes) * 16;
    asc_cpu::issue(PIPE_V, "ProposalConcat", w, {dst.writes(n * 8), src.reads(n)}, [=] {
        for (uint64_t i = 0; i < n; i++) y[i * 8 + uint64_t(modeNumber)] = x[i];
    });
}
template <typename T>
inline void ProposalExtract(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes,
                            const int32_t modeNumber, asc_cpu::Where w = asc_cpu::Where::here()) {
    T *y = dst.data();
    const T *x = src.data();
    const uint64_t n = uint64_t(repeatTimes) * 16;
    asc_cpu::issue(PIPE_V, "ProposalExtract", w, {dst.writes(n), src.reads(n * 8)}, [=] {
        for (uint64_t i = 0; i < n; i++) y[i] = x[i * 8 + uint64_t(modeNumber)];
    });
}
/* The same under the names of 2023. */
template <typename T>
inline void Concat(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes,
                   const int32_t modeNumber, asc_cpu::Where w = asc_cpu::Where::here()) {
    ProposalConcat(dst, src, repeatTimes, modeNumber, w);
}
template <typename T>
inline void Extract(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes,
                    const int32_t modeNumber, asc_cpu::Where w = asc_cpu::Where::here()) {
    ProposalExtract(dst, src, repeatTimes, modeNumber, w);
}

/* Sort on what Concat gives, and Extract of its result: the values are their own concatenation. */
template <typename T>
inline void Concat(LocalTensor<T> &concatLocal, const LocalTensor<T> &src, const LocalTensor<T> &, const int32_t) {
    concatLocal = src;
}
template <typename T, bool isFullSort>
inline void Sort(const LocalTensor<T> &dst, const LocalTensor<T> &concatLocal, const LocalTensor<uint32_t> &index,
                 const LocalTensor<T> &, const int32_t repeatTimes, asc_cpu::Where w = asc_cpu::Where::here()) {
    if constexpr (!isFullSort) return Sort32(dst, concatLocal, index, repeatTimes, w);
    uint8_t *y = dst.bytes();
    const T *x = concatLocal.data();
    const uint32_t *places = index.data();
    const uint64_t n = uint64_t(repeatTimes) * 32;
    asc_cpu::issue(PIPE_V, "Sort", w, {dst.writes(n * 8 / sizeof(T)), concatLocal.reads(n), index.reads(n)}, [=] {
        std::vector<asc_cpu::Sorted<T>> all(n);
        for (uint64_t i = 0; i < n; i++) all[size_t(i)] = {x[i], places[i]};
        asc_cpu::Sorted<T> *const first = all.data();
        std::stable_sort(first, first + n,
                         [](const auto &a, const auto &b) { return asc_cpu::comes_first(a.value, b.value); });
        for (uint64_t i = 0; i < n; i++) first[i].put(y + i * 8);
    });
}
template <typename T>
inline void Extract(const LocalTensor<T> &dstValue, const LocalTensor<uint32_t> &dstIndex, const LocalTensor<T> &sorted,
                    const int32_t repeatTimes, asc_cpu::Where w = asc_cpu::Where::here()) {
    const uint64_t n = uint64_t(repeatTimes) * 32;
    T *values = dstValue.data();
    uint32_t *places = dstIndex.data();
    const uint8_t *x = sorted.bytes();
    asc_cpu::issue(PIPE_V, "Extract", w, {dstValue.writes(n), dstIndex.writes(n), sorted.reads(n * 8 / sizeof(T))},
                   [=] {
                       std::vector<asc_cpu::Sorted<T>> all(n);
                       for (uint64_t i = 0; i < n; i++) all[size_t(i)] = asc_cpu::Sorted<T>::at(x + i * 8);
                       for (uint64_t i = 0; i < n; i++)
                           values[i] = all[size_t(i)].value, places[i] = all[size_t(i)].index;
                   });
}
/* Elements of T that so many sorted ones take. */
template <typename T>
inline uint32_t GetSortLen(const uint32_t count) {
    return count * 8 / uint32_t(sizeof(T));
}
template <typename T>
inline uint32_t GetSortOffset(const uint32_t offset) {
    return offset * 8 / uint32_t(sizeof(T));
}

}  // namespace AscendC
