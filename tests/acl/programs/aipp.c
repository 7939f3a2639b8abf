/* aipp.c - `aipp MODEL`: runs a model of [2, 3, 4, 6] whose pictures dynamic AIPP describes; prints its outputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

enum { WIDTH = 8, HEIGHT = 6, PICTURE = WIDTH * HEIGHT * 3, IMAGE = 3 * 4 * 6 };

static aclmdlDataset *one(void *data, size_t size) {
    aclmdlDataset *made = aclmdlCreateDataset();
    aclmdlAddDatasetBuffer(made, aclCreateDataBuffer(data, size));
    return made;
}

static void show(const char *name, uint32_t model, aclmdlDataset *in, aclmdlDataset *out, void *data) {
    float y[2 * IMAGE];
    aclrtStream stream;
    aclrtCreateStream(&stream);
    aclError code = aclmdlExecuteAsync(model, in, out, stream);
    if (code == ACL_SUCCESS) code = aclrtSynchronizeStream(stream);
    printf("%s %d", name, code);
    aclrtMemcpy(y, sizeof y, data, sizeof y, ACL_MEMCPY_DEVICE_TO_HOST);
    for (int i = 0; code == ACL_SUCCESS && i < 2 * IMAGE; i++) printf(" %g", (double)y[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    uint32_t model;
    size_t index = 0, attached = 0;
    void *pictures, *parameters, *result;
    uint8_t bytes[2 * PICTURE];
    aclmdlInputAippType type;
    if (argc < 2) return 2;
    for (int i = 0; i < 2 * PICTURE; i++) bytes[i] = (uint8_t)(i * 7);
    aclInit(NULL);
    aclrtSetDevice(0);
    if (aclmdlLoadFromFile(argv[1], &model) != ACL_SUCCESS) return printf("%s", aclGetRecentErrMsg());
    aclmdlDesc *desc = aclmdlCreateDesc();
    aclmdlGetDesc(desc, model);
    aclmdlGetInputIndexByName(desc, ACL_DYNAMIC_AIPP_NAME, &index);
    aclmdlGetAippType(model, 0, &type, &attached);
    printf("inputs %zu %zu %zu %zu %d\n", aclmdlGetNumInputs(desc), index, aclmdlGetInputSizeByIndex(desc, 0), attached,
           type == ACL_DATA_WITH_DYNAMIC_AIPP && aclmdlGetInputDataType(desc, 0) == ACL_UINT8);
    size_t size = aclmdlGetInputSizeByIndex(desc, index);
    aclrtMalloc(&pictures, sizeof bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&parameters, size, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMalloc(&result, 2 * IMAGE * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemset(parameters, size, 0, size);
    aclrtMemset(result, 2 * IMAGE * sizeof(float), 0, 2 * IMAGE * sizeof(float));
    aclrtMemcpy(pictures, sizeof bytes, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    aclmdlDataset *in = one(pictures, sizeof bytes), *out = one(result, 2 * IMAGE * sizeof(float));
    aclmdlAddDatasetBuffer(in, aclCreateDataBuffer(parameters, size));
    show("unset", model, in, out, result);
    aclmdlAIPP *set = aclmdlCreateAIPP(2);
    printf("format %d %d\n", aclmdlSetAIPPInputFormat(set, (aclAippInputFormat)77),
           aclmdlSetAIPPInputFormat(set, ACL_RAW10));
    aclmdlSetAIPPInputFormat(set, ACL_RGB888_U8);
    aclmdlSetAIPPSrcImageSize(set, WIDTH, HEIGHT);
    printf("indices %d %d\n", aclmdlSetInputAIPP(model, in, 0, set), aclmdlSetAIPPByInputIndex(model, in, index, set));
    printf("set %d\n", aclmdlSetInputAIPP(model, in, index, set));
    show("sizes", model, in, out, result);
    aclmdlSetAIPPRbuvSwapSwitch(set, 1);
    for (uint64_t i = 0; i < 2; i++) {
        aclmdlSetAIPPCropParams(set, 1, 1 + (int32_t)i, 2, 5, 3, i);
        aclmdlSetAIPPPaddingParams(set, 1, 1, 0, 0, 1, i);
        aclmdlSetAIPPDtcPixelMean(set, 10, 20, 30, 0, i);
        aclmdlSetAIPPDtcPixelMin(set, 0.5f, 0, 0, 0, i);
        aclmdlSetAIPPPixelVarReci(set, 0.5f, 1, 2, 1, i);
    }
    printf("set %d\n", aclmdlSetAIPPByInputIndex(model, in, 0, set));
    show("rgb", model, in, out, result);
    aclmdlSetAIPPInputFormat(set, ACL_YUV420SP_U8);
    aclmdlSetAIPPRbuvSwapSwitch(set, 0);
    aclmdlSetAIPPCscParams(set, 1, 256, 0, 359, 256, -88, -183, 256, 454, 0, 0, 0, 0, 0, 128, 128);
    aclmdlSetInputAIPP(model, in, index, set);
    show("yuv", model, in, out, result);
    aclmdlDestroyAIPP(set);
    aclmdlDestroyDataset(in);
    aclmdlDestroyDataset(out);
    return 0;
}
