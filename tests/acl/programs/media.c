/* media.c - `media PNG`: encodes a picture of 70 by 50 pixels to JPEG, decodes it in several formats, and what is no
 * JPEG; then decodes the PNG file to RGB. Prints a line for each: name, code, the largest difference or the bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "acl/ops/acl_dvpp.h"

enum { WIDTH = 70, HEIGHT = 50, STRIDE = 80, ROWS = 64 };

static acldvppChannelDesc *channel;
static aclrtStream stream;

static void *device(size_t size, const void *bytes) {
    void *made;
    if (acldvppMalloc(&made, size) != ACL_SUCCESS) exit(3);
    if (bytes) aclrtMemcpy(made, size, bytes, size, ACL_MEMCPY_HOST_TO_DEVICE);
    return made;
}

static acldvppPicDesc *picture(acldvppPixelFormat format, uint32_t size, void *data) {
    acldvppPicDesc *desc = acldvppCreatePicDesc();
    acldvppSetPicDescData(desc, data);
    acldvppSetPicDescSize(desc, size);
    acldvppSetPicDescFormat(desc, format);
    return desc;
}

/* Shades that change slowly, as a lossy format keeps them. */
static uint8_t value(int part, int x, int y) {
    return (uint8_t)(part == 0 ? 40 + 2 * x + y : part == 1 ? 90 + x : 160 - y);
}

static int difference(int got, int wanted) {
    return got > wanted ? got - wanted : wanted - got;
}

/* The largest difference of grey, and of the colours, which are `across` and `down` pixels wide and high. */
static void compare(const char *name, acldvppPicDesc *desc, int across, int down, int swap) {
    uint32_t size = acldvppGetPicDescSize(desc), stride = acldvppGetPicDescWidthStride(desc);
    uint8_t *bytes = malloc(size);
    int grey = 0, colour = 0;
    aclrtMemcpy(bytes, size, acldvppGetPicDescData(desc), size, ACL_MEMCPY_DEVICE_TO_HOST);
    const uint8_t *colours = bytes + stride * acldvppGetPicDescHeightStride(desc);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const uint8_t *at = colours + (size_t)(y / down) * stride * (across == 1 ? 2 : 1) + x / across * 2;
            int d = difference(bytes[(size_t)y * stride + x], value(0, x, y));
            grey = d > grey ? d : grey;
            for (int part = 1; part < 3; part++) {
                d = difference(at[swap ? 2 - part : part - 1], value(part, x / 2, y / 2));
                colour = d > colour ? d : colour;
            }
        }
    printf("%s %d %d of %u by %u\n", name, grey, colour, acldvppGetPicDescWidth(desc), acldvppGetPicDescHeight(desc));
    free(bytes);
}

static void decode(const char *name, const void *file, uint32_t size, acldvppPixelFormat format, int across, int down) {
    uint32_t bytes = 128 * 64 * 3;
    acldvppPicDesc *desc = picture(format, bytes, device(bytes, NULL));
    aclError code = acldvppJpegDecodeAsync(channel, file, size, desc, stream);
    if (!code) code = aclrtSynchronizeStream(stream);
    if (code) printf("%s fails %d\n", name, code);
    if (!code) compare(name, desc, across, down, format == PIXEL_FORMAT_YVU_SEMIPLANAR_420);
}

static void encode_and_decode(void) {
    static uint8_t bytes[STRIDE * ROWS * 3 / 2];
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) bytes[y * STRIDE + x] = value(0, x, y);
    for (int y = 0; y < HEIGHT / 2; y++)
        for (int x = 0; x < WIDTH; x++) bytes[(ROWS + y) * STRIDE + x] = value(1 + x % 2, x / 2, y);
    acldvppPicDesc *from = picture(PIXEL_FORMAT_YUV_SEMIPLANAR_420, sizeof bytes, device(sizeof bytes, bytes));
    acldvppSetPicDescWidth(from, WIDTH);
    acldvppSetPicDescHeight(from, HEIGHT);
    acldvppSetPicDescWidthStride(from, STRIDE);
    acldvppSetPicDescHeightStride(from, ROWS);
    acldvppJpegeConfig *config = acldvppCreateJpegeConfig();
    uint32_t room = 0, size, small = 100;
    acldvppSetJpegeConfigLevel(config, 100);
    printf("room %d\n", acldvppJpegPredictEncSize(from, config, &room));
    void *file = device(room, NULL);
    size = room;
    aclError code = acldvppJpegEncodeAsync(channel, from, file, &size, config, stream);
    if (!code) code = aclrtSynchronizeStream(stream);
    printf("encoded %d %s\n", code, size > 500 && size < room ? "fits" : "doesn't fit");
    decode("420", file, size, PIXEL_FORMAT_YUV_SEMIPLANAR_420, 2, 2);
    decode("swapped", file, size, PIXEL_FORMAT_YVU_SEMIPLANAR_420, 2, 2);
    decode("444", file, size, PIXEL_FORMAT_YUV_SEMIPLANAR_444, 1, 1);
    decode("rgb", file, size, PIXEL_FORMAT_RGB_888, 1, 1);
    decode("nothing", device(sizeof bytes, bytes), sizeof bytes, PIXEL_FORMAT_YUV_SEMIPLANAR_420, 2, 2);
    acldvppJpegEncodeAsync(channel, from, file, &small, config, stream);
    printf("no room %d\n", aclrtSynchronizeStream(stream));
}

static void decode_png(const char *path) {
    static uint8_t file[4096], bytes[384 * 16];
    uint32_t width, height, needed;
    int32_t components;
    FILE *opened = fopen(path, "rb");
    uint32_t size = opened ? (uint32_t)fread(file, 1, sizeof file, opened) : 0;
    printf("head %d", acldvppPngGetImageInfo(file, size, &width, &height, &components));
    printf(" %u %u %d", width, height, components);
    printf(" %d", acldvppPngPredictDecSize(file, size, PIXEL_FORMAT_RGB_888, &needed));
    acldvppPicDesc *desc = picture(PIXEL_FORMAT_RGB_888, needed, device(needed, NULL));
    aclError code = acldvppPngDecodeAsync(channel, device(size, file), size, desc, stream);
    printf(" %d %d\npng", code, aclrtSynchronizeStream(stream));
    aclrtMemcpy(bytes, sizeof bytes, acldvppGetPicDescData(desc), needed, ACL_MEMCPY_DEVICE_TO_HOST);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < 3 * width; x++) printf(" %d", bytes[y * acldvppGetPicDescWidthStride(desc) + x]);
    printf("\n");
}

int main(int argc, char **argv) {
    aclInit(NULL);
    aclrtSetDevice(0);
    aclrtCreateStream(&stream);
    channel = acldvppCreateChannelDesc();
    acldvppCreateChannel(channel);
    encode_and_decode();
    if (argc > 1) decode_png(argv[1]);
    return 0;
}
