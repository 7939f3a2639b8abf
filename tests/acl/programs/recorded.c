/* recorded.c - `recorded FOLDER ROUNDS`: what recording adds to the CPU time of an operator of about 100 us, as the
 * median of the ratios of interleaved rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "aclnnop/aclnn_mm.h"

enum { SIDE = 192, CALLS = 24, MOST = 1000 };

static aclrtStream stream;
static aclTensor *operands[3];

static void multiply(int calls) {
    for (int i = 0; i < calls; i++) {
        uint64_t bytes;
        aclOpExecutor *executor;
        if (aclnnMmGetWorkspaceSize(operands[0], operands[1], operands[2], 0, &bytes, &executor)) exit(3);
        if (aclnnMm(NULL, bytes, executor, stream)) exit(4);
    }
    if (aclrtSynchronizeStream(stream)) exit(5);
}

static double spent(void) {
    struct timespec began, ended;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began);
    multiply(CALLS);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
    return (double)(ended.tv_sec - began.tv_sec) * 1e9 + (double)(ended.tv_nsec - began.tv_nsec);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static double ratios[MOST];
    uint32_t device = 0;
    int64_t dims[2] = {SIDE, SIDE}, strides[2] = {SIDE, 1};
    int rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (rounds < 1 || rounds > MOST) return 2;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    for (int k = 0; k < 3; k++) {
        void *at;
        if (aclrtMalloc(&at, SIDE * SIDE * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST)) return 3;
        aclrtMemset(at, SIDE * SIDE * sizeof(float), 0, SIDE * SIDE * sizeof(float));
        operands[k] = aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, at);
    }
    aclprofConfig *config =
        aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
    if (aclprofInit(argv[1], strlen(argv[1])) || !config) return 3;
    double least = spent();
    for (int i = 0; i < rounds; i++) {
        double times[2];
        for (int k = 0; k < 2; k++) {
            int on = (i + k) % 2;
            if (on && aclprofStart(config)) return 4;
            if (on) multiply(1); /* which describes the call, once in a trace */
            times[on] = spent();
            if (on && aclprofStop(config)) return 5;
        }
        ratios[i] = times[1] / times[0];
        if (times[0] < least) least = times[0];
    }
    qsort(ratios, (size_t)rounds, sizeof *ratios, ascending);
    printf("%.4f of calls of %.0f us\n", ratios[rounds / 2], least / CALLS / 1e3);
    return aclFinalize();
}
