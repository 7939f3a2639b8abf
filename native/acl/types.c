/* types.c - element types and codes of libascend_rt in AscendCL's numbers. */
#include "model.h"

static const struct {
    int32_t dtype;
    aclDataType type;
} types[] = {
    {ASC_FLOAT32, ACL_FLOAT},
    {ASC_FLOAT16, ACL_FLOAT16},
    {ASC_INT8, ACL_INT8},
    {ASC_INT32, ACL_INT32},
    {ASC_UINT8, ACL_UINT8},
    {ASC_INT16, ACL_INT16},
    {ASC_UINT16, ACL_UINT16},
    {ASC_UINT32, ACL_UINT32},
    {ASC_INT64, ACL_INT64},
    {ASC_UINT64, ACL_UINT64},
    {ASC_FLOAT64, ACL_DOUBLE},
    {ASC_BOOL, ACL_BOOL},
    {ASC_STRING, ACL_STRING},
    {ASC_BFLOAT16, ACL_BF16},
    {ASC_INT4, ACL_INT4},
    {ASC_FLOAT8E4M3FN, ACL_FLOAT8_E4M3FN},
    {ASC_FLOAT8E5M2, ACL_FLOAT8_E5M2},
};

aclDataType asc_acl_type(int32_t dtype) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == dtype) return types[i].type;
    return ACL_DT_UNDEFINED;
}

int32_t asc_rt_type(aclDataType type) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type) return types[i].dtype;
    return ASC_UNDEFINED;
}

aclError asc_runtime_fail(int32_t code, const asc_status *status, const char *doing) {
    aclError as = ACL_ERROR_RT_INTERNAL_ERROR;
    switch (code) {
        case ASC_E_ARGUMENT: as = ACL_ERROR_INVALID_PARAM; break;
        case ASC_E_IO: as = (aclError)ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID; break;
        case ASC_E_FORMAT:
        case ASC_E_CHECKSUM: as = (aclError)ACL_ERROR_GE_EXEC_LOAD_MODEL_PARTITION_FAILED; break;
        case ASC_E_VERSION:
        case ASC_E_TRUST: as = (aclError)ACL_ERROR_GE_LOAD_MODEL; break;
        case ASC_E_SHAPE: as = (aclError)ACL_ERROR_GE_SHAPE_INVALID; break;
        case ASC_E_MEMORY: as = (aclError)ACL_ERROR_GE_MEMORY_ALLOCATION; break;
        case ASC_E_HOST:
        case ASC_E_UNSUPPORTED: as = ACL_ERROR_FEATURE_UNSUPPORTED; break;
        case ASC_E_RUN:
        case ASC_E_DECLARED: as = ACL_ERROR_RT_MODEL_EXECUTE; break;
        default: break;
    }
    if (status->node_name[0]) return asc_acl_fail(as, "%s: node [%s]: %s", doing, status->node_name, status->text);
    return asc_acl_fail(as, "%s: %s", doing, status->text);
}
