/* batch.c - copies in batches: there, back and between, in order with other work, and what is wrong with a batch. */
#include <stdint.h>
#include <stdio.h>

#include "acl/acl.h"

enum { N = 3, BYTES = 1 << 16 };

static char *on_host[N], *back[N];
static void *on_device[N];
static size_t bytes[N] = {BYTES, BYTES / 2, 8}, failed = 77;

static aclError copy(void *dsts[], void *srcs[], aclrtMemcpyBatchAttr *attrs, size_t *first, size_t n, aclrtStream s) {
    return s ? aclrtMemcpyBatchAsync(dsts, bytes, srcs, bytes, N, attrs, first, n, &failed, s)
             : aclrtMemcpyBatch(dsts, bytes, srcs, bytes, N, attrs, first, n, &failed);
}

int main(void) {
    aclrtStream stream;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    for (int i = 0; i < N; i++) {
        aclrtMallocHost((void **)&on_host[i], BYTES);
        aclrtMallocHost((void **)&back[i], BYTES);
        aclrtMalloc(&on_device[i], BYTES, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtMemset(on_host[i], BYTES, 'a' + i, BYTES);
    }
    aclrtMemcpyBatchAttr there = {.dstLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}},
                         again = {.srcLoc = {0, ACL_MEM_LOCATION_TYPE_DEVICE}};
    size_t zero = 0, two[] = {0, 2};
    printf("%d", copy(on_device, (void **)on_host, &there, &zero, 1, NULL));
    aclrtMemsetAsync(on_device[2], BYTES, 'z', BYTES, stream);
    printf(" %d", copy((void **)back, on_device, &again, &zero, 1, stream));
    aclrtSynchronizeStream(stream);
    printf(" %c%c%c", back[0][BYTES - 1], back[1][BYTES / 2 - 1], back[2][7]);
    /* the first two there, the last one back */
    aclrtMemcpyBatchAttr both[] = {there, again};
    void *dsts[N] = {on_device[2], on_device[0], back[0]}, *srcs[N] = {on_host[0], on_host[1], on_device[1]};
    printf(" %d", copy(dsts, srcs, both, two, 2, NULL));
    printf(" %c %d", back[0][7], failed == SIZE_MAX);
    /* what is wrong: nothing of a batch is copied then */
    back[0][0] = '-';
    bytes[1] = BYTES * 2;
    size_t room[N] = {BYTES, BYTES, BYTES};
    aclError code = aclrtMemcpyBatch((void **)back, room, on_device, bytes, N, &again, &zero, 1, &failed);
    printf(" %d %zu %c", code, failed, back[0][0]);
    size_t wrong[][2] = {{1, 2}, {0, 0}, {0, N}};
    for (int i = 0; i < 3; i++) printf(" %d", copy(dsts, srcs, both, wrong[i], 2, NULL));
    printf(" %d\n", failed == SIZE_MAX);
    aclrtMemUceInfo errors[4];
    size_t found = 9;
    printf("%d", aclrtGetMemUceInfo(0, errors, 4, &found));
    printf(" %zu %d %d\n", found, aclrtGetMemUceInfo(99, errors, 4, &found), aclrtMemUceRepair(0, errors, 1));
    return 0;
}
