/* byte_transpose.h - the transpose of a matrix of bytes. */
#ifndef ASC_KERNELS_BYTE_TRANSPOSE_H
#define ASC_KERNELS_BYTE_TRANSPOSE_H

#include "isa.h"

/* to[j * to_step + i] = from[i * from_step + j] ^ flip for i < rows and j < columns. */
void ASC_FN(transpose_bytes)(const uint8_t *from, int64_t from_step, int64_t rows, int64_t columns, uint8_t flip,
                             uint8_t *to, int64_t to_step);

#endif
