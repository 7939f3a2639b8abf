/* What becomes of the sums of a strip of an integer product. */
#include "qgemm.h"

#define MOST_ROWS 32 /* that end at once */

void ASC_FN(qgemm_strip_end)(const qgemm_strip *s, int64_t line, int64_t row, int64_t rows, int64_t col, int64_t n,
                             const int32_t *sums) {
    const requantiser *r = s->requantiser;
    int32_t found[MOST_ROWS];
    const int32_t *row_sums = s->row_sums ? s->row_sums + line * s->rows + row : found;
    qgemm at = *s->g;
    at.a += line * s->a_line;
    for (int64_t i = 0; i < rows && r->b_zero && !s->row_sums; i++)
        found[i] = ASC_FN(qgemm_row_sum)(&at, row + i, s->length);
    ASC_FN(requantise)(r, sums, r->b_zero ? row_sums : NULL, rows, s->first + col, n,
                       s->out + line * s->out_line + row * s->step, s->step);
}
