/* kernel_arguments.c - aclrtKernelArgs...: the arguments of a launch, one after another. */
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "kernel_binary.h"

/* One argument: its bytes, or a buffer that the kernel gets a pointer to. */
typedef struct parameter {
    size_t bytes;
    bool is_held;
    void *data;
} parameter;

struct asc_kernel_arguments {
    asc_kernel_owned owned;
    const asc_kernel_binary *kernel;
    uint32_t count;
    bool is_final;
    void *handle;
    parameter parameters[];
};

aclError asc_kernel_arguments_get(aclrtArgsHandle handle, asc_kernel_arguments **arguments) {
    *arguments = asc_handle_get(ASC_KIND_ARGUMENTS, handle);
    if (*arguments) return ACL_SUCCESS;
    return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_ARGUMENTS, handle, "argsHandle");
}

static void end(asc_kernel_owned *owned) {
    asc_kernel_arguments *a = (asc_kernel_arguments *)owned;
    asc_handle_take(ASC_KIND_ARGUMENTS, a->handle);
    for (uint32_t i = 0; i < a->count; i++) free(a->parameters[i].data);
    free(a);
}

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle *argsHandle) {
    ASC_ENTER();
    ASC_NEED(argsHandle);
    asc_kernel_function *function = NULL;
    aclError code = asc_kernel_function_get(funcHandle, &function);
    if (code != ACL_SUCCESS) return code;
    const asc_kernel_binary *kernel = asc_kernel_of(function);
    asc_kernel_arguments *made = calloc(1, sizeof *made + kernel->n_arguments * sizeof *made->parameters);
    if (made) made->kernel = kernel;
    *argsHandle = made ? asc_handle_new(ASC_KIND_ARGUMENTS, made) : NULL;
    if (*argsHandle) {
        made->handle = *argsHandle;
        made->owned.free = end;
        asc_kernel_own(function, &made->owned);
        return ACL_SUCCESS;
    }
    free(made);
    return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

/* The next argument's place; a handle of it is its number, from 1. */
static aclError next(aclrtArgsHandle handle, asc_kernel_arguments **of, parameter **made, aclrtParamHandle *named) {
    aclError code = asc_kernel_arguments_get(handle, of);
    if (code != ACL_SUCCESS) return code;
    asc_kernel_arguments *a = *of;
    if (a->is_final) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "aclrtKernelArgsFinalize has ended these arguments");
    if (a->count == a->kernel->n_arguments)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "kernel %s takes %u arguments", a->kernel->name,
                            a->kernel->n_arguments);
    *made = &a->parameters[a->count++];
    if (named) *named = (aclrtParamHandle)(uintptr_t)a->count;
    return ACL_SUCCESS;
}

static aclError fill(const asc_kernel_arguments *a, parameter *p, const void *from, size_t bytes) {
    const uint32_t index = (uint32_t)(p - a->parameters);
    const size_t wanted = a->kernel->bytes[index] ? a->kernel->bytes[index] : sizeof(void *);
    if (bytes < wanted)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "argument %u of kernel %s has %zu bytes, paramSize is %zu", index,
                            a->kernel->name, wanted, bytes);
    void *data = malloc(bytes);
    if (!data) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    memcpy(data, from, bytes);
    free(p->data);
    *p = (parameter){bytes, false, data};
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void *param, size_t paramSize,
                               aclrtParamHandle *paramHandle) {
    ASC_ENTER();
    ASC_NEED(param);
    asc_kernel_arguments *a = NULL;
    parameter *p = NULL;
    aclError code = next(argsHandle, &a, &p, paramHandle);
    if (code == ACL_SUCCESS) code = fill(a, p, param, paramSize);
    if (code != ACL_SUCCESS && p) a->count--;
    return code;
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle, aclrtParamHandle *paramHandle) {
    ASC_ENTER();
    ASC_NEED(paramHandle);
    asc_kernel_arguments *a = NULL;
    parameter *p = NULL;
    aclError code = next(argsHandle, &a, &p, paramHandle);
    if (code == ACL_SUCCESS) p->is_held = true;
    return code;
}

static aclError named(aclrtArgsHandle handle, aclrtParamHandle name, asc_kernel_arguments **of, parameter **found) {
    aclError code = asc_kernel_arguments_get(handle, of);
    if (code != ACL_SUCCESS) return code;
    const uintptr_t number = (uintptr_t)name;
    if (number == 0 || number > (*of)->count)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "paramHandle is none of these %u arguments", (*of)->count);
    *found = &(*of)->parameters[number - 1];
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, size_t dataSize,
                                             void **bufferAddr) {
    ASC_ENTER();
    ASC_NEED(bufferAddr);
    asc_kernel_arguments *a = NULL;
    parameter *p = NULL;
    aclError code = named(argsHandle, paramHandle, &a, &p);
    if (code != ACL_SUCCESS) return code;
    if (!p->is_held)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "the argument is no place holder (aclrtKernelArgsAppendPlaceHolder)");
    void *data = calloc(1, dataSize ? dataSize : 1);
    if (!data) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    free(p->data);
    p->data = *bufferAddr = data;
    p->bytes = dataSize;
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void *param,
                                   size_t paramSize) {
    ASC_ENTER();
    ASC_NEED(param);
    asc_kernel_arguments *a = NULL;
    parameter *p = NULL;
    aclError code = named(argsHandle, paramHandle, &a, &p);
    return code == ACL_SUCCESS ? fill(a, p, param, paramSize) : code;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
    ASC_ENTER();
    asc_kernel_arguments *a = NULL;
    aclError code = asc_kernel_arguments_get(argsHandle, &a);
    if (code != ACL_SUCCESS) return code;
    a->is_final = true;
    return ACL_SUCCESS;
}

aclError asc_kernel_arguments_packed(const asc_kernel_arguments *arguments, const asc_kernel_function *function,
                                     void **block) {
    const asc_kernel_binary *kernel = asc_kernel_of(function);
    if (arguments->kernel != kernel)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the arguments are of kernel %s, not %s", arguments->kernel->name,
                            kernel->name);
    if (!arguments->is_final) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "aclrtKernelArgsFinalize was not called");
    if (arguments->count != kernel->n_arguments)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "kernel %s takes %u arguments, %u are given", kernel->name,
                            kernel->n_arguments, arguments->count);
    size_t all = (asc_kernel_offset(kernel, kernel->n_arguments) + 31) / 32 * 32;
    for (uint32_t i = 0; i < arguments->count; i++)
        all += arguments->parameters[i].is_held ? (arguments->parameters[i].bytes + 31) / 32 * 32 : 0;
    char *made = calloc(1, all + 64);
    if (!made) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    size_t held = (asc_kernel_offset(kernel, kernel->n_arguments) + 31) / 32 * 32;
    for (uint32_t i = 0; i < arguments->count; i++) {
        const parameter *p = &arguments->parameters[i];
        char *to = made + asc_kernel_offset(kernel, i);
        if (p->is_held) {
            void *address = made + held;
            memcpy(address, p->data ? p->data : "", p->data ? p->bytes : 0);
            memcpy(to, &address, sizeof address);
            held += (p->bytes + 31) / 32 * 32;
        } else {
            memcpy(to, p->data, kernel->bytes[i] ? kernel->bytes[i] : sizeof(void *));
        }
    }
    *block = made;
    return ACL_SUCCESS;
}
