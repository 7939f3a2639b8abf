/* allocate.c - aclrt's functions that allocate memory, and those that say what a pointer is. */
#include "acl/acl_rt.h"
#include "context.h"
#include "memory.h"

static aclError allocate(void **pointer, size_t size, aclrtMemMallocPolicy policy) {
    if (!pointer) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "devPtr must not be NULL");
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    unsigned low = (unsigned)policy & 0xFF;
    if (policy < 0 || low > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "policy is %d, no aclrtMemMallocPolicy", (int)policy);
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    void *made = asc_memory_new(size, ASC_PLACE_DEVICE, context->device);
    if (!made) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    *pointer = made;
    return ACL_SUCCESS;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    ASC_ENTER();
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    ASC_ENTER();
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    ASC_ENTER();
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    ASC_ENTER();
    if (cfg && cfg->numAttrs && !cfg->attrs)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs must not be NULL");
    return allocate(devPtr, size, policy);
}

aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    ASC_ENTER();
    if (cfg && cfg->numAttrs && !cfg->attrs)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs must not be NULL");
    return allocate(devPtr, size, policy);
}

aclError aclrtFree(void *devPtr) {
    ASC_ENTER();
    ASC_NEED(devPtr);
    return asc_memory_free(devPtr, ASC_PLACE_DEVICE, ACL_ERROR_RT_PARAM_INVALID);
}

static aclError allocate_host(void **pointer, size_t size) {
    if (!pointer) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "hostPtr must not be NULL");
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    void *made = asc_memory_new(size, ASC_PLACE_HOST, 0);
    if (!made) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    *pointer = made;
    return ACL_SUCCESS;
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    ASC_ENTER();
    return allocate_host(hostPtr, size);
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg) {
    ASC_ENTER();
    if (cfg && cfg->numAttrs && !cfg->attrs)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs must not be NULL");
    return allocate_host(ptr, size);
}

aclError aclrtFreeHost(void *hostPtr) {
    ASC_ENTER();
    ASC_NEED(hostPtr);
    return asc_memory_free(hostPtr, ASC_PLACE_HOST, ACL_ERROR_RT_PARAM_INVALID);
}

/* There is one cache for host and device: nothing to write back. */
static aclError cached(void *pointer, size_t size) {
    if (!pointer) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "devPtr must not be NULL");
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    return asc_memory_check(pointer, size, ASC_PLACE_DEVICE, "devPtr");
}

aclError aclrtMemFlush(void *devPtr, size_t size) {
    ASC_ENTER();
    return cached(devPtr, size);
}

aclError aclrtMemInvalidate(void *devPtr, size_t size) {
    ASC_ENTER();
    return cached(devPtr, size);
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes) {
    ASC_ENTER();
    ASC_NEED(ptr);
    ASC_NEED(attributes);
    asc_acl_block block;
    *attributes = (aclrtPtrAttributes){.location = {0, ACL_MEM_LOCATION_TYPE_UNREGISTERED}, .pageSize = 4096};
    if (asc_memory_find(ptr, &block)) {
        attributes->location.id = (uint32_t)block.device;
        attributes->location.type =
            block.place == ASC_PLACE_DEVICE ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
    }
    return ACL_SUCCESS;
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr) {
    ASC_ENTER();
    ASC_NEED(ptr);
    ASC_NEED(devPtr);
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    if (type != ACL_HOST_REG_MAPPED && type != ACL_HOST_REG_PINNED)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "type is %d, no aclrtHostRegisterType", (int)type);
    *devPtr = ptr;
    return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void *ptr) {
    ASC_ENTER();
    ASC_NEED(ptr);
    return ACL_SUCCESS;
}
