/* gemm_bytes.h - products whose right operand is int8, or 4 bits, with scales: each weight is (q - zero) * scale,
 * rounded to float32 as DequantizeLinear gives it, and then multiplied. So the bits are those of the float32 product.
 */
#ifndef ASC_KERNELS_GEMM_BYTES_H
#define ASC_KERNELS_GEMM_BYTES_H

#include "gemm.h"

/* `source` of a gemm whose `pack` is gemm_pack_bytes. Scale and zero point have one row for each `block` rows of B,
 * and lie in ASC_LAYOUT_PANEL32. */
typedef struct gemm_bytes {
    const int8_t *weights; /* [K,N] in ASC_LAYOUT_BYTES32 or NIBBLES32 */
    int nibbles;           /* NIBBLES32: two rows of B in a row of bytes; no block but the last is odd */
    const float *scale;
    const float *zero; /* NULL: none */
    int64_t block;
    int64_t blocks;
} gemm_bytes;

/* Up to so many rows of A, dequantising B anew for every few of them costs less than storing it as float32. */
#if ASC_VF == 16
#define GEMM_BYTES_ROWS 32
#else
#define GEMM_BYTES_ROWS 16
#endif

/* Bytes of a panel of weights. */
static inline int64_t gemm_bytes_panel(const gemm_bytes *b, int64_t k) {
    return (b->nibbles ? k / 2 + k % 2 : k) * GEMM_PANEL;
}

void ASC_FN(gemm_pack_bytes)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out);

/* Rows [row, row + rows) of panels [panel, panel_end) with their epilogue; rows <= GEMM_BYTES_ROWS and a_k == 1. */
void ASC_FN(gemm_bytes_stream)(const gemm *g, int64_t row, int64_t rows, int64_t panel, int64_t panel_end);

#endif
