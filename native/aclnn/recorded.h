/* recorded.h - operators in the trace that `msprof` and `ascend-prof` read. */
#ifndef ASC_ACLNN_RECORDED_H
#define ASC_ACLNN_RECORDED_H

#include <stdbool.h>

#include "aclnn/asc_operator.h"

/* Before an operator computes, in its stream's thread; false: nothing is recorded, and there is nothing to end. */
bool asc_recorded_begin(void);
void asc_recorded_end(const asc_operator *row, const asc_argument *arguments, uint32_t n, int32_t code);

#endif
