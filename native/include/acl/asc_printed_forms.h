/* acl/asc_printed_forms.h - calls that pages about Ascend print, and that CANN's headers lack. C++ programs compile
 * with them here, with a warning that names the form that CANN has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_ACL_PRINTED_FORMS_H
#define ASCEND_EP_ACL_PRINTED_FORMS_H

#include "acl_rt.h"

#ifdef __cplusplus
#define ASC_PRINTED(instead) ACL_DEPRECATED_MESSAGE("CANN has no such form; write " instead)

ASC_PRINTED("ACL_MEM_MALLOC_HUGE_FIRST")
static const aclrtMemMallocPolicy ACL_MEM_TYPE_DEVICE = ACL_MEM_MALLOC_HUGE_FIRST;

ASC_PRINTED("aclrtMemcpy(dst, bytes, src, bytes, ACL_MEMCPY_HOST_TO_DEVICE)")
inline aclError aclrtMemcpyH2D(void *dst, const void *src, size_t bytes) {
    return aclrtMemcpy(dst, bytes, src, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

ASC_PRINTED("aclrtMemcpy(dst, bytes, src, bytes, ACL_MEMCPY_DEVICE_TO_HOST)")
inline aclError aclrtMemcpyD2H(void *dst, const void *src, size_t bytes) {
    return aclrtMemcpy(dst, bytes, src, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
}

/* NULL where there is no memory. */
ASC_PRINTED("aclrtMalloc(&address, size, policy), which returns a code")
inline void *asc_malloc_of_two(size_t size, aclrtMemMallocPolicy policy) {
    void *address = NULL;
    return aclrtMalloc(&address, size, policy) == ACL_SUCCESS ? address : NULL;
}
/* Calls of two arguments alone: as a macro it leaves the function's address and its other uses alone. */
#define ASC_THIRD_OR_MORE(a, b, c, d, e, f, name, ...) name
#define aclrtMalloc(...)                                                                                               \
    ASC_THIRD_OR_MORE(__VA_ARGS__, aclrtMalloc, aclrtMalloc, aclrtMalloc, aclrtMalloc, asc_malloc_of_two, aclrtMalloc) \
    (__VA_ARGS__)

/* Of what compiles kernels (ascendc/host/launch.h): runs `call` on that many blocks. Absent in programs without any. */
extern "C" __attribute__((weak)) void asc_launch_call(uint32_t blocks, void (*call)(void *), void *given);

/* A kernel by the address of its function; it runs when what the stream has before it is done. */
template <typename... Arguments>
ASC_PRINTED("kernel<<<blocks, l2, stream>>>(...), or aclrtLaunchKernel of a loaded binary")
aclError aclrtKernelLaunch(void *kernel, uint32_t blocks, void *l2, aclrtStream stream, Arguments... arguments) {
    (void)l2;
    if (!asc_launch_call) return ACL_ERROR_FEATURE_UNSUPPORTED;
    const aclError code = aclrtSynchronizeStream(stream);
    if (code != ACL_SUCCESS) return code;
    auto call = [&] { reinterpret_cast<void (*)(Arguments...)>(kernel)(arguments...); };
    asc_launch_call(blocks, [](void *given) { (*static_cast<decltype(call) *>(given))(); }, &call);
    return ACL_SUCCESS;
}
#endif
#endif
