/* Register tiles of exact integer products, row sums, and what becomes of the sums of a strip. */
#include "qgemm.h"

#include "heights.h"
#include "simd.h"

#if defined(__aarch64__)
#include "qgemm_neon.h"
#else
#include "qgemm_rows.h"

/* Constant `rows` and `flip` make the loops vanish. */
ALWAYS void tile(const qgemm *g, const uint8_t *first, const int8_t *b, int32_t *sums, const int rows, const int flip) {
    vi sum[QGEMM_ROWS][2];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (vi){0};
    multiply_rows(g, first, b, sum, rows, 2, flip);
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
EACH_HEIGHT(QGEMM_ROWS, TILE)

typedef void (*tile_fn)(const qgemm *, const uint8_t *, const int8_t *, int32_t *);
#define ENTRY(rows) tile_##rows,
static const tile_fn TILES[QGEMM_ROWS] = {EACH_HEIGHT(QGEMM_ROWS, ENTRY)};

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
