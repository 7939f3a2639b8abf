/* waits.c - a stream waits for an event of another stream that comes too late for aclrtSetOpWaitTimeout. */
#include <stdio.h>
#include <threads.h>
#include <time.h>

#include "acl/acl.h"

static void sleep_long(void *argument) {
    (void)argument;
    struct timespec time = {1, 300000000};
    thrd_sleep(&time, NULL);
}

int main(void) {
    aclrtStream late, waiting;
    aclrtEvent event;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&late);
    aclrtCreateStream(&waiting);
    aclrtCreateEvent(&event);
    printf("%d", aclrtSetOpWaitTimeout(1));
    aclrtLaunchHostFunc(late, sleep_long, NULL);
    aclrtRecordEvent(event, late);
    aclrtStreamWaitEvent(waiting, event);
    printf(" %d", aclrtSynchronizeStream(waiting));
    printf(" %d", aclrtSetOpWaitTimeout(0));
    aclrtStreamWaitEvent(waiting, event);
    printf(" %d\n", aclrtSynchronizeStream(waiting));
    return 0;
}
