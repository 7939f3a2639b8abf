/* media_venc.c - the second version's encoding to JPEG: a channel's files in the order of their pictures. Video, H.264
 * and H.265, is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "context.h"
#include "image_codec.h"
#include "media_channel.h"
#include "memory.h"
#include "pixels.h"

#define FAIL(error, ...) ASC_MEDIA_FAIL(ASC_MEDIA_VENC, error, __VA_ARGS__)
#define NEED(pointer) ASC_MEDIA_NEED(ASC_MEDIA_VENC, pointer)
#define VIDEO "video isn't encoded: encode it with a library, or each picture to JPEG"

typedef struct encoder {
    hi_venc_chn_attr attributes;
    hi_venc_jpeg_param jpeg;
    uint32_t sequence;
    int descriptor; /* whose count is that of the files that wait; -1: none */
} encoder;

typedef struct encoded {
    asc_media_item item; /* first */
    hi_venc_pack pack;
    bool own; /* the memory is the channel's, given back by hi_mpi_venc_release_stream: phys_addr isn't 0 */
} encoded;

static void drop(asc_media_item *item) {
    encoded *e = (encoded *)item;
    if (e->own) asc_memory_free(e->pack.addr, ASC_PLACE_DEVICE, ACL_ERROR_INVALID_PARAM);
    free(item);
}

static void end(void *state) {
    encoder *e = state;
    if (e->descriptor >= 0) close(e->descriptor);
    free(e);
}

hi_s32 hi_mpi_venc_create_chn(hi_venc_chn chn, const hi_venc_chn_attr *attr) {
    ASC_ENTER();
    NEED(attr);
    if (chn < 0)
        return FAIL(ASC_MEDIA_CHANNEL_ID, "channel %d of venc; their numbers are 0 to %d", chn, VENC_MAX_CHN_NUM - 1);
    if (attr->venc_attr.type != HI_PT_JPEG)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "the channel's type is %d; it is JPEG (%d), " VIDEO,
                    (int)attr->venc_attr.type, HI_PT_JPEG);
    encoder *e = calloc(1, sizeof *e);
    if (!e) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a channel");
    e->attributes = *attr;
    e->jpeg.qfactor = 80;
    e->descriptor = -1;
    return asc_media_create(ASC_MEDIA_VENC, &chn, e, end, drop);
}

hi_s32 hi_mpi_venc_destroy_chn(hi_venc_chn chn) {
    ASC_ENTER();
    return asc_media_destroy(ASC_MEDIA_VENC, chn);
}

static hi_s32 lock(hi_venc_chn chn, asc_media_channel **channel, encoder **e) {
    hi_s32 code = asc_media_lock(ASC_MEDIA_VENC, chn, channel);
    if (code == HI_SUCCESS) *e = (*channel)->state;
    return code;
}

hi_s32 hi_mpi_venc_start_chn(hi_venc_chn chn, const hi_venc_start_param *recv_param) {
    ASC_ENTER();
    NEED(recv_param);
    return asc_media_start(ASC_MEDIA_VENC, chn, true);
}

hi_s32 hi_mpi_venc_stop_chn(hi_venc_chn chn) {
    ASC_ENTER();
    return asc_media_start(ASC_MEDIA_VENC, chn, false);
}

hi_s32 hi_mpi_venc_query_status(hi_venc_chn chn, hi_venc_chn_status *status) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    encoder *e = NULL;
    NEED(status);
    hi_s32 code = lock(chn, &channel, &e);
    if (code != HI_SUCCESS) return code;
    *status = (hi_venc_chn_status){.left_stream_frames = channel->waiting, .cur_packs = channel->waiting ? 1 : 0};
    for (asc_media_item *item = channel->first; item; item = item->next)
        status->left_stream_bytes += ((const encoded *)item)->pack.len;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_venc_get_jpeg_param(hi_venc_chn chn, hi_venc_jpeg_param *jpeg_param) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    encoder *e = NULL;
    NEED(jpeg_param);
    hi_s32 code = lock(chn, &channel, &e);
    if (code != HI_SUCCESS) return code;
    *jpeg_param = e->jpeg;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

static hi_s32 check_quality(const hi_venc_jpeg_param *jpeg) {
    if (jpeg->qfactor >= 1 && jpeg->qfactor <= 100) return HI_SUCCESS;
    return FAIL(ASC_MEDIA_PARAMETER, "qfactor is %u; it is 1 to 100", jpeg->qfactor);
}

hi_s32 hi_mpi_venc_set_jpeg_param(hi_venc_chn chn, const hi_venc_jpeg_param *jpeg_param) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    encoder *e = NULL;
    NEED(jpeg_param);
    hi_s32 code = check_quality(jpeg_param);
    if (code == HI_SUCCESS) code = lock(chn, &channel, &e);
    if (code != HI_SUCCESS) return code;
    e->jpeg = *jpeg_param;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

/* ---- pictures -------------------------------------------------------------------------------------------------- */

static hi_s32 read_frame(const hi_video_frame_info *frame, asc_picture *p) {
    const hi_video_frame *v = &frame->v_frame;
    *p = (asc_picture){.data = v->virt_addr[0],
                       .format = (acldvppPixelFormat)v->pixel_format,
                       .width = v->width,
                       .height = v->height,
                       .width_stride = v->width_stride[0],
                       .height_stride = v->height_stride[0] > v->height ? v->height_stride[0] : v->height};
    uint32_t bytes = asc_pixel_bytes(p->format);
    if (!bytes)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "pixel_format is %d; there are formats 0 to 17, 1000 and 1001",
                    (int)p->format);
    if (p->width < 2 || p->height < 2 || p->width > 8192 || p->height > 8192)
        return FAIL(ASC_MEDIA_PARAMETER, "the picture has %u by %u pixels; it has 2 to 8192 each way", p->width,
                    p->height);
    if (p->width_stride < p->width * bytes || p->width_stride > 4 * 65536 || p->height_stride > 65536)
        return FAIL(ASC_MEDIA_PARAMETER, "the strides are %u by %u; the picture has %u by %u pixels", p->width_stride,
                    p->height_stride, p->width, p->height);
    return HI_SUCCESS;
}

/* The colours lie where the frame says. */
static hi_s32 read_pixels(const hi_video_frame_info *frame, const asc_picture *p, asc_pixels *pixels) {
    if (!p->data) return FAIL(ASC_MEDIA_NULL, "virt_addr[0] must not be NULL");
    *pixels = asc_pixels_at(p, asc_real(p->data));
    bool apart = asc_pixel_bytes(p->format) == 1 && pixels->count == 3;
    const uint8_t *colours = apart ? frame->v_frame.virt_addr[1] : NULL;
    asc_picture grey = *p;
    if (colours) grey.format = PIXEL_FORMAT_YUV_400;
    aclError code = asc_memory_check(p->data, asc_pixels_bytes(&grey), ASC_PLACE_DEVICE, "virt_addr[0]");
    if (code == ACL_SUCCESS && colours) {
        const asc_samples *s = &pixels->part[1];
        size_t bytes = (s->height - 1) * s->pitch + (size_t)s->width * s->step;
        code = asc_memory_check(colours, bytes, ASC_PLACE_DEVICE, "virt_addr[1]");
        ptrdiff_t from = pixels->part[1].at < pixels->part[2].at ? 0 : 1;
        uint8_t *real = asc_real(colours);
        pixels->part[1].at = real + from;
        pixels->part[2].at = real + 1 - from;
    }
    return code == ACL_SUCCESS ? HI_SUCCESS : asc_media_code(ASC_MEDIA_VENC, ASC_MEDIA_ADDRESS);
}

/* More than a file of the best quality takes. */
static uint32_t most_bytes(const asc_picture *p) {
    return ALIGN_UP(p->width, 16) * ALIGN_UP(p->height, 16) * 3 + 4096;
}

hi_s32 hi_mpi_venc_get_jpege_predicted_size(const hi_video_frame_info *frame, const hi_venc_jpeg_param *jpeg_param,
                                            hi_u32 *output_size) {
    ASC_ENTER();
    asc_picture p = {0};
    NEED(frame);
    NEED(jpeg_param);
    NEED(output_size);
    hi_s32 code = check_quality(jpeg_param);
    if (code == HI_SUCCESS) code = read_frame(frame, &p);
    if (code == HI_SUCCESS) *output_size = most_bytes(&p);
    return code;
}

/* By way of YUV 420, which the encoder takes. */
static hi_s32 encode(const asc_pixels *pixels, const asc_picture *p, uint32_t quality, uint8_t *to, uint32_t *size) {
    asc_picture own = {.format = PIXEL_FORMAT_YUV_SEMIPLANAR_420, .width = p->width & ~1u, .height = p->height & ~1u};
    own.width_stride = own.width;
    own.height_stride = own.height;
    uint8_t *kept = malloc(asc_picture_room(&own));
    if (!kept) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for the picture");
    asc_pixels flat = asc_pixels_at(&own, kept);
    asc_acl_region all = {0, own.width - 1, 0, own.height - 1};
    hi_s32 code = HI_SUCCESS;
    if (!asc_pixels_draw(pixels, all, &flat, all, false, &asc_colours_bt601_wide) ||
        asc_jpeg_encode(&own, kept, (int)quality, to, size) != ACL_SUCCESS)
        code = asc_media_code(ASC_MEDIA_VENC, ASC_MEDIA_PARAMETER);
    free(kept);
    return code;
}

static void ring(const encoder *e) {
    uint64_t one = 1;
    if (e->descriptor >= 0 && write(e->descriptor, &one, sizeof one) < 0) errno = 0; /* it is full: it rings already */
}

/* Into memory of the program's, or into some of the channel's. */
static hi_s32 send(asc_media_channel *channel, const hi_video_frame_info *frame, const hi_img_stream *into) {
    asc_picture p = {0};
    asc_pixels pixels;
    encoder *e = channel->state;
    hi_s32 code = read_frame(frame, &p);
    if (code == HI_SUCCESS) code = read_pixels(frame, &p, &pixels);
    if (code != HI_SUCCESS) return code;
    asc_acl_context *context = asc_peek_context();
    encoded *made = calloc(1, sizeof *made);
    if (!made) return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a file");
    made->own = !into;
    made->pack.len = into ? into->len : most_bytes(&p);
    made->pack.addr =
        into ? into->addr : asc_memory_new(made->pack.len, ASC_PLACE_DEVICE, context ? context->device : 0);
    made->pack.phys_addr = into ? 0 : (hi_u64)(uintptr_t)made->pack.addr;
    made->pack.pts = frame->v_frame.pts;
    made->pack.is_frame_end = HI_TRUE;
    made->pack.input_addr = (hi_u64)(uintptr_t)p.data;
    if (!made->pack.addr ||
        (into && asc_memory_check(into->addr, into->len, ASC_PLACE_DEVICE, "stream") != ACL_SUCCESS))
        code = asc_media_code(ASC_MEDIA_VENC, into ? ASC_MEDIA_ADDRESS : ASC_MEDIA_NO_MEMORY);
    pthread_mutex_lock(&channel->lock);
    uint32_t quality = e->jpeg.qfactor;
    pthread_mutex_unlock(&channel->lock);
    if (code == HI_SUCCESS) code = encode(&pixels, &p, quality, asc_real(made->pack.addr), &made->pack.len);
    if (code != HI_SUCCESS) {
        if (made->pack.addr)
            drop(&made->item);
        else
            free(made);
        return code;
    }
    asc_media_put(channel, &made->item);
    pthread_mutex_lock(&channel->lock);
    ring(e);
    pthread_mutex_unlock(&channel->lock);
    return HI_SUCCESS;
}

static hi_s32 send_to(hi_venc_chn chn, const hi_video_frame_info *frame, const hi_img_stream *into) {
    asc_media_channel *channel = NULL;
    hi_s32 code = asc_media_hold(ASC_MEDIA_VENC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    pthread_mutex_lock(&channel->lock);
    bool started = channel->started;
    pthread_mutex_unlock(&channel->lock);
    code = started ? send(channel, frame, into)
                   : FAIL(ASC_MEDIA_NOT_PERMITTED, "channel %d takes no pictures; call hi_mpi_venc_start_chn", chn);
    asc_media_release(channel);
    return code;
}

hi_s32 hi_mpi_venc_send_frame(hi_venc_chn chn, const hi_video_frame_info *frame, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec; /* there is always room for one more */
    NEED(frame);
    return send_to(chn, frame, NULL);
}

hi_s32 hi_mpi_venc_send_jpege_frame(hi_venc_chn chn, const hi_video_frame_info *frame, const hi_img_stream *stream,
                                    hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    NEED(frame);
    NEED(stream);
    NEED(stream->addr);
    return send_to(chn, frame, stream);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

hi_s32 hi_mpi_venc_get_stream(hi_venc_chn chn, hi_venc_stream *stream, hi_s32 milli_sec) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    asc_media_item *item = NULL;
    NEED(stream);
    NEED(stream->pack);
    if (!stream->pack_cnt) return FAIL(ASC_MEDIA_PARAMETER, "pack_cnt is 0; a file is one pack");
    hi_s32 code = asc_media_hold(ASC_MEDIA_VENC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    code = asc_media_take(ASC_MEDIA_VENC, channel, milli_sec, &item);
    if (code == HI_SUCCESS) {
        encoder *e = channel->state;
        uint64_t one;
        pthread_mutex_lock(&channel->lock);
        if (e->descriptor >= 0 && read(e->descriptor, &one, sizeof one) < 0) errno = 0;
        stream->seq = e->sequence++;
        pthread_mutex_unlock(&channel->lock);
        stream->pack[0] = ((const encoded *)item)->pack;
        stream->pack_cnt = 1;
        free(item);
    }
    asc_media_release(channel);
    return code;
}

/* Memory that hi_mpi_venc_send_jpege_frame was given is the program's, which frees it itself, before or after. */
hi_s32 hi_mpi_venc_release_stream(hi_venc_chn chn, hi_venc_stream *stream) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    NEED(stream);
    NEED(stream->pack);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VENC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    code = stream->pack_cnt == 1 ? HI_SUCCESS : FAIL(ASC_MEDIA_PARAMETER, "pack_cnt is %u; it is 1", stream->pack_cnt);
    if (code == HI_SUCCESS && stream->pack[0].phys_addr) {
        asc_memory_free(stream->pack[0].addr, ASC_PLACE_DEVICE, ACL_ERROR_INVALID_PARAM);
        stream->pack[0].phys_addr = 0;
    }
    asc_media_release(channel);
    return code;
}

hi_s32 hi_mpi_venc_get_fd(hi_venc_chn chn) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    encoder *e = NULL;
    if (lock(chn, &channel, &e) != HI_SUCCESS) return -1;
    if (e->descriptor < 0) e->descriptor = eventfd(channel->waiting, EFD_NONBLOCK | EFD_SEMAPHORE | EFD_CLOEXEC);
    hi_s32 descriptor = e->descriptor;
    asc_media_unlock(channel);
    return descriptor;
}

hi_s32 hi_mpi_venc_close_fd(hi_venc_chn chn) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    encoder *e = NULL;
    hi_s32 code = lock(chn, &channel, &e);
    if (code != HI_SUCCESS) return code;
    if (e->descriptor >= 0) close(e->descriptor);
    e->descriptor = -1;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

/* ---- what is of video only -------------------------------------------------------------------------------------- */

#define OF_VIDEO(name, type)                                           \
    hi_s32 name(hi_venc_chn chn, type value) {                         \
        ASC_ENTER();                                                   \
        (void)value;                                                   \
        return FAIL(ASC_MEDIA_UNSUPPORTED, "channel %d: " VIDEO, chn); \
    }
OF_VIDEO(hi_mpi_venc_set_chn_param, const hi_venc_chn_param *)
OF_VIDEO(hi_mpi_venc_set_scene_mode, const hi_venc_scene_mode)
OF_VIDEO(hi_mpi_venc_get_rc_param, hi_venc_rc_param *)
OF_VIDEO(hi_mpi_venc_set_rc_param, const hi_venc_rc_param *)
