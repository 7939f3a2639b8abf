/* aipp_image.c - swaps, crop, colours, mean and scale, padding: in this order, as a card has them. */
#include "aipp_image.h"

#include <stdlib.h>
#include <string.h>

#include "pixels.h"

asc_aipp *asc_aipp_new(uint64_t batch) {
    asc_aipp *a = calloc(1, sizeof *a + batch * sizeof *a->pictures);
    if (!a) return NULL;
    a->batch = batch;
    for (uint64_t i = 0; i < batch; i++)
        for (int c = 0; c < 4; c++) a->pictures[i].scale[c] = 1;
    return a;
}

asc_aipp *asc_aipp_copy(const asc_aipp *a) {
    size_t bytes = sizeof *a + a->batch * sizeof *a->pictures;
    asc_aipp *made = malloc(bytes);
    return made ? memcpy(made, a, bytes) : NULL;
}

size_t asc_aipp_parameter_bytes(uint64_t batch) {
    return 64 + 96 * (size_t)batch;
}

/* One picture; its format is 0 (grey) where AIPP's isn't known. */
static asc_picture picture_of(const asc_aipp *a) {
    asc_picture p = {.width = (uint32_t)a->width, .height = (uint32_t)a->height, .height_stride = (uint32_t)a->height};
    p.format = a->format == ACL_YUV420SP_U8   ? PIXEL_FORMAT_YUV_SEMIPLANAR_420
               : a->format == ACL_XRGB8888_U8 ? PIXEL_FORMAT_RGBA_8888
               : a->format == ACL_RGB888_U8   ? PIXEL_FORMAT_RGB_888
                                              : PIXEL_FORMAT_YUV_400;
    p.width_stride = p.width * asc_pixel_bytes(p.format);
    return p;
}

size_t asc_aipp_bytes(const asc_aipp *a) {
    asc_picture p = picture_of(a);
    return a->format && a->width && a->height ? a->batch * asc_picture_room(&p) : 0;
}

static aclError check_picture(const asc_aipp *a, uint64_t i, const int64_t *dims) {
    const asc_aipp_picture *p = &a->pictures[i];
    int64_t left = p->crops ? p->left : 0, top = p->crops ? p->top : 0;
    int64_t width = p->crops ? p->width : a->width, height = p->crops ? p->height : a->height;
    if (left + width > a->width || top + height > a->height)
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "the crop of picture %llu is %lld by %lld at %lld, %lld; the picture has %d by %d pixels",
                            (unsigned long long)i, (long long)width, (long long)height, (long long)left, (long long)top,
                            a->width, a->height);
    if (p->pads) width += p->pad_left + p->pad_right, height += p->pad_top + p->pad_bottom;
    if (width != dims[3] || height != dims[2])
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "picture %llu becomes an image of %lld by %lld pixels; the model takes %lld by %lld. Set "
                            "the size, the crop and the padding so that they fit",
                            (unsigned long long)i, (long long)width, (long long)height, (long long)dims[3],
                            (long long)dims[2]);
    return ACL_SUCCESS;
}

aclError asc_aipp_check(const asc_aipp *a, const int64_t *dims) {
    if (!a->format || !a->width || !a->height)
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "the parameters of AIPP lack the %s; call aclmdlSetAIPP%s",
                            a->format ? "size of the picture" : "format", a->format ? "SrcImageSize" : "InputFormat");
    if (a->batch != (uint64_t)dims[0])
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "the parameters of AIPP are for %llu pictures; the model takes %lld",
                            (unsigned long long)a->batch, (long long)dims[0]);
    asc_picture p = picture_of(a);
    uint32_t known = asc_pixel_channels(p.format);
    if ((a->converts && known < 3) || (dims[1] != 1 && (uint64_t)dims[1] > known))
        return asc_acl_fail((aclError)ACL_ERROR_GE_PARAM_INVALID,
                            "pictures of %u channels are given; the model takes %lld", known, (long long)dims[1]);
    aclError code = ACL_SUCCESS;
    for (uint64_t i = 0; code == ACL_SUCCESS && i < a->batch; i++) code = check_picture(a, i, dims);
    return code;
}

/* The channels of a pixel after the swaps: of Y U V the colours, of R G B X first and third, of X R G B the others. */
static void read_pixel(const asc_aipp *a, const asc_pixels *from, int64_t x, int64_t y, int32_t *v) {
    for (uint32_t c = 0; c < from->count; c++) {
        const asc_samples *s = &from->part[c];
        v[c] = s->at[(size_t)(y / s->down) * s->pitch + (size_t)(x / s->across) * s->step];
    }
    int first = a->format == ACL_RGB888_U8 ? 0 : 1, second = a->format == ACL_XRGB8888_U8 ? 3 : 2;
    if (a->swaps_colours && from->count >= 3) {
        int32_t kept = v[first];
        v[first] = v[second];
        v[second] = kept;
    }
    if (!a->swaps_first || from->count < 4) return;
    int32_t x_channel = v[0];
    memmove(v, v + 1, 3 * sizeof *v);
    v[3] = x_channel;
}

/* The bias of YUV is taken away before, that of RGB added after. */
static void convert(const asc_aipp *a, int32_t *v) {
    bool yuv = a->format == ACL_YUV420SP_U8;
    int32_t in[3], out[3];
    for (int c = 0; c < 3; c++) in[c] = v[c] - (yuv ? a->in_bias[c] : 0);
    for (int c = 0; c < 3; c++) {
        const int32_t *m = &a->matrix[3 * c];
        out[c] = ((m[0] * in[0] + m[1] * in[1] + m[2] * in[2]) >> 8) + (yuv ? 0 : a->out_bias[c]);
        v[c] = out[c] < 0 ? 0 : out[c] > 255 ? 255 : out[c];
    }
}

static void make_image(const asc_aipp *a, const asc_aipp_picture *p, const asc_pixels *from, const int64_t *dims,
                       float *image) {
    int64_t left = p->crops ? p->left : 0, top = p->crops ? p->top : 0, plane = dims[2] * dims[3];
    int64_t width = p->crops ? p->width : a->width, height = p->crops ? p->height : a->height;
    int64_t right = p->pads ? p->pad_left : 0, down = p->pads ? p->pad_top : 0;
    memset(image, 0, (size_t)(dims[1] * plane) * sizeof *image);
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            int32_t v[4] = {0};
            read_pixel(a, from, left + x, top + y, v);
            if (a->converts) convert(a, v);
            for (int64_t c = 0; c < dims[1] && c < 4; c++)
                image[c * plane + (y + down) * dims[3] + x + right] =
                    ((float)v[c] - p->mean[c] - p->least[c]) * p->scale[c];
        }
}

void asc_aipp_run(const asc_aipp *a, const uint8_t *pictures, const int64_t *dims, float *images) {
    asc_picture p = picture_of(a);
    for (uint64_t i = 0; i < a->batch; i++) {
        asc_pixels from = asc_pixels_at(&p, (uint8_t *)(uintptr_t)pictures + i * asc_picture_room(&p));
        make_image(a, &a->pictures[i], &from, dims, images + i * (uint64_t)(dims[1] * dims[2] * dims[3]));
    }
}
