/* media_pngd.c - the second version's decoding of PNG: a channel's pictures in the order of their files. */
#include <stdlib.h>

#include "image_codec.h"
#include "media_channel.h"
#include "memory.h"
#include "pixels.h"

#define FAIL(error, ...) ASC_MEDIA_FAIL(ASC_MEDIA_PNGD, error, __VA_ARGS__)
#define NEED(pointer) ASC_MEDIA_NEED(ASC_MEDIA_PNGD, pointer)

typedef struct decoded {
    asc_media_item item; /* first */
    hi_pic_info picture;
    hi_img_stream stream;
    hi_s32 code;
} decoded;

static void drop(asc_media_item *item) {
    free(item);
}

hi_s32 hi_mpi_pngd_create_chn(hi_pngd_chn chn, const hi_pngd_chn_attr *attr) {
    ASC_ENTER();
    NEED(attr);
    if (chn < 0 || chn >= PNGD_MAX_CHN_NUM)
        return FAIL(ASC_MEDIA_CHANNEL_ID, "channel %d of pngd; their numbers are 0 to %d", chn, PNGD_MAX_CHN_NUM - 1);
    hi_pngd_chn_attr *kept = malloc(sizeof *kept);
    if (!kept) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a channel");
    *kept = *attr;
    return asc_media_create(ASC_MEDIA_PNGD, &chn, kept, free, drop);
}

hi_s32 hi_mpi_pngd_destroy_chn(hi_pngd_chn chn) {
    ASC_ENTER();
    return asc_media_destroy(ASC_MEDIA_PNGD, chn);
}

/* A picture with the file's size; grey becomes colours. Strides: 128 pixels by 16 rows. */
static hi_s32 describe(const hi_img_stream *stream, asc_picture *p, int32_t *components) {
    uint32_t width = 0, height = 0;
    NEED(stream->addr);
    if (asc_png_head(asc_real(stream->addr), stream->len, &width, &height, components) != ACL_SUCCESS)
        return asc_media_code(ASC_MEDIA_PNGD, ASC_MEDIA_PARAMETER);
    if (width > ASC_MOST_PIXELS || height > ASC_MOST_PIXELS)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "the file has %u by %u pixels; the most of a side is %u", width, height,
                    ASC_MOST_PIXELS);
    bool clear = *components == 2 || *components == 4;
    *p = (asc_picture){
        .format = clear ? PIXEL_FORMAT_RGBA_8888 : PIXEL_FORMAT_RGB_888, .width = width, .height = height};
    return HI_SUCCESS;
}

hi_s32 hi_mpi_png_get_image_info(const hi_img_stream *stream, hi_img_info *img_info) {
    ASC_ENTER();
    asc_picture p = {0};
    int32_t components = 0;
    static const hi_png_color_format formats[] = {HI_PNG_COLOR_FORMAT_GRAY, HI_PNG_COLOR_FORMAT_GRAY,
                                                  HI_PNG_COLOR_FORMAT_AGRAY, HI_PNG_COLOR_FORMAT_RGB,
                                                  HI_PNG_COLOR_FORMAT_ARGB};
    NEED(stream);
    NEED(img_info);
    hi_s32 code = describe(stream, &p, &components);
    if (code != HI_SUCCESS) return code;
    p.width_stride = ALIGN_UP(p.width, 128) * asc_pixel_bytes(p.format);
    p.height_stride = ALIGN_UP(p.height, 16);
    *img_info = (hi_img_info){.width = p.width,
                              .height = p.height,
                              .width_stride = p.width_stride,
                              .height_stride = p.height_stride,
                              .img_buf_size = (hi_u32)asc_picture_room(&p),
                              .pixel_format = (hi_pixel_format)p.format,
                              .color_format = formats[components <= 4 ? components : 4]};
    return HI_SUCCESS;
}

/* Where the picture goes, checked. */
static hi_s32 read_target(const hi_pic_info *given, asc_picture *p) {
    if (given->picture_format != HI_PIXEL_FORMAT_UNKNOWN) p->format = (acldvppPixelFormat)given->picture_format;
    if (p->format != PIXEL_FORMAT_RGB_888 && p->format != PIXEL_FORMAT_RGBA_8888)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "picture_format is %d; PNG is decoded to RGB_888 (12) and RGBA_8888 (16)",
                    (int)p->format);
    uint32_t row = p->width * asc_pixel_bytes(p->format);
    p->data = given->picture_address;
    p->bytes = given->picture_buffer_size;
    p->width_stride = given->picture_width_stride ? given->picture_width_stride
                                                  : ALIGN_UP(p->width, 128) * asc_pixel_bytes(p->format);
    p->height_stride = given->picture_height_stride ? given->picture_height_stride : ALIGN_UP(p->height, 16);
    if (!p->data) return FAIL(ASC_MEDIA_NULL, "picture_address must not be NULL");
    if (p->width_stride < row || p->height_stride < p->height || p->width_stride > 8 * ASC_MOST_PIXELS)
        return FAIL(ASC_MEDIA_PARAMETER, "the strides are %u by %u; the file needs %u by %u", p->width_stride,
                    p->height_stride, row, p->height);
    if (p->bytes < asc_pixels_bytes(p))
        return FAIL(ASC_MEDIA_PARAMETER, "picture_buffer_size is %u; the picture has %zu bytes", p->bytes,
                    asc_pixels_bytes(p));
    if (asc_memory_check(p->data, asc_pixels_bytes(p), ASC_PLACE_DEVICE, "picture_address") != ACL_SUCCESS)
        return asc_media_code(ASC_MEDIA_PNGD, ASC_MEDIA_ADDRESS);
    return HI_SUCCESS;
}

static hi_s32 send(asc_media_channel *channel, const hi_img_stream *stream, const hi_pic_info *target) {
    asc_picture p = {0};
    int32_t components = 0;
    NEED(stream->addr);
    if (asc_memory_check(stream->addr, stream->len, ASC_PLACE_DEVICE, "stream") != ACL_SUCCESS)
        return asc_media_code(ASC_MEDIA_PNGD, ASC_MEDIA_ADDRESS);
    hi_s32 code = describe(stream, &p, &components);
    if (code == HI_SUCCESS) code = read_target(target, &p);
    if (code != HI_SUCCESS) return code;
    decoded *made = calloc(1, sizeof *made);
    if (!made) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a picture");
    bool done = asc_png_decode(asc_real(stream->addr), stream->len, &p, asc_real(p.data)) == ACL_SUCCESS;
    made->code = done ? HI_SUCCESS : asc_media_code(ASC_MEDIA_PNGD, ASC_MEDIA_PARAMETER);
    made->stream = *stream;
    made->picture = (hi_pic_info){.picture_address = p.data,
                                  .picture_buffer_size = p.bytes,
                                  .picture_width = p.width,
                                  .picture_height = p.height,
                                  .picture_width_stride = p.width_stride,
                                  .picture_height_stride = p.height_stride,
                                  .picture_format = (hi_pixel_format)p.format};
    asc_media_put(channel, &made->item);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_pngd_send_stream(hi_pngd_chn chn, const hi_img_stream *stream, hi_pic_info *pic_info, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec; /* there is always room for one more */
    asc_media_channel *channel = NULL;
    NEED(stream);
    NEED(pic_info);
    hi_s32 code = asc_media_hold(ASC_MEDIA_PNGD, chn, &channel);
    if (code != HI_SUCCESS) return code;
    code = send(channel, stream, pic_info);
    asc_media_release(channel);
    return code;
}

hi_s32 hi_mpi_pngd_get_image_data(hi_pngd_chn chn, hi_pic_info *pic_info, hi_img_stream *stream, hi_s32 milli_sec) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    asc_media_item *item = NULL;
    NEED(pic_info);
    NEED(stream);
    hi_s32 code = asc_media_hold(ASC_MEDIA_PNGD, chn, &channel);
    if (code != HI_SUCCESS) return code;
    code = asc_media_take(ASC_MEDIA_PNGD, channel, milli_sec, &item);
    asc_media_release(channel);
    if (code != HI_SUCCESS) return code;
    const decoded *one = (const decoded *)item;
    *pic_info = one->picture;
    *stream = one->stream;
    code = one->code;
    free(item);
    return code;
}
