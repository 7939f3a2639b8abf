/* element.h - elements of HCCL's types: their sizes and names, and reductions. */
#ifndef ASC_HCCL_ELEMENT_H
#define ASC_HCCL_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hccl/hccl_types.h"

/* 0 for what is no type. */
size_t asc_element_bytes(HcclDataType type);
/* The type of tensors (ascend_rt.h) that holds it; 0: none does. */
int32_t asc_element_dtype(HcclDataType type);
/* "float32" and the like; "unknown" for what is no type. */
const char *asc_element_name(HcclDataType type);
/* "sum" and the like; NULL for what is no reduction. */
const char *asc_reduction_name(HcclReduceOp op);
/* Whether elements of the type can be reduced. */
bool asc_element_reduces(HcclDataType type);

/* out[i] = parts[0][i] op parts[1][i] ... in the order of the parts. Integers wrap around; float16 and bfloat16 are
 * computed in float32 and rounded once. `out` may be one of the parts. */
void asc_reduce(void *out, const void *const *parts, uint32_t count, size_t elements, HcclDataType type,
                HcclReduceOp op);

#endif
