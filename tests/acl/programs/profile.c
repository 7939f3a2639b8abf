/* profile.c - `profile MODEL FOLDER`: runs a model once between aclprofStart and aclprofStop. Prints codes. */
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/acl_prof.h"

int main(int argc, char **argv) {
    uint32_t id, device = 0, absent = 7;
    void *in, *out;
    if (argc < 3) return 2;
    printf("start %d\n", aclInit(argc > 3 ? argv[3] : NULL));
    aclrtSetDevice(0);
    aclmdlLoadFromFile(argv[1], &id);
    aclrtMalloc(&in, 24, ACL_MEM_MALLOC_NORMAL_ONLY);
    aclrtMalloc(&out, 24, ACL_MEM_MALLOC_NORMAL_ONLY);
    aclrtMemset(in, 24, 0, 24);
    aclmdlDataset *inputs = aclmdlCreateDataset(), *outputs = aclmdlCreateDataset();
    aclmdlAddDatasetBuffer(inputs, aclCreateDataBuffer(in, 24));
    aclmdlAddDatasetBuffer(outputs, aclCreateDataBuffer(out, 24));
    aclprofConfig *config =
        aclprofCreateConfig(&device, 1, ACL_AICORE_PIPE_UTILIZATION, NULL, ACL_PROF_ACL_API | ACL_PROF_TASK_TIME);
    printf("absent %d\n", aclprofCreateConfig(&absent, 1, ACL_AICORE_NONE, NULL, 0) != NULL);
    printf("early %d\n", aclprofStart(config));
    if (argc == 3) {
        printf("init %d\n", aclprofInit(argv[2], strlen(argv[2])));
        printf("limit %d\n", aclprofSetConfig(ACL_PROF_STORAGE_LIMIT, "200MB", 5));
        printf("begin %d\n", aclprofStart(config));
    }
    printf("run %d\n", aclmdlExecute(id, inputs, outputs));
    if (argc == 3) {
        printf("stop %d\n", aclprofStop(config));
        printf("destroy %d\n", aclprofDestroyConfig(config));
        printf("end %d\n", aclprofFinalize());
    }
    return aclFinalize();
}
