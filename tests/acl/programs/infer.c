/* infer.c - `infer m.om [batch B | hw H W | dims D... | shape D...]`: runs a model on 0, 1, 2, ... and prints names,
 * dims and the elements of each output, one line each. `infer m.om sizes` prints what is said of the first input and
 * output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

static void must(aclError code, const char *what) {
    if (code == ACL_SUCCESS) return;
    const char *text = aclGetRecentErrMsg();
    fprintf(stderr, "%s: %d %s\n", what, code, text ? text : "");
    exit(1);
}
#define MUST(call) must(call, #call)

static aclmdlDataset *buffers(size_t n, const size_t *bytes, void **at, int fill) {
    aclmdlDataset *set = aclmdlCreateDataset();
    for (size_t i = 0; i < n; i++) {
        MUST(aclrtMalloc(&at[i], bytes[i], ACL_MEM_MALLOC_HUGE_FIRST));
        if (fill) {
            float *host = malloc(bytes[i]);
            for (size_t k = 0; k < bytes[i] / sizeof(float); k++) host[k] = (float)k;
            MUST(aclrtMemcpy(at[i], bytes[i], host, bytes[i], ACL_MEMCPY_HOST_TO_DEVICE));
            free(host);
        }
        MUST(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(at[i], bytes[i])));
    }
    return set;
}

static void choose(uint32_t model, aclmdlDesc *desc, aclmdlDataset *set, int argc, char **argv) {
    size_t index = 0;
    aclmdlIODims dims = {.dimCount = (size_t)argc - 3};
    for (int i = 3; i < argc; i++) dims.dims[i - 3] = atoi(argv[i]);
    if (!strcmp(argv[2], "shape")) {
        aclTensorDesc *tensor = aclCreateTensorDesc(ACL_FLOAT, argc - 3, dims.dims, ACL_FORMAT_ND);
        MUST(aclmdlSetDatasetTensorDesc(set, tensor, 0));
        aclDestroyTensorDesc(tensor);
        return;
    }
    MUST(aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_TENSOR_NAME, &index));
    if (!strcmp(argv[2], "batch")) MUST(aclmdlSetDynamicBatchSize(model, set, index, (uint64_t)dims.dims[0]));
    if (!strcmp(argv[2], "hw"))
        MUST(aclmdlSetDynamicHWSize(model, set, index, (uint64_t)dims.dims[0], (uint64_t)dims.dims[1]));
    if (!strcmp(argv[2], "dims")) MUST(aclmdlSetInputDynamicDims(model, set, index, &dims));
}

static void show(aclmdlDesc *desc, aclmdlDataset *out, size_t i, int shaped) {
    aclmdlIODims dims;
    MUST(aclmdlGetCurOutputDims(desc, i, &dims));
    aclTensorDesc *tensor = shaped ? aclmdlGetDatasetTensorDesc(out, i) : NULL;
    size_t rank = tensor ? aclGetTensorDescNumDims(tensor) : dims.dimCount, count = 1;
    printf("%s [", aclmdlGetOutputNameByIndex(desc, i));
    for (size_t d = 0; d < rank; d++) {
        int64_t size = dims.dims[d];
        if (tensor) MUST(aclGetTensorDescDimV2(tensor, d, &size));
        printf("%s%ld", d ? "," : "", (long)size);
        count *= (size_t)size;
    }
    printf("]");
    aclDataBuffer *buffer = aclmdlGetDatasetBuffer(out, i);
    float *host = malloc(count * sizeof *host);
    MUST(aclrtMemcpy(host, count * sizeof *host, aclGetDataBufferAddr(buffer), count * sizeof *host,
                     ACL_MEMCPY_DEVICE_TO_HOST));
    for (size_t k = 0; k < count; k++) printf(" %g", host[k]);
    printf("\n");
    free(host);
}

static void show_dims(aclError code, const aclmdlIODims *dims) {
    printf(" %d", code);
    for (size_t d = 0; d < dims->dimCount; d++) printf("%c%ld", d ? ',' : ' ', (long)dims->dims[d]);
}

static int show_sizes(aclmdlDesc *desc) {
    aclmdlIODims dims, stored;
    aclError code = aclmdlGetInputDims(desc, 0, &dims);
    printf("%d", aclmdlGetInputFormat(desc, 0));
    show_dims(code, &dims);
    code = aclmdlGetInputDimsV2(desc, 0, &stored);
    show_dims(code, &stored);
    printf(" %zu %zu\n", aclmdlGetInputSizeByIndex(desc, 0), aclmdlGetOutputSizeByIndex(desc, 0));
    return 0;
}

int main(int argc, char **argv) {
    uint32_t model;
    size_t in_bytes[8], out_bytes[8];
    void *in[8], *out[8];
    int shaped = argc > 2 && !strcmp(argv[2], "shape");
    MUST(aclInit(NULL));
    MUST(aclrtSetDevice(0));
    MUST(aclmdlLoadFromFile(argv[1], &model));
    aclmdlDesc *desc = aclmdlCreateDesc();
    MUST(aclmdlGetDesc(desc, model));
    if (argc > 2 && !strcmp(argv[2], "sizes")) return show_sizes(desc);
    size_t n_in = aclmdlGetNumInputs(desc), n_out = aclmdlGetNumOutputs(desc);
    for (size_t i = 0; i < n_in; i++) {
        in_bytes[i] = aclmdlGetInputSizeByIndex(desc, i);
        if (!in_bytes[i]) in_bytes[i] = 4096;
    }
    for (size_t i = 0; i < n_out; i++) {
        out_bytes[i] = aclmdlGetOutputSizeByIndex(desc, i);
        if (!out_bytes[i]) out_bytes[i] = 4096;
    }
    aclmdlDataset *inputs = buffers(n_in, in_bytes, in, 1), *outputs;
    if (shaped) {
        outputs = aclmdlCreateDataset();
        for (size_t i = 0; i < n_out; i++) MUST(aclmdlAddDatasetBuffer(outputs, aclCreateDataBuffer(NULL, 0)));
    } else
        outputs = buffers(n_out, out_bytes, out, 0);
    if (argc > 2) choose(model, desc, inputs, argc, argv);
    MUST(aclmdlExecute(model, inputs, outputs));
    for (size_t i = 0; i < n_out; i++) show(desc, outputs, i, shaped);
    for (size_t i = 0; i < n_in + n_out; i++) {
        aclDataBuffer *buffer =
            i < n_in ? aclmdlGetDatasetBuffer(inputs, i) : aclmdlGetDatasetBuffer(outputs, i - n_in);
        MUST(aclrtFree(aclGetDataBufferAddr(buffer)));
        MUST(aclDestroyDataBuffer(buffer));
    }
    MUST(aclmdlDestroyDataset(inputs));
    MUST(aclmdlDestroyDataset(outputs));
    MUST(aclmdlDestroyDesc(desc));
    MUST(aclmdlUnload(model));
    MUST(aclrtResetDevice(0));
    MUST(aclFinalize());
    return 0;
}
