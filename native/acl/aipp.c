/* aipp.c - aclmdl's parameters of dynamic AIPP. Bundles carry static AIPP, whose parameters the converter took; none
 * has the input that dynamic ones are given by. */
#include <stdlib.h>

#include "acl/acl_mdl.h"
#include "dataset.h"
#include "error.h"
#include "handle.h"
#include "json.h"
#include "model.h"

#define MOST_BATCH 127

typedef struct aipp {
    uint64_t batch;
    aclAippInputFormat format;
    int32_t width, height;
} aipp;

aclmdlAIPP *aclmdlCreateAIPP(uint64_t batchSize) {
    ASC_ENTER();
    if (batchSize == 0 || batchSize > MOST_BATCH) {
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "batchSize is %llu; it is 1 to %d", (unsigned long long)batchSize,
                     MOST_BATCH);
        return NULL;
    }
    aipp *a = calloc(1, sizeof *a);
    void *handle = a ? asc_handle_new(ASC_KIND_AIPP, a) : NULL;
    if (!handle) {
        free(a);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for one more set of parameters");
        return NULL;
    }
    a->batch = batchSize;
    return handle;
}

aclError aclmdlDestroyAIPP(const aclmdlAIPP *aippParmsSet) {
    ASC_ENTER();
    ASC_NEED(aippParmsSet);
    aipp *a = asc_handle_take(ASC_KIND_AIPP, aippParmsSet);
    if (!a) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_AIPP, aippParmsSet, "aippParmsSet");
    free(a);
    return ACL_SUCCESS;
}

static aclError get(const aclmdlAIPP *handle, aipp **a) {
    *a = asc_handle_get(ASC_KIND_AIPP, handle);
    return *a ? ACL_SUCCESS : asc_handle_fail(ACL_ERROR_INVALID_PARAM, ASC_KIND_AIPP, handle, "aippParmsSet");
}

/* A switch of the set, and the picture of the batch that it is for. */
static aclError check(const aclmdlAIPP *handle, int8_t on, uint64_t batch) {
    aipp *a = NULL;
    aclError code = get(handle, &a);
    if (code != ACL_SUCCESS) return code;
    if (on != 0 && on != 1) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the switch is %d, neither 0 nor 1", on);
    if (batch >= a->batch)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "batchIndex is %llu; the set is for %llu pictures",
                            (unsigned long long)batch, (unsigned long long)a->batch);
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPInputFormat(aclmdlAIPP *aippParmsSet, aclAippInputFormat inputFormat) {
    ASC_ENTER();
    aipp *a = NULL;
    aclError code = get(aippParmsSet, &a);
    if (code != ACL_SUCCESS) return code;
    if (inputFormat < ACL_YUV420SP_U8 || inputFormat > ACL_RAW24)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "inputFormat is %d, no aclAippInputFormat", (int)inputFormat);
    a->format = inputFormat;
    return ACL_SUCCESS;
}

aclError aclmdlSetAIPPSrcImageSize(aclmdlAIPP *aippParmsSet, int32_t srcImageSizeW, int32_t srcImageSizeH) {
    ASC_ENTER();
    aipp *a = NULL;
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
    (void)cscMatrixR0C0, (void)cscMatrixR0C1, (void)cscMatrixR0C2, (void)cscMatrixR1C0, (void)cscMatrixR1C1;
    (void)cscMatrixR1C2, (void)cscMatrixR2C0, (void)cscMatrixR2C1, (void)cscMatrixR2C2, (void)cscOutputBiasR0;
    (void)cscOutputBiasR1, (void)cscOutputBiasR2, (void)cscInputBiasR0, (void)cscInputBiasR1, (void)cscInputBiasR2;
    return check(aippParmsSet, cscSwitch, 0);
}

aclError aclmdlSetAIPPRbuvSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t rbuvSwapSwitch) {
    ASC_ENTER();
    return check(aippParmsSet, rbuvSwapSwitch, 0);
}

aclError aclmdlSetAIPPAxSwapSwitch(aclmdlAIPP *aippParmsSet, int8_t axSwapSwitch) {
    ASC_ENTER();
    return check(aippParmsSet, axSwapSwitch, 0);
}

aclError aclmdlSetAIPPScfParams(aclmdlAIPP *aippParmsSet, int8_t scfSwitch, int32_t scfInputSizeW,
                                int32_t scfInputSizeH, int32_t scfOutputSizeW, int32_t scfOutputSizeH,
                                uint64_t batchIndex) {
    ASC_ENTER();
    aclError code = check(aippParmsSet, scfSwitch, batchIndex);
    if (code == ACL_SUCCESS && scfSwitch &&
        (scfInputSizeW <= 0 || scfInputSizeH <= 0 || scfOutputSizeW <= 0 || scfOutputSizeH <= 0))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "sizes must be positive");
    return code;
}

aclError aclmdlSetAIPPCropParams(aclmdlAIPP *aippParmsSet, int8_t cropSwitch, int32_t cropStartPosW,
                                 int32_t cropStartPosH, int32_t cropSizeW, int32_t cropSizeH, uint64_t batchIndex) {
    ASC_ENTER();
    aclError code = check(aippParmsSet, cropSwitch, batchIndex);
    if (code == ACL_SUCCESS && cropSwitch &&
        (cropStartPosW < 0 || cropStartPosH < 0 || cropSizeW <= 0 || cropSizeH <= 0))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the crop must begin at 0 or later, and its sizes be positive");
    return code;
}

aclError aclmdlSetAIPPPaddingParams(aclmdlAIPP *aippParmsSet, int8_t paddingSwitch, int32_t paddingSizeTop,
                                    int32_t paddingSizeBottom, int32_t paddingSizeLeft, int32_t paddingSizeRight,
                                    uint64_t batchIndex) {
    ASC_ENTER();
    aclError code = check(aippParmsSet, paddingSwitch, batchIndex);
    if (code == ACL_SUCCESS &&
        (paddingSizeTop < 0 || paddingSizeBottom < 0 || paddingSizeLeft < 0 || paddingSizeRight < 0))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "sizes of padding must not be negative");
    return code;
}

aclError aclmdlSetAIPPDtcPixelMean(aclmdlAIPP *aippParmsSet, int16_t dtcPixelMeanChn0, int16_t dtcPixelMeanChn1,
                                   int16_t dtcPixelMeanChn2, int16_t dtcPixelMeanChn3, uint64_t batchIndex) {
    ASC_ENTER();
    (void)dtcPixelMeanChn0, (void)dtcPixelMeanChn1, (void)dtcPixelMeanChn2, (void)dtcPixelMeanChn3;
    return check(aippParmsSet, 0, batchIndex);
}

aclError aclmdlSetAIPPDtcPixelMin(aclmdlAIPP *aippParmsSet, float dtcPixelMinChn0, float dtcPixelMinChn1,
                                  float dtcPixelMinChn2, float dtcPixelMinChn3, uint64_t batchIndex) {
    ASC_ENTER();
    (void)dtcPixelMinChn0, (void)dtcPixelMinChn1, (void)dtcPixelMinChn2, (void)dtcPixelMinChn3;
    return check(aippParmsSet, 0, batchIndex);
}

aclError aclmdlSetAIPPPixelVarReci(aclmdlAIPP *aippParmsSet, float dtcPixelVarReciChn0, float dtcPixelVarReciChn1,
                                   float dtcPixelVarReciChn2, float dtcPixelVarReciChn3, uint64_t batchIndex) {
    ASC_ENTER();
    (void)dtcPixelVarReciChn0, (void)dtcPixelVarReciChn1, (void)dtcPixelVarReciChn2, (void)dtcPixelVarReciChn3;
    return check(aippParmsSet, 0, batchIndex);
}

static aclError set_input(uint32_t id, aclmdlDataset *dataset, const aclmdlAIPP *set) {
    aipp *a = NULL;
    asc_om *om = NULL;
    aclError code = get(set, &a);
    if (code != ACL_SUCCESS) return code;
    if (!asc_dataset_get(dataset, "dataset")) return ACL_ERROR_INVALID_PARAM;
    code = asc_om_get(id, &om);
    if (code != ACL_SUCCESS) return code;
    asc_om_release(om);
    return asc_acl_fail((aclError)ACL_ERROR_GE_AIPP_NOT_EXIST, "the model has no input [" ACL_DYNAMIC_AIPP_NAME
                                                               "]: bundles take static AIPP only (atc --insert_op_conf "
                                                               "with aipp_mode: static)");
}

aclError aclmdlSetInputAIPP(uint32_t modelId, aclmdlDataset *dataset, size_t index, const aclmdlAIPP *aippParmsSet) {
    ASC_ENTER();
    (void)index;
    return set_input(modelId, dataset, aippParmsSet);
}

aclError aclmdlSetAIPPByInputIndex(uint32_t modelId, aclmdlDataset *dataset, size_t index,
                                   const aclmdlAIPP *aippParmsSet) {
    ASC_ENTER();
    (void)index;
    return set_input(modelId, dataset, aippParmsSet);
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
        *type = image ? ACL_DATA_WITH_STATIC_AIPP : ACL_DATA_WITHOUT_AIPP;
        *dynamicAttachedDataIndex = ACL_INVALID_NODE_INDEX;
    }
    asc_om_release(om);
    return code;
}
