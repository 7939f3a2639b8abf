/* test_acl.c - AscendCL's runtime from C: initialisation, contexts, streams in order, events, callbacks, memory, and
 * misuse. Models are tested from Python, which makes them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "check.h"

static void test_init_is_counted(void) {
    CHECK(aclFinalize() == ACL_ERROR_UNINITIALIZE);
    CHECK(aclInit(NULL) == ACL_SUCCESS);
    CHECK(aclInit(NULL) == ACL_ERROR_REPEAT_INITIALIZE);
    CHECK(aclFinalize() == ACL_SUCCESS);
    CHECK(aclFinalize() == ACL_SUCCESS);
    CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);
    CHECK(aclInit("/no/such/file.json") == ACL_ERROR_INVALID_FILE);
    const char *text = aclGetRecentErrMsg();
    CHECK(text && strstr(text, "aclInit") && strstr(text, "/no/such/file.json"));
    CHECK(aclGetRecentErrMsg() == NULL);
}

static void test_contexts(void) {
    aclrtContext first, second, current;
    aclrtStream stream;
    int32_t device;
    CHECK(aclrtGetCurrentContext(&current) == ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(aclrtSetDevice(7) == ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
    CHECK(aclrtGetDevice(&device) == ACL_SUCCESS && device == 0);
    CHECK(aclrtGetCurrentContext(&first) == ACL_SUCCESS);
    CHECK(aclrtDestroyContext(first) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    CHECK(aclrtCreateContext(&second, 0) == ACL_SUCCESS);
    CHECK(aclrtGetCurrentContext(&current) == ACL_SUCCESS && current == second);
    CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_STREAM_CONTEXT);
    CHECK(aclrtSetCurrentContext(first) == ACL_SUCCESS);
    CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    CHECK(aclrtSynchronizeStream(NULL) == ACL_SUCCESS);
    CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    CHECK(aclrtDestroyStream(stream) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtDestroyContext(second) == ACL_SUCCESS);
    CHECK(aclrtSetCurrentContext(second) == ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
    CHECK(aclrtCreateStream(&stream) == ACL_ERROR_RT_CONTEXT_NULL);
}

static void test_memory(void) {
    void *device, *host;
    char bytes[64];
    CHECK(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
    CHECK(aclrtMalloc(&device, 0, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_INVALID_PARAM);
    CHECK(aclrtMalloc(&device, 64, (aclrtMemMallocPolicy)99) == ACL_ERROR_INVALID_PARAM);
    CHECK(aclrtMalloc(&device, (size_t)1 << 60, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    CHECK(aclrtMallocHost(&host, 64) == ACL_SUCCESS);
    for (int i = 0; i < 64; i++) ((char *)host)[i] = (char)i;
    CHECK(aclrtMemcpy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
    CHECK(aclrtMemset(device, 64, 7, 8) == ACL_SUCCESS);
    CHECK(aclrtMemcpy(bytes, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
    for (int i = 0; i < 64; i++) CHECK(bytes[i] == (i < 8 ? 7 : i));
    CHECK(aclrtMemcpy(bytes, 63, device, 64, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtMemcpy(device, 65, host, 65, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtMemset((char *)device + 60, 36, 0, 36) == ACL_SUCCESS); /* the pad of a block, too */
    CHECK(aclrtMemset((char *)device + 60, 37, 0, 37) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtFree(host) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtFree((char *)device + 8) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtFree(bytes) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtFree(device) == ACL_SUCCESS && aclrtFree(device) == ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtFreeHost(host) == ACL_SUCCESS);
    /* Rows of 3 bytes, 8 and 5 apart. */
    char from[16] = "abc.....def.....", to[10] = {0};
    CHECK(aclrtMemcpy2d(to, 5, from, 8, 3, 2, ACL_MEMCPY_HOST_TO_HOST) == ACL_SUCCESS);
    CHECK(!memcmp(to, "abc\0\0def", 8));
    CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
}

/* ---- order ---------------------------------------------------------------------------------------- */

typedef struct journal {
    atomic_int count;
    int seen[64];
} journal;
static journal notes;

static void note(void *number) {
    int at = atomic_fetch_add(&notes.count, 1);
    if (at < 64) notes.seen[at] = (int)(intptr_t)number;
}

static atomic_int ready, stop;

static void *process(void *unused) {
    atomic_store(&ready, 1);
    while (!atomic_load(&stop)) aclrtProcessReport(10);
    return unused;
}

static void test_streams_keep_order(void) {
    aclrtStream one, two;
    aclrtEvent event, start = NULL;
    aclrtEventRecordedStatus status;
    float ms = -1;
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
    CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
    CHECK(aclrtCreateEvent(&event) == ACL_SUCCESS && aclrtCreateEvent(&start) == ACL_SUCCESS);
    CHECK(aclrtEventElapsedTime(&ms, start, event) == ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    atomic_store(&notes.count, 0);
    CHECK(aclrtRecordEvent(start, one) == ACL_SUCCESS);
    for (intptr_t i = 0; i < 20; i++) CHECK(aclrtLaunchHostFunc(one, note, (void *)i) == ACL_SUCCESS);
    CHECK(aclrtRecordEvent(event, one) == ACL_SUCCESS);
    CHECK(aclrtStreamWaitEvent(two, event) == ACL_SUCCESS);
    for (intptr_t i = 20; i < 40; i++) CHECK(aclrtLaunchHostFunc(two, note, (void *)i) == ACL_SUCCESS);
    CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
    CHECK(atomic_load(&notes.count) == 40);
    for (int i = 0; i < 40; i++) CHECK(notes.seen[i] == i);
    CHECK(aclrtQueryEventStatus(event, &status) == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK(aclrtEventElapsedTime(&ms, start, event) == ACL_SUCCESS && ms >= 0);
    CHECK(aclrtEventElapsedTime(&ms, event, start) == ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
    CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS && aclrtDestroyEvent(start) == ACL_SUCCESS);
    CHECK(aclrtRecordEvent(event, one) == ACL_ERROR_RT_PARAM_INVALID);

    CHECK(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_BLOCK, one) == ACL_ERROR_STREAM_NOT_SUBSCRIBE);
    CHECK(aclrtProcessReport(1) == ACL_ERROR_THREAD_NOT_SUBSCRIBE);
    pthread_t thread;
    pthread_create(&thread, NULL, process, NULL);
    while (!atomic_load(&ready)) continue;
    CHECK(aclrtSubscribeReport((uint64_t)thread, one) == ACL_SUCCESS);
    CHECK(aclrtSubscribeReport((uint64_t)thread, one) == ACL_ERROR_REPEAT_SUBSCRIBE);
    atomic_store(&notes.count, 0);
    CHECK(aclrtLaunchCallback(note, (void *)1, ACL_CALLBACK_BLOCK, one) == ACL_SUCCESS);
    CHECK(aclrtLaunchHostFunc(one, note, (void *)2) == ACL_SUCCESS);
    CHECK(aclrtSynchronizeStreamWithTimeout(one, 20000) == ACL_SUCCESS);
    CHECK(atomic_load(&notes.count) == 2 && notes.seen[0] == 1 && notes.seen[1] == 2);
    CHECK(aclrtUnSubscribeReport((uint64_t)thread, one) == ACL_SUCCESS);
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    CHECK(aclrtDestroyStream(one) == ACL_SUCCESS && aclrtDestroyStream(two) == ACL_SUCCESS);
    CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
}

static void wait_a_moment(void *gate) {
    while (!atomic_load((atomic_int *)gate)) continue;
}

static void test_timeouts_and_drops(void) {
    aclrtStream stream = NULL;
    aclrtStreamStatus status;
    atomic_int gate = 0;
    CHECK(aclrtSetDevice(0) == ACL_SUCCESS && aclrtCreateStream(&stream) == ACL_SUCCESS);
    CHECK(aclrtLaunchHostFunc(stream, wait_a_moment, &gate) == ACL_SUCCESS);
    CHECK(aclrtStreamQuery(stream, &status) == ACL_SUCCESS && status == ACL_STREAM_STATUS_NOT_READY);
    CHECK(aclrtSynchronizeStreamWithTimeout(stream, 5) == ACL_ERROR_RT_WAIT_TIMEOUT);
    atomic_store(&notes.count, 0);
    CHECK(aclrtLaunchHostFunc(stream, note, NULL) == ACL_SUCCESS);
    CHECK(aclrtStreamAbort(stream) == ACL_SUCCESS);
    atomic_store(&gate, 1);
    CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    CHECK(aclrtStreamQuery(stream, &status) == ACL_SUCCESS && status == ACL_STREAM_STATUS_COMPLETE);
    CHECK(atomic_load(&notes.count) == 0);
    CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS && aclrtResetDevice(0) == ACL_SUCCESS);
}

/* Each thread has a context and a stream of its own. */
static void *copies(void *argument) {
    aclrtContext context;
    aclrtStream stream;
    void *device;
    int *host = malloc(4096 * sizeof *host), *back = calloc(4096, sizeof *back), seed = (int)(intptr_t)argument;
    CHECK(aclrtCreateContext(&context, 0) == ACL_SUCCESS && aclrtCreateStream(&stream) == ACL_SUCCESS);
    CHECK(aclrtMalloc(&device, 4096 * sizeof *host, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 4096; i++) host[i] = seed * 1000 + round + i;
        CHECK(aclrtMemcpyAsync(device, 16384, host, 16384, ACL_MEMCPY_HOST_TO_DEVICE, stream) == ACL_SUCCESS);
        CHECK(aclrtMemcpyAsync(back, 16384, device, 16384, ACL_MEMCPY_DEVICE_TO_HOST, stream) == ACL_SUCCESS);
        CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
        CHECK(!memcmp(host, back, 16384));
    }
    CHECK(aclrtFree(device) == ACL_SUCCESS);
    CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS && aclrtDestroyContext(context) == ACL_SUCCESS);
    free(host);
    free(back);
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[8];
    for (intptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, copies, (void *)i);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}

static void test_half(void) {
    CHECK(aclFloatToFloat16(1.0f) == 0x3C00 && aclFloatToFloat16(-2.0f) == 0xC000);
    CHECK(aclFloatToFloat16(65504.0f) == 0x7BFF && aclFloatToFloat16(65520.0f) == 0x7C00);
    CHECK(aclFloatToFloat16(0x1p-24f) == 1 && aclFloatToFloat16(0x1p-25f) == 0 && aclFloatToFloat16(0x1.8p-25f) == 1);
    for (uint32_t bits = 0; bits < 0x7C00; bits++)
        CHECK(aclFloatToFloat16(aclFloat16ToFloat((aclFloat16)bits)) == bits);
}

static void test_operands(void) {
    int64_t dims[2] = {3, 4}, *got, offset;
    uint64_t count;
    float one = 1;
    void *data;
    aclDataType type;
    aclTensor *tensor = aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 5, ACL_FORMAT_ND, dims, 2, &one);
    CHECK(aclGetViewShape(tensor, &got, &count) == ACLNN_SUCCESS && count == 2 && got[0] == 3 && got[1] == 4);
    free(got);
    CHECK(aclGetViewStrides(tensor, &got, &count) == ACLNN_SUCCESS && got[0] == 4 && got[1] == 1);
    free(got);
    CHECK(aclGetViewOffset(tensor, &offset) == ACLNN_SUCCESS && offset == 5);
    CHECK(aclGetDataType(tensor, &type) == ACLNN_SUCCESS && type == ACL_FLOAT);
    CHECK(aclGetRawTensorAddr(tensor, &data) == ACLNN_SUCCESS && data == &one);
    CHECK(aclGetDataType(NULL, &type) == ACLNN_ERR_PARAM_NULLPTR);
    CHECK(aclCreateTensor(NULL, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 0, NULL) == NULL);
    const aclTensor *both[2] = {tensor, aclCreateTensor(NULL, 0, ACL_INT32, NULL, 0, ACL_FORMAT_ND, NULL, 0, NULL)};
    aclTensorList *list = aclCreateTensorList(both, 2);
    CHECK(aclGetTensorListSize(list, &count) == ACLNN_SUCCESS && count == 2);
    CHECK(aclDestroyTensorList(list) == ACLNN_SUCCESS);
    CHECK(aclDestroyTensor(tensor) == ACLNN_ERR_PARAM_INVALID); /* the list's */
    aclIntArray *numbers = aclCreateIntArray(dims, 2);
    CHECK(aclGetIntArraySize(numbers, &count) == ACLNN_SUCCESS && count == 2);
    CHECK(aclDestroyBoolArray((aclBoolArray *)numbers) == ACLNN_ERR_PARAM_INVALID);
    CHECK(aclDestroyIntArray(numbers) == ACLNN_SUCCESS);
    aclScalar *scalar = aclCreateScalar(&one, ACL_FLOAT);
    CHECK(scalar && aclDestroyScalar(scalar) == ACLNN_SUCCESS && aclDestroyScalar(scalar) == ACLNN_ERR_PARAM_INVALID);
}

int main(void) {
    test_operands();
    test_init_is_counted();
    test_contexts();
    test_memory();
    test_streams_keep_order();
    test_timeouts_and_drops();
    test_threads();
    test_half();
    return check_failures();
}
