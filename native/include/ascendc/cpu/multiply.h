/* C += A * B on dense row-major arrays: the arithmetic of the cube, whatever the layouts around it.
 *
 * Products are exact for 16-bit and 8-bit elements; sums of floats are float in the order of k, sums of integers are
 * int32 and wrap. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace asc_cpu {

/* Four elements of C, which every compiler keeps in one register. */
template <typename C>
struct Packed {
    typedef C vector __attribute__((vector_size(16)));
};

/* ROWS rows and 8 columns of C, held in registers while k runs. */
template <uint32_t ROWS, typename C>
inline void multiply_tile(C *c, uint64_t ldc, const C *a, uint64_t lda, const C *b, uint64_t ldb, uint64_t k) {
    using Vector = typename Packed<C>::vector;
    Vector left[ROWS], right[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        std::memcpy(&left[i], c + i * ldc, sizeof(Vector));
        std::memcpy(&right[i], c + i * ldc + 4, sizeof(Vector));
    }
    for (uint64_t p = 0; p < k; p++) {
        Vector near, far;
        std::memcpy(&near, b + p * ldb, sizeof near);
        std::memcpy(&far, b + p * ldb + 4, sizeof far);
        for (uint32_t i = 0; i < ROWS; i++) {
            const C factor = a[i * lda + p];
            left[i] += factor * near;
            right[i] += factor * far;
        }
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        std::memcpy(c + i * ldc, &left[i], sizeof(Vector));
        std::memcpy(c + i * ldc + 4, &right[i], sizeof(Vector));
    }
}

/* C[m, n] += A[m, k] * B[k, n]; ld* are the elements from row to row. Integers are summed as uint32_t, which wraps. */
template <typename Sum>
inline void multiply(Sum *c, uint64_t ldc, const Sum *a, uint64_t lda, const Sum *b, uint64_t ldb, uint64_t m,
                     uint64_t n, uint64_t k) {
    using C = std::conditional_t<std::is_same_v<Sum, int32_t>, uint32_t, Sum>;
    C *out = reinterpret_cast<C *>(c);
    const C *left = reinterpret_cast<const C *>(a), *right = reinterpret_cast<const C *>(b);
    uint64_t j = 0;
    for (; j + 8 <= n; j += 8) {
        uint64_t i = 0;
        for (; i + 4 <= m; i += 4) multiply_tile<4>(out + i * ldc + j, ldc, left + i * lda, lda, right + j, ldb, k);
        for (; i < m; i++) multiply_tile<1>(out + i * ldc + j, ldc, left + i * lda, lda, right + j, ldb, k);
    }
    for (uint64_t i = 0; i < m && j < n; i++)
        for (uint64_t p = 0; p < k; p++)
            for (uint64_t column = j; column < n; column++)
                out[i * ldc + column] += left[i * lda + p] * right[p * ldb + column];
}

}  // namespace asc_cpu
