/* image_codec.h - pictures in files and in memory as DVPP has them: JPEG by libjpeg, PNG by libpng. Plain bytes in and
 * out; nothing of streams and handles. Builds without a library refuse, and say which lacks. */
#ifndef ASC_ACL_IMAGE_CODEC_H
#define ASC_ACL_IMAGE_CODEC_H

#include "picture.h"

/* The most pixels of a side that DVPP decodes. */
#define ASC_MOST_PIXELS 16384u

typedef struct asc_jpeg_head {
    uint32_t width, height;
    int32_t components;
    acldvppJpegFormat format;
} asc_jpeg_head;

/* What the head of a JPEG file says. */
aclError asc_jpeg_read_head(const void *data, uint32_t size, asc_jpeg_head *found);
/* Decodes into the picture at `to`, which has room for p's strides. Fails with the text set. */
aclError asc_jpeg_decode(const void *data, size_t size, const asc_picture *p, uint8_t *to);
/* Encodes YUV 420 semi-planar; at most *size bytes are written to `to`, and *size becomes their number. */
aclError asc_jpeg_encode(const asc_picture *p, const uint8_t *from, int quality, uint8_t *to, uint32_t *size);

aclError asc_png_head(const void *data, size_t size, uint32_t *width, uint32_t *height, int32_t *components);
/* To RGB or RGBA, by p's format. */
aclError asc_png_decode(const void *data, size_t size, const asc_picture *p, uint8_t *to);

#endif
