/* Functions that the threads of a warp call together: lanes exchange values, reduce them and vote. */
#pragma once

#include "atomic.h"

namespace asc_cpu::simt {

template <typename T>
inline T value_of(uint64_t bits) {
    T value;
    std::memcpy(static_cast<void *>(&value), &bits, sizeof value);
    return value;
}
template <typename T>
inline uint64_t bits_for(const T &value) {
    static_assert(sizeof(T) <= 8, "values of at most 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const void *>(&value), sizeof value);
    return bits;
}
/* The value of another lane; one's own where that lane is not there. */
template <typename T, typename F>
inline T shuffled(T value, Where w, F from) {
    const uint32_t me = threads().lane();
    const WarpValues &all = threads().wait_for_warp(bits_for(value), w);
    const uint32_t other = from(me);
    return other < WARP && all.active >> other & 1 ? value_of<T>(all.value[other]) : value;
}
/* Of all active lanes, in their order. */
template <typename T, typename F>
inline T reduced(T value, Where w, F meet) {
    const WarpValues &all = threads().wait_for_warp(bits_for(value), w);
    bool any = false;
    T result{};
    for (uint32_t i = 0; i < WARP; i++) {
        if (!(all.active >> i & 1)) continue;
        const T next = value_of<T>(all.value[i]);
        result = any ? T(meet(result, next)) : next, any = true;
    }
    return result;
}
inline uint32_t ballot(bool predicate, Where w) {
    const WarpValues &all = threads().wait_for_warp(predicate, w);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < WARP; i++) bits |= uint32_t((all.active >> i & 1) && all.value[i]) << i;
    return bits;
}
inline uint32_t active(Where w) {
    return threads().wait_for_warp(0, w).active;
}

}  // namespace asc_cpu::simt

/* Under their names of AscendC::Simt and of C, and those that CUDA's programs bring. `width`: lanes of a group that
 * exchanges values, a power of two. */
#define ASC_SHUFFLE(name, c_name, old_name, argument, ...)                                                        \
    namespace AscendC::Simt {                                                                                     \
    template <typename T>                                                                                         \
    inline T name(T value, int32_t argument, int32_t width = 32, asc_cpu::Where w = asc_cpu::Where::here()) {     \
        asc_cpu::at(w);                                                                                           \
        asc_cpu::need_parameter(w, width > 0 && width <= 32 && (width & (width - 1)) == 0, #c_name,               \
                                "width is a power of two, 32 at most");                                           \
        return asc_cpu::simt::shuffled(value, w, [=](uint32_t lane) {                                             \
            const uint32_t group = lane / uint32_t(width) * uint32_t(width), end = group + uint32_t(width);       \
            (void)end, (void)group;                                                                               \
            return uint32_t(__VA_ARGS__);                                                                         \
        });                                                                                                       \
    }                                                                                                             \
    }                                                                                                             \
    template <typename T>                                                                                         \
    inline T c_name(T value, int32_t argument, int32_t width = 32, asc_cpu::Where w = asc_cpu::Where::here()) {   \
        return AscendC::Simt::name(value, argument, width, w);                                                    \
    }                                                                                                             \
    template <typename T>                                                                                         \
    inline T old_name(T value, int32_t argument, int32_t width = 32, asc_cpu::Where w = asc_cpu::Where::here()) { \
        return AscendC::Simt::name(value, argument, width, w);                                                    \
    }
ASC_SHUFFLE(WarpShflSync, asc_shfl, __shfl, source, group + uint32_t(source) % uint32_t(width))
ASC_SHUFFLE(WarpShflUpSync, asc_shfl_up, __shfl_up, delta,
            lane < group + uint32_t(delta) ? lane : lane - uint32_t(delta))
ASC_SHUFFLE(WarpShflDownSync, asc_shfl_down, __shfl_down, delta,
            lane + uint32_t(delta) >= end ? lane : lane + uint32_t(delta))
ASC_SHUFFLE(WarpShflXorSync, asc_shfl_xor, __shfl_xor, mask,
            (lane ^ uint32_t(mask)) >= end ? lane : lane ^ uint32_t(mask))
#undef ASC_SHUFFLE

#define ASC_WARP_REDUCTION(name, c_name, ...)                                          \
    namespace AscendC::Simt {                                                          \
    template <typename T>                                                              \
    inline T name(T value, asc_cpu::Where w = asc_cpu::Where::here()) {                \
        return asc_cpu::simt::reduced(value, w, [](T a, T b) { return __VA_ARGS__; }); \
    }                                                                                  \
    }                                                                                  \
    template <typename T>                                                              \
    inline T c_name(T value, asc_cpu::Where w = asc_cpu::Where::here()) {              \
        return AscendC::Simt::name(value, w);                                          \
    }
ASC_WARP_REDUCTION(WarpReduceAddSync, asc_reduce_add, a + b)
ASC_WARP_REDUCTION(WarpReduceMaxSync, asc_reduce_max, a > b ? a : b)
ASC_WARP_REDUCTION(WarpReduceMinSync, asc_reduce_min, a < b ? a : b)
#undef ASC_WARP_REDUCTION

#define ASC_VOTE(name, c_name, type, ...)                                              \
    namespace AscendC::Simt {                                                          \
    inline type name(int32_t predicate, asc_cpu::Where w = asc_cpu::Where::here()) {   \
        return __VA_ARGS__;                                                            \
    }                                                                                  \
    }                                                                                  \
    inline type c_name(int32_t predicate, asc_cpu::Where w = asc_cpu::Where::here()) { \
        return AscendC::Simt::name(predicate, w);                                      \
    }
ASC_VOTE(WarpBallotSync, asc_ballot, uint32_t, asc_cpu::simt::ballot(predicate != 0, w))
ASC_VOTE(WarpAnySync, asc_any, int32_t, asc_cpu::simt::ballot(predicate != 0, w) != 0)
ASC_VOTE(WarpAllSync, asc_all, int32_t, asc_cpu::simt::ballot(predicate == 0, w) == 0)
#undef ASC_VOTE
inline uint32_t asc_activemask(asc_cpu::Where w = asc_cpu::Where::here()) {
    return asc_cpu::simt::active(w);
}
namespace AscendC::Simt {
inline uint32_t WarpActiveMaskSync(asc_cpu::Where w = asc_cpu::Where::here()) {
    return asc_cpu::simt::active(w);
}
}  // namespace AscendC::Simt
