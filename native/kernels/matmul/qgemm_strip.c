/* Strips of an integer product: register tiles of rows, or tiles of AMX, and what becomes of their sums. */
#include "chunks.h"
#include "qgemm.h"

void ASC_FN(qgemm_strip_run)(const qgemm_strip *s, int64_t col, int64_t n) {
    int32_t sums[QGEMM_ROWS * QGEMM_COLUMNS];
    if (ASC_FN(qgemm_strip_tiles)(s, col, n) || ASC_FN(qgemm_strip_bytes)(s, col, n)) return;
    for (int64_t line = 0; line < s->lines; line++) {
        qgemm g = *s->g;
        g.a += line * s->a_line;
        for (int64_t row = 0, rows; row < s->rows; row += rows) {
            rows = asc_ceil_div(s->rows - row, asc_ceil_div(s->rows - row, QGEMM_ROWS));
            ASC_FN(qgemm_tile)(&g, row, (int)rows, col, sums);
            ASC_FN(qgemm_strip_end)(s, line, row, rows, col, n, sums);
        }
    }
}
