/* Shapes that a kernel computes (OutputShapeDependOnCompute): for each such output, in the definition's order, nine
 * words: the number of dims, then the dims. A number with its bit 31 set says that the words are 64 bits wide, which
 * they are in any case. */
#pragma once

#include <cstddef>
#include <cstdint>

namespace asc_host {

constexpr size_t SHAPE_WORDS = 9;
constexpr uint64_t WIDE_WORDS = 0x80000000u;
/* What the words are before the launch: no number of dims. */
constexpr uint64_t NO_SHAPE = ~uint64_t(0);

/* The number of dims; more than eight where the words are none of a shape. */
inline uint64_t rank_of(const uint64_t *words) {
    return words[0] & ~WIDE_WORDS;
}
inline bool is_shape(const uint64_t *words) {
    return rank_of(words) < SHAPE_WORDS;
}
/* The elements of a shape, at most `most` + 1. */
inline uint64_t elements_of(const uint64_t *words, uint64_t most) {
    uint64_t count = 1;
    for (uint64_t d = 1; d <= rank_of(words); d++)
        if (words[d] == 0) return 0;
    for (uint64_t d = 1; d <= rank_of(words); d++) {
        if (words[d] > most / count) return most + 1;
        count *= words[d];
    }
    return count;
}

}  // namespace asc_host
