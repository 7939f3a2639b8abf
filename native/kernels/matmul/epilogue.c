/* The epilogue: one pass over rows that the tile just left in L1. */
#include "activation.h"
#include "bfloat16.h"
#include "float16.h"

static inline vf rounded(vf x, int64_t rounding) {
    if (rounding == ASC_ROUND_FLOAT16) return vf_round_f16(x);
    return (vf)(vf_round_bf16(x) << 16);
}

/* `lanes` (up to ASC_VF) elements of an addend's row from column `col` on. `usual`: they are neighbours. */
static inline __attribute__((always_inline)) vf load_addend(const epilogue_addend *a, int64_t row, int64_t col,
                                                            int usual, int64_t lanes) {
    const float *from = a->data + row * a->row + col * (usual ? 1 : a->col);
    if (usual || a->col == 1) return lanes == ASC_VF ? vf_load(from) : vf_load_tail(from, lanes, 0);
    if (a->col == 0) return vf_set(*from);
    float each[ASC_VF];
    for (int64_t i = 0; i < ASC_VF; i++) each[i] = i < lanes ? from[i * a->col] : 0;
    return vf_load(each);
}

/* `vectors` neighbours of every row, the last of them with `lanes` elements: vectors of several rows are in flight at a
 * time, and what is the same for all of them is at hand. */
static inline __attribute__((always_inline)) void finish_columns(const epilogue *e, int64_t activation, int usual,
                                                                 const epilogue_rows *r, int64_t col, int vectors,
                                                                 int64_t lanes) {
    vf alpha = vf_set(e->alpha), beta = vf_set(e->beta);
    epilogue_addend bias = e->bias, residual = e->residual;
    int64_t rounding = e->rounding;
    const float *from = r->sums + col;
    float *to = r->y + col;
    for (int64_t i = 0; i < r->rows; i++, from += r->sums_row, to += r->y_row) {
        vf y[2];
        for (int v = 0; v < vectors; v++) {
            const float *sums = from + v * ASC_VF;
            y[v] = vf_sealed((lanes == ASC_VF ? vf_load(sums) : vf_load_tail(sums, lanes, 0)) * alpha);
            if (bias.data) y[v] += vf_sealed(beta * load_addend(&bias, i, col + v * ASC_VF, usual, lanes));
            if (residual.data) y[v] += load_addend(&residual, i, col + v * ASC_VF, usual, lanes);
            y[v] = activate(y[v], activation, e);
            if (rounding != ASC_ROUND_NONE) y[v] = rounded(y[v], rounding);
        }
        for (int v = 0; v < vectors; v++) {
            if (lanes < ASC_VF)
                vf_store_tail(to + v * ASC_VF, y[v], lanes);
            else
                vf_store(to + v * ASC_VF, y[v]);
        }
    }
}

static inline __attribute__((always_inline)) void finish(const epilogue *e, int64_t activation, int usual,
                                                         const epilogue_rows *r) {
    int64_t j = 0;
    for (; j + 2 * ASC_VF <= r->cols; j += 2 * ASC_VF) finish_columns(e, activation, usual, r, j, 2, ASC_VF);
    if (j + ASC_VF <= r->cols) {
        finish_columns(e, activation, usual, r, j, 1, ASC_VF);
        j += ASC_VF;
    }
    if (j < r->cols) finish_columns(e, activation, usual, r, j, 1, r->cols - j);
}

void ASC_FN(epilogue_apply)(const epilogue *e, const epilogue_rows *rows, int64_t row, int64_t col) {
    epilogue here = *e; /* copies, which nothing that is stored can change */
    epilogue_rows r = *rows;
    if (here.bias.data) here.bias.data += row * here.bias.row + col * here.bias.col;
    if (here.residual.data) here.residual.data += row * here.residual.row + col * here.residual.col;
    if ((here.bias.data && here.bias.col != 1) || (here.residual.data && here.residual.col != 1)) {
        finish(&here, here.activation, 0, &r);
        return;
    }
    switch (here.activation) {
#define CASE(code) \
    case code: finish(&here, code, 1, &r); break;
        CASE(ASC_ACTIVATION_NONE)
        CASE(ASC_ACTIVATION_RELU)
        CASE(ASC_ACTIVATION_GELU)
        CASE(ASC_ACTIVATION_GELU_TANH)
        CASE(ASC_ACTIVATION_SILU)
        CASE(ASC_ACTIVATION_SIGMOID)
        CASE(ASC_ACTIVATION_TANH)
        CASE(ASC_ACTIVATION_CLIP)
        CASE(ASC_ACTIVATION_HARD_SWISH)
        CASE(ASC_ACTIVATION_LEAKY_RELU)
        CASE(EPILOGUE_GELU_COARSE)
#undef CASE
        default: break;
    }
}
