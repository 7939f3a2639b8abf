/* byte_binary.h - what is asked of the arguments of a sum or product of images of 8 bits. */
#ifndef ASC_KERNELS_BYTE_BINARY_H
#define ASC_KERNELS_BYTE_BINARY_H

#include "asc_plan.h"
#include "isa.h"

/* The operation, zero points of images of `dtype`, scales and bounds. */
int32_t ASC_FN(byte_binary_check)(const asc_call *call, const asc_byte_binary_params *p,
                                  const asc_byte_binary_floats *f, int32_t dtype);

#endif
