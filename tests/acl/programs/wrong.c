/* wrong.c - `wrong N m.om`: makes mistake N, in the line that says so. m.om takes a float[2,3] and gives one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

static uint32_t model;
static aclrtStream stream;
static void *memory, *other;
static char bytes[4096];
static atomic_int gate;

static void hold(void *unused) {
    (void)unused;
    while (!atomic_load(&gate)) continue;
}

static aclmdlDataset *set(void *data, size_t size) {
    aclmdlDataset *dataset = aclmdlCreateDataset();
    aclmdlAddDatasetBuffer(dataset, aclCreateDataBuffer(data, size));
    return dataset;
}

static void *without_context(void *unused) {
    aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST); /* WRONG 17 */
    return unused;
}

static void memory_mistakes(int n) {
    aclrtContext mine, another;
    pthread_t thread;
    switch (n) {
        case 1: aclrtMalloc(&other, 100, ACL_MEM_MALLOC_HUGE_FIRST); break; /* WRONG 1 */
        case 2: aclrtMallocHost(&other, 100); break;                        /* WRONG 2 */
        case 3:
            aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtFree(other);
            aclrtMemcpy(bytes, 64, other, 64, ACL_MEMCPY_DEVICE_TO_HOST); /* WRONG 3 */
            break;
        case 4:
            aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtFree(other);
            aclrtFree(other); /* WRONG 4 */
            break;
        case 5: aclrtMemcpy(memory, 64, memory, 64, ACL_MEMCPY_HOST_TO_DEVICE); break;    /* WRONG 5 */
        case 6: aclrtMemcpy(bytes, 64, bytes + 64, 64, ACL_MEMCPY_DEVICE_TO_HOST); break; /* WRONG 6 */
        case 7: aclrtMemcpy(memory, 200, bytes, 200, ACL_MEMCPY_HOST_TO_DEVICE); break;   /* WRONG 7 */
        case 8:
            aclrtLaunchHostFunc(stream, hold, NULL);
            aclrtMemsetAsync(memory, 64, 1, 64, stream);
            aclrtMemcpy(bytes, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST); /* WRONG 8 */
            break;
        case 9:
            aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtLaunchHostFunc(stream, hold, NULL);
            aclrtMemsetAsync(other, 64, 1, 64, stream);
            aclrtFree(other); /* WRONG 9 */
            break;
        case 10:
            aclrtGetCurrentContext(&mine);
            aclrtCreateContext(&another, 0);
            aclrtMemsetAsync(memory, 64, 1, 64, stream); /* WRONG 10 */
            aclrtSetCurrentContext(mine);
            aclrtDestroyContext(another);
            break;
        case 14: bytes[0] = *(volatile char *)memory; break; /* WRONG 14 */
        case 15: aclrtFree((char *)memory + 32); break;      /* WRONG 15 */
        case 16: aclrtFreeHost(memory); break;               /* WRONG 16 */
        case 17:
            pthread_create(&thread, NULL, without_context, NULL);
            pthread_join(thread, NULL);
            break;
        case 18: aclrtMemset(memory, 4096, 0, 4096); break; /* WRONG 18 */
        default: break;
    }
}

static void other_mistakes(int n) {
    aclmdlDataset *in = set(memory, 24), *out = set((char *)memory + 64, 24);
    aclrtStream gone;
    aclrtEvent event;
    float ms;
    switch (n) {
        case 11:
            out = set((char *)memory + 64, 20);
            aclmdlExecute(model, in, out); /* WRONG 11 */
            break;
        case 12: aclmdlExecute(model, aclmdlCreateDataset(), out); break; /* WRONG 12 */
        case 13:
            in = set(bytes, 24);
            aclmdlExecute(model, in, out); /* WRONG 13 */
            break;
        case 19:
            aclrtCreateStream(&gone);
            aclrtDestroyStream(gone);
            aclrtSynchronizeStream(gone); /* WRONG 19 */
            break;
        case 20:
            aclDestroyDataBuffer(aclmdlGetDatasetBuffer(in, 0));
            aclmdlExecute(model, in, out); /* WRONG 20 */
            break;
        case 21:
            aclmdlUnload(model);
            aclmdlExecute(model, in, out); /* WRONG 21 */
            break;
        case 22: aclrtLaunchCallback(hold, NULL, ACL_CALLBACK_BLOCK, stream); break; /* WRONG 22 */
        case 23:
            aclrtCreateEvent(&event);
            aclrtEventElapsedTime(&ms, event, event); /* WRONG 23 */
            break;
        case 24: aclmdlSetDynamicBatchSize(model, in, 0, 2); break; /* WRONG 24 */
        default: break;
    }
}

int main(int argc, char **argv) {
    int n = argc > 2 ? atoi(argv[1]) : 0;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    aclrtMalloc(&memory, 128, ACL_MEM_MALLOC_HUGE_FIRST);
    if (aclmdlLoadFromFile(argv[2], &model) != ACL_SUCCESS) return 2;
    memory_mistakes(n);
    if (n == 0 || (n >= 11 && n != 14 && n != 15 && n != 16 && n != 17 && n != 18)) other_mistakes(n);
    atomic_store(&gate, 1);
    aclrtSynchronizeDevice();
    aclrtFree(memory);
    aclrtDestroyStream(stream);
    if (n != 0 && n > 2) return 0; /* what is left is the mistake of 1 and 2 only */
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
