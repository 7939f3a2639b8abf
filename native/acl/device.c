/* device.c - aclrt's functions of devices and contexts. */
#include <stdio.h>
#include <string.h>

#include "acl/acl_rt.h"
#include "ascend_rt.h"
#include "context.h"
#include "handle.h"
#include "memory.h"
#include "settings.h"

aclError aclrtSetDevice(int32_t deviceId) {
    ASC_ENTER();
    return asc_device_open(deviceId);
}

aclError aclrtResetDevice(int32_t deviceId) {
    ASC_ENTER();
    return asc_device_close(deviceId, false);
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    ASC_ENTER();
    return asc_device_close(deviceId, true);
}

aclError aclrtGetDevice(int32_t *deviceId) {
    ASC_ENTER();
    ASC_NEED(deviceId);
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    *deviceId = context->device;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count) {
    ASC_ENTER();
    ASC_NEED(count);
    *count = asc_get_settings()->devices;
    return ACL_SUCCESS;
}

/* Programs run beside devices, not on them: what they read from a device, they copy. */
aclError aclrtGetRunMode(aclrtRunMode *runMode) {
    ASC_ENTER();
    ASC_NEED(runMode);
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
}

const char *aclrtGetSocName(void) {
    return asc_get_settings()->soc;
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
    ASC_ENTER();
    if (tsId == ACL_TS_ID_AICORE || tsId == ACL_TS_ID_AIVECTOR) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "tsId is %d, neither ACL_TS_ID_AICORE nor ACL_TS_ID_AIVECTOR",
                        (int)tsId);
}

static aclError synchronize(int32_t timeout) {
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    return asc_streams_wait(context->device, NULL, timeout);
}

aclError aclrtSynchronizeDevice(void) {
    ASC_ENTER();
    return synchronize(-1);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    ASC_ENTER();
    if (timeout < -1)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is %d; it is -1 or milliseconds", timeout);
    return synchronize(timeout);
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus) {
    ASC_ENTER();
    ASC_NEED(deviceStatus);
    aclError code = asc_device_check(deviceId);
    if (code == ACL_SUCCESS) *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return code;
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value) {
    ASC_ENTER();
    ASC_NEED(value);
    aclError code = asc_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    int64_t cores = asc_threads_default();
    switch (attr) {
        case ACL_DEV_ATTR_AICPU_CORE_NUM:
        case ACL_DEV_ATTR_AICORE_CORE_NUM:
        case ACL_DEV_ATTR_CUBE_CORE_NUM:
        case ACL_DEV_ATTR_VECTOR_CORE_NUM: *value = cores; break;
        case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = (int64_t)asc_get_settings()->memory; break;
        case ACL_DEV_ATTR_PHY_CHIP_ID: *value = deviceId; break;
        case ACL_DEV_ATTR_IS_VIRTUAL: *value = 1; break;
        default:
            return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "attribute %d is of a chip; this device is a CPU",
                                (int)attr);
    }
    return ACL_SUCCESS;
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value) {
    ASC_ENTER();
    ASC_NEED(value);
    aclError code = asc_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    if (deviceInfo == ACL_DEVICE_INFO_AI_CORE_NUM || deviceInfo == ACL_DEVICE_INFO_VECTOR_CORE_NUM) {
        *value = asc_threads_default();
        return ACL_SUCCESS;
    }
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "capability %d is of a chip; this device is a CPU",
                        (int)deviceInfo);
}

static aclError same_device(int32_t given, const int32_t *result) {
    ASC_NEED(result);
    return asc_device_check(given);
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t *const logicDevId) {
    ASC_ENTER();
    aclError code = same_device(userDevid, logicDevId);
    if (code == ACL_SUCCESS) *logicDevId = userDevid;
    return code;
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t *const userDevid) {
    ASC_ENTER();
    aclError code = same_device(logicDevId, userDevid);
    if (code == ACL_SUCCESS) *userDevid = logicDevId;
    return code;
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t *const phyDevId) {
    ASC_ENTER();
    aclError code = same_device(logicDevId, phyDevId);
    if (code == ACL_SUCCESS) *phyDevId = logicDevId;
    return code;
}

/* All devices are parts of one machine's memory. */
aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
    ASC_ENTER();
    ASC_NEED(canAccessPeer);
    aclError code = asc_device_check(deviceId);
    if (code == ACL_SUCCESS) code = asc_device_check(peerDeviceId);
    if (code == ACL_SUCCESS) *canAccessPeer = deviceId != peerDeviceId;
    return code;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
    ASC_ENTER();
    if (flags) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "flags is %u; it must be 0", flags);
    return asc_device_check(peerDeviceId);
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
    ASC_ENTER();
    return asc_device_check(peerDeviceId);
}

/* Uncorrectable errors are of a chip's memory: there are none here, and none to repair. */
aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize, size_t *retSize) {
    ASC_ENTER();
    ASC_NEED(memUceInfoArray);
    ASC_NEED(retSize);
    if (!arraySize) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "arraySize is 0");
    aclError code = asc_device_check(deviceId);
    if (code == ACL_SUCCESS) *retSize = 0;
    return code;
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize) {
    ASC_ENTER();
    ASC_NEED(memUceInfoArray);
    if (!arraySize) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "arraySize is 0");
    return asc_device_check(deviceId);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
    ASC_ENTER();
    ASC_NEED(free);
    ASC_NEED(total);
    if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_P2P_HUGE1G)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "attr is %d, no kind of memory", (int)attr);
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    *total = asc_get_settings()->memory;
    *free = *total - asc_memory_used(context->device);
    return ACL_SUCCESS;
}

/* ---- contexts ---------------------------------------------------------------------------------- */

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
    ASC_ENTER();
    ASC_NEED(context);
    aclError code = asc_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    asc_acl_context *made = asc_acl_context_new(deviceId, false);
    if (!made) return ACL_ERROR_BAD_ALLOC;
    asc_set_current(made);
    *context = made->handle;
    return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
    ASC_ENTER();
    ASC_NEED(context);
    asc_acl_context *found = asc_handle_get(ASC_KIND_CONTEXT, context);
    if (!found) return asc_handle_fail(ACL_ERROR_RT_CONTEXT_NULL, ASC_KIND_CONTEXT, context, "context");
    if (found->is_default)
        return asc_acl_fail(ACL_ERROR_RT_PARAM_INVALID,
                            "the context is the device's default one; aclrtResetDevice ends it");
    asc_acl_context_free(found);
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    ASC_ENTER();
    ASC_NEED(context);
    asc_acl_context *found = asc_handle_get(ASC_KIND_CONTEXT, context);
    if (!found) return asc_handle_fail(ACL_ERROR_RT_CONTEXT_NULL, ASC_KIND_CONTEXT, context, "context");
    asc_set_current(found);
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
    ASC_ENTER();
    ASC_NEED(context);
    asc_acl_context *found = asc_current_context();
    if (!found) return ACL_ERROR_RT_CONTEXT_NULL;
    *context = found->handle;
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active) {
    ASC_ENTER();
    ASC_NEED(active);
    aclError code = asc_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    if (flags) *flags = 0;
    *active = asc_device_is_open(deviceId);
    return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream) {
    ASC_ENTER();
    ASC_NEED(stream);
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    *stream = context->stream;
    return ACL_SUCCESS;
}
