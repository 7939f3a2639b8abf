/* Register tiles whose sums become integers of 8 bits before they leave the registers, where 32 of them hold a tile. */
#include "chunks.h"
#include "heights.h"
#include "qgemm.h"

#if ASC_VF == 16
#include "qgemm_rows.h"
#include "quantize/byte_sum_vectors.h"

/* Where the bytes of a tile go: `n` columns of each row, rows `step` bytes apart. */
typedef struct target {
    const requantiser *r;
    int64_t col, n, step;
    char *out;
} target;

ALWAYS void store(const target *t, int row, __m256i bytes) {
    if (t->n == QGEMM_COLUMNS)
        _mm256_storeu_si256((__m256i *)(t->out + row * t->step), bytes);
    else
        _mm256_mask_storeu_epi8(t->out + row * t->step, (1u << t->n) - 1, bytes);
}

/* Rows of two vectors of columns: two of them fill a vector of bytes. */
ALWAYS void end_wide(const target *t, const vi sum[][2], const int rows) {
    const saturation s = saturation_of(t->r->zero, t->r->dtype == ASC_INT8);
    const vf left = vf_load(t->r->scale + t->col), right = vf_load(t->r->scale + t->col + ASC_VF);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i += 2) {
        const int other = i + 1 < rows ? i + 1 : i;
        const __m512i q[] = {scaled(sum[i][0], left), scaled(sum[i][1], right), scaled(sum[other][0], left),
                             scaled(sum[other][1], right)};
        __m512i bytes = saturated(&s, q);
        store(t, i, _mm512_castsi512_si256(bytes));
        if (other != i) store(t, other, _mm512_extracti64x4_epi64(bytes, 1));
    }
}

/* Rows of one: four of them. */
ALWAYS void end_narrow(const target *t, const vi sum[][2], const int rows) {
    const saturation s = saturation_of(t->r->zero, t->r->dtype == ASC_INT8);
    const vf scale = vf_load(t->r->scale + t->col);
    const __mmask16 columns = (__mmask16)((1u << t->n) - 1);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i += 4) {
        const int last = rows - 1;
        const __m512i q[] = {scaled(sum[i][0], scale), scaled(sum[i + 1 < last ? i + 1 : last][0], scale),
                             scaled(sum[i + 2 < last ? i + 2 : last][0], scale),
                             scaled(sum[i + 3 < last ? i + 3 : last][0], scale)};
        __m512i bytes = saturated(&s, q);
        const __m128i each[] = {_mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1),
                                _mm512_extracti32x4_epi32(bytes, 2), _mm512_extracti32x4_epi32(bytes, 3)};
        const int count = rows - i < 4 ? rows - i : 4;
#pragma GCC unroll 4
        for (int k = 0; k < count; k++) {
            char *out = t->out + (i + k) * t->step;
            if (t->n == ASC_VF)
                _mm_storeu_si128((__m128i *)out, each[k]);
            else
                _mm_mask_storeu_epi8(out, columns, each[k]);
        }
    }
}

/* As end_wide, with sums that are affine. Step by step for all vectors: a chain of these operations is some 40 cycles
 * long, and no CPU looks far enough ahead to overlap those of one vector after another. */
ALWAYS void end_wide_sum(const target *t, const vi sum[][2], const int rows) {
    const sum_vectors v = sum_vectors_of(t->r);
    const vf left = vf_load(t->r->scale + t->col), right = vf_load(t->r->scale + t->col + ASC_VF);
    const char *addend = t->r->sum->addend + (t->out - t->r->sum->y);
    const __mmask32 exist = t->n == QGEMM_COLUMNS ? ~0u : (1u << t->n) - 1;
    __m512 x[QGEMM_ROWS][2];
#pragma GCC unroll 24
    for (int i = 0; i < 2 * rows; i++) x[i / 2][i % 2] = product_of(sum[i / 2][i % 2], i % 2 ? right : left);
#pragma GCC unroll 24
    for (int i = 0; i < 2 * rows; i++) x[i / 2][i % 2] = result_of(&v, x[i / 2][i % 2]);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i += 2) {
        const int other = i + 1 < rows ? i + 1 : i;
        __m512i bytes = _mm512_castsi256_si512(_mm256_maskz_loadu_epi8(exist, addend + i * t->step));
        if (other != i) bytes = _mm512_inserti64x4(bytes, _mm256_maskz_loadu_epi8(exist, addend + other * t->step), 1);
        bytes = in_quarters(&v, bytes);
        x[i][0] = affine_sum(&v, x[i][0], bytes, 0);
        x[i][1] = affine_sum(&v, x[i][1], bytes, 1);
        if (other == i) continue;
        x[other][0] = affine_sum(&v, x[other][0], bytes, 2);
        x[other][1] = affine_sum(&v, x[other][1], bytes, 3);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i += 2) {
        const int other = i + 1 < rows ? i + 1 : i;
        const __m512 four[] = {x[i][0], x[i][1], x[other][0], x[other][1]};
        __m512i bytes = bytes_of_affine(&v, four);
        _mm256_mask_storeu_epi8(t->out + i * t->step, exist, _mm512_castsi512_si256(bytes));
        if (other != i) _mm256_mask_storeu_epi8(t->out + other * t->step, exist, _mm512_extracti64x4_epi64(bytes, 1));
    }
}

/* Where the rows' bytes and those that are added to them lie, a cache line or two of each row, is asked for before the
 * products: each row is a line that may be as far as L3, and the last operations would wait for all of them. */
ALWAYS void ask_for(const target *t, const int rows) {
    const char *addend = t->r->sum ? t->r->sum->addend + (t->out - t->r->sum->y) : NULL;
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        if (addend) __builtin_prefetch(addend + i * t->step, 0, 3);
        __builtin_prefetch(t->out + i * t->step, 1, 3);
    }
}

/* Constants make the loops vanish. */
ALWAYS void tile(const qgemm *g, const uint8_t *first, const int8_t *b, const target *t, const int rows,
                 const int vectors) {
    vi sum[QGEMM_ROWS][2];
    ask_for(t, rows);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        memcpy(&sum[i][0], t->r->offset + t->col, sizeof(vi));
        if (vectors > 1) memcpy(&sum[i][1], t->r->offset + t->col + ASC_VF, sizeof(vi));
    }
    multiply_rows(g, first, b, sum, rows, vectors, 0);
    if (vectors > 1 && t->r->sum)
        end_wide_sum(t, sum, rows);
    else if (vectors > 1)
        end_wide(t, sum, rows);
    else
        end_narrow(t, sum, rows);
}

#define TILE(rows)                                                                                    \
    static void tile_##rows(const qgemm *g, const uint8_t *first, const int8_t *b, const target *t) { \
        if (t->n > ASC_VF)                                                                            \
            tile(g, first, b, t, rows, 2);                                                            \
        else                                                                                          \
            tile(g, first, b, t, rows, 1);                                                            \
    }
EACH_HEIGHT(QGEMM_ROWS, TILE)

typedef void (*tile_fn)(const qgemm *, const uint8_t *, const int8_t *, const target *);
#define ENTRY(rows) tile_##rows,
static const tile_fn TILES[QGEMM_ROWS] = {EACH_HEIGHT(QGEMM_ROWS, ENTRY)};

int ASC_FN(qgemm_strip_bytes)(const qgemm_strip *s, int64_t col, int64_t n) {
    const requantiser *r = s->requantiser;
    const int is_byte = r->dtype == ASC_INT8 || r->dtype == ASC_UINT8;
    if (!is_byte || r->b_zero || s->g->flip) return 0;
    if (r->sum ? !r->sum->affine.holds || n <= ASC_VF : !r->saturates) return 0;
    const int8_t *b = s->g->b + col / QGEMM_PANEL * s->g->b_panel + col % QGEMM_PANEL * 4;
    for (int64_t line = 0; line < s->lines; line++) {
        const uint8_t *a = s->g->a + line * s->a_line;
        target t = {r, s->first + col, n, s->step, s->out + line * s->out_line};
        for (int64_t row = 0, rows; row < s->rows; row += rows, t.out += rows * s->step) {
            rows = asc_ceil_div(s->rows - row, asc_ceil_div(s->rows - row, QGEMM_ROWS));
            TILES[rows - 1](s->g, a + row * s->g->a_row, b, &t);
        }
    }
    return 1;
}

#else

int ASC_FN(qgemm_strip_bytes)(const qgemm_strip *s, int64_t col, int64_t n) {
    (void)s, (void)col, (void)n;
    return 0;
}

#endif
