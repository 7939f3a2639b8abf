#ifndef ASC_CORE_DISPATCH_H
#define ASC_CORE_DISPATCH_H

#include "kernel.h"

#define ASC_MAX_OPERANDS 256 /* of one instruction, inputs and outputs together */

/* Whether a row is of this operator and takes these types, inputs then outputs. */
int asc_row_takes(const asc_kernel *row, const char *op, const int32_t *types, uint32_t n_in, uint32_t n_out);
/* Writes the types in the notation of asc_kernel.types, "-" for an absent operand: n_in + n_out + 2 bytes. */
void asc_signature(const int32_t *types, uint32_t n_in, uint32_t n_out, char *letters);

#endif
