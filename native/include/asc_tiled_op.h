/* asc_tiled_op.h - a custom operator whose launch host code decides: what its library has beyond asc_custom_op.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_TILED_OP_H
#define ASC_TILED_OP_H

#include "ascend_rt.h"

/* Its op.struct_bytes is that of this structure. */
typedef struct asc_tiled_op {
    asc_custom_op op;
    /* Runs the host's tiling for these inputs and outputs (of both, dtype and dims are given; inputs that it reads have
     * data) and sets call->workspace_bytes to what compute may be given in call->workspace. 0 for success. */
    int32_t (*tile)(asc_custom_call *call);
} asc_tiled_op;

#endif
