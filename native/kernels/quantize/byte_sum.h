/* byte_sum.h - the 8-bit results of an integer product plus an image, in 8 bits again: what byte_binary makes of both,
 * to the bit. */
#ifndef ASC_KERNELS_BYTE_SUM_H
#define ASC_KERNELS_BYTE_SUM_H

#include "asc_plan.h"
#include "isa.h"

/* The sum as x * product + b * image + rest, each product and its sum rounded once: half of the operations, of which
 * none is a quotient. It `holds` where the bounds of the sum are those of the type, and it was seen to round to the
 * same byte for all results x of a product, less their zero point, and all bytes b of an image, flipped; the byte is
 * one of int8, 128 below that of uint8. */
typedef struct byte_affine {
    float product, image, rest;
    int holds;
} byte_affine;

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
    byte_affine affine; /* which does not hold without `inverse` */
} byte_sum;

/* Of arguments that byte_binary_check has seen, with op ASC_BYTE_BINARY_ADD: A is the product, whose results have the
 * zero point `zero`, B the image. `affine` is what byte_affine_find found of them. */
byte_sum ASC_FN(byte_sum_make)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f,
                               const byte_affine *affine, int32_t zero, const asc_tensor *addend, const asc_tensor *y);

/* Of the same arguments, for results of this type. All 130,816 pairs are tried, and where the factors next to the true
 * ones miss a tie that the roundings of byte_binary make, others beside them. */
byte_affine ASC_FN(byte_affine_find)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f, int32_t dtype);

#endif
