/* joining.c - one thread may be several ranks, which wait for each other: they join in threads of their own. */
#include "joining.h"

#include <stdlib.h>
#include <string.h>

typedef struct deferred {
    asc_joining joining;
    asc_site site; /* of the call */
    pthread_t thread;
    int not_started; /* the error that says why it has no thread */
    HcclResult code;
    char text[ASC_TEXT_BYTES];
    struct deferred *next;
} deferred;

static _Thread_local struct {
    bool open;
    deferred *first, **end;
} group;

HcclResult asc_join_now(const asc_joining *joining) {
    asc_segment *segment = NULL;
    HcclResult code =
        asc_meet(joining->rendezvous, joining->ranks, joining->rank, joining->options.step_bytes, &segment);
    if (code != HCCL_SUCCESS) return code;
    return asc_comm_new(segment, joining->device, joining->rendezvous, &joining->options, joining->comm);
}

HcclResult asc_join(const asc_joining *joining) {
    if (!group.open) return asc_join_now(joining);
    deferred *one = calloc(1, sizeof *one);
    if (!one) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    one->joining = *joining;
    one->site = asc_current_site();
    *group.end = one;
    group.end = &one->next;
    return HCCL_SUCCESS;
}

void asc_joining_defer(void) {
    group.open = true;
    group.end = &group.first;
}

static void *join_in_thread(void *argument) {
    deferred *one = argument;
    asc_enter(one->site.function, one->site.caller);
    one->code = asc_join_now(&one->joining);
    memcpy(one->text, asc_last_text(), sizeof one->text);
    return NULL;
}

static HcclResult result_of(const deferred *one) {
    if (one->not_started)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_SYSCALL, "no thread can be made for rank %u: %s",
                             one->joining.rank, strerror(one->not_started));
    if (one->code != HCCL_SUCCESS) asc_acl_fail_with(one->code, one->text);
    return one->code;
}

HcclResult asc_joining_finish(void) {
    HcclResult code = HCCL_SUCCESS;
    for (deferred *one = group.first; one; one = one->next)
        one->not_started = pthread_create(&one->thread, NULL, join_in_thread, one);
    for (deferred *one = group.first, *next; one; one = next) {
        next = one->next;
        if (!one->not_started) pthread_join(one->thread, NULL);
        if (code == HCCL_SUCCESS) code = result_of(one);
        free(one);
    }
    group.open = false;
    group.first = NULL;
    return code;
}
