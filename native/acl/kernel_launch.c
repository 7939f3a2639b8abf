/* kernel_launch.c - aclrtLaunchKernel...: a kernel of a loaded binary, run by a stream when its turn comes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asc_trace.h"
#include "context.h"
#include "kernel_binary.h"
#include "memory.h"

/* A launch that waits. block: the structure of arguments, and what place holders lead to; its own. */
typedef struct launch {
    asc_kernel_function *function;
    uint32_t blocks;
    char *block;
    char fault[ASC_TEXT_BYTES / 2]; /* the first one, "" while there is none */
} launch;

/* The cores of one binary are shared by its launches. */
static pthread_mutex_t cores = PTHREAD_MUTEX_INITIALIZER;

static void tell(void *to, int32_t advice, const char *line) {
    launch *l = to;
    fprintf(stderr, "%s: %s\n", advice ? "advice" : "fault", line);
    if (!advice && !l->fault[0]) snprintf(l->fault, sizeof l->fault, "%s", line);
}

/* Launches in the trace that msprof reads; declared in ascendc/host/launch.h for those that programs make in place.
 * What a launch's pointers lead to has no shape: nothing is said of it. */
ACL_FUNC_VISIBILITY int32_t asc_launch_begin(void);
ACL_FUNC_VISIBILITY void asc_launch_end(const char *kernel, uint32_t blocks, int32_t failed);
ACL_FUNC_VISIBILITY void asc_launch_work(uint64_t cores, const uint64_t *all, const uint64_t *most);

/* Kinds as ascendc/cpu/work.h numbers them; the text is read by profiling/kernel_work.py. */
void asc_launch_work(uint64_t cores, const uint64_t *all, const uint64_t *most) {
    static const char *const kinds[] = {"scalar", "vector", "cube", "read", "written"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    char text[512];
    int used = snprintf(text, sizeof text, "work cores=%llu", (unsigned long long)cores);
    for (size_t k = 0; k < KINDS; k++)
        used += snprintf(text + used, sizeof text - (size_t)used, " %s=%llu", kinds[k], (unsigned long long)all[k]);
    for (size_t k = 0; k < KINDS; k++)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, " most_%s=%llu", kinds[k], (unsigned long long)most[k]);
    asc_trace_say_schedule(text);
}

int32_t asc_launch_begin(void) {
    return asc_trace_begin_call();
}

void asc_launch_end(const char *kernel, uint32_t blocks, int32_t failed) {
    asc_trace_end_call(&(asc_traced_call){
        .name = kernel, .kernel = kernel, .op_type = kernel, .blocks = blocks, .code = failed ? ASC_E_RUN : ASC_OK});
}

static aclError run(void *argument) {
    launch *l = argument;
    const asc_kernel_binary *kernel = asc_kernel_of(l->function);
    void **arguments = malloc((kernel->n_arguments + 1) * sizeof *arguments);
    if (!arguments) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    for (uint32_t i = 0; i < kernel->n_arguments; i++) {
        arguments[i] = l->block + asc_kernel_offset(kernel, i);
        if (!kernel->bytes[i]) {
            void *address = NULL;
            memcpy(&address, arguments[i], sizeof address);
            arguments[i] = address ? asc_real(address) : NULL;
        }
    }
    pthread_mutex_lock(&cores);
    const int32_t recorded = asc_launch_begin();
    kernel->launch(l->blocks, arguments, tell, l);
    if (recorded) asc_launch_end(kernel->name, l->blocks, l->fault[0] != 0);
    pthread_mutex_unlock(&cores);
    free(arguments);
    if (!l->fault[0]) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "kernel %s breaks a rule of the chip: %s", kernel->name,
                        l->fault);
}

static void end(void *argument) {
    launch *l = argument;
    asc_kernel_release(l->function);
    free(l->block);
    free(l);
}

/* Takes `block` over. */
static aclError push(asc_kernel_function *function, uint32_t blocks, char *block, aclrtStream stream) {
    asc_stream *found = NULL;
    aclError code = asc_stream_get(stream, &found);
    launch *l = code == ACL_SUCCESS ? calloc(1, sizeof *l) : NULL;
    if (!l) {
        free(block);
        return code != ACL_SUCCESS ? code : asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    }
    *l = (launch){.function = function, .blocks = blocks, .block = block};
    asc_kernel_keep(function);
    return asc_stream_push(found, run, end, l);
}

static aclError checked(aclrtFuncHandle handle, uint32_t blocks, asc_kernel_function **function) {
    aclError code = asc_kernel_function_get(handle, function);
    if (code != ACL_SUCCESS) return code;
    if (blocks == 0 || blocks > 65535)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "a launch has 1 to 65535 blocks, not %u", blocks);
    return ACL_SUCCESS;
}

/* A launch over a structure of arguments that the program has; `more` bytes of it may hold what place holders name. */
static aclError launch_data(aclrtFuncHandle handle, uint32_t blocks, const void *data, size_t bytes,
                            const aclrtPlaceHolderInfo *held, size_t n_held, aclrtStream stream) {
    asc_kernel_function *function = NULL;
    aclError code = checked(handle, blocks, &function);
    if (code != ACL_SUCCESS) return code;
    const asc_kernel_binary *kernel = asc_kernel_of(function);
    const size_t wanted = asc_kernel_offset(kernel, kernel->n_arguments);
    if (bytes < wanted || (wanted && !data))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the arguments of kernel %s take %zu bytes, argsSize is %zu",
                            kernel->name, wanted, bytes);
    char *block = calloc(1, bytes + 64);
    if (!block) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    if (bytes) memcpy(block, data, bytes);
    for (size_t i = 0; i < n_held; i++) {
        if (held[i].addrOffset + sizeof(void *) > bytes || held[i].dataOffset > bytes) {
            free(block);
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "place holder %zu lies outside of the %zu bytes of arguments",
                                i, bytes);
        }
        void *address = block + held[i].dataOffset;
        memcpy(block + held[i].addrOffset, &address, sizeof address);
    }
    return push(function, blocks, block, stream);
}

aclError aclrtLaunchKernel(aclrtFuncHandle funcHandle, uint32_t blockDim, const void *argsData, size_t argsSize,
                           aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, launch_data(funcHandle, blockDim, argsData, argsSize, NULL, 0, stream));
}

/* cfg says how a device schedules it: without effect. */
aclError aclrtLaunchKernelV2(aclrtFuncHandle funcHandle, uint32_t blockDim, const void *argsData, size_t argsSize,
                             aclrtLaunchKernelCfg *cfg, aclrtStream stream) {
    ASC_ENTER();
    (void)cfg;
    return asc_stream_launched(stream, launch_data(funcHandle, blockDim, argsData, argsSize, NULL, 0, stream));
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t blockDim, aclrtStream stream,
                                       aclrtLaunchKernelCfg *cfg, void *hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo *placeHolderArray, size_t placeHolderNum) {
    ASC_ENTER();
    (void)cfg;
    if (placeHolderNum) ASC_NEED(placeHolderArray);
    return asc_stream_launched(
        stream, launch_data(funcHandle, blockDim, hostArgs, argsSize, placeHolderArray, placeHolderNum, stream));
}

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t blockDim, aclrtStream stream,
                                     aclrtLaunchKernelCfg *cfg, aclrtArgsHandle argsHandle, void *reserve) {
    ASC_ENTER();
    (void)cfg;
    (void)reserve;
    asc_kernel_function *function = NULL;
    asc_kernel_arguments *arguments = NULL;
    void *block = NULL;
    aclError code = checked(funcHandle, blockDim, &function);
    if (code == ACL_SUCCESS) code = asc_kernel_arguments_get(argsHandle, &arguments);
    if (code == ACL_SUCCESS) code = asc_kernel_arguments_packed(arguments, function, &block);
    if (code == ACL_SUCCESS) code = push(function, blockDim, block, stream);
    return asc_stream_launched(stream, code);
}
