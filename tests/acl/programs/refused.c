/* refused.c - `refused WHO`: a thread launches an operator that nobody knows. Prints what it and those that wait for
 * its stream are told. alone     the same thread waits other     another thread waits, twice, for the stream and for
 * the device; then launches and waits goes-on   the thread launches something else after it, and another waits report
 * a task of the stream fails, and aclrtUnSubscribeReport comes before the wait */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

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

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    pthread_t thread;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST);
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
