/* recorder.c - preloaded into a program on AscendCL: writes the inputs and outputs of each execution of a model to
 * $ACL_RECORD/NUMBER/{model,in_I.bin,out_I.bin}. An asynchronous one is waited for, so that its outputs are there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acl/acl.h"

#define MODELS 256
#define EXECUTIONS 64
#define MOST_BYTES ((size_t)1 << 28) /* of a tensor; what is larger is left out */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char models[MODELS][1024];
static int executions;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void remember(uint32_t id, const char *path) {
    if (id < MODELS) snprintf(models[id], sizeof models[id], "%s", path);
}

aclError aclmdlLoadFromFile(const char *path, uint32_t *id) {
    aclError code = REAL(aclmdlLoadFromFile)(path, id);
    if (!code) remember(*id, path);
    return code;
}

aclError aclmdlLoadFromFileWithMem(const char *path, uint32_t *id, void *work, size_t workSize, void *weight,
                                   size_t weightSize) {
    aclError code = REAL(aclmdlLoadFromFileWithMem)(path, id, work, workSize, weight, weightSize);
    if (!code) remember(*id, path);
    return code;
}

static void write_file(const char *folder, const char *side, size_t at, const void *bytes, size_t size) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s_%zu.bin", folder, side, at);
    FILE *file = fopen(path, "wb");
    if (!file) return;
    fwrite(bytes, 1, size, file);
    fclose(file);
}

static void write_dataset(const char *folder, const char *side, const aclmdlDataset *dataset) {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); i++) {
        aclDataBuffer *buffer = aclmdlGetDatasetBuffer(dataset, i);
        size_t size = aclGetDataBufferSizeV2(buffer);
        void *host = size <= MOST_BYTES ? malloc(size ? size : 1) : NULL;
        if (host && !aclrtMemcpy(host, size, aclGetDataBufferAddr(buffer), size, ACL_MEMCPY_DEVICE_TO_HOST))
            write_file(folder, side, i, host, size);
        free(host);
    }
}

/* The folder of the next execution; NULL when there are enough. */
static const char *next_folder(uint32_t id, char *folder, size_t size) {
    const char *root = getenv("ACL_RECORD");
    if (!root || executions == EXECUTIONS) return NULL;
    snprintf(folder, size, "%s/%d", root, executions++);
    mkdir(folder, 0777);
    char path[1200];
    snprintf(path, sizeof path, "%s/model", folder);
    FILE *file = fopen(path, "w");
    if (file) {
        char real[4096];
        const char *name = id < MODELS ? models[id] : "";
        fputs(realpath(name, real) ? real : name, file);
        fclose(file);
    }
    return folder;
}

static aclError execute(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out, aclrtStream stream, int waits) {
    char place[1100];
    pthread_mutex_lock(&lock);
    const char *folder = next_folder(id, place, sizeof place);
    if (folder && !waits) aclrtSynchronizeStream(stream);
    if (folder) write_dataset(folder, "in", in);
    aclError code = waits ? REAL(aclmdlExecute)(id, in, out) : REAL(aclmdlExecuteAsync)(id, in, out, stream);
    if (folder && !waits && !code) code = aclrtSynchronizeStream(stream);
    if (folder && !code) write_dataset(folder, "out", out);
    pthread_mutex_unlock(&lock);
    return code;
}

aclError aclmdlExecute(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out) {
    return execute(id, in, out, NULL, 1);
}

aclError aclmdlExecuteAsync(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out, aclrtStream stream) {
    return execute(id, in, out, stream, 0);
}
