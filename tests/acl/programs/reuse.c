/* reuse.c - memory of the host that is used shortly after it was freed, as a sample does, and blocks of one size. */
#include <stdio.h>

#include "acl/acl.h"

enum { BYTES = 10 << 20 };

int main(void) {
    void *block, *again, *other;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtMallocHost(&block, BYTES);
    aclrtMemset(block, BYTES, 7, BYTES);
    aclrtFreeHost(block);
    printf("%d", aclrtMemset(block, BYTES, 8, BYTES));
    aclrtMallocHost(&again, BYTES);
    printf(" %d", again == block);
    aclrtMallocHost(&other, BYTES);
    printf(" %d", other == block);
    for (int i = 0; i < 100; i++) { /* more than are kept */
        void *at[40];
        for (int k = 0; k < 40; k++) aclrtMalloc(&at[k], (size_t)(k + 1) * 600, ACL_MEM_MALLOC_HUGE_FIRST);
        for (int k = 0; k < 40; k++)
            if (aclrtFree(at[k]) != ACL_SUCCESS) printf(" wrong");
    }
    printf(" %d", aclrtFreeHost(again));
    printf(" %d\n", aclrtFreeHost(again));
    return 0;
}
