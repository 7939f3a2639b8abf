/* qgemm_rows.h - rows of an integer product summed in registers, on x86-64 and in plain C; qgemm_neon.h is AArch64's.
 */
#ifndef ASC_KERNELS_QGEMM_ROWS_H
#define ASC_KERNELS_QGEMM_ROWS_H

#include "qgemm.h"
#include "simd.h"

#if defined(__SSE4_1__) && !defined(__AVX512F__)
#include <immintrin.h>
#endif

#define ALWAYS static inline __attribute__((always_inline))

/* Four products of each lane: unsigned bytes of A times signed bytes of B. */
#if defined(__AVX512VNNI__)
typedef vi operand;
ALWAYS operand split(vi b) {
    return b;
}
ALWAYS vi multiply(vi sum, vi a, operand b) {
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#elif defined(__SSE4_1__)
/* As pairs of 16 bits, whose products can't saturate as those of bytes would. */
#if defined(__AVX512F__)
#define MULTIPLY_PAIRS(a, b) ((vi)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#elif defined(__AVX2__)
#define MULTIPLY_PAIRS(a, b) ((vi)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#else
#define MULTIPLY_PAIRS(a, b) ((vi)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#endif
typedef int16_t vs __attribute__((vector_size(ASC_VF * 4)));
typedef struct operand {
    vs even, odd;
} operand;
ALWAYS operand split(vi b) {
    return (operand){(vs)((vs)b << 8) >> 8, (vs)b >> 8};
}
ALWAYS vi multiply(vi sum, vi a, operand b) {
    vi even = a & 0x00ff00ff, odd = (vi)((vw)a >> 8) & 0x00ff00ff;
    return sum + MULTIPLY_PAIRS(even, b.even) + MULTIPLY_PAIRS(odd, b.odd);
}
#else
typedef vi operand;
ALWAYS operand split(vi b) {
    return b;
}
ALWAYS vi multiply(vi sum, vi a, operand b) {
    for (int i = 0; i < 4; i++) sum += ((a >> 8 * i) & 255) * ((vi)((vw)b << (24 - 8 * i)) >> 24);
    return sum;
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
/* The even or the odd bytes of each lane as pairs of 16 bits. The mask is read from memory, since the sums leave no
 * register for it. */
ALWAYS vi bytes_of(vi four, int even) {
    static const vi mask = {0x00ff00ff, 0x00ff00ff, 0x00ff00ff, 0x00ff00ff,
                            0x00ff00ff, 0x00ff00ff, 0x00ff00ff, 0x00ff00ff};
    if (!even) return (vi)_mm256_srli_epi16((__m256i)four, 8);
    __asm__("vpand %1, %0, %0" : "+x"(four) : "m"(mask));
    return four;
}
#endif

ALWAYS vi load_vnni4(const int8_t *p) {
    vi v;
    memcpy(&v, p, sizeof v);
    return v;
}

ALWAYS vi broadcast_vnni4(const uint8_t *p, const int flip) {
    int32_t q;
    memcpy(&q, p, sizeof q);
    return vi_set(flip ? q ^ (int32_t)0x80808080 : q);
}

/* The sums of `rows` rows and of `vectors` vectors of columns. Constants make the loops vanish and keep the sums in
 * registers. */
ALWAYS void multiply_rows(const qgemm *g, const uint8_t *first, const int8_t *b, vi sum[][2], const int rows,
                          const int vectors, const int flip) {
    const int64_t a_row = g->a_row, vnni4 = g->vnni4;
    for (int64_t s = 0; s < g->n_segments; s++) {
        const uint8_t *a = first + g->segments[s];
        for (int64_t q = 0; q < vnni4; q++, a += 4, b += 4 * QGEMM_PANEL) {
#if defined(__AVX2__) && !defined(__AVX512F__)
            /* Odd bytes, then even ones, read anew: kept, their operands would need registers that the sums take. */
#pragma GCC unroll 2
            for (int half = 0; half < 2; half++) {
                __asm__("" : "+r"(a), "+r"(b));
                operand left = split(load_vnni4(b)), right = split(load_vnni4(b + 4 * ASC_VF));
                vs by_left = half ? left.even : left.odd, by_right = half ? right.even : right.odd;
#pragma GCC unroll 16
                for (int i = 0; i < rows; i++) {
                    vi each = bytes_of(broadcast_vnni4(a + i * a_row, flip), half);
                    sum[i][0] += MULTIPLY_PAIRS(each, by_left);
                    __asm__("" : "+x"(sum[i][0])); /* GCC would keep products to add both halves' first */
                    sum[i][1] += MULTIPLY_PAIRS(each, by_right);
                    __asm__("" : "+x"(sum[i][1]));
                }
            }
            (void)vectors;
#else
            operand left = split(load_vnni4(b)), right = vectors > 1 ? split(load_vnni4(b + 4 * ASC_VF)) : left;
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                vi each = broadcast_vnni4(a + i * a_row, flip);
                sum[i][0] = multiply(sum[i][0], each, left);
                if (vectors > 1) sum[i][1] = multiply(sum[i][1], each, right);
            }
#endif
        }
    }
}

#endif
