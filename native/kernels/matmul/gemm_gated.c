/* The end of a tile of a gated product: columns of B lie in groups of ASC_GATED_GROUP of the gate, then as many of what
 * it lets through, and a row of the result has half as many: silu(gate) * up. The bits of the swiglu kernel on both
 * products. */
#include "gemm_gated.h"

#include "bfloat16.h"
#include "chunks.h"

static inline __attribute__((always_inline)) void finish_row(const float *sums, int64_t width, void *y, int64_t at,
                                                             int64_t outputs, int narrow, int streams) {
    for (int64_t i = 0; i < outputs; i += ASC_VF) {
        vf low = vf_load(sums + 2 * i), high = 2 * i + ASC_VF < width ? vf_load(sums + 2 * i + ASC_VF) : (vf){0};
        vf v = gemm_gate(low, high);
        if (streams && outputs - i >= ASC_VF)
            vf_stream((float *)y + at + i, v);
        else
            image_store(y, at + i, v, narrow, outputs - i < ASC_VF, outputs - i);
    }
}

void ASC_FN(gemm_store_gated)(const gemm *g, const float *sums, int64_t width, int64_t row, int64_t rows, int64_t col,
                              int64_t cols) {
    int64_t outputs = asc_least(cols, width) / 2, at = row * g->ldc + col / 2;
    int streams = g->streams && (uintptr_t)(g->c + at) % sizeof(vf) == 0 && g->ldc % ASC_VF == 0;
    for (int64_t i = 0; i < rows; i++, at += g->ldc, sums += width) {
        if (g->c_narrow)
            finish_row(sums, width, g->c, at, outputs, 1, 0);
        else
            finish_row(sums, width, g->c, at, outputs, 0, streams);
    }
}
