/* pixels.h - pictures as planes of bytes: where the components of each format lie, and what is drawn with them. Plain
 * bytes in and out; nothing of streams and handles.
 *
 * A component is Y, U, V, or R, G, B, A, in this order whatever the order of the bytes. */
#ifndef ASC_ACL_PIXELS_H
#define ASC_ACL_PIXELS_H

#include "picture.h"

enum { ASC_COMPONENTS = 4 };

typedef enum asc_colour_model { ASC_COLOURS_NONE, ASC_COLOURS_YUV, ASC_COLOURS_RGB } asc_colour_model;

/* The samples of one component: `step` bytes from one to the next, `pitch` from row to row. One stands for
 * `across` by `down` pixels of the picture. */
typedef struct asc_samples {
    uint8_t *at;
    size_t pitch;
    uint32_t step, across, down, width, height;
} asc_samples;

/* A picture of bytes at `base`; count is 0 where the format isn't one of bytes. */
typedef struct asc_pixels {
    asc_colour_model model;
    uint32_t count;
    asc_samples part[ASC_COMPONENTS];
} asc_pixels;

/* From YUV to RGB and back: the weights of red and blue, and whether luma takes 16 to 235 only. */
typedef struct asc_colours {
    double red, blue;
    bool narrow;
} asc_colours;

extern const asc_colours asc_colours_bt601_wide;

asc_colour_model asc_model_of(acldvppPixelFormat format);
asc_pixels asc_pixels_at(const asc_picture *p, uint8_t *base);
/* Bytes from the start of the picture to the end of its last sample. */
size_t asc_pixels_bytes(const asc_picture *p);
/* Bytes of a row for each pixel, those of planes apart not counted; 0: no format of bytes. */
uint32_t asc_pixel_bytes(acldvppPixelFormat format);
uint32_t asc_pixel_channels(acldvppPixelFormat format);
/* Bytes that a picture takes with its strides. */
size_t asc_picture_room(const asc_picture *p);

/* Draws a region of one picture into a region of another: scaled, in the other's colours. `nearest`: without
 * interpolation. False when this machine has no memory for it. */
bool asc_pixels_draw(const asc_pixels *from, asc_acl_region crop, const asc_pixels *to, asc_acl_region paste,
                     bool nearest, const asc_colours *colours);

/* What lies around the region `inner`. `value`: a constant for each component. */
typedef enum asc_border {
    ASC_BORDER_CONSTANT,
    ASC_BORDER_REPLICATE,
    ASC_BORDER_REFLECT,
    ASC_BORDER_REFLECT_101
} asc_border;
void asc_pixels_border(const asc_pixels *p, asc_acl_region inner, asc_border border, const uint8_t *value);
/* The components of one colour in the other model. */
void asc_colour_convert(asc_colour_model from, asc_colour_model to, const asc_colours *colours, uint8_t *value);

/* How often each value occurs in a component. */
void asc_pixels_count(const asc_samples *part, uint32_t *counts);
/* Each sample through a table of 256. */
void asc_pixels_map(const asc_samples *from, const asc_samples *to, const uint8_t *table);
/* Half the size by a 5 by 5 filter, whose sums are divided; `value` beyond a constant border. */
void asc_pixels_halve(const asc_samples *from, const asc_samples *to, const int8_t filter[5][5], uint16_t divisor,
                      asc_border border, uint8_t value);

#endif
