/* threads.c - `threads m.om ROUNDS`: 8 threads, each with a context and a stream of its own, run one model of
 * float[2,3]; every other one asynchronously. Prints how many results differ from the first in any bit. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

#define BYTES 24
static uint32_t model;
static float expected[6];
static int rounds;
static atomic_int wrong;

static void once(const float *from, float *to, aclrtStream stream) {
    void *at[2];
    aclmdlDataset *set[2];
    for (int i = 0; i < 2; i++) {
        if (aclrtMalloc(&at[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) atomic_fetch_add(&wrong, 1);
        set[i] = aclmdlCreateDataset();
        aclmdlAddDatasetBuffer(set[i], aclCreateDataBuffer(at[i], BYTES));
    }
    if (stream) {
        aclrtMemcpyAsync(at[0], BYTES, from, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, stream);
        if (aclmdlExecuteAsync(model, set[0], set[1], stream) != ACL_SUCCESS) atomic_fetch_add(&wrong, 1);
        aclrtMemcpyAsync(to, BYTES, at[1], BYTES, ACL_MEMCPY_DEVICE_TO_HOST, stream);
        if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) atomic_fetch_add(&wrong, 1);
    } else {
        aclrtMemcpy(at[0], BYTES, from, BYTES, ACL_MEMCPY_HOST_TO_DEVICE);
        if (aclmdlExecute(model, set[0], set[1]) != ACL_SUCCESS) atomic_fetch_add(&wrong, 1);
        aclrtMemcpy(to, BYTES, at[1], BYTES, ACL_MEMCPY_DEVICE_TO_HOST);
    }
    for (int i = 0; i < 2; i++) {
        aclDestroyDataBuffer(aclmdlGetDatasetBuffer(set[i], 0));
        aclmdlDestroyDataset(set[i]);
        aclrtFree(at[i]);
    }
}

static const float input[6] = {-1.5f, 0.25f, 3, 1e-3f, -7, 0.5f};

static void *work(void *argument) {
    aclrtContext context;
    aclrtStream stream;
    float result[6];
    if (aclrtCreateContext(&context, 0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS)
        atomic_fetch_add(&wrong, 1);
    for (int i = 0; i < rounds; i++) {
        once(input, result, i % 2 ? stream : NULL);
        if (memcmp(result, expected, BYTES) != 0) atomic_fetch_add(&wrong, 1);
    }
    aclrtDestroyStream(stream);
    aclrtDestroyContext(context);
    return argument;
}

int main(int argc, char **argv) {
    pthread_t threads[8];
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    aclInit(NULL);
    aclrtSetDevice(0);
    if (aclmdlLoadFromFile(argv[1], &model) != ACL_SUCCESS) return 2;
    once(input, expected, NULL);
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    printf("%d\n", atomic_load(&wrong));
    aclmdlUnload(model);
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
