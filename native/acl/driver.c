/* driver.c - the few functions of the layers below AscendCL that libraries link to: launches of compiled kernels, which
 * a CPU can't run, and reports to a profiler, which are dropped while none collects. */
#include "acl/acl_rt.h"
#include "ascend_rt.h"
#include "error.h"

#define NO_CHIP "not supported: kernels compiled for a chip don't run on a CPU"

ACL_FUNC_VISIBILITY int32_t rtDevBinaryRegister(const void *binary, void **handle);
ACL_FUNC_VISIBILITY int32_t rtFunctionRegister(void *binary, const void *stub, const char *name, const void *kernel,
                                               uint32_t mode);
ACL_FUNC_VISIBILITY int32_t rtKernelLaunch(const void *stub, uint32_t blocks, void *arguments, uint32_t bytes,
                                           void *control, aclrtStream stream);
ACL_FUNC_VISIBILITY int32_t rtGetC2cCtrlAddr(uint64_t *address, uint32_t *length);
ACL_FUNC_VISIBILITY uint64_t MsprofGetHashId(const char *text, size_t length);
ACL_FUNC_VISIBILITY uint64_t MsprofSysCycleTime(void);
ACL_FUNC_VISIBILITY int32_t MsprofRegisterCallback(uint32_t module, int32_t (*callback)(uint32_t, void *, uint32_t));
ACL_FUNC_VISIBILITY int32_t MsprofReportApi(uint32_t aging, const void *report);
ACL_FUNC_VISIBILITY int32_t MsprofReportCompactInfo(uint32_t aging, const void *report, uint32_t bytes);
ACL_FUNC_VISIBILITY int32_t MsprofReportAdditionalInfo(uint32_t aging, const void *report, uint32_t bytes);

int32_t rtDevBinaryRegister(const void *binary, void **handle) {
    ASC_ENTER();
    (void)binary, (void)handle;
    return asc_acl_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, NO_CHIP);
}

int32_t rtFunctionRegister(void *binary, const void *stub, const char *name, const void *kernel, uint32_t mode) {
    ASC_ENTER();
    (void)binary, (void)stub, (void)name, (void)kernel, (void)mode;
    return asc_acl_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, NO_CHIP);
}

int32_t rtKernelLaunch(const void *stub, uint32_t blocks, void *arguments, uint32_t bytes, void *control,
                       aclrtStream stream) {
    ASC_ENTER();
    (void)stub, (void)blocks, (void)arguments, (void)bytes, (void)control, (void)stream;
    return asc_acl_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, NO_CHIP);
}

int32_t rtGetC2cCtrlAddr(uint64_t *address, uint32_t *length) {
    ASC_ENTER();
    (void)address, (void)length;
    return asc_acl_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "not supported: the cores of a chip have no addresses here");
}

/* FNV-1a: equal texts have equal ids. */
uint64_t MsprofGetHashId(const char *text, size_t length) {
    uint64_t id = 0xcbf29ce484222325u;
    for (size_t i = 0; text && i < length; i++) id = (id ^ (uint8_t)text[i]) * 0x100000001b3u;
    return id;
}

uint64_t MsprofSysCycleTime(void) {
    return asc_clock_ns();
}

int32_t MsprofRegisterCallback(uint32_t module, int32_t (*callback)(uint32_t, void *, uint32_t)) {
    (void)module, (void)callback; /* no collection begins that it would hear of */
    return ACL_SUCCESS;
}

int32_t MsprofReportApi(uint32_t aging, const void *report) {
    (void)aging, (void)report;
    return ACL_SUCCESS;
}

int32_t MsprofReportCompactInfo(uint32_t aging, const void *report, uint32_t bytes) {
    (void)aging, (void)report, (void)bytes;
    return ACL_SUCCESS;
}

int32_t MsprofReportAdditionalInfo(uint32_t aging, const void *report, uint32_t bytes) {
    (void)aging, (void)report, (void)bytes;
    return ACL_SUCCESS;
}
