/* jpeg.c - what the head of a JPEG file says: size, components, sampling. */
#include <stddef.h>

#include "error.h"
#include "image_codec.h"

/* By the sampling of the first component beside that of the others. */
static acldvppJpegFormat sampling(int32_t components, uint8_t first) {
    if (components == 1) return ACL_JPEG_CSS_GRAY;
    switch (first) {
        case 0x11: return ACL_JPEG_CSS_444;
        case 0x21: return ACL_JPEG_CSS_422;
        case 0x22: return ACL_JPEG_CSS_420;
        case 0x12: return ACL_JPEG_CSS_440;
        case 0x41: return ACL_JPEG_CSS_411;
        default: return ACL_JPEG_CSS_UNKNOWN;
    }
}

/* Goes from segment to segment to the frame's. */
aclError asc_jpeg_read_head(const void *data, uint32_t size, asc_jpeg_head *found) {
    const uint8_t *bytes = data;
    ASC_NEED(data);
    for (uint32_t at = 2; size > 4 && bytes[0] == 0xFF && bytes[1] == 0xD8 && at + 4 < size && bytes[at] == 0xFF;) {
        uint8_t kind = bytes[at + 1];
        uint32_t length = (uint32_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (kind == 0xFF) { /* a byte of padding */
            at++;
            continue;
        }
        bool frame = kind >= 0xC0 && kind <= 0xCF && kind != 0xC4 && kind != 0xC8 && kind != 0xCC;
        if (frame && length >= 11 && length <= size - at - 2) {
            *found = (asc_jpeg_head){(uint32_t)bytes[at + 7] << 8 | bytes[at + 8],
                                     (uint32_t)bytes[at + 5] << 8 | bytes[at + 6], bytes[at + 9],
                                     sampling(bytes[at + 9], bytes[at + 11])};
            return ACL_SUCCESS;
        }
        if (length < 2 || length > size - at - 2) break;
        at += 2 + length;
    }
    return asc_acl_fail(ACL_ERROR_UNSUPPORTED_JPEG, "the data are no JPEG file, or end before its frame begins");
}

aclError acldvppJpegGetImageInfoV2(const void *data, uint32_t size, uint32_t *width, uint32_t *height,
                                   int32_t *components, acldvppJpegFormat *format) {
    ASC_ENTER();
    asc_jpeg_head found = {0};
    aclError code = asc_jpeg_read_head(data, size, &found);
    if (code != ACL_SUCCESS) return code;
    if (width) *width = found.width;
    if (height) *height = found.height;
    if (components) *components = found.components;
    if (format) *format = found.format;
    return ACL_SUCCESS;
}

aclError acldvppJpegGetImageInfo(const void *data, uint32_t size, uint32_t *width, uint32_t *height,
                                 int32_t *components) {
    ASC_ENTER();
    asc_jpeg_head found = {0};
    aclError code = asc_jpeg_read_head(data, size, &found);
    if (code != ACL_SUCCESS) return code;
    if (width) *width = found.width;
    if (height) *height = found.height;
    if (components) *components = found.components;
    return ACL_SUCCESS;
}

/* Strides of 128 by 16, as the decoder of a card has them. */
aclError acldvppJpegPredictDecSize(const void *data, uint32_t dataSize, acldvppPixelFormat outputPixelFormat,
                                   uint32_t *decSize) {
    ASC_ENTER();
    ASC_NEED(decSize);
    asc_jpeg_head found = {0};
    aclError code = asc_jpeg_read_head(data, dataSize, &found);
    if (code != ACL_SUCCESS) return code;
    uint32_t grey = (found.width + 127) / 128 * 128 * ((found.height + 15) / 16 * 16);
    switch (outputPixelFormat) {
        case PIXEL_FORMAT_YUV_400: *decSize = grey; return ACL_SUCCESS;
        case PIXEL_FORMAT_YUV_SEMIPLANAR_420:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_420: *decSize = grey / 2 * 3; return ACL_SUCCESS;
        case PIXEL_FORMAT_YUV_SEMIPLANAR_422:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_422: *decSize = grey * 2; return ACL_SUCCESS;
        case PIXEL_FORMAT_YUV_SEMIPLANAR_444:
        case PIXEL_FORMAT_YVU_SEMIPLANAR_444: *decSize = grey * 3; return ACL_SUCCESS;
        default:
            return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "outputPixelFormat is %d, no format that JPEG is decoded to",
                                (int)outputPixelFormat);
    }
}
