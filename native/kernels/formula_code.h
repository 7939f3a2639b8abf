/* formula_code.h - what code generated from a formula is written in.
 *
 * Generated code defines ASC_WIDE (1: it computes in double, else in float) and includes this text.
 */
#ifndef ASC_KERNELS_FORMULA_CODE_H
#define ASC_KERNELS_FORMULA_CODE_H

#include "formula_calls.h"
#include "formula_elements.h"
#include "formula_operations.h"
#include "formula_vector.h"

#endif
