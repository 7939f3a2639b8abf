/* parameters.c - aclrt's settings of devices and contexts, groups of cores, exceptions and notifications that never
 * come. What a setting asks of a chip and a CPU does anyway, or can't, is kept and given back. */
#include <pthread.h>
#include <stdlib.h>

#include "acl/acl_rt.h"
#include "ascend_rt.h"
#include "context.h"
#include "handle.h"

#define OPTIONS 3

static struct {
    pthread_mutex_t lock;
    int64_t options[OPTIONS];
    aclrtFloatOverflowMode overflow;
    uint64_t execute_timeout;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .overflow = ACL_RT_OVERFLOW_MODE_INFNAN};

static aclError check_option(aclSysParamOpt opt) {
    if (opt >= ACL_OPT_DETERMINISTIC && opt < OPTIONS) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "opt is %d, no aclSysParamOpt", (int)opt);
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    ASC_ENTER();
    aclError code = check_option(opt);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&all.lock);
    all.options[opt] = value;
    pthread_mutex_unlock(&all.lock);
    return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    ASC_ENTER();
    ASC_NEED(value);
    aclError code = check_option(opt);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&all.lock);
    *value = all.options[opt]; /* 0 until it was set: torch_npu asks before it sets */
    pthread_mutex_unlock(&all.lock);
    return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    ASC_ENTER();
    aclError code = check_option(opt);
    if (code != ACL_SUCCESS) return code;
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    context->options[opt] = value;
    context->is_set[opt] = true;
    return ACL_SUCCESS;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    ASC_ENTER();
    ASC_NEED(value);
    aclError code = check_option(opt);
    if (code != ACL_SUCCESS) return code;
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    if (!context->is_set[opt])
        return asc_acl_fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "option %d was not set in this context", (int)opt);
    *value = context->options[opt];
    return ACL_SUCCESS;
}

/* Infinities and NaN are what they are in IEEE 754; numbers aren't cut to the largest. */
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    ASC_ENTER();
    if (mode == ACL_RT_OVERFLOW_MODE_SATURATION)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "sums that overflow become infinities here, never the largest number");
    if (mode != ACL_RT_OVERFLOW_MODE_INFNAN)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "mode is %d, no aclrtFloatOverflowMode", (int)mode);
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode) {
    ASC_ENTER();
    ASC_NEED(mode);
    *mode = ACL_RT_OVERFLOW_MODE_INFNAN;
    return ACL_SUCCESS;
}

/* ---- limits of time of operators: a CPU ends none of them
 * ------------------------------------------------------------ */

static aclError set_timeout(uint64_t microseconds) {
    pthread_mutex_lock(&all.lock);
    all.execute_timeout = microseconds;
    pthread_mutex_unlock(&all.lock);
    return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
    ASC_ENTER();
    return set_timeout((uint64_t)timeout * 1000000);
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
    ASC_ENTER();
    return set_timeout((uint64_t)timeout * 1000);
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout) {
    ASC_ENTER();
    ASC_NEED(actualTimeout);
    *actualTimeout = timeout;
    return set_timeout(timeout);
}

aclError aclrtGetOpTimeOutInterval(uint64_t *interval) {
    ASC_ENTER();
    ASC_NEED(interval);
    *interval = 1;
    return ACL_SUCCESS;
}

/* ---- errors ------------------------------------------------------------------------------------------------ */

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
    (void)level; /* of threads; there is no other */
    return asc_last_code();
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
    (void)level;
    aclError code = asc_last_code();
    asc_forget_code();
    return code;
}

/* Exceptions are of a chip's cores; the callback is kept, and none comes. */
aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
    ASC_ENTER();
    (void)callback;
    return ACL_SUCCESS;
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    (void)info;
    return UINT32_MAX;
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    (void)info;
    return UINT32_MAX;
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    (void)info;
    return UINT32_MAX;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    (void)info;
    return UINT32_MAX;
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info) {
    (void)info;
    return UINT32_MAX;
}

/* ---- groups: a device has one, of all its cores ------------------------------------------------------------- */

aclError aclrtSetGroup(int32_t groupId) {
    ASC_ENTER();
    if (groupId == 0) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_GROUP_NOT_CREATE, "groupId is %d; a device has one group, 0", groupId);
}

aclError aclrtGetGroupCount(uint32_t *count) {
    ASC_ENTER();
    ASC_NEED(count);
    *count = 1;
    return ACL_SUCCESS;
}

aclrtGroupInfo *aclrtCreateGroupInfo(void) {
    ASC_ENTER();
    int *info = calloc(1, sizeof *info);
    void *handle = info ? asc_handle_new(ASC_KIND_GROUP_INFO, info) : NULL;
    if (!handle) free(info);
    return handle;
}

aclError aclrtDestroyGroupInfo(aclrtGroupInfo *groupInfo) {
    ASC_ENTER();
    ASC_NEED(groupInfo);
    int *info = asc_handle_take(ASC_KIND_GROUP_INFO, groupInfo);
    if (!info) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_GROUP_INFO, groupInfo, "groupInfo");
    free(info);
    return ACL_SUCCESS;
}

aclError aclrtGetAllGroupInfo(aclrtGroupInfo *groupInfo) {
    ASC_ENTER();
    if (asc_handle_get(ASC_KIND_GROUP_INFO, groupInfo)) return ACL_SUCCESS;
    return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_GROUP_INFO, groupInfo, "groupInfo");
}

aclError aclrtGetGroupInfoDetail(const aclrtGroupInfo *groupInfo, int32_t groupIndex, aclrtGroupAttr attr,
                                 void *attrValue, size_t valueLen, size_t *paramRetSize) {
    ASC_ENTER();
    if (!asc_handle_get(ASC_KIND_GROUP_INFO, groupInfo))
        return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_GROUP_INFO, groupInfo, "groupInfo");
    ASC_NEED(attrValue);
    ASC_NEED(paramRetSize);
    if (groupIndex != 0)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "groupIndex is %d; a device has one group, 0", groupIndex);
    if (attr < ACL_GROUP_AICORE_INT || attr > ACL_GROUP_GROUPID_INT)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "attr is %d, no aclrtGroupAttr", (int)attr);
    if (valueLen < sizeof(int32_t))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "valueLen is %zu; the value has 4 bytes", valueLen);
    bool cores = attr == ACL_GROUP_AICORE_INT || attr == ACL_GROUP_AIV_INT || attr == ACL_GROUP_AIC_INT;
    *(int32_t *)attrValue = cores ? asc_threads_default() : 0;
    *paramRetSize = sizeof(int32_t);
    return ACL_SUCCESS;
}
