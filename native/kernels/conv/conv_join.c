/* What conv_joined reads: pixels of several images, one behind the other along the channels, scaled, shifted and
 * bounded. Each is made as it is copied to where windows read it. */
#include <math.h>

#include "conv_last.h"

/* Lanes of neighbouring channels from number `channel` of all on: what the convolution reads of them. */
static inline __attribute__((always_inline)) vf enter(const conv *c, vf x, int64_t channel, int tail, int64_t n) {
    if (c->scale) x *= image_load(c->scale, channel, 0, tail, n);
    if (c->shift) x += image_load(c->shift, channel, 0, tail, n);
    return vf_min(vf_set(c->x_high), vf_max(vf_set(c->x_low), x));
}

/* `channels` neighbours of a pixel of one image, the first of which is number `channel` of all. */
static inline __attribute__((always_inline)) void enter_pixel(const conv *c, const void *x, int64_t channel,
                                                              int64_t channels, int from_narrow, int narrow,
                                                              void *out) {
    int64_t i = 0;
    for (; i + ASC_VF <= channels; i += ASC_VF)
        image_store(out, i, enter(c, image_load(x, i, from_narrow, 0, 0), channel + i, 0, 0), narrow, 0, 0);
    int64_t left = channels - i;
    if (left)
        image_store(out, i, enter(c, image_load(x, i, from_narrow, 1, left), channel + i, 1, left), narrow, 1, left);
}

/* The channels of one image, of `count` pixels `step` floats (or pairs) apart. */
static void enter_image(const conv *c, const asc_tensor *image, int64_t pixel, int64_t channel, int64_t count,
                        float *out) {
    int64_t channels = image->dims[image->rank - 1], step = c->depth;
    int narrow = c->vnni2, is_same = !c->scale && !c->shift && c->x_low == -INFINITY && c->x_high == INFINITY;
    const char *x = image_at(image->data, pixel * channels, c->x_narrow);
    char *to = (char *)out + channel * (narrow ? 2 : 4);
    for (int64_t i = 0; i < count; i++, x += channels * (c->x_narrow ? 2 : 4), to += step * 4) {
        if (is_same && c->x_narrow == narrow)
            memcpy(to, x, (size_t)channels * (narrow ? 2 : 4));
        else if (!narrow)
            enter_pixel(c, x, channel, channels, 0, 0, to);
        else if (c->x_narrow)
            enter_pixel(c, x, channel, channels, 1, 1, to);
        else
            enter_pixel(c, x, channel, channels, 0, 1, to);
    }
}

void ASC_FN(conv_join_pixels)(const conv *c, int64_t pixel, int64_t count, float *out) {
    if (c->vnni2 && c->in_channels % 2)
        for (int64_t i = 0; i < count; i++) out[(i + 1) * c->depth - 1] = 0;
    const asc_tensor *image = c->joined;
    for (int64_t at = 0; at < c->in_channels; image += image == c->joined ? CONV_MORE : 1) {
        enter_image(c, image, pixel, at, count, out);
        at += image->dims[image->rank - 1];
    }
}
