/* waits.c - `waits reset`: a stream that waits for an event resets it before it is reached. `waits event`: a stream
 * waits for an event of another stream that comes too late for aclrtSetOpWaitTimeout. `waits notify`: streams of two
 * devices take turns by notifications. `waits pageable`: copies of memory that isn't page-locked are done when a stream
 * had nothing else to do, and in order when it had. `waits again`: an event is recorded once more, in a stream that is
 * ahead of the one that another waits for. */
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include "acl/acl.h"

static void sleep_long(void *argument) {
    (void)argument;
    struct timespec time = {1, 300000000};
    thrd_sleep(&time, NULL);
}

static char order[8];
static int at;

static void note(void *letter) {
    order[at++] = *(const char *)letter;
}

/* The second device's stream is fed first, and works when the first one says so; then the other way round. */
static int take_turns(void) {
    aclrtStream one, other;
    aclrtNotify go, back;
    uint32_t first, second;
    aclrtContext contexts[2];
    aclrtCreateContext(&contexts[1], 1);
    aclrtCreateStream(&other);
    aclrtCreateContext(&contexts[0], 0);
    aclrtCreateStream(&one);
    printf("%d %d", aclrtCreateNotify(&go, 0), aclrtCreateNotify(&back, 0));
    aclrtGetNotifyId(go, &first);
    aclrtGetNotifyId(back, &second);
    aclrtSetCurrentContext(contexts[1]);
    aclrtWaitAndResetNotify(go, other, 0);
    aclrtLaunchHostFunc(other, note, "b");
    aclrtRecordNotify(back, other);
    aclrtWaitAndResetNotify(go, other, 20);
    aclrtSetCurrentContext(contexts[0]);
    aclrtLaunchHostFunc(one, note, "a");
    aclrtRecordNotify(go, one);
    aclrtWaitAndResetNotify(back, one, 0);
    aclrtLaunchHostFunc(one, note, "c");
    printf(" %d", aclrtSynchronizeStream(one));
    aclrtSetCurrentContext(contexts[1]);
    printf(" %d", aclrtSynchronizeStream(other));
    printf(" %s %d", order, first != second);
    printf(" %d", aclrtDestroyNotify(go));
    printf(" %d\n", aclrtRecordNotify(go, other));
    return 0;
}

/* The wait is for the recording before it, and the event can be used again. */
static int reset_event(void) {
    aclrtStream one, other;
    aclrtEvent event;
    aclrtCreateStream(&one);
    aclrtCreateStream(&other);
    aclrtCreateEvent(&event);
    aclrtLaunchHostFunc(one, sleep_long, NULL);
    aclrtLaunchHostFunc(one, note, "a");
    aclrtRecordEvent(event, one);
    aclrtStreamWaitEvent(other, event);
    aclrtResetEvent(event, other);
    aclrtLaunchHostFunc(other, note, "b");
    aclrtSynchronizeStream(other);
    aclrtSynchronizeStream(one);
    printf("%s %d\n", order, aclrtSynchronizeEventWithTimeout(event, 100));
    return 0;
}

/* The wait is for the recording before it, though the next one is reached first. */
static int record_again(void) {
    aclrtStream late, ahead, waiting;
    aclrtEvent event;
    aclrtEventRecordedStatus status;
    aclrtCreateStream(&late);
    aclrtCreateStream(&ahead);
    aclrtCreateStream(&waiting);
    aclrtCreateEvent(&event);
    aclrtLaunchHostFunc(late, sleep_long, NULL);
    aclrtLaunchHostFunc(late, note, "a");
    aclrtRecordEvent(event, late);
    aclrtStreamWaitEvent(waiting, event);
    aclrtLaunchHostFunc(waiting, note, "b");
    aclrtRecordEvent(event, ahead);
    aclrtSynchronizeEvent(event);
    aclrtQueryEventStatus(event, &status);
    printf("[%s] %d", order, status);
    aclrtSynchronizeStream(waiting);
    printf(" %s\n", order);
    return 0;
}

static int copy_pageable(void) {
    aclrtStream stream;
    int *there, wrong = 0, seen = 0;
    aclrtMalloc((void **)&there, sizeof *there, ACL_MEM_MALLOC_HUGE_FIRST);
    for (int i = 1; i <= 200; i++) {
        aclrtCreateStream(&stream);
        aclrtMemcpyAsync(there, sizeof i, &i, sizeof i, ACL_MEMCPY_HOST_TO_DEVICE, stream);
        aclrtMemcpy(&seen, sizeof seen, there, sizeof seen, ACL_MEMCPY_DEVICE_TO_HOST);
        wrong += seen != i;
        aclrtDestroyStream(stream);
    }
    int late = 7;
    aclrtCreateStream(&stream);
    aclrtLaunchHostFunc(stream, sleep_long, NULL);
    aclrtMemcpyAsync(there, sizeof late, &late, sizeof late, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    aclrtMemcpy(&seen, sizeof seen, there, sizeof seen, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%d %d", wrong, seen);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(&seen, sizeof seen, there, sizeof seen, ACL_MEMCPY_DEVICE_TO_HOST);
    printf(" %d\n", seen);
    return 0;
}

int main(int argc, char **argv) {
    aclrtStream late, waiting;
    aclrtEvent event;
    aclInit(NULL);
    aclrtSetDevice(0);
    if (argc > 1 && !strcmp(argv[1], "notify")) return take_turns();
    if (argc > 1 && !strcmp(argv[1], "reset")) return reset_event();
    if (argc > 1 && !strcmp(argv[1], "again")) return record_again();
    if (argc > 1 && !strcmp(argv[1], "pageable")) return copy_pageable();
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
