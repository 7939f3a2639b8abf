/* weight_size.c - the memory of the weight of a product in the layout of a device. The kernels here take
 * weights as they are; programs allocate what the layout of a card would take. */
#include "aclnn/asc_matmul_weight.h"
#include "handle.h"
#include "model.h"
#include "operand.h"

aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray *tensorShape, aclDataType dataType,
                                             uint64_t *weightTensorSize) {
    ASC_ENTER();
    if (!tensorShape || !weightTensorSize)
        return asc_acl_fail(ACLNN_ERR_PARAM_NULLPTR, "%s must not be NULL",
                            tensorShape ? "weightTensorSize" : "tensorShape");
    const asc_list *shape = asc_handle_get(ASC_KIND_INTS, tensorShape);
    if (!shape) return asc_handle_fail(ACLNN_ERR_PARAM_INVALID, ASC_KIND_INTS, tensorShape, "tensorShape");
    if (dataType != ACL_FLOAT16 && dataType != ACL_BF16 && dataType != ACL_INT8 && dataType != ACL_FLOAT)
        return asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "dataType is %d; weights are of 16-bit floats, float or int8",
                            (int)dataType);
    if (shape->count < 2 || shape->count > 6)
        return asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "tensorShape has %llu axes; a weight has 2 to 6",
                            (unsigned long long)shape->count);
    uint64_t size = 1;
    for (uint64_t i = 0; i < (uint64_t)shape->count; i++) {
        int64_t length = (int64_t)shape->items[i];
        uint64_t block = i + 2 == (uint64_t)shape->count   ? 16
                         : i + 1 == (uint64_t)shape->count ? 32 / aclDataTypeSize(dataType)
                                                           : 1;
        if (length <= 0 || __builtin_mul_overflow(size, ((uint64_t)length + block - 1) / block * block, &size))
            return asc_acl_fail(ACLNN_ERR_PARAM_INVALID, "axis %llu of tensorShape is %lld", (unsigned long long)i,
                                (long long)length);
    }
    *weightTensorSize = size;
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray *tensorShape, uint64_t *weightTensorSize) {
    return aclnnCalculateMatmulWeightSizeV2(tensorShape, ACL_FLOAT16, weightTensorSize);
}
