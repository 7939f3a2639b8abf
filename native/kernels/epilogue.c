/* The epilogue: one pass over rows that the tile just left in L1. */
#include "epilogue.h"

#include "bfloat16.h"
#include "float16.h"
#include "gelu.h"

static inline vf activate(vf x, int64_t activation, const epilogue *e) {
    switch (activation) {
        case EPILOGUE_RELU: return vf_select(x < (vf){0}, (vf){0}, x);
        case EPILOGUE_GELU: return vf_gelu_erf(x);
        case EPILOGUE_GELU_TANH: return vf_gelu_tanh(x);
        case EPILOGUE_SILU: return x * vf_sigmoid(x);
        case EPILOGUE_SIGMOID: return vf_sigmoid(x);
        case EPILOGUE_TANH: return vf_tanh(x);
        case EPILOGUE_CLIP: {
            vf low = vf_set(e->low), high = vf_set(e->high);
            x = vf_select(x < low, low, x);
            return vf_select(x > high, high, x);
        }
        default: return x;
    }
}

static inline vf rounded(vf x, int64_t rounding) {
    if (rounding == ROUND_FLOAT16) return vf_round_f16(x);
    return (vf)(vf_round_bf16(x) << 16);
}

/* n (up to ASC_VF) elements of an addend's row. */
static inline vf load_addend(const float *from, int64_t stride, int64_t n) {
    if (stride == 0) return vf_set(*from);
    if (stride == 1) return n == ASC_VF ? vf_load(from) : vf_load_tail(from, n, 0);
    float lanes[ASC_VF];
    for (int64_t i = 0; i < ASC_VF; i++) lanes[i] = i < n ? from[i * stride] : 0;
    return vf_load(lanes);
}

static inline vf finish(const epilogue *e, int64_t activation, vf sum, const float *bias, const float *residual,
                        int64_t n) {
    sum = vf_sealed(sum * vf_set(e->alpha));
    if (bias) sum += vf_sealed(vf_set(e->beta) * load_addend(bias, e->bias.col, n));
    if (residual) sum += load_addend(residual, e->residual.col, n);
    sum = activate(sum, activation, e);
    return e->rounding == ROUND_NOT ? sum : rounded(sum, e->rounding);
}

static inline __attribute__((always_inline)) void finish_row(const epilogue *e, int64_t activation, float *c,
                                                             const float *bias, const float *residual, int64_t cols) {
    int64_t j = 0;
    for (; j + ASC_VF <= cols; j += ASC_VF) {
        vf_store(c + j, finish(e, activation, vf_load(c + j), bias, residual, ASC_VF));
        if (bias) bias += ASC_VF * e->bias.col;
        if (residual) residual += ASC_VF * e->residual.col;
    }
    if (j < cols)
        vf_store_tail(c + j, finish(e, activation, vf_load_tail(c + j, cols - j, 0), bias, residual, cols - j),
                      cols - j);
}

/* Two vectors of every row, as register tiles leave them, with addends that are neighbours or absent: vectors of
 * several rows are in flight at a time, and what is the same for all of them is at hand. */
static inline __attribute__((always_inline)) void finish_pairs(const epilogue *e, int64_t activation, float *c,
                                                               int64_t ldc, const float *bias, const float *residual,
                                                               int64_t rows) {
    vf alpha = vf_set(e->alpha), beta = vf_set(e->beta);
    int64_t bias_row = e->bias.row, residual_row = e->residual.row;
    for (int64_t i = 0; i < rows; i++, c += ldc) {
        vf sum[2];
        for (int v = 0; v < 2; v++) {
            sum[v] = vf_sealed(vf_load(c + v * ASC_VF) * alpha);
            if (bias) sum[v] += vf_sealed(beta * vf_load(bias + i * bias_row + v * ASC_VF));
            if (residual) sum[v] += vf_load(residual + i * residual_row + v * ASC_VF);
            sum[v] = activate(sum[v], activation, e);
        }
        for (int v = 0; v < 2; v++) vf_store(c + v * ASC_VF, sum[v]);
    }
}

static inline __attribute__((always_inline)) void finish_rows(const epilogue *e, int64_t activation, float *c,
                                                              int64_t ldc, const float *bias, const float *residual,
                                                              int64_t rows, int64_t cols) {
    if (cols == 2 * ASC_VF && e->rounding == ROUND_NOT && (!bias || e->bias.col == 1) &&
        (!residual || e->residual.col == 1)) {
        finish_pairs(e, activation, c, ldc, bias, residual, rows);
        return;
    }
    for (int64_t i = 0; i < rows; i++, c += ldc) {
        finish_row(e, activation, c, bias, residual, cols);
        if (bias) bias += e->bias.row;
        if (residual) residual += e->residual.row;
    }
}

void ASC_FN(epilogue_apply)(const epilogue *e, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t col,
                            int64_t cols) {
    const float *bias = e->bias.data ? e->bias.data + row * e->bias.row + col * e->bias.col : NULL;
    const float *residual = e->residual.data ? e->residual.data + row * e->residual.row + col * e->residual.col : NULL;
    switch (e->activation) {
#define CASE(code) \
    case code: finish_rows(e, code, c, ldc, bias, residual, rows, cols); break;
        CASE(EPILOGUE_NONE)
        CASE(EPILOGUE_RELU)
        CASE(EPILOGUE_GELU)
        CASE(EPILOGUE_GELU_TANH)
        CASE(EPILOGUE_SILU)
        CASE(EPILOGUE_SIGMOID)
        CASE(EPILOGUE_TANH)
        CASE(EPILOGUE_CLIP)
#undef CASE
        default: break;
    }
}
