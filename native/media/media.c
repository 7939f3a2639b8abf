/* media.c - DVPP's decoding and encoding of pictures in files, as work of streams. */
#include <stdlib.h>

#include "context.h"
#include "image_codec.h"
#include "memory.h"

typedef aclError (*decoder)(const void *data, size_t size, const asc_picture *p, uint8_t *to);

/* A file that becomes a picture. The description is found again when it is done, as programs read it then. */
typedef struct decode_job {
    const void *data;
    uint32_t size;
    asc_picture to;
    acldvppPicDesc *desc;
    decoder decode;
} decode_job;

typedef struct encode_job {
    asc_picture from;
    void *data;
    uint32_t *size; /* of the program's: room, then bytes */
    int quality;
} encode_job;

static aclError run_decode(void *argument) {
    const decode_job *j = argument;
    aclError code = j->decode(asc_real(j->data), j->size, &j->to, asc_real(j->to.data));
    asc_picture *shown = asc_picture_get(j->desc, "outputDesc");
    if (shown) {
        *shown = j->to;
        shown->code = code == ACL_SUCCESS ? 0 : 1;
    }
    return code;
}

static void end_decode(void *argument) {
    decode_job *j = argument;
    asc_memory_unpin(j->data, false);
    asc_memory_unpin(j->to.data, true);
    free(j);
}

static aclError run_encode(void *argument) {
    const encode_job *j = argument;
    return asc_jpeg_encode(&j->from, asc_real(j->from.data), j->quality, asc_real(j->data), j->size);
}

static void end_encode(void *argument) {
    encode_job *j = argument;
    asc_memory_unpin(j->from.data, false);
    asc_memory_unpin(j->data, true);
    free(j);
}

static uint32_t up_to(uint32_t value, uint32_t step) {
    return (value + step - 1) / step * step;
}

/* Bytes of a picture with its strides; 0 where its pixels are of no format that files are decoded to. */
static uint64_t bytes_of(const asc_picture *p) {
    uint64_t grey = (uint64_t)p->width_stride * p->height_stride;
    switch (p->format) {
        case PIXEL_FORMAT_YUV_SEMIPLANAR_420:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_420: return grey / 2 * 3;
        case PIXEL_FORMAT_YUV_SEMIPLANAR_422:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_422:
        case PIXEL_FORMAT_YUV_SEMIPLANAR_440:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_440: return grey * 2;
        case PIXEL_FORMAT_YUV_SEMIPLANAR_444:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_444: return grey * 3;
        case PIXEL_FORMAT_YUV_400:
        case PIXEL_FORMAT_RGB_888:
        case PIXEL_FORMAT_RGBA_8888: return grey; /* their strides are bytes */
        default: return 0;
    }
}

/* What the description leaves open is as the decoder of a card has it: strides of 128 by 16. */
static void complete(asc_picture *p, uint32_t width, uint32_t height, uint32_t pixel) {
    p->width = width;
    p->height = height;
    if (!p->width_stride) p->width_stride = up_to(width, 128) * pixel;
    if (!p->height_stride) p->height_stride = up_to(height, 16);
}

static aclError push_decode(const void *data, uint32_t size, const asc_picture *to, acldvppPicDesc *desc,
                            decoder decode, aclrtStream stream) {
    asc_stream *target = NULL;
    uint64_t bytes = bytes_of(to);
    ASC_NEED(to->data);
    if (to->width > ASC_MOST_PIXELS || to->height > ASC_MOST_PIXELS || to->width_stride > 8 * ASC_MOST_PIXELS ||
        to->height_stride > 2 * ASC_MOST_PIXELS)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the picture has %u by %u pixels; at most %u each way are decoded",
                            to->width, to->height, ASC_MOST_PIXELS);
    if (to->bytes < bytes)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "outputDesc has %u bytes; strides of %u by %u make %llu",
                            to->bytes, to->width_stride, to->height_stride, (unsigned long long)bytes);
    aclError code = asc_memory_check(data, size, ASC_PLACE_ANY, "data");
    if (code == ACL_SUCCESS) code = asc_memory_check(to->data, (size_t)bytes, ASC_PLACE_DEVICE, "outputDesc's data");
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) return code;
    decode_job *job = malloc(sizeof *job);
    if (!job) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *job = (decode_job){data, size, *to, desc, decode};
    asc_memory_pin(data, false);
    asc_memory_pin(to->data, true);
    return asc_stream_push(target, run_decode, end_decode, job);
}

static aclError push_jpeg(acldvppChannelDesc *channelDesc, const void *data, uint32_t size, acldvppPicDesc *outputDesc,
                          aclrtStream stream) {
    uint32_t width, height;
    int32_t components;
    aclError code = asc_channel_check(channelDesc);
    if (code != ACL_SUCCESS) return code;
    const asc_picture *given = asc_picture_get(outputDesc, "outputDesc");
    if (!given) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(data);
    asc_picture to = *given;
    if (to.format > PIXEL_FORMAT_YVU_SEMIPLANAR_444 && to.format != PIXEL_FORMAT_YUV_SEMIPLANAR_440 &&
        to.format != PIXEL_FORMAT_YVU_SEMIPLANAR_440)
        return asc_acl_fail(
            ACL_ERROR_INVALID_PARAM,
            "outputDesc has pixels of format %d; JPEG is decoded to YUV semi-planar (1 to 6) and grey (0)",
            (int)to.format);
    code = asc_memory_check(data, size, ASC_PLACE_ANY, "data");
    if (code != ACL_SUCCESS) return code;
    code = acldvppJpegGetImageInfo(asc_real(data), size, &width, &height, &components);
    if (code != ACL_SUCCESS) return code;
    complete(&to, width, height, 1);
    return push_decode(data, size, &to, outputDesc, asc_jpeg_decode, stream);
}

aclError acldvppJpegDecodeAsync(acldvppChannelDesc *channelDesc, const void *data, uint32_t size,
                                acldvppPicDesc *outputDesc, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_jpeg(channelDesc, data, size, outputDesc, stream));
}

static aclError push_png(acldvppChannelDesc *channelDesc, const void *data, uint32_t size, acldvppPicDesc *outputDesc,
                         aclrtStream stream) {
    uint32_t width, height;
    int32_t components;
    aclError code = asc_channel_check(channelDesc);
    if (code != ACL_SUCCESS) return code;
    const asc_picture *given = asc_picture_get(outputDesc, "outputDesc");
    if (!given) return ACL_ERROR_INVALID_PARAM;
    ASC_NEED(data);
    asc_picture to = *given;
    if (to.format != PIXEL_FORMAT_RGB_888 && to.format != PIXEL_FORMAT_RGBA_8888)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "outputDesc has pixels of format %d; PNG is decoded to RGB (12) and RGBA (16)",
                            (int)to.format);
    code = asc_memory_check(data, size, ASC_PLACE_ANY, "data");
    if (code == ACL_SUCCESS) code = asc_png_head(asc_real(data), size, &width, &height, &components);
    if (code != ACL_SUCCESS) return code;
    complete(&to, width, height, to.format == PIXEL_FORMAT_RGB_888 ? 3 : 4);
    return push_decode(data, size, &to, outputDesc, asc_png_decode, stream);
}

aclError acldvppPngDecodeAsync(acldvppChannelDesc *channelDesc, const void *data, uint32_t size,
                               acldvppPicDesc *outputDesc, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_png(channelDesc, data, size, outputDesc, stream));
}

aclError acldvppPngGetImageInfo(const void *data, uint32_t dataSize, uint32_t *width, uint32_t *height,
                                int32_t *components) {
    ASC_ENTER();
    uint32_t wide, high;
    int32_t parts;
    ASC_NEED(data);
    aclError code = asc_png_head(data, dataSize, &wide, &high, &parts);
    if (code != ACL_SUCCESS) return code;
    if (width) *width = wide;
    if (height) *height = high;
    if (components) *components = parts;
    return ACL_SUCCESS;
}

aclError acldvppPngPredictDecSize(const void *data, uint32_t dataSize, acldvppPixelFormat outputPixelFormat,
                                  uint32_t *decSize) {
    ASC_ENTER();
    asc_picture p = {.format = outputPixelFormat};
    uint32_t width, height;
    int32_t components;
    ASC_NEED(data);
    ASC_NEED(decSize);
    aclError code = asc_png_head(data, dataSize, &width, &height, &components);
    if (code != ACL_SUCCESS) return code;
    bool alpha = outputPixelFormat == PIXEL_FORMAT_RGBA_8888 ||
                 (outputPixelFormat == PIXEL_FORMAT_UNKNOWN && components % 2 == 0);
    if (!alpha && outputPixelFormat != PIXEL_FORMAT_RGB_888 && outputPixelFormat != PIXEL_FORMAT_UNKNOWN)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "outputPixelFormat is %d; PNG is decoded to RGB (12) and RGBA (16)",
                            (int)outputPixelFormat);
    complete(&p, width, height, alpha ? 4 : 3);
    *decSize = p.width_stride * p.height_stride;
    return ACL_SUCCESS;
}

/* ---- encoding -------------------------------------------------------------------------------------------- */

static aclError check_encoded(const asc_picture *p) {
    if (p->format != PIXEL_FORMAT_YUV_SEMIPLANAR_420 && p->format != PIXEL_FORMAT_YVU_SEMIPLANAR_420)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "inputDesc has pixels of format %d; pictures in YUV 420 semi-planar (1, 2) are encoded",
                            (int)p->format);
    if (!p->width || !p->height || p->width > 8192 || p->height > 8192)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "inputDesc has %u by %u pixels; 1 to 8192 each way are encoded",
                            p->width, p->height);
    if (p->width_stride < p->width || p->height_stride < p->height || p->width_stride > 65536 ||
        p->height_stride > 65536)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "inputDesc has strides of %u by %u; its pixels are %u by %u",
                            p->width_stride, p->height_stride, p->width, p->height);
    return ACL_SUCCESS;
}

/* The picture of a description, with the strides that it leaves open. */
static aclError encoded(const acldvppPicDesc *desc, asc_picture *found) {
    const asc_picture *given = asc_picture_get(desc, "inputDesc");
    if (!given) return ACL_ERROR_INVALID_PARAM;
    *found = *given;
    if (!found->width_stride) found->width_stride = up_to(found->width, 16);
    if (!found->height_stride) found->height_stride = up_to(found->height, 2);
    return check_encoded(found);
}

/* The most that libjpeg writes of 16 by 16 pixels, and the head. */
aclError acldvppJpegPredictEncSize(const acldvppPicDesc *inputDesc, const acldvppJpegeConfig *config, uint32_t *size) {
    ASC_ENTER();
    asc_picture p;
    uint32_t level;
    ASC_NEED(size);
    aclError code = asc_jpege_level(config, &level);
    if (code == ACL_SUCCESS) code = encoded(inputDesc, &p);
    if (code == ACL_SUCCESS) *size = up_to(p.width, 16) * up_to(p.height, 16) * 3 + 2048;
    return code;
}

static aclError push_encode(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc, const void *data,
                            uint32_t *size, acldvppJpegeConfig *config, aclrtStream stream) {
    asc_picture from;
    uint32_t level;
    asc_stream *target = NULL;
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) code = asc_jpege_level(config, &level);
    if (code == ACL_SUCCESS) code = encoded(inputDesc, &from);
    if (code != ACL_SUCCESS) return code;
    ASC_NEED(data);
    ASC_NEED(size);
    if (level > 100)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the level of the encoding is %u; it is 0 to 100", level);
    code = asc_memory_check(from.data, (size_t)bytes_of(&from), ASC_PLACE_DEVICE, "inputDesc's data");
    if (code == ACL_SUCCESS) code = asc_memory_check(data, *size, ASC_PLACE_DEVICE, "data");
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &target);
    if (code != ACL_SUCCESS) return code;
    encode_job *job = malloc(sizeof *job);
    if (!job) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *job = (encode_job){from, (void *)(uintptr_t)data, size, level ? (int)level : 100};
    asc_memory_pin(from.data, false);
    asc_memory_pin(data, true);
    return asc_stream_push(target, run_encode, end_encode, job);
}

aclError acldvppJpegEncodeAsync(acldvppChannelDesc *channelDesc, acldvppPicDesc *inputDesc, const void *data,
                                uint32_t *size, acldvppJpegeConfig *config, aclrtStream stream) {
    ASC_ENTER();
    return asc_stream_launched(stream, push_encode(channelDesc, inputDesc, data, size, config, stream));
}
