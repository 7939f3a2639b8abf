/* pictures.c - `pictures`: crops, scales and pastes a picture of 16 by 8 pixels in YUV 420 semi-planar, whose bytes are
 * 0, 1, 2, ... Prints a line of bytes for each, grey first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/ops/acl_dvpp.h"

enum { WIDTH = 16, HEIGHT = 8, BYTES = WIDTH * HEIGHT * 3 / 2 };

static acldvppPicDesc *picture(uint32_t width, uint32_t height, acldvppPixelFormat format, const uint8_t *bytes) {
    void *data;
    uint32_t size = width * height * 3 / 2;
    acldvppPicDesc *desc = acldvppCreatePicDesc();
    if (acldvppMalloc(&data, size) != ACL_SUCCESS) exit(3);
    if (bytes) aclrtMemcpy(data, size, bytes, size, ACL_MEMCPY_HOST_TO_DEVICE);
    if (!bytes) aclrtMemset(data, size, 0, size);
    acldvppSetPicDescData(desc, data);
    acldvppSetPicDescSize(desc, size);
    acldvppSetPicDescFormat(desc, format);
    acldvppSetPicDescWidth(desc, width);
    acldvppSetPicDescHeight(desc, height);
    acldvppSetPicDescWidthStride(desc, width);
    acldvppSetPicDescHeightStride(desc, height);
    return desc;
}

static void show(const char *name, aclError code, aclrtStream stream, acldvppPicDesc *result) {
    uint8_t bytes[BYTES];
    uint32_t size = acldvppGetPicDescSize(result);
    aclrtSynchronizeStream(stream);
    aclrtMemcpy(bytes, size, acldvppGetPicDescData(result), size, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("%s %d", name, code);
    for (uint32_t i = 0; !code && i < size; i++) printf(" %d", bytes[i]);
    printf("\n");
}

int main(void) {
    uint8_t bytes[BYTES];
    aclrtStream stream;
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    acldvppChannelDesc *channel = acldvppCreateChannelDesc();
    acldvppResizeConfig *resize = acldvppCreateResizeConfig();
    acldvppPicDesc *from = picture(WIDTH, HEIGHT, PIXEL_FORMAT_YUV_SEMIPLANAR_420, bytes);
    acldvppPicDesc *same = picture(WIDTH, HEIGHT, PIXEL_FORMAT_YUV_SEMIPLANAR_420, NULL);
    acldvppPicDesc *swapped = picture(WIDTH, HEIGHT, PIXEL_FORMAT_YVU_SEMIPLANAR_420, NULL);
    acldvppPicDesc *half = picture(WIDTH / 2, HEIGHT / 2, PIXEL_FORMAT_YUV_SEMIPLANAR_420, NULL);
    acldvppPicDesc *pasted = picture(WIDTH, HEIGHT, PIXEL_FORMAT_YUV_SEMIPLANAR_420, NULL);
    acldvppPicDesc *colours = picture(WIDTH, HEIGHT, PIXEL_FORMAT_YVU_PLANAR_420, NULL);
    acldvppRoiConfig *crop = acldvppCreateRoiConfig(4, 11, 2, 5), *beyond = acldvppCreateRoiConfig(4, 16, 2, 5);
    acldvppRoiConfig *paste = acldvppCreateRoiConfig(8, 15, 4, 7);

    show("no channel", acldvppVpcResizeAsync(channel, from, same, resize, stream), stream, same);
    acldvppCreateChannel(channel);
    show("same", acldvppVpcResizeAsync(channel, from, same, resize, stream), stream, same);
    show("swapped", acldvppVpcResizeAsync(channel, from, swapped, resize, stream), stream, swapped);
    show("half", acldvppVpcResizeAsync(channel, from, half, resize, stream), stream, half);
    show("crop", acldvppVpcCropAsync(channel, from, half, crop, stream), stream, half);
    show("paste", acldvppVpcCropAndPasteAsync(channel, from, pasted, crop, paste, stream), stream, pasted);
    show("beyond", acldvppVpcCropAsync(channel, from, half, beyond, stream), stream, half);
    show("colours", acldvppVpcResizeAsync(channel, from, colours, resize, stream), stream, colours);

    static const uint8_t jpeg[] = {0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1,    2, 0xFF, 0xC0, 0, 17,   8,    0, 200, 1,
                                   44,   3,    1,    0x22, 0, 2, 0x11, 1, 3,    0x11, 1, 0xFF, 0xD9, 0, 0};
    uint32_t width, height, size;
    int32_t components;
    acldvppJpegFormat format;
    aclError code = acldvppJpegGetImageInfoV2(jpeg, sizeof jpeg, &width, &height, &components, &format);
    acldvppJpegPredictDecSize(jpeg, sizeof jpeg, PIXEL_FORMAT_YUV_SEMIPLANAR_420, &size);
    printf("jpeg %d %u %u %d %d %u\n", code, width, height, components, format, size);
    for (uint32_t cut = 0; cut < 24; cut++)
        if (acldvppJpegGetImageInfo(jpeg, cut, &width, &height, &components) == ACL_SUCCESS) printf("cut at %u\n", cut);
    return 0;
}
