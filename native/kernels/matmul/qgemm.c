/* Register tiles of exact integer products, row sums, and what becomes of the sums of a strip. */
#include "qgemm.h"

#include "simd.h"

#if defined(__SSE4_1__) && !defined(__AVX512F__)
#include <immintrin.h>
#endif

#if defined(__aarch64__)
#include "qgemm_neon.h"
#else
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

/* Constant `rows` and `flip` make the loops vanish and keep the sums in registers. */
ALWAYS void tile(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums, const int rows, const int flip) {
    vi sum[QGEMM_ROWS][2];
    const int64_t a_row = g->a_row, vnni4 = g->vnni4;
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (vi){0};
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
#else
            operand left = split(load_vnni4(b)), right = split(load_vnni4(b + 4 * ASC_VF));
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                vi each = broadcast_vnni4(a + i * a_row, flip);
                sum[i][0] = multiply(sum[i][0], each, left);
                sum[i][1] = multiply(sum[i][1], each, right);
            }
#endif
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        memcpy(sums + i * QGEMM_COLUMNS, &sum[i][0], sizeof(vi));
        memcpy(sums + i * QGEMM_COLUMNS + ASC_VF, &sum[i][1], sizeof(vi));
    }
}
#endif

#define TILE(rows)                                                                                  \
    static void tile_##rows(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums) { \
        if (g->flip)                                                                                \
            tile(g, first, b, sums, rows, 1);                                                       \
        else                                                                                        \
            tile(g, first, b, sums, rows, 0);                                                       \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if QGEMM_ROWS > 4
TILE(5)
TILE(6)
#endif
#if QGEMM_ROWS > 6
TILE(7)
TILE(8)
#endif
#if QGEMM_ROWS > 8
TILE(9)
TILE(10)
TILE(11)
TILE(12)
#endif

typedef void (*tile_fn)(const qgemm *, const uint8_t *, const int8_t *, int32_t *);
static const tile_fn TILES[QGEMM_ROWS] = {
    tile_1, tile_2,  tile_3,  tile_4,
#if QGEMM_ROWS > 4
    tile_5, tile_6,
#endif
#if QGEMM_ROWS > 6
    tile_7, tile_8,
#endif
#if QGEMM_ROWS > 8
    tile_9, tile_10, tile_11, tile_12,
#endif
};

void ASC_FN(qgemm_tile)(const qgemm *g, int64_t row, int rows, int64_t col, int32_t *sums) {
    const int8_t *b = g->b + col / QGEMM_PANEL * g->b_panel + col % QGEMM_PANEL * 4;
    TILES[rows - 1](g, g->a + row * g->a_row, b, sums);
}

int32_t ASC_FN(qgemm_row_sum)(const qgemm *g, int64_t row, int64_t length) {
    uint32_t sum = 0;
    uint8_t flip = g->flip ? 128 : 0;
    for (int64_t s = 0; s < g->n_segments; s++) {
        const uint8_t *a = g->a + row * g->a_row + g->segments[s];
        for (int64_t k = 0; k < length; k++) sum += (uint8_t)(a[k] ^ flip);
    }
    return (int32_t)sum;
}

#define ENDING_ROWS 32 /* that end at once */

void ASC_FN(qgemm_strip_end)(const qgemm_strip *s, int64_t line, int64_t row, int64_t rows, int64_t col, int64_t n,
                             const int32_t *sums) {
    const requantiser *r = s->requantiser;
    int32_t found[ENDING_ROWS];
    const int32_t *row_sums = s->row_sums ? s->row_sums + line * s->rows + row : found;
    qgemm at = *s->g;
    at.a += line * s->a_line;
    for (int64_t i = 0; i < rows && r->b_zero && !s->row_sums; i++)
        found[i] = ASC_FN(qgemm_row_sum)(&at, row + i, s->length);
    ASC_FN(requantise)(r, sums, r->b_zero ? row_sums : NULL, rows, s->first + col, n,
                       s->out + line * s->out_line + row * s->step, s->step);
}
