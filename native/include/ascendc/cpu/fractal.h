/* Fractal layouts of the cube's memories. A fractal is 16 rows of 32 bytes, 512 bytes in all: 16x16 elements of 16
 * bits, 16x32 of 8, 16x64 of 4, 16x8 of 32. C0 is its width in elements. L0C alone has fractals of 16x16 elements
 * whatever their size.
 *
 *   Nz  strips of C0 columns, one after the other; in a strip row after row         (L1, and L0C with C0 = 16)
 *   Zz  bands of 16 rows; in a band fractal after fractal, each row after row       (L0A)
 *   Zn  bands of C0 rows; in a band 16 columns at a time, each column after column  (L0B)
 */
#pragma once

#include "types.h"

namespace asc_cpu {

constexpr uint32_t FRACTAL_ROWS = 16, FRACTAL_BYTES = 512, C0_BYTES = 32;

template <typename T>
constexpr uint32_t c0_of = 8 * C0_BYTES / bits_of<T>;

constexpr uint64_t divide_up(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}
constexpr uint64_t align_up(uint64_t a, uint64_t b) {
    return divide_up(a, b) * b;
}

/* Element offsets. `rows` is what the layout holds of rows in a strip, `bands` of fractals in a band. */
constexpr uint64_t nz_offset(uint64_t row, uint64_t column, uint64_t rows, uint32_t c0) {
    return column / c0 * rows * c0 + row * c0 + column % c0;
}
constexpr uint64_t zz_offset(uint64_t row, uint64_t column, uint64_t bands, uint32_t c0) {
    return (row / FRACTAL_ROWS * bands + column / c0) * FRACTAL_ROWS * c0 + row % FRACTAL_ROWS * c0 + column % c0;
}
constexpr uint64_t zn_offset(uint64_t row, uint64_t column, uint64_t bands, uint32_t c0) {
    return (row / c0 * bands + column / FRACTAL_ROWS) * FRACTAL_ROWS * c0 + column % FRACTAL_ROWS * c0 + row % c0;
}

/* Element i of packed memory as bits, for moves that keep the value: 4, 8, 16 or 32 of them. */
template <uint32_t bits>
inline uint32_t bits_at(const uint8_t *memory, uint64_t i) {
    if constexpr (bits == 4) {
        return memory[i / 2] >> 4 * (i % 2) & 15u;
    } else {
        uint32_t value = 0;
        std::memcpy(&value, memory + i * (bits / 8), bits / 8);
        return value;
    }
}
template <uint32_t bits>
inline void set_bits(uint8_t *memory, uint64_t i, uint32_t value) {
    if constexpr (bits == 4) {
        const uint32_t shift = 4 * (i % 2);
        memory[i / 2] = uint8_t((memory[i / 2] & ~(15u << shift)) | (value & 15u) << shift);
    } else {
        std::memcpy(memory + i * (bits / 8), &value, bits / 8);
    }
}

/* Transposes one square: the C0 x C0 (for 32 bits 16x16) elements of `count` fractals. Fractals of 8 and 4 bits are
 * its bands of 16 rows, those of 32 bits its strips of 8 columns. Source fractals lie one after the other, those of
 * the result `apart` bytes. */
template <uint32_t bits>
constexpr uint32_t side_of_square = bits == 32 ? FRACTAL_ROWS : 8 * C0_BYTES / bits;
/* The element of a square's fractals, which lie `apart` bytes from each other, at (row, column). */
template <uint32_t bits>
constexpr uint64_t square_offset(uint32_t row, uint32_t column, uint64_t apart) {
    constexpr uint32_t c0 = 8 * C0_BYTES / bits;
    const uint32_t fractal = row / FRACTAL_ROWS + column / c0;
    return fractal * apart * 8 / bits + row % FRACTAL_ROWS * c0 + column % c0;
}
template <uint32_t bits>
inline void transpose_square(uint8_t *to, const uint8_t *from, uint64_t apart) {
    constexpr uint32_t side = side_of_square<bits>;
    for (uint32_t row = 0; row < side; row++)
        for (uint32_t column = 0; column < side; column++)
            set_bits<bits>(to, square_offset<bits>(row, column, apart),
                           bits_at<bits>(from, square_offset<bits>(column, row, FRACTAL_BYTES)));
}
/* Fractals of a square. */
template <uint32_t bits>
constexpr uint32_t fractals_of_square = bits == 16  ? 1
                                        : bits == 4 ? 4
                                                    : 2;

}  // namespace asc_cpu
