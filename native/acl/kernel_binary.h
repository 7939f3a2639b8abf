/* kernel_binary.h - kernels of a binary that a program has loaded, and their arguments. */
#ifndef ASC_ACL_KERNEL_BINARY_H
#define ASC_ACL_KERNEL_BINARY_H

#include "acl/acl_rt.h"
#include "ascendc/host/asc_kernel_binary.h"
#include "error.h"

/* A kernel that was looked up; it lives as long as its binary. */
typedef struct asc_kernel_function asc_kernel_function;

/* The kernel of a handle. Fails with ACL_ERROR_INVALID_PARAM. */
aclError asc_kernel_function_get(aclrtFuncHandle handle, asc_kernel_function **function);
const asc_kernel_binary *asc_kernel_of(const asc_kernel_function *function);
/* Keeps the binary's code while a launch waits; its end gives it back. */
void asc_kernel_keep(asc_kernel_function *function);
void asc_kernel_release(asc_kernel_function *function);

/* What ends with a kernel's binary. */
typedef struct asc_kernel_owned {
    struct asc_kernel_owned *next;
    void (*free)(struct asc_kernel_owned *owned);
} asc_kernel_owned;
void asc_kernel_own(asc_kernel_function *function, asc_kernel_owned *owned);

/* Where argument `index` lies in a structure of a kernel's arguments; its size for index n_arguments. */
size_t asc_kernel_offset(const asc_kernel_binary *kernel, uint32_t index);

/* What aclrtKernelArgs... has put together: the structure of arguments, and buffers that pointers of it lead to. */
typedef struct asc_kernel_arguments asc_kernel_arguments;
aclError asc_kernel_arguments_get(aclrtArgsHandle handle, asc_kernel_arguments **arguments);
/* A copy of the structure whose place holders lead into the same block, one malloc. Fails where arguments are missing.
 */
aclError asc_kernel_arguments_packed(const asc_kernel_arguments *arguments, const asc_kernel_function *function,
                                     void **block);

#endif
