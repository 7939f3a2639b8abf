/* aclnn/asc_matmul_weight.h - the memory of the weight of a product in the layout that suits the device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACLNN_MATMUL_WEIGHT_H
#define ASCEND_EP_ACLNN_MATMUL_WEIGHT_H

#include "acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements, not bytes: rows in whole blocks of 16, and columns in whole blocks of 32 bytes. The first is of float16. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray *tensorShape,
                                                               uint64_t *weightTensorSize);
ACL_FUNC_VISIBILITY aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray *tensorShape, aclDataType dataType,
                                                                 uint64_t *weightTensorSize);

#ifdef __cplusplus
}
#endif
#endif
