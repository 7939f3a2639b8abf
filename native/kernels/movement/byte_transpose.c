/* Bytes by blocks of 16 x 16 in registers, the rest one by one. */
#include "byte_transpose.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>

/* Interleaving row i with row i + 8 four times over transposes 16 rows of 16 bytes. */
static inline void transpose_block(const uint8_t *from, int64_t from_step, uint8_t flip, uint8_t *to, int64_t to_step) {
    __m128i a[16], b[16], top = _mm_set1_epi8((char)flip);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) a[i] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(from + i * from_step)), top);
#pragma GCC unroll 4
    for (int pass = 0; pass < 4; pass++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) a[i] = b[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(to + i * to_step), a[i]);
}
#else
static inline void transpose_block(const uint8_t *from, int64_t from_step, uint8_t flip, uint8_t *to, int64_t to_step) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) to[j * to_step + i] = from[i * from_step + j] ^ flip;
}
#endif

void ASC_FN(transpose_bytes)(const uint8_t *from, int64_t from_step, int64_t rows, int64_t columns, uint8_t flip,
                             uint8_t *to, int64_t to_step) {
    int64_t whole_rows = rows / 16 * 16, whole_columns = columns / 16 * 16;
    for (int64_t j = 0; j < whole_columns; j += 16)
        for (int64_t i = 0; i < whole_rows; i += 16)
            transpose_block(from + i * from_step + j, from_step, flip, to + j * to_step + i, to_step);
    for (int64_t j = whole_columns; j < columns; j++)
        for (int64_t i = 0; i < whole_rows; i++) to[j * to_step + i] = from[i * from_step + j] ^ flip;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = whole_rows; i < rows; i++) to[j * to_step + i] = from[i * from_step + j] ^ flip;
}
