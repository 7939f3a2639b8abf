/* The values of Mmad: A in L0A (Zz), B in L0B (Zn), C in L0C (Nz with strips of 16 columns). */
#pragma once

#include <vector>

#include "fractal.h"
#include "issue.h"
#include "multiply.h"

namespace asc_cpu {

/* What the cube makes of float operands before it multiplies them: nothing, or 11 bits of fraction. */
enum class Hf32 : uint8_t { Off, Nearest, Truncate };

inline float to_hf32(float value, Hf32 mode) {
    uint32_t word = bits_as<uint32_t>(value);
    if (mode == Hf32::Off || (word & 0x7F800000) == 0x7F800000) return value;
    if (mode == Hf32::Nearest) word += 0x7FF + (word >> 12 & 1);
    return bits_as<float>(word & ~0xFFFu);
}

/* Element i of a matrix as the cube multiplies it. */
template <typename T, typename Sum>
inline Sum operand_at(const uint8_t *memory, uint64_t i, Hf32 mode) {
    if constexpr (bits_of<T> == 4) {
        const uint32_t value = bits_at<4>(memory, i);
        return Sum(int32_t(value) - (value & 8 ? 16 : 0));
    } else {
        T value;
        std::memcpy(&value, memory + i * sizeof(T), sizeof value);
        if constexpr (std::is_same_v<T, float>) value = to_hf32(value, mode);
        return Sum(value);
    }
}

struct MmadShape {
    uint32_t m, n, k;
    bool k_by_16 = false; /* of 32-bit elements, whether L0A and L0B hold k rounded up to 16 rather than 8 */
    bool gemv = true;     /* whether a single row lies in L0A as it is, not as fractals */
    Hf32 hf32 = Hf32::Off;

    template <typename T>
    uint64_t bands() const {
        return k_by_16 && c0_of<T> == 8 ? 2 * divide_up(k, 16) : divide_up(k, c0_of<T>);
    }
    bool single_row() const { return gemv && m == 1; }
    /* Bytes of L0A, L0B and L0C that the product reads or writes. */
    template <typename T>
    uint64_t bytes_a() const {
        return single_row() ? align_up(bytes_of<T>(k), C0_BYTES)
                            : divide_up(m, FRACTAL_ROWS) * bands<T>() * FRACTAL_BYTES;
    }
    template <typename T>
    uint64_t bytes_b() const {
        return divide_up(n, FRACTAL_ROWS) * divide_up(k, c0_of<T>) * FRACTAL_BYTES;
    }
    /* What of these bytes the product takes: m rows, n columns and k of either. */
    template <typename T>
    void add_runs_a(std::vector<Run> &runs) const {
        constexpr uint32_t c0 = c0_of<T>;
        if (single_row()) {
            runs.push_back({0, (uint64_t(k) * bits_of<T> + 7) / 8});
            return;
        }
        const int64_t band = int64_t(bands<T>()) * FRACTAL_BYTES;
        for (uint32_t row = 0; row < m; row += FRACTAL_ROWS) {
            const uint32_t rows = m - row < FRACTAL_ROWS ? m - row : FRACTAL_ROWS, whole = k / c0;
            const int64_t begin = int64_t(row / FRACTAL_ROWS) * band;
            if (whole) runs.push_back({begin, rows * uint64_t(C0_BYTES), whole, FRACTAL_BYTES});
            if (k % c0) runs.push_back({begin + int64_t(whole) * FRACTAL_BYTES, tail_bytes<T>(), rows, C0_BYTES});
        }
    }
    template <typename T>
    void add_runs_b(std::vector<Run> &runs) const {
        const uint32_t whole = k / c0_of<T>;
        const int64_t band = int64_t(divide_up(n, FRACTAL_ROWS)) * FRACTAL_BYTES;
        if (whole) runs.push_back({0, n * uint64_t(C0_BYTES), whole, band});
        if (k % c0_of<T>) runs.push_back({int64_t(whole) * band, tail_bytes<T>(), n, C0_BYTES});
    }
    template <typename T>
    uint64_t tail_bytes() const {
        return (uint64_t(k % c0_of<T>) * bits_of<T> + 7) / 8;
    }
    uint64_t rows_c() const { return align_up(m, FRACTAL_ROWS); }
    uint64_t elements_c() const { return rows_c() * align_up(n, FRACTAL_ROWS); }
};

/* A as [m, k] and B as [k, n], dense. */
template <typename T, typename Sum>
inline std::vector<Sum> dense_a(const uint8_t *l0a, const MmadShape &s) {
    constexpr uint32_t c0 = c0_of<T>;
    const uint64_t bands = s.bands<T>();
    std::vector<Sum> a(uint64_t(s.m) * s.k);
    for (uint32_t row = 0; row < s.m; row++)
        for (uint32_t k = 0; k < s.k; k++)
            a[uint64_t(row) * s.k + k] =
                operand_at<T, Sum>(l0a, s.single_row() ? k : zz_offset(row, k, bands, c0), s.hf32);
    return a;
}
template <typename T, typename Sum>
inline std::vector<Sum> dense_b(const uint8_t *l0b, const MmadShape &s) {
    constexpr uint32_t c0 = c0_of<T>;
    const uint64_t bands = divide_up(s.n, FRACTAL_ROWS);
    std::vector<Sum> b(uint64_t(s.k) * s.n);
    for (uint32_t column = 0; column < s.n; column++)
        for (uint32_t k = 0; k < s.k; k++)
            b[uint64_t(k) * s.n + column] = operand_at<T, Sum>(l0b, zn_offset(k, column, bands, c0), s.hf32);
    return b;
}

/* Where C starts from. */
enum class MmadInitial : uint8_t { Zero, Sums, Bias };

/* C = initial + A * B, rounded once where C is half. bias: n sums, of the bias table. */
template <typename A, typename B, typename Sum, typename C>
inline void mmad_values(C *l0c, const uint8_t *l0a, const uint8_t *l0b, const Sum *bias, MmadInitial initial,
                        const MmadShape &s) {
    const std::vector<Sum> a = dense_a<A, Sum>(l0a, s), b = dense_b<B, Sum>(l0b, s);
    std::vector<Sum> c(uint64_t(s.m) * s.n);
    auto place = [&](uint32_t row, uint32_t column) { return nz_offset(row, column, s.rows_c(), FRACTAL_ROWS); };
    if (initial != MmadInitial::Zero)
        for (uint32_t row = 0; row < s.m; row++)
            for (uint32_t column = 0; column < s.n; column++)
                c[uint64_t(row) * s.n + column] =
                    initial == MmadInitial::Bias ? bias[column] : Sum(l0c[place(row, column)]);
    multiply(c.data(), s.n, a.data(), s.k, b.data(), s.n, s.m, s.n, s.k);
    for (uint32_t row = 0; row < s.m; row++)
        for (uint32_t column = 0; column < s.n; column++) l0c[place(row, column)] = C(c[uint64_t(row) * s.n + column]);
}

}  // namespace asc_cpu
