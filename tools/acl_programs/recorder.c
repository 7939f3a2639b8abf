/* recorder.c - preloaded into a program on AscendCL: writes the inputs and outputs of each execution of a model to
 * $ACL_RECORD/NUMBER/{model,in_I.bin,out_I.bin}, and of each single operator, with its description in `operator`. An
 * asynchronous one is waited for, so that its outputs are there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"

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

static void write_buffer(const char *folder, const char *side, size_t at, const aclDataBuffer *buffer) {
    size_t size = aclGetDataBufferSizeV2(buffer);
    void *host = size <= MOST_BYTES ? malloc(size ? size : 1) : NULL;
    if (host && !aclrtMemcpy(host, size, aclGetDataBufferAddr(buffer), size, ACL_MEMCPY_DEVICE_TO_HOST))
        write_file(folder, side, at, host, size);
    free(host);
}

static void write_dataset(const char *folder, const char *side, const aclmdlDataset *dataset) {
    for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(dataset); i++)
        write_buffer(folder, side, i, aclmdlGetDatasetBuffer(dataset, i));
}

/* The folder of the next execution; NULL when there are enough. */
static const char *next_folder(char *folder, size_t size) {
    const char *root = getenv("ACL_RECORD");
    if (!root || executions == EXECUTIONS) return NULL;
    snprintf(folder, size, "%s/%d", root, executions++);
    mkdir(folder, 0777);
    return folder;
}

static FILE *open_text(const char *folder, const char *name) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "w");
}

static void write_model(const char *folder, uint32_t id) {
    char real[4096];
    const char *name = id < MODELS ? models[id] : "";
    FILE *file = open_text(folder, "model");
    if (!file) return;
    fputs(realpath(name, real) ? real : name, file);
    fclose(file);
}

/* The sizes that were chosen last, for the next execution. */
static char chosen[2048];

aclError aclmdlSetDynamicBatchSize(uint32_t id, aclmdlDataset *dataset, size_t index, uint64_t batch) {
    snprintf(chosen, sizeof chosen, "batch %llu", (unsigned long long)batch);
    return REAL(aclmdlSetDynamicBatchSize)(id, dataset, index, batch);
}

aclError aclmdlSetDynamicHWSize(uint32_t id, aclmdlDataset *dataset, size_t index, uint64_t height, uint64_t width) {
    snprintf(chosen, sizeof chosen, "hw %llu %llu", (unsigned long long)height, (unsigned long long)width);
    return REAL(aclmdlSetDynamicHWSize)(id, dataset, index, height, width);
}

aclError aclmdlSetInputDynamicDims(uint32_t id, aclmdlDataset *dataset, size_t index, const aclmdlIODims *dims) {
    snprintf(chosen, sizeof chosen, "dims");
    for (size_t i = 0; i < dims->dimCount && i < ACL_MAX_DIM_CNT && strlen(chosen) < sizeof chosen - 30; i++)
        snprintf(chosen + strlen(chosen), 24, " %lld", (long long)dims->dims[i]);
    return REAL(aclmdlSetInputDynamicDims)(id, dataset, index, dims);
}

static void write_chosen(const char *folder) {
    FILE *file = open_text(folder, "chosen");
    if (!file) return;
    fputs(chosen, file);
    fclose(file);
}

static aclError execute(uint32_t id, const aclmdlDataset *in, aclmdlDataset *out, aclrtStream stream, int waits) {
    char place[1100];
    pthread_mutex_lock(&lock);
    const char *folder = next_folder(place, sizeof place);
    if (folder) write_model(folder, id);
    if (folder && chosen[0]) write_chosen(folder);
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

/* ---- single operators ------------------------------------------------------------------------------------ */

/* What was set last: programs describe one operator at a time. */
static char attributes[4096];

static void note(const char *name, const char *value) {
    size_t used = strlen(attributes);
    snprintf(attributes + used, sizeof attributes - used, "attribute %s %s\n", name, value);
}

aclopAttr *aclopCreateAttr(void) {
    attributes[0] = 0;
    return REAL(aclopCreateAttr)();
}

aclError aclopSetAttrListInt(aclopAttr *attr, const char *name, int count, const int64_t *values) {
    char text[1000] = "";
    for (int i = 0; i < count && strlen(text) < 900; i++)
        snprintf(text + strlen(text), 40, "%s%lld", i ? "," : "", (long long)values[i]);
    note(name, text);
    return REAL(aclopSetAttrListInt)(attr, name, count, values);
}

aclError aclopSetAttrInt(aclopAttr *attr, const char *name, int64_t value) {
    char text[40];
    snprintf(text, sizeof text, "%lld", (long long)value);
    note(name, text);
    return REAL(aclopSetAttrInt)(attr, name, value);
}

aclError aclopSetAttrBool(aclopAttr *attr, const char *name, uint8_t value) {
    note(name, value ? "1" : "0");
    return REAL(aclopSetAttrBool)(attr, name, value);
}

static void write_descs(FILE *file, const char *side, int count, const aclTensorDesc *const descs[]) {
    for (int i = 0; i < count; i++) {
        fprintf(file, "%s %d %d ", side, aclGetTensorDescType(descs[i]), aclGetTensorDescFormat(descs[i]));
        for (size_t d = 0; d < aclGetTensorDescNumDims(descs[i]); d++) {
            int64_t size = 0;
            aclGetTensorDescDimV2(descs[i], d, &size);
            fprintf(file, "%s%lld", d ? "," : "", (long long)size);
        }
        fprintf(file, "\n");
    }
}

static const char *before_operator(const char *type, int inputs, aclTensorDesc *in[], aclDataBuffer *from[],
                                   int outputs, aclTensorDesc *out[], aclrtStream stream, char *place, size_t size) {
    const char *folder = next_folder(place, size);
    FILE *file = folder ? open_text(folder, "operator") : NULL;
    if (!file) return NULL;
    fprintf(file, "type %s\n%s", type, attributes);
    write_descs(file, "in", inputs, (const aclTensorDesc *const *)in);
    write_descs(file, "out", outputs, (const aclTensorDesc *const *)out);
    fclose(file);
    aclrtSynchronizeStream(stream);
    for (int i = 0; i < inputs; i++) write_buffer(folder, "in", (size_t)i, from[i]);
    return folder;
}

static aclError after_operator(const char *folder, aclError code, int outputs, aclDataBuffer *to[],
                               aclrtStream stream) {
    if (folder && !code) code = aclrtSynchronizeStream(stream);
    for (int i = 0; folder && !code && i < outputs; i++) write_buffer(folder, "out", (size_t)i, to[i]);
    return code;
}

aclError aclopExecuteV2(const char *type, int inputs, aclTensorDesc *in[], aclDataBuffer *from[], int outputs,
                        aclTensorDesc *out[], aclDataBuffer *to[], aclopAttr *attr, aclrtStream stream) {
    char place[1100];
    const char *folder = before_operator(type, inputs, in, from, outputs, out, stream, place, sizeof place);
    aclError code = REAL(aclopExecuteV2)(type, inputs, in, from, outputs, out, to, attr, stream);
    return after_operator(folder, code, outputs, to, stream);
}

aclError aclopCompileAndExecute(const char *type, int inputs, const aclTensorDesc *const in[],
                                const aclDataBuffer *const from[], int outputs, const aclTensorDesc *const out[],
                                aclDataBuffer *const to[], const aclopAttr *attr, aclopEngineType engine,
                                aclopCompileType compile, const char *path, aclrtStream stream) {
    char place[1100];
    const char *folder = before_operator(type, inputs, (aclTensorDesc **)in, (aclDataBuffer **)from, outputs,
                                         (aclTensorDesc **)out, stream, place, sizeof place);
    aclError code =
        REAL(aclopCompileAndExecute)(type, inputs, in, from, outputs, out, to, attr, engine, compile, path, stream);
    return after_operator(folder, code, outputs, (aclDataBuffer **)to, stream);
}
