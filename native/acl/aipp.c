/* aipp.c - aclmdl's parameters of dynamic AIPP, and the inputs that take them. */
#include <stdlib.h>

#include "acl/acl_mdl.h"
#include "dataset.h"
#include "error.h"
#include "handle.h"
#include "json.h"
#include "model.h"

aclmdlAIPP *aclmdlCreateAIPP(uint64_t batchSize) {
    ASC_ENTER();
    if (batchSize == 0 || batchSize > ASC_AIPP_MOST) {
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "batchSize is %llu; it is 1 to %d", (unsigned long long)batchSize,
                     ASC_AIPP_MOST);
        return NULL;
    }
    asc_aipp *a = asc_aipp_new(batchSize);
    void *handle = a ? asc_handle_new(ASC_KIND_AIPP, a) : NULL;
    if (!handle) {
        free(a);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more set of parameters");
        return NULL;
    }
    return handle;
}

aclError aclmdlDestroyAIPP(const aclmdlAIPP *aippParmsSet) {
    ASC_ENTER();
    ASC_NEED(aippParmsSet);
    asc_aipp *a = asc_handle_take(ASC_KIND_AIPP, aippParmsSet);
    if (!a) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_AIPP, aippParmsSet, "aippParmsSet");
    free(a);
    return ACL_SUCCESS;
}

static aclError get(const aclmdlAIPP *handle, asc_aipp **a) {
    *a = asc_handle_get(ASC_KIND_AIPP, handle);
    return *a ? ACL_SUCCESS : asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_AIPP, handle, "aippParmsSet");
}

/* The set, its switch and the picture of the batch that it is for. */
static aclError check(const aclmdlAIPP *handle, int8_t on, uint64_t batch, asc_aipp **a) {
    aclError code = get(handle, a);
    if (code != ACL_SUCCESS) return code;
    if (on != 0 && on != 1) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the switch is %d, neither 0 nor 1", on);
    if (batch >= (*a)->batch)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "batchIndex is %llu; the set is for %llu pictures",
                            (unsigned long long)batch, (unsigned long long)(*a)->batch);
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPInputFormat(aclmdlAIPP *aippParmsSet, aclAippInputFormat inputFormat) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = get(aippParmsSet, &a);
    if (code != ACL_SUCCESS) return code;
    if (inputFormat < ACL_YUV420SP_U8 || inputFormat > ACL_RAW24)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "inputFormat is %d, no aclAippInputFormat", (int)inputFormat);
    if (inputFormat > ACL_YUV400_U8)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "inputFormat is %d; there are YUV420SP_U8, XRGB8888_U8, RGB888_U8 and YUV400_U8 (1 to 4)",
                            (int)inputFormat);
    a->format = inputFormat;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPSrcImageSize(aclmdlAIPP *aippParmsSet, int32_t srcImageSizeW, int32_t srcImageSizeH) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = get(aippParmsSet, &a);
    if (code != ACL_SUCCESS) return code;
    if (srcImageSizeW < 2 || srcImageSizeW > 4096 || srcImageSizeH < 1 || srcImageSizeH > 4096)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the picture has %d by %d pixels; it has 2 to 4096 by 1 to 4096",
                            srcImageSizeW, srcImageSizeH);
    a->width = srcImageSizeW;
    a->height = srcImageSizeH;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPCscParams(aclmdlAIPP *aippParmsSet, int8_t cscSwitch, int16_t cscMatrixR0C0,
                                int16_t cscMatrixR0C1, int16_t cscMatrixR0C2, int16_t cscMatrixR1C0,
                                int16_t cscMatrixR1C1, int16_t cscMatrixR1C2, int16_t cscMatrixR2C0,
                                int16_t cscMatrixR2C1, int16_t cscMatrixR2C2, uint8_t cscOutputBiasR0,
                                uint8_t cscOutputBiasR1, uint8_t cscOutputBiasR2, uint8_t cscInputBiasR0,
                                uint8_t cscInputBiasR1, uint8_t cscInputBiasR2) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, cscSwitch, 0, &a);
    if (code != ACL_SUCCESS) return code;
    const int16_t matrix[9] = {cscMatrixR0C0, cscMatrixR0C1, cscMatrixR0C2, cscMatrixR1C0, cscMatrixR1C1,
                               cscMatrixR1C2, cscMatrixR2C0, cscMatrixR2C1, cscMatrixR2C2};
    const uint8_t in[3] = {cscInputBiasR0, cscInputBiasR1, cscInputBiasR2};
    const uint8_t out[3] = {cscOutputBiasR0, cscOutputBiasR1, cscOutputBiasR2};
    a->converts = cscSwitch;
    for (int i = 0; i < 9; i++) a->matrix[i] = matrix[i];
    for (int i = 0; i < 3; i++) a->in_bias[i] = in[i], a->out_bias[i] = out[i];
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t rbuvSwapSwitch) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, rbuvSwapSwitch, 0, &a);
    if (code == ACL_SUCCESS) a->swaps_colours = rbuvSwapSwitch;
    return code;
}

aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t axSwapSwitch) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, axSwapSwitch, 0, &a);
    if (code == ACL_SUCCESS) a->swaps_first = axSwapSwitch;
    return code;
}

aclError aclmdlSetAIPPScfParams(aclmdlAIPP *aippParmsSet, int8_t scfSwitch, int32_t scfInputSizeW,
                                int32_t scfInputSizeH, int32_t scfOutputSizeW, int32_t scfOutputSizeH,
                                uint64_t batchIndex) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, scfSwitch, batchIndex, &a);
    if (code != ACL_SUCCESS || !scfSwitch) return code;
    if (scfInputSizeW <= 0 || scfInputSizeH <= 0 || scfOutputSizeW <= 0 || scfOutputSizeH <= 0)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "sizes must be positive");
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                        "AIPP doesn't scale here; scale the picture before (acldvppVpcResizeAsync, hi_mpi_vpc_resize)");
}

aclError aclmdlSetAIPPCropParams(aclmdlAIPP *aippParmsSet, int8_t cropSwitch, int32_t cropStartPosW,
                                 int32_t cropStartPosH, int32_t cropSizeW, int32_t cropSizeH, uint64_t batchIndex) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, cropSwitch, batchIndex, &a);
    if (code != ACL_SUCCESS) return code;
    if (cropSwitch && (cropStartPosW < 0 || cropStartPosH < 0 || cropSizeW <= 0 || cropSizeH <= 0))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the crop must begin at 0 or later, and its sizes be positive");
    asc_aipp_picture *p = &a->pictures[batchIndex];
    p->crops = cropSwitch;
    p->left = cropStartPosW, p->top = cropStartPosH, p->width = cropSizeW, p->height = cropSizeH;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPPaddingParams(aclmdlAIPP *aippParmsSet, int8_t paddingSwitch, int32_t paddingSizeTop,
                                    int32_t paddingSizeBottom, int32_t paddingSizeLeft, int32_t paddingSizeRight,
                                    uint64_t batchIndex) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, paddingSwitch, batchIndex, &a);
    if (code != ACL_SUCCESS) return code;
    if (paddingSizeTop < 0 || paddingSizeBottom < 0 || paddingSizeLeft < 0 || paddingSizeRight < 0)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "sizes of padding must not be negative");
    asc_aipp_picture *p = &a->pictures[batchIndex];
    p->pads = paddingSwitch;
    p->pad_top = paddingSizeTop, p->pad_bottom = paddingSizeBottom;
    p->pad_left = paddingSizeLeft, p->pad_right = paddingSizeRight;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPDtcPixelMean(aclmdlAIPP *aippParmsSet, int16_t dtcPixelMeanChn0, int16_t dtcPixelMeanChn1,
                                   int16_t dtcPixelMeanChn2, int16_t dtcPixelMeanChn3, uint64_t batchIndex) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, 0, batchIndex, &a);
    if (code != ACL_SUCCESS) return code;
    float *v = a->pictures[batchIndex].mean;
    v[0] = dtcPixelMeanChn0, v[1] = dtcPixelMeanChn1, v[2] = dtcPixelMeanChn2, v[3] = dtcPixelMeanChn3;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPDtcPixelMin(aclmdlAIPP *aippParmsSet, float dtcPixelMinChn0, float dtcPixelMinChn1,
                                  float dtcPixelMinChn2, float dtcPixelMinChn3, uint64_t batchIndex) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, 0, batchIndex, &a);
    if (code != ACL_SUCCESS) return code;
    float *v = a->pictures[batchIndex].least;
    v[0] = dtcPixelMinChn0, v[1] = dtcPixelMinChn1, v[2] = dtcPixelMinChn2, v[3] = dtcPixelMinChn3;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPPixelVarReci(aclmdlAIPP *aippParmsSet, float dtcPixelVarReciChn0, float dtcPixelVarReciChn1,
                                   float dtcPixelVarReciChn2, float dtcPixelVarReciChn3, uint64_t batchIndex) {
    ASC_ENTER();
    asc_aipp *a = NULL;
    aclError code = check(aippParmsSet, 0, batchIndex, &a);
    if (code != ACL_SUCCESS) return code;
    float *v = a->pictures[batchIndex].scale;
    v[0] = dtcPixelVarReciChn0, v[1] = dtcPixelVarReciChn1, v[2] = dtcPixelVarReciChn2, v[3] = dtcPixelVarReciChn3;
    return ACL_SUCCESS;
}

/* For the pictures of an input, which `index` is, or whose parameters it takes. */
static aclError set_input(uint32_t id, aclmdlDataset *given, size_t index, const aclmdlAIPP *set, bool by_input) {
    asc_aipp *a = NULL;
    asc_om *om = NULL;
    aclError code = get(set, &a);
    if (code != ACL_SUCCESS) return code;
    asc_dataset *dataset = asc_dataset_get(given, "dataset");
    if (!dataset) return ACL_ERROR_INVALID_PARAM;
    code = asc_om_get(id, &om);
    if (code != ACL_SUCCESS) return code;
    const asc_io *io = index < om->n_inputs ? &om->inputs[index] : NULL;
    bool found = io && (by_input ? io->aipp_bytes != 0 : io->aipp_of != ASC_NONE);
    if (!found)
        code = asc_acl_fail((aclError)ACL_ERROR_GE_AIPP_NOT_EXIST,
                            by_input ? "input %zu takes no pictures for dynamic AIPP (aclmdlGetAippType)"
                                     : "input %zu isn't [" ACL_DYNAMIC_AIPP_NAME
                                       "], which a model has that atc converted with aipp_mode: dynamic",
                            index);
    else if (!asc_dataset_set_aipp(dataset, by_input ? (uint32_t)index : io->aipp_of, a))
        code = asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for the parameters");
    asc_om_release(om);
    return code;
}

aclError aclmdlSetInputAIPP(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlAIPP *aippParmsSet) {
    ASC_ENTER();
    return set_input(modelId, dataset, index, aippParmsSet, false);
}

aclError aclmdlSetAIPPByInputIndex(uint32_t modelId, aclmdlDataset *dataset, size_t index,
                                   const aclmdlAIPP *aippParmsSet) {
    ASC_ENTER();
    return set_input(modelId, dataset, index, aippParmsSet, true);
}

aclError aclmdlGetAippDataSize(uint64_t batchSize, size_t *size) {
    ASC_ENTER();
    ASC_NEED(size);
    if (batchSize == 0 || batchSize > ASC_AIPP_MOST)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "batchSize is %llu; it is 1 to %d", (unsigned long long)batchSize,
                            ASC_AIPP_MOST);
    *size = asc_aipp_parameter_bytes(batchSize);
    return ACL_SUCCESS;
}

static uint32_t parameters_of(const asc_om *om, size_t index) {
    for (uint32_t i = 0; i < om->n_inputs; i++)
        if (om->inputs[i].aipp_of == index) return i;
    return ASC_NONE;
}

aclError aclmdlGetAippType(uint32_t modelId, size_t index, aclmdlInputAippType *type,
                           size_t *dynamicAttachedDataIndex) {
    ASC_ENTER();
    ASC_NEED(type);
    ASC_NEED(dynamicAttachedDataIndex);
    asc_om *om = NULL;
    aclError code = asc_om_get(modelId, &om);
    if (code != ACL_SUCCESS) return code;
    if (index >= om->n_inputs)
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "index is %zu; the model has %u inputs", index, om->n_inputs);
    else {
        const char *images = asc_meta_of(om->model, "custom:ascend_ep.aipp");
        bool image = images && asc_json_find(images, om->inputs[index].name, NULL, 0);
        uint32_t beside = parameters_of(om, index);
        *type = beside != ASC_NONE                      ? ACL_DATA_WITH_DYNAMIC_AIPP
                : om->inputs[index].aipp_of != ASC_NONE ? ACL_DYNAMIC_AIPP_NODE
                : image                                 ? ACL_DATA_WITH_STATIC_AIPP
                                                        : ACL_DATA_WITHOUT_AIPP;
        *dynamicAttachedDataIndex = beside == ASC_NONE ? ACL_INVALID_NODE_INDEX : beside;
    }
    asc_om_release(om);
    return code;
}
