/* launch.c BINARY - launches kernel `scale` of a binary in every way, and says what came out. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

#define MUST(call)                                                                                   \
    do {                                                                                             \
        aclError code = call;                                                                        \
        if (code != ACL_SUCCESS) return printf("%s: %d %s\n", #call, code, aclGetRecentErrMsg()), 1; \
    } while (0)

typedef struct arguments {
    void *x, *y;
    float factor;
    const int32_t *count;
} arguments;

static void *device(size_t bytes) {
    void *made = NULL;
    return aclrtMalloc(&made, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS ? made : NULL;
}

static int shown(const char *how, void *y) {
    float out[4];
    MUST(aclrtMemcpy(out, sizeof out, y, sizeof out, ACL_MEMCPY_DEVICE_TO_HOST));
    printf("%s: %g %g %g %g\n", how, out[0], out[1], out[2], out[3]);
    return 0;
}

int main(int n, char **given) {
    float in[4] = {1, 2, 3, 4};
    int32_t count = 4, *held;
    aclrtBinHandle binary;
    aclrtFuncHandle scale, none = NULL;
    aclrtArgsHandle list;
    aclrtParamHandle first, second, factor, place;
    aclrtStream stream;
    char name[32];
    if (n < 2) return 2;
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclrtCreateStream(&stream));
    arguments a = {device(16), device(16), 2, device(4)};
    MUST(aclrtMemcpy(a.x, 16, in, 16, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtMemcpy((void *)(uintptr_t)a.count, 4, &count, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtBinaryLoadFromFile(given[1], NULL, &binary));
    printf("no such kernel: %d\n", aclrtBinaryGetFunction(binary, "shift", &none));
    MUST(aclrtBinaryGetFunction(binary, "scale", &scale));
    MUST(aclrtGetFunctionName(scale, sizeof name, name));
    printf("%s\n", name);

    MUST(aclrtLaunchKernel(scale, 1, &a, sizeof a, stream));
    MUST(aclrtSynchronizeStream(stream));
    shown("structure", a.y);
    printf("too short: %d\n", aclrtLaunchKernel(scale, 1, &a, 8, stream));

    struct {
        arguments a;
        int32_t count;
    } whole = {{a.x, a.y, 3, NULL}, 4};
    aclrtPlaceHolderInfo info = {offsetof(arguments, count), sizeof(arguments)};
    MUST(aclrtLaunchKernelWithHostArgs(scale, 1, stream, NULL, &whole, sizeof whole, &info, 1));
    MUST(aclrtSynchronizeStream(stream));
    shown("host arguments", a.y);

    float by = 5;
    MUST(aclrtKernelArgsInit(scale, &list));
    MUST(aclrtKernelArgsAppend(list, &a.x, sizeof a.x, &first));
    MUST(aclrtKernelArgsAppend(list, &a.y, sizeof a.y, &second));
    MUST(aclrtKernelArgsAppend(list, &by, sizeof by, &factor));
    printf("not final: %d\n", aclrtLaunchKernelWithConfig(scale, 1, stream, NULL, list, NULL));
    MUST(aclrtKernelArgsAppendPlaceHolder(list, &place));
    MUST(aclrtKernelArgsGetPlaceHolderBuffer(list, place, sizeof *held, (void **)&held));
    *held = 3;
    MUST(aclrtKernelArgsFinalize(list));
    aclrtLaunchKernelCfg cfg = {0};
    MUST(aclrtLaunchKernelWithConfig(scale, 1, stream, &cfg, list, NULL));
    by = 6;
    MUST(aclrtKernelArgsParaUpdate(list, factor, &by, sizeof by)); /* the first launch keeps what it had */
    MUST(aclrtSynchronizeStream(stream));
    shown("list", a.y);
    MUST(aclrtLaunchKernelWithConfig(scale, 1, stream, NULL, list, NULL));
    MUST(aclrtSynchronizeStream(stream));
    shown("list again", a.y);

    a.factor = -1;
    MUST(aclrtLaunchKernel(scale, 1, &a, sizeof a, stream));
    aclError fault = aclrtSynchronizeStream(stream);
    printf("fault: %d %s\n", fault, aclGetRecentErrMsg());
    MUST(aclrtBinaryUnLoad(binary));
    printf("unloaded: %d\n", aclrtLaunchKernel(scale, 1, &a, sizeof a, stream));
    MUST(aclrtFree(a.x));
    MUST(aclrtFree(a.y));
    MUST(aclrtFree((void *)(uintptr_t)a.count));
    MUST(aclrtDestroyStream(stream));
    MUST(aclrtResetDevice(0));
    return aclFinalize();
}
