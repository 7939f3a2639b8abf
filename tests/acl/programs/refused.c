/* refused.c - `refused WHO`: a thread launches an operator that nobody knows. Prints what it and those that wait for
 * its stream are told. alone     the same thread waits other     another thread waits, twice, for the stream and for
 * the device; then launches and waits goes-on   the thread launches something else after it, and another waits report
 * a task of the stream fails, and aclrtUnSubscribeReport comes before the wait. kinds     another thread waits, after
 * each kind of launch */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/ops/acl_dvpp.h"

static aclrtStream stream;
static void *memory;
static int goes_on;

static aclError launch(void) {
    int64_t dims[1] = {4};
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
    aclDataBuffer *buffer = aclCreateDataBuffer(memory, 16);
    aclError code = aclopCompileAndExecuteV2("Unheard", 1, &desc, &buffer, 1, &desc, &buffer, NULL, ACL_ENGINE_SYS,
                                             ACL_COMPILE_SYS, NULL, stream);
    aclDestroyDataBuffer(buffer);
    aclDestroyTensorDesc(desc);
    return code;
}

static void *work(void *argument) {
    aclrtSetDevice(0);
    printf("launched %d\n", launch());
    if (goes_on) printf("more %d\n", aclrtMemsetAsync(memory, 16, 1, 16, stream));
    return argument;
}

static void told(const char *what, aclError code) {
    const char *text = code ? aclGetRecentErrMsg() : NULL;
    printf("%s %d%s\n", what, code, text && strstr(text, "Unheard") ? " Unheard" : "");
}

static void nothing(void *unused) {
    (void)unused;
}

static aclError callback(void) {
    return aclrtLaunchCallback(nothing, NULL, ACL_CALLBACK_BLOCK, stream); /* nobody subscribed */
}

static aclError host_call(void) {
    return aclrtLaunchHostFunc(stream, NULL, NULL);
}

static aclError record(void) {
    return aclrtRecordNotify(NULL, stream);
}

static aclError wait_for(void) {
    return aclrtWaitAndResetNotify(NULL, stream, 1);
}

static aclError cache(void) {
    return aclrtCmoAsync(memory, 1 << 20, ACL_RT_CMO_TYPE_PREFETCH, stream); /* beyond the block */
}

static aclError picture(void) {
    return acldvppVpcResizeAsync(NULL, NULL, NULL, NULL, stream);
}

static aclError colours(void) {
    return acldvppVpcConvertColorAsync(NULL, NULL, NULL, stream);
}

static aclError pictures(void) {
    return acldvppVpcBatchCropAsync(NULL, NULL, NULL, 1, NULL, NULL, stream);
}

static aclError decode(void) {
    return acldvppJpegDecodeAsync(NULL, NULL, 0, NULL, stream);
}

static aclError encode(void) {
    return acldvppJpegEncodeAsync(NULL, NULL, NULL, NULL, NULL, stream);
}

static const struct {
    const char *name;
    aclError (*launch)(void);
} kinds[] = {{"callback", callback}, {"host_call", host_call}, {"record", record},   {"wait", wait_for},
             {"cache", cache},       {"picture", picture},     {"colours", colours}, {"pictures", pictures},
             {"decode", decode},     {"encode", encode}};

static void *launch_one(void *argument) {
    aclrtSetDevice(0);
    aclError code = kinds[*(const size_t *)argument].launch();
    printf("%s: launched %d", kinds[*(const size_t *)argument].name, code);
    return NULL;
}

/* Each is told to the thread that waits, once; then the stream is sound. */
static void launch_each_kind(void) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, launch_one, &i);
        pthread_join(thread, NULL);
        printf(", waited %d", aclrtSynchronizeStream(stream));
        aclrtMemsetAsync(memory, 16, 2, 16, stream);
        printf(", after %d\n", aclrtSynchronizeStream(stream));
    }
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    pthread_t thread;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST);
    if (!strcmp(argv[1], "kinds")) {
        launch_each_kind();
        return aclFinalize();
    }
    goes_on = !strcmp(argv[1], "goes-on");
    if (!strcmp(argv[1], "report")) {
        aclrtNotify never;
        uint64_t self = (uint64_t)pthread_self();
        aclrtCreateNotify(&never, 0);
        aclrtSubscribeReport(self, stream);
        aclrtWaitAndResetNotify(never, stream, 20);
        printf("unsubscribed %d\n", aclrtUnSubscribeReport(self, stream));
    } else if (!strcmp(argv[1], "alone")) {
        work(NULL);
    } else {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    told("stream", aclrtSynchronizeStream(stream));
    told("again", aclrtSynchronizeStream(stream));
    told("device", aclrtSynchronizeDevice());
    aclrtMemsetAsync(memory, 16, 2, 16, stream);
    told("after", aclrtSynchronizeStream(stream));
    return aclFinalize();
}
