/* epilogue.h - what happens to the sums of a product while they are in cache:
 * y = rounded(activation(alpha * sum + beta * bias + residual)). */
#ifndef ASC_KERNELS_EPILOGUE_H
#define ASC_KERNELS_EPILOGUE_H

#include "isa.h"

/* Activation codes: an int argument of matmul and conv. */
enum {
    EPILOGUE_NONE,
    EPILOGUE_RELU,
    EPILOGUE_GELU,      /* x/2 (1 + erf(x/sqrt 2)) */
    EPILOGUE_GELU_TANH, /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    EPILOGUE_SILU,
    EPILOGUE_SIGMOID,
    EPILOGUE_TANH,
    EPILOGUE_CLIP, /* to [low, high] */
    EPILOGUE_COUNT,
    EPILOGUE_GELU_COARSE = EPILOGUE_COUNT /* GELU of sums of bfloat16 products */
};

/* An activation's int is its code, and in higher bits what float32 results are rounded to. */
#define EPILOGUE_ROUNDING 16
enum { ROUND_NOT, ROUND_FLOAT16, ROUND_BFLOAT16, ROUND_COUNT };

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
    e->activation = code % EPILOGUE_ROUNDING;
    e->rounding = code / EPILOGUE_ROUNDING;
    return code >= 0 && e->activation < EPILOGUE_COUNT && e->rounding < ROUND_COUNT;
}

/* Whether y is just the sum. */
static inline int epilogue_is_plain(const epilogue *e) {
    return e->alpha == 1 && !e->bias.data && !e->residual.data && e->activation == EPILOGUE_NONE &&
           e->rounding == ROUND_NOT;
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
