/* quantised.h - small integers that stand for floats: what operators of several families do with them. */
#ifndef ASC_ACLNN_QUANTISED_H
#define ASC_ACLNN_QUANTISED_H

#include "operator.h"

/* ---- floats as integers ---- */
/* The largest integer of an output for rows of `width`: 127 of int8, 7 of the 4 bits that lie eight in an int32. */
double asc_quantised_top(asc_run *run, int i, int64_t width);
/* Rounded to even, from -top - 1 to top. */
tensor asc_quantised(asc_run *run, tensor t, double top);
/* Rows over their scale, which is their largest magnitude by `top`; a row of zeros stays. The scale keeps the last axis
 * with length 1. */
tensor asc_quantised_rows(asc_run *run, tensor rows, double top, tensor *scale);
/* As the output i, which may be absent: in an int32 lie eight of 4 bits, the first in the lowest. */
void asc_put_quantised(asc_run *run, int i, tensor integers);

/* ---- integers as floats ---- */
/* A weight of numbers of 4 bits, eight in each int32, the first in the lowest bits, along the axis that lies together:
 * as int8. Any other as it is. */
tensor asc_unpacked(asc_run *run, tensor w);
/* (weight + offset) * scale, [k, n] in float32; scales are for all, a column, or a column of `each` rows. */
tensor asc_weight_of(asc_run *run, tensor w, const tensor *scale, const tensor *offset, int64_t each);
/* A product of integers of up to 8 bits, every one exact. */
tensor asc_exact_product(asc_run *run, tensor a, tensor b);
/* Scales of floats, or of 64 bits whose lower half is a float. */
tensor asc_scales_of(asc_run *run, tensor t);

#endif
