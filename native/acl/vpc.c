/* vpc.c - DVPP's scaling, cropping and pasting of pictures, and their colours, as work of streams. */
#include <stdlib.h>

#include "context.h"
#include "memory.h"
#include "pixels.h"

/* One region of a picture, scaled into one of another. */
typedef struct job {
    asc_picture from, to;
    asc_acl_region crop, paste;
    bool nearest;
} job;

static aclError run_job(void *argument) {
    const job *j = argument;
    asc_pixels from = asc_pixels_at(&j->from, asc_real(j->from.data));
    asc_pixels to = asc_pixels_at(&j->to, asc_real(j->to.data));
    if (asc_pixels_draw(&from, j->crop, &to, j->paste, j->nearest, &asc_colours_bt601_wide)) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for a picture");
}

static void end_job(void *argument) {
    job *j = argument;
    asc_memory_unpin(j->from.data, false);
    asc_memory_unpin(j->to.data, true);
    free(j);
}

static uint32_t rows_of(const asc_picture *p) {
    return p->height_stride ? p->height_stride : p->height;
}

static aclError check_picture(const asc_picture *p, const char *name) {
    uint32_t bytes = asc_pixel_bytes(p->format);
    if (!bytes)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "%s has pixels of format %d; there are formats 0 to 17, 1000 and 1001", name,
                            (int)p->format);
    if (!p->data) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the address of %s is NULL", name);
    if (p->width < 2 || p->height < 2 || p->width > 8192 || p->height > 8192)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has %u by %u pixels; it has 2 to 8192 each way", name,
                            p->width, p->height);
    if (p->width_stride < p->width * bytes || rows_of(p) < p->height || p->width_stride > 4 * 65536 ||
        rows_of(p) > 65536)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has strides of %u by %u; its pixels need %u by %u", name,
                            p->width_stride, rows_of(p), p->width * bytes, p->height);
    if (asc_pixel_bytes(p->format) == 1 && p->format != PIXEL_FORMAT_YUV_400 && (p->width_stride % 2 || rows_of(p) % 2))
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the strides of %s are %u by %u; with colours they are even", name,
                            p->width_stride, rows_of(p));
    size_t room = asc_picture_room(p);
    if (p->bytes < room)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has %u bytes; its strides make %zu", name, p->bytes, room);
    return asc_memory_check(p->data, room, ASC_PLACE_DEVICE, name);
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
                     bool has_crop, const acldvppRoiConfig *paste, bool has_paste, bool nearest, aclrtStream stream) {
    asc_stream *target = NULL;
    const asc_picture *from = asc_picture_get(input, "inputDesc");
    const asc_picture *to = from ? asc_picture_get(output, "outputDesc") : NULL;
    if (!to) return ACL_ERROR_INVALID_PARAM;
    aclError code = check_picture(from, "inputDesc");
    if (code == ACL_SUCCESS) code = check_picture(to, "outputDesc");
    if (code != ACL_SUCCESS) return code;
    job one = {*from, *to, whole(from), whole(to), nearest};
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
    bool nearest = false;
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_resize_way(resizeConfig, &nearest);
    return asc_stream_launched(
        stream, code == ACL_SUCCESS ? push(inputDesc, outputDesc, NULL, false, NULL, false, nearest, stream) : code);
}

aclError acldvppVpcCropAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc,
                             acldvppRoiConfig *cropArea, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    return asc_stream_launched(
        stream, code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, NULL, false, false, stream) : code);
}

aclError acldvppVpcCropResizeAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                   acldvppPicDesc *outputDesc, acldvppRoiConfig *cropArea,
                                   acldvppResizeConfig *resizeConfig, aclrtStream stream) {
    ASC_ENTER();
    bool nearest = false;
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_resize_way(resizeConfig, &nearest);
    return asc_stream_launched(
        stream, code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, NULL, false, nearest, stream) : code);
}

aclError acldvppVpcCropAndPasteAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                     acldvppPicDesc *outputDesc, acldvppRoiConfig *cropArea,
                                     acldvppRoiConfig *pasteArea, aclrtStream stream) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    return asc_stream_launched(stream, code == ACL_SUCCESS
                                           ? push(inputDesc, outputDesc, cropArea, true, pasteArea, true, false, stream)
                                           : code);
}

aclError acldvppVpcCropResizePasteAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                        acldvppPicDesc *outputDesc, acldvppRoiConfig *cropArea,
                                        acldvppRoiConfig *pasteArea, acldvppResizeConfig *resizeConfig,
                                        aclrtStream stream) {
    ASC_ENTER();
    bool nearest = false;
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_resize_way(resizeConfig, &nearest);
    return asc_stream_launched(
        stream,
        code == ACL_SUCCESS ? push(inputDesc, outputDesc, cropArea, true, pasteArea, true, nearest, stream) : code);
}

static aclError push_colours(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc, acldvppPicDesc *outputDesc,
                             aclrtStream stream) {
    aclError code = asc_channel_check(channelDesc);
    if (code != ACL_SUCCESS) return code;
    const asc_picture *from = asc_picture_get(inputDesc, "inputDesc");
    const asc_picture *to = from ? asc_picture_get(outputDesc, "outputDesc") : NULL;
    if (!to) return ACL_ERROR_INVALID_PARAM;
    if (from->width != to->width || from->height != to->height)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "inputDesc has %u by %u pixels and outputDesc %u by %u; they must be the same", from->width,
                            from->height, to->width, to->height);
    return push(inputDesc, outputDesc, NULL, false, NULL, false, false, stream);
}

aclError acldvppVpcConvertColorAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc,
                                     acldvppPicDesc *outputDesc, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_colours(channelDesc, inputDesc, outputDesc, stream));
}

/* ---- several pictures: those of each source, one after another -------------------------------------------- */

static aclError push_all(acldvppChannelDesc *channel, acldvppBatchPicDesc *sources, const uint32_t *counts,
                         uint32_t size, acldvppBatchPicDesc *targets, acldvppRoiConfig *const crops[],
                         acldvppRoiConfig *const pastes[], bool has_paste, bool nearest, aclrtStream stream) {
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
            code = push(from, to, crops[at], true, has_paste ? pastes[at] : NULL, has_paste, nearest, stream);
        }
    }
    return code;
}

aclError acldvppVpcBatchCropAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                  uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                  acldvppRoiConfig *cropAreas[], aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs,
                                                cropAreas, NULL, false, false, stream));
}

aclError acldvppVpcBatchCropResizeAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                        uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                        acldvppRoiConfig *cropAreas[], acldvppResizeConfig *resizeConfig,
                                        aclrtStream stream) {
    ASC_ENTER();
    bool nearest = false;
    aclError code = asc_resize_way(resizeConfig, &nearest);
    if (code != ACL_SUCCESS) return asc_stream_launched(stream, code);
    return asc_stream_launched(stream, push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs,
                                                cropAreas, NULL, false, nearest, stream));
}

aclError acldvppVpcBatchCropAndPasteAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                          uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                          acldvppRoiConfig *cropAreas[], acldvppRoiConfig *pasteAreas[],
                                          aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs,
                                                cropAreas, pasteAreas, true, false, stream));
}

aclError acldvppVpcBatchCropResizePasteAsync(acldvppChannelDesc *channelDesc, acldvppBatchPicDesc *srcBatchPicDescs,
                                             uint32_t *roiNums, uint32_t size, acldvppBatchPicDesc *dstBatchPicDescs,
                                             acldvppRoiConfig *cropAreas[], acldvppRoiConfig *pasteAreas[],
                                             acldvppResizeConfig *resizeConfig, aclrtStream stream) {
    ASC_ENTER();
    bool nearest = false;
    aclError code = asc_resize_way(resizeConfig, &nearest);
    if (code != ACL_SUCCESS) return asc_stream_launched(stream, code);
    return asc_stream_launched(stream, push_all(channelDesc, srcBatchPicDescs, roiNums, size, dstBatchPicDescs,
                                                cropAreas, pasteAreas, true, nearest, stream));
}
