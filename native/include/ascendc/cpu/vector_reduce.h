/* Reductions: of a whole tensor, of repeats, of blocks and of neighbours. Sums of a tensor add halves to halves, as the
 * unit's tree does, so that an error grows with the logarithm of the count. */
#pragma once

#include "vector_fill.h"

namespace asc_cpu {

using AscendC::ReduceOrder;

template <typename T, typename F>
inline T fold(const T *x, int64_t n, F f) {
    if (n == 1) return x[0];
    return T(f(Compute<T>(fold(x, n / 2, f)), Compute<T>(fold(x + n / 2, n - n / 2, f))));
}
/* The place of the first best element; a NaN is the best. */
template <typename T, typename Better>
inline int64_t first_best(const T *x, int64_t n, Better better) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        const Compute<T> a = Compute<T>(x[i]), b = Compute<T>(x[best]);
        if (b == b && (a != a || better(a, b))) best = i;
    }
    return best;
}
struct Greater {
    template <typename C>
    bool operator()(C a, C b) const {
        return a > b;
    }
};
struct Less {
    template <typename C>
    bool operator()(C a, C b) const {
        return a < b;
    }
};
/* An index beside a value of type T: its bits, in T. */
template <typename T>
inline T index_as(int64_t i) {
    if constexpr (sizeof(T) == 2)
        return bits_as<T>(uint16_t(i));
    else if constexpr (sizeof(T) == 4)
        return bits_as<T>(uint32_t(i));
    else
        return T(i);
}

template <typename T>
inline uint64_t to_bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}
template <typename T>
inline T of_bits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
/* All that the vector unit has been given is done. */
inline Core &after_vectors() {
    Core &c = core();
    if constexpr (CHECKED) c.force(index_of(PIPE_V), c.issued[index_of(PIPE_V)]);
    return c;
}

template <typename T, typename F>
inline void reduce(const char *name, Where w, const LocalTensor<T> &to, const LocalTensor<T> &from,
                   const LocalTensor<T> &work, int64_t n, F f) {
    if (n <= 0) fail("ErrorRead1", "%s of %lld elements", name, (long long)n);
    const T *x = from.data();
    T *y = to.data();
    const uint64_t repeats = (uint64_t(n) * sizeof(T) + 255) / 256;
    (void)repeats;
    issue(PIPE_V, name, w,
          {work.writes(work.GetSize() < repeats ? work.GetSize() : repeats), from.reads(uint64_t(n)),
           to.writes(1).aligned(sizeof(T))},
          [=] {
              f(y, x);
              core().accumulated = to_bits(*y);
          });
}
template <typename T, typename Better>
inline void reduce_best(const char *name, Where w, const LocalTensor<T> &to, const LocalTensor<T> &from,
                        const LocalTensor<T> &work, int64_t n, bool index, Better better) {
    if (n <= 0) fail("ErrorRead1", "%s of %lld elements", name, (long long)n);
    const T *x = from.data();
    T *y = to.data();
    const uint64_t repeats = (uint64_t(n) * sizeof(T) + 255) / 256;
    issue(PIPE_V, name, w,
          {work.writes(work.GetSize() < repeats ? work.GetSize() : repeats), from.reads(uint64_t(n)),
           to.writes(index ? 2 : 1).aligned(sizeof(T))},
          [=] {
              const int64_t i = first_best(x, n, better);
              const T value = x[i];
              core().best = to_bits(value), core().best_at = to_bits(index_as<T>(i));
              if (index) y[1] = index_as<T>(i);
              y[0] = value;
          });
}

/* For each repeat the chosen elements, in order, to f(to + repeat*dstRepStride*per, values, n, lanes). */
template <typename T, typename F>
inline void reduce_repeats(const char *name, Where w, const LocalTensor<T> &to, const LocalTensor<T> &from,
                           const Lanes &lanes, uint32_t per, uint32_t dst_stride, Stride source, F f) {
    const T *x = from.data();
    T *y = to.data();
    std::vector<Run> written{{0, per * sizeof(T), uint32_t(lanes.repeats()), int64_t(dst_stride * sizeof(T))}};
    const std::vector<Run> read = lanes.runs(source, bits_of<T>);
    issue(PIPE_V, name, w, {to.writes_runs(written).aligned(sizeof(T)), from.reads_runs(read)}, [=] {
        for (int32_t r = 0; r < lanes.repeats(); r++) {
            T values[256];
            uint32_t places[256];
            int64_t n = 0;
            for (uint32_t k = 0; k < lanes.per_repeat(); k++)
                if (lanes.has(r, k)) {
                    places[n] = k;
                    values[n++] = x[Lanes::at(r, k, source, bits_of<T>)];
                }
            f(y + int64_t(r) * dst_stride, values, places, n);
        }
    });
}

struct AddUp {
    template <typename T>
    void operator()(T *y, const T *x, const uint32_t *, int64_t n) const {
        *y = n ? fold(x, n, [](auto a, auto b) { return plus(a, b); }) : T(0);
    }
};
template <typename Better>
struct PickBest {
    ReduceOrder order;
    template <typename T>
    void operator()(T *y, const T *x, const uint32_t *places, int64_t n) const {
        if (!n) return;
        const int64_t i = first_best(x, n, Better{});
        const T index = index_as<T>(places[i]);
        switch (order) {
            case ReduceOrder::ORDER_VALUE_INDEX: y[0] = x[i], y[1] = index; break;
            case ReduceOrder::ORDER_INDEX_VALUE: y[0] = index, y[1] = x[i]; break;
            case ReduceOrder::ORDER_ONLY_VALUE: y[0] = x[i]; break;
            default: std::memcpy(static_cast<void *>(y), &places[i], sizeof(uint32_t)); /* of half too */
        }
    }
};
/* Elements of T that a result has: an index alone is a uint32_t. */
template <typename T>
constexpr uint32_t numbers_of(ReduceOrder order) {
    return order == ReduceOrder::ORDER_ONLY_VALUE   ? 1
           : order == ReduceOrder::ORDER_ONLY_INDEX ? uint32_t(std::max(sizeof(uint32_t) / sizeof(T), size_t(1)))
                                                    : 2;
}
/* Where the result of a maximum or minimum should begin: at a whole value with its index. */
template <typename T>
inline void align_best(const char *name, Where w, const LocalTensor<T> &to) {
    if (!CHECKED || reinterpret_cast<uintptr_t>(to.bytes()) % (2 * sizeof(T)) == 0) return;
    asc_cpu::at(w);
    advise("AdviceAlign", "begin the result at a multiple of two elements",
           "%s: the result begins at no multiple of %u bytes, which its documentation wants", name,
           unsigned(2 * sizeof(T)));
}

/* Of each block of 32 bytes, to neighbouring elements. */
template <typename T, typename F>
inline void reduce_blocks(const char *name, Where w, const LocalTensor<T> &to, const LocalTensor<T> &from,
                          const Lanes &lanes, uint32_t dst_stride, Stride source, F f) {
    const T *x = from.data();
    T *y = to.data();
    constexpr uint32_t block = 32 / sizeof(T);
    std::vector<Run> written{{0, 8 * sizeof(T), uint32_t(lanes.repeats()), int64_t(dst_stride * 8 * sizeof(T))}};
    const std::vector<Run> read = lanes.runs(source, bits_of<T>);
    issue(PIPE_V, name, w, {to.writes_runs(written).aligned(sizeof(T) * 8), from.reads_runs(read)}, [=] {
        for (int32_t r = 0; r < lanes.repeats(); r++)
            for (uint32_t b = 0; b < 8; b++) {
                T values[32];
                int64_t n = 0;
                for (uint32_t k = 0; k < block; k++)
                    if (lanes.has(r, b * block + k)) values[n++] = x[Lanes::at(r, b * block + k, source, bits_of<T>)];
                T &z = y[int64_t(r) * dst_stride * 8 + b];
                if (n)
                    z = fold(values, n, f);
                else
                    z = T(0);
            }
    });
}
/* Of each two neighbours. */
template <typename T>
inline void reduce_pairs(Where w, const LocalTensor<T> &to, const LocalTensor<T> &from, const Lanes &lanes,
                         uint32_t dst_stride, Stride source) {
    const T *x = from.data();
    T *y = to.data();
    const uint32_t half_repeat = lanes.per_repeat() / 2;
    std::vector<Run> written{
        {0, half_repeat * sizeof(T), uint32_t(lanes.repeats()), int64_t(dst_stride * half_repeat * sizeof(T))}};
    const std::vector<Run> read = lanes.runs(source, bits_of<T>);
    issue(PIPE_V, "PairReduceSum", w, {to.writes_runs(written), from.reads_runs(read)}, [=] {
        for (int32_t r = 0; r < lanes.repeats(); r++)
            for (uint32_t k = 0; k < half_repeat; k++) {
                Compute<T> sum = 0;
                for (uint32_t j = 2 * k; j < 2 * k + 2; j++)
                    if (lanes.has(r, j)) sum += Compute<T>(x[Lanes::at(r, j, source, bits_of<T>)]);
                y[int64_t(r) * dst_stride * half_repeat + k] = T(sum);
            }
    });
}

}  // namespace asc_cpu

namespace AscendC {

template <typename T, bool isSetMask = true>
inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
                      const int32_t count, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::reduce("ReduceSum", w, dst, src, work, count, [count](T *y, const T *x) {
        const T sum = asc_cpu::fold(x, count, [](auto a, auto b) { return asc_cpu::plus(a, b); });
        *y = sum;
    });
}
template <typename T>
inline void ReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
                      const int32_t count, bool calIndex = false, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::align_best("ReduceMax", w, dst);
    asc_cpu::reduce_best("ReduceMax", w, dst, src, work, count, calIndex, asc_cpu::Greater{});
}
template <typename T>
inline void ReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work,
                      const int32_t count, bool calIndex = false, asc_cpu::Where w = asc_cpu::Where::here()) {
    asc_cpu::align_best("ReduceMin", w, dst);
    asc_cpu::reduce_best("ReduceMin", w, dst, src, work, count, calIndex, asc_cpu::Less{});
}

/* What the last ReduceSum of a number of elements gave, as bits or as a number. */
inline uint64_t GetAccVal() {
    return asc_cpu::after_vectors().accumulated;
}
template <typename T>
inline T GetAccVal() {
    return asc_cpu::of_bits<T>(GetAccVal());
}
/* What the last ReduceMax or ReduceMin of a number of elements gave, and where: bits of an integer as wide as T. */
template <typename T>
inline void GetReduceMaxMinCount(T &value, T &index) {
    const asc_cpu::Core &c = asc_cpu::after_vectors();
    value = asc_cpu::of_bits<T>(c.best), index = asc_cpu::of_bits<T>(c.best_at);
}
template <typename T>
inline void GetReduceMaxMinCount(T &value) {
    value = asc_cpu::of_bits<T>(asc_cpu::after_vectors().best);
}

/* With a mask: of all repeats. */
template <typename T, typename M>
inline asc_cpu::Lanes reduce_lanes(M mask, int32_t repeats, const char *name) {
    return asc_cpu::Lanes(mask, true, repeats, asc_cpu::bits_of<T>, name);
}
#define ASC_REDUCE_ALL(Mask)                                                                                      \
    template <typename T>                                                                                         \
    inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work, Mask, \
                          const int32_t repeatTimes, const int32_t srcRepStride,                                  \
                          asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::reduce_all(                                                                                      \
            "ReduceSum", w, dst, src, work, mask, repeatTimes, srcRepStride,                                      \
            [](T *y, const T *x, int64_t n) {                                                                     \
                *y = asc_cpu::fold(x, n, [](auto a, auto b) { return asc_cpu::plus(a, b); });                     \
            },                                                                                                    \
            1);                                                                                                   \
    }                                                                                                             \
    template <typename T>                                                                                         \
    inline void ReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work, Mask, \
                          const int32_t repeatTimes, const int32_t srcRepStride, bool calIndex = false,           \
                          asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::reduce_all(                                                                                      \
            "ReduceMax", w, dst, src, work, mask, repeatTimes, srcRepStride,                                      \
            [calIndex](T *y, const T *x, int64_t n) {                                                             \
                const int64_t i = asc_cpu::first_best(x, n, asc_cpu::Greater{});                                  \
                if (calIndex) y[1] = asc_cpu::index_as<T>(i);                                                     \
                y[0] = x[i];                                                                                      \
            },                                                                                                    \
            calIndex ? 2 : 1);                                                                                    \
    }                                                                                                             \
    template <typename T>                                                                                         \
    inline void ReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &work, Mask, \
                          const int32_t repeatTimes, const int32_t srcRepStride, bool calIndex = false,           \
                          asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::reduce_all(                                                                                      \
            "ReduceMin", w, dst, src, work, mask, repeatTimes, srcRepStride,                                      \
            [calIndex](T *y, const T *x, int64_t n) {                                                             \
                const int64_t i = asc_cpu::first_best(x, n, asc_cpu::Less{});                                     \
                if (calIndex) y[1] = asc_cpu::index_as<T>(i);                                                     \
                y[0] = x[i];                                                                                      \
            },                                                                                                    \
            calIndex ? 2 : 1);                                                                                    \
    }
}  // namespace AscendC

namespace asc_cpu {
template <typename T, typename M, typename F>
inline void reduce_all(const char *name, Where w, const LocalTensor<T> &to, const LocalTensor<T> &from,
                       const LocalTensor<T> &work, M mask, int32_t repeats, int32_t stride, F f, uint64_t results) {
    /* More repeats than an instruction has: the real one splits them too. */
    const Lanes lanes(mask, true, repeats > 255 ? 255 : repeats, bits_of<T>, name);
    const T *x = from.data();
    T *y = to.data();
    const int64_t per = 256 / bits_of<T>;
    std::vector<Run> read = lanes.runs({1, uint32_t(stride)}, bits_of<T>);
    for (Run &run : read) run.repeats = uint32_t(repeats);
    const uint64_t scratch = work.GetSize() < uint64_t(repeats) ? work.GetSize() : uint64_t(repeats);
    issue(PIPE_V, name, w, {work.writes(scratch), from.reads_runs(read), to.writes(results).aligned(sizeof(T))}, [=] {
        std::vector<T> values;
        for (int32_t r = 0; r < repeats; r++)
            for (uint32_t k = 0; k < lanes.per_repeat(); k++)
                if (lanes.has(0, k)) values.push_back(x[int64_t(r) * stride * per + k]);
        if (!values.empty()) f(y, values.data(), int64_t(values.size()));
    });
}
}  // namespace asc_cpu

namespace AscendC {
ASC_REDUCE_ALL(const int32_t mask)
ASC_REDUCE_ALL(const uint64_t mask[])
#undef ASC_REDUCE_ALL

#define ASC_WHOLE(Mask, is_set)                                                                                        \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask, const int32_t repeatTimes,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "WholeReduceSum");                  \
        asc_cpu::reduce_repeats("WholeReduceSum", w, dst, src, lanes, 1, uint32_t(dstRepStride),                       \
                                {uint32_t(srcBlkStride), uint32_t(srcRepStride)}, asc_cpu::AddUp{});                   \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void RepeatReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes, Mask, \
                                const int32_t dstBlkStride, const int32_t srcBlkStride, const int32_t dstRepStride,    \
                                const int32_t srcRepStride, asc_cpu::Where w = asc_cpu::Where::here()) {               \
        (void)dstBlkStride;                                                                                            \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "RepeatReduceSum");                 \
        asc_cpu::reduce_repeats("RepeatReduceSum", w, dst, src, lanes, 1, uint32_t(dstRepStride),                      \
                                {uint32_t(srcBlkStride), uint32_t(srcRepStride)}, asc_cpu::AddUp{});                   \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void WholeReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask, const int32_t repeatTimes,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,                                     \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::at(w);                                                                                                \
        asc_cpu::align_best("WholeReduceMax", w, dst);                                                                 \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "WholeReduceMax");                  \
        const uint32_t n = asc_cpu::numbers_of<T>(order);                                                              \
        asc_cpu::reduce_repeats("WholeReduceMax", w, dst, src, lanes, n, n * uint32_t(dstRepStride),                   \
                                {uint32_t(srcBlkStride), uint32_t(srcRepStride)},                                      \
                                asc_cpu::PickBest<asc_cpu::Greater>{order});                                           \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void WholeReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask, const int32_t repeatTimes,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,                                     \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::at(w);                                                                                                \
        asc_cpu::align_best("WholeReduceMin", w, dst);                                                                 \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "WholeReduceMin");                  \
        const uint32_t n = asc_cpu::numbers_of<T>(order);                                                              \
        asc_cpu::reduce_repeats("WholeReduceMin", w, dst, src, lanes, n, n * uint32_t(dstRepStride),                   \
                                {uint32_t(srcBlkStride), uint32_t(srcRepStride)},                                      \
                                asc_cpu::PickBest<asc_cpu::Less>{order});                                              \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void BlockReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes, Mask,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "BlockReduceSum");                  \
        asc_cpu::reduce_blocks("BlockReduceSum", w, dst, src, lanes, uint32_t(dstRepStride),                           \
                               {uint32_t(srcBlkStride), uint32_t(srcRepStride)},                                       \
                               [](auto a, auto b) { return asc_cpu::plus(a, b); });                                    \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void BlockReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes, Mask,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "BlockReduceMax");                  \
        asc_cpu::reduce_blocks("BlockReduceMax", w, dst, src, lanes, uint32_t(dstRepStride),                           \
                               {uint32_t(srcBlkStride), uint32_t(srcRepStride)},                                       \
                               [](auto a, auto b) { return asc_cpu::larger(a, b); });                                  \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void BlockReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes, Mask,  \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               asc_cpu::Where w = asc_cpu::Where::here()) {                                            \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "BlockReduceMin");                  \
        asc_cpu::reduce_blocks("BlockReduceMin", w, dst, src, lanes, uint32_t(dstRepStride),                           \
                               {uint32_t(srcBlkStride), uint32_t(srcRepStride)},                                       \
                               [](auto a, auto b) { return asc_cpu::smaller(a, b); });                                 \
    }                                                                                                                  \
    template <typename T, bool isSetMask = true>                                                                       \
    inline void PairReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t repeatTimes, Mask,   \
                              const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,      \
                              asc_cpu::Where w = asc_cpu::Where::here()) {                                             \
        asc_cpu::at(w);                                                                                                \
        const asc_cpu::Lanes lanes(mask, is_set, repeatTimes, asc_cpu::bits_of<T>, "PairReduceSum");                   \
        asc_cpu::reduce_pairs(w, dst, src, lanes, uint32_t(dstRepStride),                                              \
                              {uint32_t(srcBlkStride), uint32_t(srcRepStride)});                                       \
    }
ASC_WHOLE(const int32_t mask, isSetMask &&mask != 0)
ASC_WHOLE(const uint64_t mask[], isSetMask)
#undef ASC_WHOLE

}  // namespace AscendC
