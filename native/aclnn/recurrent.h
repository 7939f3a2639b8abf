/* recurrent.h - what recurrent layers share: parameters and states in lists, and the projection of all steps. */
#ifndef ASC_ACLNN_RECURRENT_H
#define ASC_ACLNN_RECURRENT_H

#include "operator.h"

/* Number k of the list at position i, as contiguous float32. */
tensor asc_list_item(asc_run *run, int i, int64_t k);
/* Into number k of a list that may be absent, or shorter. */
void asc_put_list_item(asc_run *run, int i, int64_t k, tensor value);
/* x [steps, batch, width] W^T + b, for all steps at once; bias may be NULL. */
tensor asc_project_steps(asc_run *run, tensor x, tensor w, const tensor *bias);

#endif
