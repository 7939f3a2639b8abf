/* epilogue.h - what happens to the sums of a product while they are in cache:
 * y = rounded(activation(alpha * sum + beta * bias + residual)). */
#ifndef ASC_KERNELS_EPILOGUE_H
#define ASC_KERNELS_EPILOGUE_H

#include "asc_plan.h"
#include "isa.h"

#define EPILOGUE_GELU_COARSE ASC_ACTIVATION_COUNT /* GELU of sums of bfloat16 products */

/* An operand that is added; a stride of 0 repeats it. data == NULL: absent. */
typedef struct epilogue_addend {
    const float *data;
    int64_t row;
    int64_t col;
} epilogue_addend;

typedef struct epilogue {
    float alpha, beta, low, high;
    int64_t activation, rounding;
    epilogue_addend bias, residual;
} epilogue;

/* Reads an activation's int; whether there is such a one. */
static inline int epilogue_read(int64_t code, epilogue *e) {
    e->activation = code % ASC_ROUNDING;
    e->rounding = code / ASC_ROUNDING;
    return code >= 0 && e->activation < ASC_ACTIVATION_COUNT && e->rounding < ASC_ROUND_COUNT;
}

/* Whether y is just the sum. */
static inline int epilogue_is_plain(const epilogue *e) {
    return e->alpha == 1 && !e->bias.data && !e->residual.data && e->activation == ASC_ACTIVATION_NONE &&
           e->rounding == ASC_ROUND_NONE;
}

/* Sums of `rows` rows and `cols` columns, and where their results go: elsewhere, or into their place. */
typedef struct epilogue_rows {
    const float *sums;
    float *y;
    int64_t sums_row, y_row; /* strides */
    int64_t rows, cols;
} epilogue_rows;

/* Sums that become their results where they are. */
static inline epilogue_rows epilogue_in_place(float *c, int64_t ldc, int64_t rows, int64_t cols) {
    return (epilogue_rows){.sums = c, .y = c, .sums_row = ldc, .y_row = ldc, .rows = rows, .cols = cols};
}

/* Finishes sums of which the first is the output's element [row, col]. */
void ASC_FN(epilogue_apply)(const epilogue *e, const epilogue_rows *r, int64_t row, int64_t col);

#endif
