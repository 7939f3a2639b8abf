/* media_vdec.c - the second version's decoding of JPEG: a channel's pictures in the order of their files. Video, H.264
 * and H.265, is refused. */
#include <stdlib.h>
#include <string.h>

#include "image_codec.h"
#include "media_channel.h"
#include "memory.h"
#include "pixels.h"

#define FAIL(error, ...) ASC_MEDIA_FAIL(ASC_MEDIA_VDEC, error, __VA_ARGS__)
#define NEED(pointer) ASC_MEDIA_NEED(ASC_MEDIA_VDEC, pointer)

typedef struct decoder {
    hi_vdec_chn_attr attributes;
    hi_vdec_chn_param parameters;
    uint32_t received, width, height;
} decoder;

typedef struct decoded {
    asc_media_item item; /* first */
    hi_video_frame_info frame;
    hi_vdec_stream stream;
} decoded;

static void drop(asc_media_item *item) {
    free(item);
}

/* ---- channels -------------------------------------------------------------------------------------------------- */

static hi_s32 create(hi_vdec_chn *chn, const hi_vdec_chn_attr *attr) {
    NEED(attr);
    if (attr->type != HI_PT_JPEG)
        return FAIL(ASC_MEDIA_UNSUPPORTED,
                    "the channel's type is %d; JPEG (%d) is decoded, video isn't: decode it with a library, and give "
                    "pictures",
                    (int)attr->type, HI_PT_JPEG);
    decoder *d = calloc(1, sizeof *d);
    if (!d) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a channel");
    d->attributes = *attr;
    d->parameters.type = attr->type;
    d->parameters.pic_param = (hi_vdec_pic_param){HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420, 255};
    return asc_media_create(ASC_MEDIA_VDEC, chn, d, free, drop);
}

hi_s32 hi_mpi_vdec_create_chn(hi_vdec_chn chn, const hi_vdec_chn_attr *attr) {
    ASC_ENTER();
    if (chn < 0)
        return FAIL(ASC_MEDIA_CHANNEL_ID, "channel %d of vdec; their numbers are 0 to %d", chn, VDEC_MAX_CHN_NUM - 1);
    return create(&chn, attr);
}

hi_s32 hi_mpi_vdec_sys_create_chn(hi_vdec_chn *chn, const hi_vdec_chn_attr *attr) {
    ASC_ENTER();
    NEED(chn);
    *chn = -1;
    return create(chn, attr);
}

hi_s32 hi_mpi_vdec_destroy_chn(hi_vdec_chn chn) {
    ASC_ENTER();
    return asc_media_destroy(ASC_MEDIA_VDEC, chn);
}

/* The channel and its state, locked. */
static hi_s32 lock(hi_vdec_chn chn, asc_media_channel **channel, decoder **d) {
    hi_s32 code = asc_media_lock(ASC_MEDIA_VDEC, chn, channel);
    if (code == HI_SUCCESS) *d = (*channel)->state;
    return code;
}

hi_s32 hi_mpi_vdec_get_chn_attr(hi_vdec_chn chn, hi_vdec_chn_attr *attr) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    decoder *d = NULL;
    NEED(attr);
    hi_s32 code = lock(chn, &channel, &d);
    if (code != HI_SUCCESS) return code;
    *attr = d->attributes;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vdec_get_chn_param(hi_vdec_chn chn, hi_vdec_chn_param *chn_param) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    decoder *d = NULL;
    NEED(chn_param);
    hi_s32 code = lock(chn, &channel, &d);
    if (code != HI_SUCCESS) return code;
    *chn_param = d->parameters;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vdec_set_chn_param(hi_vdec_chn chn, const hi_vdec_chn_param *chn_param) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    decoder *d = NULL;
    NEED(chn_param);
    hi_s32 code = lock(chn, &channel, &d);
    if (code != HI_SUCCESS) return code;
    d->parameters = *chn_param;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vdec_start_recv_stream(hi_vdec_chn chn) {
    ASC_ENTER();
    return asc_media_start(ASC_MEDIA_VDEC, chn, true);
}

hi_s32 hi_mpi_vdec_stop_recv_stream(hi_vdec_chn chn) {
    ASC_ENTER();
    return asc_media_start(ASC_MEDIA_VDEC, chn, false);
}

/* What waits is dropped. */
hi_s32 hi_mpi_vdec_reset_chn(hi_vdec_chn chn) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    decoder *d = NULL;
    hi_s32 code = lock(chn, &channel, &d);
    if (code != HI_SUCCESS) return code;
    bool started = channel->started;
    asc_media_item *item = channel->first;
    if (!started) channel->first = NULL, channel->waiting = 0, d->received = 0;
    asc_media_unlock(channel);
    if (started)
        return FAIL(ASC_MEDIA_NOT_PERMITTED, "channel %d receives streams; call hi_mpi_vdec_stop_recv_stream", chn);
    while (item) {
        asc_media_item *next = item->next;
        drop(item);
        item = next;
    }
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vdec_query_status(hi_vdec_chn chn, hi_vdec_chn_status *status) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    decoder *d = NULL;
    NEED(status);
    hi_s32 code = lock(chn, &channel, &d);
    if (code != HI_SUCCESS) return code;
    *status = (hi_vdec_chn_status){.type = d->attributes.type,
                                   .left_decoded_frames = channel->waiting,
                                   .is_started = channel->started ? HI_TRUE : HI_FALSE,
                                   .recv_stream_frames = d->received,
                                   .dec_stream_frames = d->received,
                                   .width = d->width,
                                   .height = d->height};
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

/* ---- what files say --------------------------------------------------------------------------------------------- */

static hi_pixel_format format_of(acldvppJpegFormat sampling) {
    switch (sampling) {
        case ACL_JPEG_CSS_444: return HI_PIXEL_FORMAT_YUV_SEMIPLANAR_444;
        case ACL_JPEG_CSS_422: return HI_PIXEL_FORMAT_YUV_SEMIPLANAR_422;
        case ACL_JPEG_CSS_440: return HI_PIXEL_FORMAT_YUV_SEMIPLANAR_440;
        case ACL_JPEG_CSS_GRAY: return HI_PIXEL_FORMAT_YUV_400;
        default: return HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420;
    }
}

static hi_jpeg_raw_format raw_format_of(acldvppJpegFormat sampling) {
    switch (sampling) {
        case ACL_JPEG_CSS_444: return HI_JPEG_RAW_FORMAT_YUV444;
        case ACL_JPEG_CSS_422: return HI_JPEG_RAW_FORMAT_YUV422;
        case ACL_JPEG_CSS_440: return HI_JPEG_RAW_FORMAT_YUV440;
        case ACL_JPEG_CSS_GRAY: return HI_JPEG_RAW_FORMAT_YUV400;
        case ACL_JPEG_CSS_420: return HI_JPEG_RAW_FORMAT_YUV420;
        default: return HI_JPEG_RAW_FORMAT_MAX;
    }
}

/* Strides of a decoded picture: 64 pixels by 16 rows. */
static void set_strides(asc_picture *p) {
    p->width_stride = ALIGN_UP(p->width, 64) * asc_pixel_bytes(p->format);
    p->height_stride = ALIGN_UP(p->height, 16);
}

static hi_s32 read_stream(const hi_vdec_stream *stream, asc_jpeg_head *head) {
    NEED(stream->addr);
    if (asc_jpeg_read_head(asc_real(stream->addr), stream->len, head) == ACL_SUCCESS) return HI_SUCCESS;
    return asc_media_code(ASC_MEDIA_VDEC, ASC_MEDIA_PARAMETER);
}

static hi_s32 describe(const hi_vdec_stream *stream, hi_pixel_format format, hi_img_info *info) {
    asc_jpeg_head head = {0};
    hi_s32 code = read_stream(stream, &head);
    if (code != HI_SUCCESS) return code;
    if (format == HI_PIXEL_FORMAT_UNKNOWN) format = format_of(head.format);
    asc_picture p = {.format = (acldvppPixelFormat)format, .width = head.width, .height = head.height};
    if (!asc_pixel_bytes(p.format))
        return FAIL(ASC_MEDIA_UNSUPPORTED, "the format is %d; there are formats 0 to 17, 1000 and 1001", (int)format);
    set_strides(&p);
    *info = (hi_img_info){.width = p.width,
                          .height = p.height,
                          .width_stride = p.width_stride,
                          .height_stride = p.height_stride,
                          .img_buf_size = (hi_u32)asc_picture_room(&p),
                          .pixel_format = format,
                          .jpeg_raw_format = raw_format_of(head.format)};
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vdec_get_jpegd_output_info(const hi_vdec_stream *stream, hi_pixel_format dst_pixel_format,
                                         hi_img_info *img_info) {
    ASC_ENTER();
    NEED(stream);
    NEED(img_info);
    return describe(stream, dst_pixel_format, img_info);
}

hi_s32 hi_mpi_dvpp_get_image_info(hi_payload_type type, const hi_vdec_stream *stream, hi_img_info *img_info) {
    ASC_ENTER();
    NEED(stream);
    NEED(img_info);
    hi_img_stream png = {.type = type, .addr = stream->addr, .len = stream->len, .pts = stream->pts};
    if (type == HI_PT_PNG) return hi_mpi_png_get_image_info(&png, img_info);
    if (type == HI_PT_JPEG) return describe(stream, HI_PIXEL_FORMAT_UNKNOWN, img_info);
    return FAIL(ASC_MEDIA_UNSUPPORTED, "type is %d; there are JPEG (%d) and PNG (%d)", (int)type, HI_PT_JPEG,
                HI_PT_PNG);
}

hi_u32 hi_vdec_get_pic_buf_size(hi_payload_type type, hi_pic_buf_attr *buf_attr) {
    ASC_ENTER();
    if (!buf_attr || buf_attr->width > 65536 || buf_attr->height > 65536) {
        FAIL(ASC_MEDIA_PARAMETER, "buf_attr must not be NULL, and its sizes be at most 65536");
        return 0;
    }
    asc_picture p = {
        .format = (acldvppPixelFormat)buf_attr->pixel_format, .width = buf_attr->width, .height = buf_attr->height};
    set_strides(&p);
    if (type != HI_PT_JPEG) p.height_stride = ALIGN_UP(p.height, 2);
    if (buf_attr->align && buf_attr->align <= 1024)
        p.width_stride = ALIGN_UP(p.width, buf_attr->align) * asc_pixel_bytes(p.format);
    return (hi_u32)asc_picture_room(&p);
}

/* Memory for the motion of a video's pictures, which isn't decoded. */
hi_u32 hi_vdec_get_tmv_buf_size(hi_payload_type type, hi_u32 width, hi_u32 height) {
    ASC_ENTER();
    FAIL(ASC_MEDIA_UNSUPPORTED, "video of type %d, %u by %u pixels, isn't decoded", (int)type, width, height);
    return 0;
}

/* ---- pictures
 * -------------------------------------------------------------------------------------------------------- */

/* Where the picture goes, for a file with this head. Pixels that stand for two lose the odd row and column. */
static hi_s32 read_target(const hi_vdec_pic_info *given, const asc_jpeg_head *head, asc_picture *p) {
    hi_pixel_format format =
        given->pixel_format == HI_PIXEL_FORMAT_UNKNOWN ? format_of(head->format) : given->pixel_format;
    bool shared = head->format != ACL_JPEG_CSS_444 && head->format != ACL_JPEG_CSS_GRAY;
    *p = (asc_picture){.data = (void *)(uintptr_t)given->vir_addr,
                       .bytes = given->buffer_size,
                       .format = (acldvppPixelFormat)format,
                       .width = shared ? head->width & ~1u : head->width,
                       .height = shared ? head->height & ~1u : head->height};
    if (!asc_pixel_bytes(p->format))
        return FAIL(ASC_MEDIA_UNSUPPORTED, "pixel_format is %d; there are formats 0 to 17, 1000 and 1001", (int)format);
    set_strides(p);
    if (given->width_stride) p->width_stride = given->width_stride;
    if (given->height_stride) p->height_stride = given->height_stride;
    if (!p->data) return FAIL(ASC_MEDIA_NULL, "vir_addr is 0; it is where the picture goes");
    if (p->width < 2 || p->height < 2 || p->width > ASC_MOST_PIXELS || p->height > ASC_MOST_PIXELS)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "the file has %u by %u pixels; it has 2 to %u each way", head->width,
                    head->height, ASC_MOST_PIXELS);
    if (p->width_stride < p->width * asc_pixel_bytes(p->format) || p->height_stride < p->height ||
        p->width_stride > 8 * ASC_MOST_PIXELS || p->height_stride > 2 * ASC_MOST_PIXELS)
        return FAIL(ASC_MEDIA_PARAMETER, "the strides are %u by %u; the file has %u by %u pixels", p->width_stride,
                    p->height_stride, head->width, head->height);
    if (p->bytes < asc_pixels_bytes(p))
        return FAIL(ASC_MEDIA_PARAMETER, "buffer_size is %u; the picture has %zu bytes", p->bytes, asc_pixels_bytes(p));
    if (asc_memory_check(p->data, asc_pixels_bytes(p), ASC_PLACE_DEVICE, "vir_addr") != ACL_SUCCESS)
        return asc_media_code(ASC_MEDIA_VDEC, ASC_MEDIA_ADDRESS);
    return HI_SUCCESS;
}

/* Through a picture as the file has it, and from it into the format that is asked for. */
static bool decode(const hi_vdec_stream *stream, const asc_jpeg_head *head, const asc_picture *p) {
    asc_picture own = {.format = (acldvppPixelFormat)format_of(head->format),
                       .width = p->width,
                       .height = p->height,
                       .width_stride = ALIGN_UP(head->width, 16),
                       .height_stride = ALIGN_UP(head->height, 16)};
    uint8_t *kept = malloc(asc_picture_room(&own));
    bool done = kept && asc_jpeg_decode(asc_real(stream->addr), stream->len, &own, kept) == ACL_SUCCESS;
    if (done) {
        asc_pixels from = asc_pixels_at(&own, kept), to = asc_pixels_at(p, asc_real(p->data));
        asc_acl_region all = {0, p->width - 1, 0, p->height - 1};
        done = asc_pixels_draw(&from, all, &to, all, false, &asc_colours_bt601_wide);
    }
    free(kept);
    return done;
}

static void show(const asc_picture *p, bool done, const hi_vdec_stream *stream, hi_video_frame_info *shown) {
    hi_video_frame *v = &shown->v_frame;
    uint8_t *data = p->data;
    bool apart = asc_pixel_bytes(p->format) == 1 && p->format != PIXEL_FORMAT_YUV_400;
    *shown = (hi_video_frame_info){.mod_id = HI_ID_VDEC};
    *v = (hi_video_frame){.width = p->width,
                          .height = p->height,
                          .field = HI_VIDEO_FIELD_FRAME,
                          .pixel_format = (hi_pixel_format)p->format,
                          .pts = stream->pts,
                          .frame_flag = done ? 0 : 1};
    v->width_stride[0] = p->width_stride;
    v->height_stride[0] = p->height_stride;
    v->virt_addr[0] = data;
    if (!apart) return;
    v->width_stride[1] = p->width_stride;
    v->height_stride[1] = p->height_stride;
    v->virt_addr[1] = data + (size_t)p->width_stride * p->height_stride;
}

/* A file of its own, decoded at once. */
static hi_s32 send(asc_media_channel *channel, const hi_vdec_stream *stream, hi_vdec_pic_info *target) {
    asc_jpeg_head head = {0};
    asc_picture p = {0};
    decoder *d = channel->state;
    NEED(target);
    if (!stream->len) return FAIL(ASC_MEDIA_PARAMETER, "the stream is empty");
    NEED(stream->addr);
    if (asc_memory_check(stream->addr, stream->len, ASC_PLACE_DEVICE, "stream") != ACL_SUCCESS)
        return asc_media_code(ASC_MEDIA_VDEC, ASC_MEDIA_ADDRESS);
    bool sound = read_stream(stream, &head) == HI_SUCCESS;
    hi_s32 code = sound ? read_target(target, &head, &p) : HI_SUCCESS;
    if (code != HI_SUCCESS) return code;
    decoded *made = calloc(1, sizeof *made);
    if (!made) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a picture");
    if (!sound) p.data = (void *)(uintptr_t)target->vir_addr, p.format = PIXEL_FORMAT_YUV_400;
    show(&p, sound && decode(stream, &head, &p), stream, &made->frame);
    made->stream = *stream;
    pthread_mutex_lock(&channel->lock);
    d->received++;
    d->width = p.width;
    d->height = p.height;
    pthread_mutex_unlock(&channel->lock);
    asc_media_put(channel, &made->item);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vdec_send_stream(hi_vdec_chn chn, const hi_vdec_stream *stream, hi_vdec_pic_info *vdec_pic_info,
                               hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec; /* there is always room for one more */
    asc_media_channel *channel = NULL;
    NEED(stream);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VDEC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    pthread_mutex_lock(&channel->lock);
    bool started = channel->started;
    pthread_mutex_unlock(&channel->lock);
    if (!started)
        code = FAIL(ASC_MEDIA_NOT_PERMITTED, "channel %d takes no streams; call hi_mpi_vdec_start_recv_stream", chn);
    else if (!stream->end_of_stream || stream->len)
        code = send(channel, stream, vdec_pic_info);
    asc_media_release(channel);
    return code;
}

hi_s32 hi_mpi_vdec_get_frame(hi_vdec_chn chn, hi_video_frame_info *frame_info, hi_vdec_supplement_info *supplement,
                             hi_vdec_stream *stream, hi_s32 milli_sec) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    asc_media_item *item = NULL;
    NEED(frame_info);
    NEED(stream);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VDEC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    code = asc_media_take(ASC_MEDIA_VDEC, channel, milli_sec, &item);
    asc_media_release(channel);
    if (code != HI_SUCCESS) return code;
    const decoded *one = (const decoded *)item;
    *frame_info = one->frame;
    *stream = one->stream;
    if (supplement) *supplement = (hi_vdec_supplement_info){.type = HI_PT_JPEG};
    free(item);
    return HI_SUCCESS;
}

/* The memory is the program's: nothing of the channel's is left to give back. */
hi_s32 hi_mpi_vdec_release_frame(hi_vdec_chn chn, const hi_video_frame_info *frame_info) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    NEED(frame_info);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VDEC, chn, &channel);
    if (code == HI_SUCCESS) asc_media_release(channel);
    return code;
}
