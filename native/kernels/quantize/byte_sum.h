/* byte_sum.h - the 8-bit results of an integer product plus an image, in 8 bits again: what byte_binary makes of both,
 * to the bit. */
#ifndef ASC_KERNELS_BYTE_SUM_H
#define ASC_KERNELS_BYTE_SUM_H

#include "asc_plan.h"
#include "isa.h"

typedef struct byte_sum {
    const char *addend, *y; /* the first elements of the image and of the result: where one's are, the other's are */
    float shift, scale;     /* of the product's results: added to them less their zero point, and times it */
    int32_t flip;           /* makes unsigned bytes of the image's */
    float addend_zero, addend_scale;      /* of these */
    float cut_low, cut_high;              /* bounds of the sum */
    float y_scale, y_zero, y_low, y_high; /* y_low, y_high: those of the type */
    /* Where quotients by y_scale may be found by its reciprocal, and no shift is needed; else 0. The bounds of the sum
     * as results. */
    float inverse;
    int32_t least, most;
} byte_sum;

/* Of arguments that byte_binary_check has seen, with op ASC_BYTE_BINARY_ADD: A is the product, whose results have the
 * zero point `zero`, B the image. */
byte_sum ASC_FN(byte_sum_make)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f, int32_t zero,
                               const asc_tensor *addend, const asc_tensor *y);

#endif
