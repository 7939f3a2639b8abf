/* vpc.c - DVPP's scaling, cropping and pasting of pictures in YUV 420 semi-planar and in grey: bilinear, as work of
 * streams. Other pixels are refused. */
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "memory.h"
#include "picture.h"

/* One region of a picture, scaled into one of another. */
typedef struct job {
    asc_picture from, to;
    asc_acl_region crop, paste;
} job;

static uint32_t rows_of(const asc_picture *p) {
    return p->height_stride ? p->height_stride : p->height;
}

static bool has_colour(const asc_picture *p) {
    return p->format != PIXEL_FORMAT_YUV_400;
}

static size_t bytes_of(const asc_picture *p) {
    size_t grey = (size_t)p->width_stride * rows_of(p);
    return has_colour(p) ? grey + grey / 2 : grey;
}

/* One plane of `channels` bytes for each pixel; the regions are in its pixels. */
static void scale(const uint8_t *from, size_t from_pitch, asc_acl_region crop, uint8_t *to, size_t to_pitch,
                  asc_acl_region paste, uint32_t channels, bool swap) {
    int64_t sw = (int64_t)crop.right - crop.left + 1, sh = (int64_t)crop.bottom - crop.top + 1;
    int64_t dw = (int64_t)paste.right - paste.left + 1, dh = (int64_t)paste.bottom - paste.top + 1;
    for (int64_t y = 0; y < dh; y++) {
        double v = ((double)y + 0.5) * (double)sh / (double)dh - 0.5;
        v = v<0 ? 0 : v>(double)(sh - 1) ? (double)(sh - 1) : v;
        int64_t y0 = (int64_t)v, y1 = y0 + 1 < sh ? y0 + 1 : y0;
        const uint8_t *top = from + (size_t)(crop.top + y0) * from_pitch,
                      *low = from + (size_t)(crop.top + y1) * from_pitch;
        uint8_t *row = to + (size_t)(paste.top + y) * to_pitch;
        double down = v - (double)y0;
        for (int64_t x = 0; x < dw; x++) {
            double u = ((double)x + 0.5) * (double)sw / (double)dw - 0.5;
            u = u<0 ? 0 : u>(double)(sw - 1) ? (double)(sw - 1) : u;
            int64_t x0 = (int64_t)u, x1 = x0 + 1 < sw ? x0 + 1 : x0;
            double right = u - (double)x0;
            for (uint32_t c = 0; c < channels; c++) {
                size_t a = (size_t)(crop.left + x0) * channels + c, b = (size_t)(crop.left + x1) * channels + c;
                double upper = top[a] + right * (top[b] - top[a]), lower = low[a] + right * (low[b] - low[a]);
                row[(size_t)(paste.left + x) * channels + (swap ? 1 - c : c)] =
                    (uint8_t)(upper + down * (lower - upper) + 0.5);
            }
        }
    }
}

static asc_acl_region half(asc_acl_region r) {
    return (asc_acl_region){r.left / 2, r.right / 2, r.top / 2, r.bottom / 2};
}

static aclError run_job(void *argument) {
    const job *j = argument;
    const uint8_t *from = asc_real(j->from.data);
    uint8_t *to = asc_real(j->to.data);
    size_t from_grey = (size_t)j->from.width_stride * rows_of(&j->from);
    size_t to_grey = (size_t)j->to.width_stride * rows_of(&j->to);
    scale(from, j->from.width_stride, j->crop, to, j->to.width_stride, j->paste, 1, false);
    if (has_colour(&j->from) && has_colour(&j->to))
        scale(from + from_grey, j->from.width_stride, half(j->crop), to + to_grey, j->to.width_stride, half(j->paste),
              2, j->from.format != j->to.format);
    else if (has_colour(&j->to))
        memset(to + to_grey, 128, to_grey / 2);
    return ACL_SUCCESS;
}

static void end_job(void *argument) {
    job *j = argument;
    asc_memory_unpin(j->from.data, false);
    asc_memory_unpin(j->to.data, true);
    free(j);
}

static aclError check_picture(const asc_picture *p, const char *name) {
    if (p->format != PIXEL_FORMAT_YUV_SEMIPLANAR_420 && p->format != PIXEL_FORMAT_YVU_SEMIPLANAR_420 &&
        p->format != PIXEL_FORMAT_YUV_400)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "%s has pixels of format %d; there are YUV 420 semi-planar (1, 2) and grey (0)", name,
                            (int)p->format);
    if (!p->data) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the address of %s is NULL", name);
    if (p->width < 2 || p->height < 2 || p->width > 8192 || p->height > 8192)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has %u by %u pixels; it has 2 to 8192 each way", name,
                            p->width, p->height);
    if (p->width_stride < p->width || rows_of(p) < p->height || p->width_stride > 65536 || rows_of(p) > 65536)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has strides of %u by %u; its pixels are %u by %u", name,
                            p->width_stride, rows_of(p), p->width, p->height);
    if (has_colour(p) && (p->width_stride % 2 || rows_of(p) % 2))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the strides of %s are %u by %u; with colours they are even", name,
                            p->width_stride, rows_of(p));
    if (p->bytes < bytes_of(p))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has %u bytes; its strides make %zu", name, p->bytes,
                            bytes_of(p));
    return asc_memory_check(p->data, bytes_of(p), ASC_PLACE_DEVICE, name);
}

static aclError check_region(const asc_acl_region *r, const asc_picture *p, const char *name) {
    if (r->left < r->right && r->top < r->bottom && r->right < p->width && r->bottom < p->height) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s is %u to %u and %u to %u; the picture has %u by %u pixels", name,
                        r->left, r->right, r->top, r->bottom, p->width, p->height);
}

static asc_acl_region whole(const asc_picture *p) {
    return (asc_acl_region){0, p->width - 1, 0, p->height - 1};
}

/* Regions that aren't given are the whole picture. */
static aclError push(const acldvppPicDesc *input, const acldvppPicDesc *output, const acldvppRoiConfig *crop,
                     bool has_crop, const acldvppRoiConfig *paste, bool has_paste, aclrtStream stream) {
    asc_stream *target = NULL;
    const asc_picture *from = asc_picture_get(input, "inputDesc");
    const asc_picture *to = from ? asc_picture_get(output, "outputDesc") : NULL;
    if (!to) return ACL_ERROR_INVALID_PARAM;
    aclError code = check_picture(from, "inputDesc");
    if (code == ACL_SUCCESS) code = check_picture(to, "outputDesc");
    if (code != ACL_SUCCESS) return code;
    job one = {*from, *to, whole(from), whole(to)};
    const asc_acl_region *region;
    if (has_crop) {
        if (!(region = asc_acl_region_get(crop, "cropArea"))) return ACL_ERROR_INVALID_PARAM;
        one.crop = *region;
        code = check_region(region, from, "cropArea");
    }
    if (code == ACL_SUCCESS && has_paste) {
        if (!(region = asc_acl_region_get(paste, "pasteArea"))) return ACL_ERROR_INVALID_PARAM;
        one.paste = *region;
        code = check_region(region, to, "pasteArea");
    }
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) return code;
    job *kept = malloc(sizeof *kept);
    if (!kept) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *kept = one;
    asc_memory_pin(kept->from.data, false);
    asc_memory_pin(kept->to.data, true);
    return asc_stream_push(target, run_job, end_job, kept);
}

aclError acldvppVpcResizeAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc,
                               acldvppResizeConfig *resizeConfig, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_resize_check(resizeConfig);
    return code == ACL_SUCCESS ? push(inputDesc, outputDesc, NULL, false, NULL, false, stream) : code;
}

aclError acldvppVpcCropAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc,
                             acldvppRoiConfig *cropArea, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    return code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, NULL, false, stream) : code;
}

aclError acldvppVpcCropResizeAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                   acldvppPicDesc *outputDesc, acldvppRoiConfig *cropArea,
                                   acldvppResizeConfig *resizeConfig, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_resize_check(resizeConfig);
    return code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, NULL, false, stream) : code;
}

aclError acldvppVpcCropAndPasteAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                     acldvppPicDesc *outputDesc, acldvppRoiConfig *cropArea,
                                     acldvppRoiConfig *pasteArea, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    return code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, pasteArea, true, stream) : code;
}

aclError acldvppVpcCropResizePasteAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                        acldvppPicDesc *outputDesc, acldvppRoiConfig *cropArea,
                                        acldvppRoiConfig *pasteArea, acldvppResizeConfig *resizeConfig,
                                        aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_resize_check(resizeConfig);
    return code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, pasteArea, true, stream) : code;
}

/* ---- several pictures: those of each source, one after another -------------------------------------------- */

static aclError push_all(acldvppChannelDesc *channel, acldvppBatchPicDesc *sources, const uint32_t *counts,
                         uint32_t size, acldvppBatchPicDesc *targets, acldvppRoiConfig *const crops[],
                         acldvppRoiConfig *const pastes[], bool has_paste, aclrtStream stream) {
    uint32_t at = 0;
    aclError code = asc_channel_check(channel);
    if (code != ACL_SUCCESS) return code;
    if (!counts || !crops || (has_paste && !pastes))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "roiNums and the areas must not be NULL");
    for (uint32_t i = 0; code == ACL_SUCCESS && i < size; i++) {
        acldvppPicDesc *from = asc_pictures_at(sources, i, "srcBatchPicDescs");
        if (!from) return ACL_ERROR_INVALID_PARAM;
        for (uint32_t k = 0; code == ACL_SUCCESS && k < counts[i]; k++, at++) {
            acldvppPicDesc *to = asc_pictures_at(targets, at, "dstBatchPicDescs");
            if (!to) return ACL_ERROR_INVALID_PARAM;
            code = push(from, to, crops[at], true, has_paste ? pastes[at] : NULL, has_paste, stream);
        }
    }
    return code;
}

aclError acldvppVpcBatchCropAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                  uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                  acldvppRoiConfig *cropAreas[], aclrtStream stream) {
    ASC_ENTER();
    return push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs, cropAreas, NULL, false, stream);
}

aclError acldvppVpcBatchCropResizeAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                        uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                        acldvppRoiConfig *cropAreas[], acldvppResizeConfig *resizeConfig,
                                        aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_resize_check(resizeConfig);
    if (code != ACL_SUCCESS) return code;
    return push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs, cropAreas, NULL, false, stream);
}

aclError acldvppVpcBatchCropAndPasteAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                          uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                          acldvppRoiConfig *cropAreas[], acldvppRoiConfig *pasteAreas[],
                                          aclrtStream stream) {
    ASC_ENTER();
    return push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs, cropAreas, pasteAreas, true,
                    stream);
}

aclError acldvppVpcBatchCropResizePasteAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                             uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                             acldvppRoiConfig *cropAreas[], acldvppRoiConfig *pasteAreas[],
                                             acldvppResizeConfig *resizeConfig, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_resize_check(resizeConfig);
    if (code != ACL_SUCCESS) return code;
    return push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs, cropAreas, pasteAreas, true,
                    stream);
}
