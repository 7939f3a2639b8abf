/* qgemm.h - exact integer products: uint8 rows of A times int8 columns of B in ASC_LAYOUT_VNNI4_32, summed in int32,
 * and what becomes of the sums: integers, floats, or integers of 8 bits again.
 *
 * A row of A is one run of bytes or, for a convolution, several runs (segments) that lie anywhere: K counts whole
 * fours of each, and what a run's last four reads past its end is multiplied by zero weights.
 */
#ifndef ASC_KERNELS_QGEMM_H
#define ASC_KERNELS_QGEMM_H

#include "asc_plan.h"
#include "isa.h"
#include "quantize/byte_sum.h"

#define QGEMM_PANEL ASC_PANEL /* columns of a panel of ASC_LAYOUT_VNNI4_32 */
#if ASC_VF == 16
#define QGEMM_ROWS 12 /* rows of a register tile */
#elif defined(__aarch64__)
#define QGEMM_ROWS 8
#elif ASC_VF == 8
#define QGEMM_ROWS 6
#else
#define QGEMM_ROWS 4
#endif
#define QGEMM_COLUMNS (2 * ASC_VF) /* and its columns */

typedef struct qgemm {
    int64_t m, n;
    const uint8_t *a;
    int64_t a_row;           /* bytes from a row to the next */
    const int64_t *segments; /* offsets of the runs of a row */
    int64_t n_segments, vnni4;
    int flip; /* A is int8: its top bits are flipped as they are read, which adds 128 */
    const int8_t *b;
    int64_t b_panel; /* bytes from a panel to the next */
} qgemm;

/* sums[i * QGEMM_COLUMNS + j], of `rows` rows and of the columns from `col` on, a multiple of QGEMM_COLUMNS. */
void ASC_FN(qgemm_tile)(const qgemm *g, int64_t row, int rows, int64_t col, int32_t *sums);

/* The sum of a row's bytes, as the products see them; each segment has `length` of them. */
int32_t ASC_FN(qgemm_row_sum)(const qgemm *g, int64_t row, int64_t length);

/* What becomes of sums, with tables of one element for each column, readable up to the next whole vector. */
typedef struct requantiser {
    const int32_t *offset; /* added to the sums */
    const int32_t *b_zero; /* times the row's sum is subtracted; NULL: all 0 */
    const float *scale;    /* NULL: the result is int32 */
    const float *bias;     /* of a float result, or NULL */
    float low, high;       /* bounds of an 8-bit result, less its zero point */
    int32_t zero;          /* of an 8-bit result */
    int32_t dtype;         /* of the result */
    int saturates;         /* the bounds are those of the type, and no scaled sum leaves int32 */
    const byte_sum *sum;   /* what an 8-bit result is added to, or NULL */
} requantiser;

/* A tile's `rows` rows of sums, of columns [col, col + n), become elements of the result: the first row from `out` on,
 * the others `step` bytes apart. `row_sums` are those of A's rows; NULL where there are no zero points of B. */
void ASC_FN(requantise)(const requantiser *r, const int32_t *sums, const int32_t *row_sums, int64_t rows, int64_t col,
                        int64_t n, void *out, int64_t step);

/* Rows of A in lines, as a convolution has them, or in one, and the results of a strip of columns. */
typedef struct qgemm_strip {
    const qgemm *g; /* whose `a` is the first line's first row */
    const requantiser *requantiser;
    int64_t lines, rows; /* lines, and rows of each */
    int64_t a_line;      /* bytes from a line to the next */
    int64_t first;       /* the requantiser's column of the product's first */
    char *out;           /* of the strip's first column; rows are `step` bytes apart, lines `out_line` */
    int64_t step, out_line;
    const int32_t *row_sums; /* of the lines' rows; NULL: found here, of `length` bytes of each segment, where needed */
    int64_t length;
} qgemm_strip;

/* Columns [col, col + n) of the product, up to QGEMM_COLUMNS; col is a multiple of that. */
void ASC_FN(qgemm_strip_run)(const qgemm_strip *s, int64_t col, int64_t n);

/* What becomes of the sums of some rows of a line, in rows of QGEMM_COLUMNS. */
void ASC_FN(qgemm_strip_end)(const qgemm_strip *s, int64_t line, int64_t row, int64_t rows, int64_t col, int64_t n,
                             const int32_t *sums);

/* The same as qgemm_strip_run by tiles of AMX, if this level has them and the product is one for them; whether it was.
 */
int ASC_FN(qgemm_strip_tiles)(const qgemm_strip *s, int64_t col, int64_t n);

/* The same where sums become bytes in registers, if this level and the requantiser allow it; whether they did. */
int ASC_FN(qgemm_strip_bytes)(const qgemm_strip *s, int64_t col, int64_t n);

/* Gives back the tiles that strips of this thread have used. */
void ASC_FN(qgemm_tiles_release)(void);

/* Operands that integer products share, in this order; those of index 2 and up may be absent.
 *   SUMS    int32 [columns], sums of B's columns as they are stored; needed when B is in VNNI4_32
 *   A_ZERO  one element of A's type;  B_ZERO  of B's type, one or [columns]
 *   BIAS    [columns], int32 and added to the sums, or float32 and added to a float32 result
 *   A_SCALE, B_SCALE, Y_SCALE, Y_ZERO   one element, but B_SCALE may be [columns]
 * and floats: the least and the greatest 8-bit result. */
enum { Q_A, Q_B, Q_SUMS, Q_A_ZERO, Q_B_ZERO, Q_BIAS, Q_A_SCALE, Q_B_SCALE, Q_Y_SCALE, Q_Y_ZERO, Q_OPERANDS };

static inline const asc_tensor *q_operand(const asc_call *call, int index) {
    return index < call->n_in && call->in[index].dtype != ASC_UNDEFINED ? &call->in[index] : NULL;
}

/* Checks the shared operands for `columns` columns. */
int32_t ASC_FN(requantiser_check)(const asc_call *call, int64_t columns);
/* Bytes of tables for so many columns; -1 on overflow. */
static inline int64_t requantiser_bytes(int64_t columns) {
    if (columns > INT64_MAX / 64) return -1;
    return (columns + 4 * QGEMM_PANEL) / QGEMM_PANEL * QGEMM_PANEL * 16;
}
/* Fills the tables from the operands. `k`: elements of a row; `b_sums`: in place of SUMS when that is absent. */
requantiser ASC_FN(requantiser_make)(const asc_call *call, const asc_requantise_floats *bounds, int64_t columns,
                                     int64_t k, const int32_t *b_sums, void *tables);

#endif
