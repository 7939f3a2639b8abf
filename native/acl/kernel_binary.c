/* kernel_binary.c - binaries of kernels compiled for this CPU: loaded, and their kernels found. */
#include "kernel_binary.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handle.h"
#include "regular_file.h"

#define MADE_BY "make it with ascendc_fatbin_library of the toolkit's ascendc.cmake"

typedef struct binary {
    void *library;
    atomic_int uses; /* the program's, and each launch's that waits */
    asc_kernel_function *first;
} binary;

struct asc_kernel_function {
    binary *of;
    const asc_kernel_binary *kernel;
    void *handle;
    asc_kernel_owned *owned;
    asc_kernel_function *next;
};

/* What aclrtCreateBinary keeps: the bytes are the program's. */
typedef struct binary_data {
    const void *data;
    size_t bytes;
} binary_data;

static aclError load(const char *path, const char *shown, aclrtBinHandle *handle) {
    const char *why;
    void *library = asc_load_regular(path, &why);
    if (!library)
        return asc_acl_fail(ACL_ERROR_INVALID_FILE, "%s is no binary of kernels for this CPU (%s); " MADE_BY, shown,
                            why);
    binary *made = calloc(1, sizeof *made);
    if (made) {
        made->library = library;
        made->uses = 1;
        *handle = asc_handle_new(ASC_KIND_BINARY, made);
    }
    if (made && *handle) return ACL_SUCCESS;
    free(made);
    dlclose(library);
    return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
}

static void release(binary *b) {
    if (atomic_fetch_sub(&b->uses, 1) != 1) return;
    for (asc_kernel_function *f = b->first; f;) {
        asc_kernel_function *next = f->next;
        free(f);
        f = next;
    }
    dlclose(b->library);
    free(b);
}

static aclError load_data(const void *data, size_t length, aclrtBinHandle *handle) {
    int file = memfd_create("kernels", MFD_CLOEXEC);
    if (file < 0) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    aclError code = ACL_SUCCESS;
    for (size_t done = 0; done < length && code == ACL_SUCCESS;) {
        ssize_t n = write(file, (const char *)data + done, length - done);
        if (n <= 0) code = asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
        done += n > 0 ? (size_t)n : 0;
    }
    if (code == ACL_SUCCESS) code = load(path, "the data", handle);
    close(file);
    return code;
}

aclError aclrtBinaryLoadFromFile(const char *binPath, aclrtBinaryLoadOptions *options, aclrtBinHandle *binHandle) {
    ASC_ENTER();
    ASC_NEED(binPath);
    ASC_NEED(binHandle);
    (void)options; /* how a device loads it */
    char *path = realpath(binPath, NULL);
    if (!path) return asc_acl_fail(ACL_ERROR_INVALID_FILE, "%s can't be opened; " MADE_BY, binPath);
    aclError code = load(path, binPath, binHandle);
    free(path);
    return code;
}

aclError aclrtBinaryLoadFromData(const void *data, size_t length, const aclrtBinaryLoadOptions *options,
                                 aclrtBinHandle *binHandle) {
    ASC_ENTER();
    ASC_NEED(data);
    ASC_NEED(binHandle);
    (void)options;
    if (!length) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "length is 0");
    return load_data(data, length, binHandle);
}

aclrtBinary aclrtCreateBinary(const void *data, size_t dataLen) {
    ASC_ENTER();
    binary_data *made = data && dataLen ? malloc(sizeof *made) : NULL;
    if (!made) {
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "data must not be NULL, nor dataLen 0");
        return NULL;
    }
    *made = (binary_data){data, dataLen};
    aclrtBinary handle = asc_handle_new(ASC_KIND_BINARY_DATA, made);
    if (!handle) free(made);
    return handle;
}

aclError aclrtDestroyBinary(aclrtBinary binary) {
    ASC_ENTER();
    binary_data *data = asc_handle_take(ASC_KIND_BINARY_DATA, binary);
    if (!data) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_BINARY_DATA, binary, "binary");
    free(data);
    return ACL_SUCCESS;
}

aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle *binHandle) {
    ASC_ENTER();
    ASC_NEED(binHandle);
    const binary_data *data = asc_handle_get(ASC_KIND_BINARY_DATA, binary);
    if (!data) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_BINARY_DATA, binary, "binary");
    return load_data(data->data, data->bytes, binHandle);
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
    ASC_ENTER();
    binary *b = asc_handle_take(ASC_KIND_BINARY, binHandle);
    if (!b) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_BINARY, binHandle, "binHandle");
    for (asc_kernel_function *f = b->first; f; f = f->next) {
        asc_handle_take(ASC_KIND_FUNCTION, f->handle);
        while (f->owned) {
            asc_kernel_owned *first = f->owned;
            f->owned = first->next;
            first->free(first);
        }
    }
    release(b);
    return ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, const char *kernelName, aclrtFuncHandle *funcHandle) {
    ASC_ENTER();
    ASC_NEED(kernelName);
    ASC_NEED(funcHandle);
    binary *b = asc_handle_get(ASC_KIND_BINARY, binHandle);
    if (!b) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_BINARY, binHandle, "binHandle");
    for (asc_kernel_function *f = b->first; f; f = f->next)
        if (strcmp(f->kernel->name, kernelName) == 0) {
            *funcHandle = f->handle;
            return ACL_SUCCESS;
        }
    char symbol[512];
    snprintf(symbol, sizeof symbol, ASC_KERNEL_BINARY_SYMBOL "%s", kernelName);
    const asc_kernel_binary *kernel = dlsym(b->library, symbol);
    if (!kernel || kernel->version != ASC_KERNEL_BINARY_VERSION)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the binary has no kernel %s%s", kernelName,
                            kernel ? " of this version; build it again" : "");
    asc_kernel_function *made = calloc(1, sizeof *made);
    if (made) {
        *made = (asc_kernel_function){.of = b, .kernel = kernel, .next = b->first};
        made->handle = asc_handle_new(ASC_KIND_FUNCTION, made);
    }
    if (!made || !made->handle) {
        free(made);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    }
    b->first = made;
    *funcHandle = made->handle;
    return ACL_SUCCESS;
}

aclError aclrtGetFunctionName(aclrtFuncHandle funcHandle, uint32_t maxLen, char *name) {
    ASC_ENTER();
    ASC_NEED(name);
    asc_kernel_function *f = NULL;
    aclError code = asc_kernel_function_get(funcHandle, &f);
    if (code != ACL_SUCCESS) return code;
    if (strlen(f->kernel->name) >= maxLen)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "maxLen is %u, the name of the kernel takes %zu", maxLen,
                            strlen(f->kernel->name) + 1);
    strcpy(name, f->kernel->name);
    return ACL_SUCCESS;
}

aclError asc_kernel_function_get(aclrtFuncHandle handle, asc_kernel_function **function) {
    *function = asc_handle_get(ASC_KIND_FUNCTION, handle);
    if (*function) return ACL_SUCCESS;
    return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_FUNCTION, handle, "funcHandle");
}

const asc_kernel_binary *asc_kernel_of(const asc_kernel_function *function) {
    return function->kernel;
}

void asc_kernel_own(asc_kernel_function *function, asc_kernel_owned *owned) {
    owned->next = function->owned;
    function->owned = owned;
}

void asc_kernel_keep(asc_kernel_function *function) {
    atomic_fetch_add(&function->of->uses, 1);
}

void asc_kernel_release(asc_kernel_function *function) {
    release(function->of);
}

size_t asc_kernel_offset(const asc_kernel_binary *kernel, uint32_t index) {
    size_t at = 0;
    for (uint32_t i = 0; i < index; i++) {
        const size_t align = kernel->aligns[i];
        at = (at + align - 1) / align * align + (kernel->bytes[i] ? kernel->bytes[i] : sizeof(void *));
    }
    const size_t align = index < kernel->n_arguments ? kernel->aligns[index] : 1;
    return (at + align - 1) / align * align;
}
