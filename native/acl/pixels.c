/* pixels.c - where the components of each format lie, and pictures scaled into others. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

const asc_colours asc_colours_bt601_wide = {.red = 0.299, .blue = 0.114, .narrow = false};

/* ---- formats ------------------------------------------------------------------------------------------ */

/* A format: two planes when the colours are apart. `offset`: the byte of each component in its group of `step`. */
typedef struct layout {
    asc_colour_model model;
    uint8_t count, step, across, down;
    bool apart;
    uint8_t offset[ASC_COMPONENTS];
} layout;

#define SEMIPLANAR(across, down, u, v)               \
    {                                                \
        ASC_COLOURS_YUV, 3, 2, across, down, true, { \
            0, u, v                                  \
        }                                            \
    }
#define PACKED_422(y, u, v)                   \
    {                                         \
        ASC_COLOURS_YUV, 3, 4, 2, 1, false, { \
            y, u, v                           \
        }                                     \
    }
#define PACKED(model, count, ...)           \
    {                                       \
        model, count, count, 1, 1, false, { \
            __VA_ARGS__                     \
        }                                   \
    }

static layout layout_of(acldvppPixelFormat format) {
    switch (format) {
        case PIXEL_FORMAT_YUV_400: return (layout)PACKED(ASC_COLOURS_YUV, 1, 0);
        case PIXEL_FORMAT_YUV_SEMIPLANAR_420: return (layout)SEMIPLANAR(2, 2, 0, 1);
        case PIXEL_FORMAT_YVU_SEMIPLANAR_420: return (layout)SEMIPLANAR(2, 2, 1, 0);
        case PIXEL_FORMAT_YUV_SEMIPLANAR_422: return (layout)SEMIPLANAR(2, 1, 0, 1);
        case PIXEL_FORMAT_YVU_SEMIPLANAR_422: return (layout)SEMIPLANAR(2, 1, 1, 0);
        case PIXEL_FORMAT_YUV_SEMIPLANAR_440: return (layout)SEMIPLANAR(1, 2, 0, 1);
        case PIXEL_FORMAT_YVU_SEMIPLANAR_440: return (layout)SEMIPLANAR(1, 2, 1, 0);
        case PIXEL_FORMAT_YUV_SEMIPLANAR_444: return (layout)SEMIPLANAR(1, 1, 0, 1);
        case PIXEL_FORMAT_YVU_SEMIPLANAR_444: return (layout)SEMIPLANAR(1, 1, 1, 0);
        case PIXEL_FORMAT_YUYV_PACKED_422: return (layout)PACKED_422(0, 1, 3);
        case PIXEL_FORMAT_UYVY_PACKED_422: return (layout)PACKED_422(1, 0, 2);
        case PIXEL_FORMAT_YVYU_PACKED_422: return (layout)PACKED_422(0, 3, 1);
        case PIXEL_FORMAT_VYUY_PACKED_422: return (layout)PACKED_422(1, 2, 0);
        case PIXEL_FORMAT_YUV_PACKED_444: return (layout)PACKED(ASC_COLOURS_YUV, 3, 0, 1, 2);
        case PIXEL_FORMAT_RGB_888: return (layout)PACKED(ASC_COLOURS_RGB, 3, 0, 1, 2);
        case PIXEL_FORMAT_BGR_888: return (layout)PACKED(ASC_COLOURS_RGB, 3, 2, 1, 0);
        case PIXEL_FORMAT_ARGB_8888: return (layout)PACKED(ASC_COLOURS_RGB, 4, 1, 2, 3, 0);
        case PIXEL_FORMAT_ABGR_8888: return (layout)PACKED(ASC_COLOURS_RGB, 4, 3, 2, 1, 0);
        case PIXEL_FORMAT_RGBA_8888: return (layout)PACKED(ASC_COLOURS_RGB, 4, 0, 1, 2, 3);
        case PIXEL_FORMAT_BGRA_8888: return (layout)PACKED(ASC_COLOURS_RGB, 4, 2, 1, 0, 3);
        default: return (layout){0};
    }
}

static uint32_t rows_of(const asc_picture *p) {
    return p->height_stride ? p->height_stride : p->height;
}

asc_colour_model asc_model_of(acldvppPixelFormat format) {
    return layout_of(format).model;
}

asc_pixels asc_pixels_at(const asc_picture *p, uint8_t *base) {
    layout l = layout_of(p->format);
    asc_pixels made = {.model = l.model, .count = l.count};
    for (uint32_t c = 0; c < l.count; c++) {
        bool colour = l.model == ASC_COLOURS_YUV && c > 0;
        asc_samples *s = &made.part[c];
        s->across = colour ? l.across : 1;
        s->down = colour ? l.down : 1;
        s->width = (p->width + s->across - 1) / s->across;
        s->height = (p->height + s->down - 1) / s->down;
        s->step = !l.apart && l.across == 2 && !colour ? 2 : l.apart && !colour ? 1 : l.step;
        s->pitch = l.apart && colour && l.across == 1 ? 2 * (size_t)p->width_stride : p->width_stride;
        s->at = base + (l.apart && colour ? (size_t)p->width_stride * rows_of(p) : 0) + l.offset[c];
    }
    return made;
}

size_t asc_pixels_bytes(const asc_picture *p) {
    uint8_t *base = (uint8_t *)(uintptr_t)4096; /* only differences count */
    asc_pixels pixels = asc_pixels_at(p, base);
    size_t most = 0;
    for (uint32_t c = 0; c < pixels.count; c++) {
        const asc_samples *s = &pixels.part[c];
        size_t first = (size_t)(s->at - base);
        size_t end = first + (s->height - 1) * s->pitch + (size_t)(s->width - 1) * s->step + 1;
        if (end > most) most = end;
    }
    return most;
}

uint32_t asc_pixel_channels(acldvppPixelFormat format) {
    return layout_of(format).count;
}

uint32_t asc_pixel_bytes(acldvppPixelFormat format) {
    layout l = layout_of(format);
    return !l.count ? 0 : l.apart || l.count == 1 ? 1 : l.across == 2 ? 2 : l.count;
}

size_t asc_picture_room(const asc_picture *p) {
    layout l = layout_of(p->format);
    size_t grey = (size_t)p->width_stride * rows_of(p);
    return l.apart ? grey + 2 * grey / (size_t)(l.across * l.down) : l.count ? grey : 0;
}

/* ---- scaling -------------------------------------------------------------------------------------------- */

/* Where sample `i` of `many` comes from among `of`: the first of two, and the share of the second. */
static int64_t source_of(int64_t i, int64_t many, int64_t of, bool nearest, double *share) {
    double at = nearest ? (double)(i * of / many) : ((double)i + 0.5) * (double)of / (double)many - 0.5;
    at = at<0 ? 0 : at>(double)(of - 1) ? (double)(of - 1) : at;
    *share = at - (double)(int64_t)at;
    return (int64_t)at;
}

static void scale(const asc_samples *from, asc_acl_region crop, const asc_samples *to, asc_acl_region paste,
                  bool nearest) {
    int64_t sw = (int64_t)crop.right - crop.left + 1, sh = (int64_t)crop.bottom - crop.top + 1;
    int64_t dw = (int64_t)paste.right - paste.left + 1, dh = (int64_t)paste.bottom - paste.top + 1;
    for (int64_t y = 0; y < dh; y++) {
        double down, right;
        int64_t y0 = source_of(y, dh, sh, nearest, &down), y1 = y0 + 1 < sh ? y0 + 1 : y0;
        const uint8_t *top = from->at + (size_t)(crop.top + y0) * from->pitch,
                      *low = from->at + (size_t)(crop.top + y1) * from->pitch;
        uint8_t *row = to->at + (size_t)(paste.top + y) * to->pitch;
        for (int64_t x = 0; x < dw; x++) {
            int64_t x0 = source_of(x, dw, sw, nearest, &right), x1 = x0 + 1 < sw ? x0 + 1 : x0;
            size_t a = (size_t)(crop.left + x0) * from->step, b = (size_t)(crop.left + x1) * from->step;
            double upper = top[a] + right * (top[b] - top[a]), lower = low[a] + right * (low[b] - low[a]);
            row[(size_t)(paste.left + x) * to->step] = (uint8_t)(upper + down * (lower - upper) + 0.5);
        }
    }
}

/* The samples of a component that a region of pixels has. */
static asc_acl_region region_of(asc_acl_region r, const asc_samples *s) {
    return (asc_acl_region){r.left / s->across, r.right / s->across, r.top / s->down, r.bottom / s->down};
}

static void fill(const asc_samples *s, asc_acl_region r, uint8_t value) {
    for (uint32_t y = r.top; y <= r.bottom; y++)
        for (uint32_t x = r.left; x <= r.right; x++) s->at[y * s->pitch + (size_t)x * s->step] = value;
}

/* ---- colours --------------------------------------------------------------------------------------------- */

static uint8_t whole(double value) {
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

static void to_rgb(const asc_colours *c, uint8_t *v) {
    double luma = c->narrow ? 255.0 / 219 : 1, chroma = c->narrow ? 255.0 / 224 : 1, green = 1 - c->red - c->blue;
    double y = (v[0] - (c->narrow ? 16.0 : 0.0)) * luma, u = (v[1] - 128.0) * chroma, w = (v[2] - 128.0) * chroma;
    double red = 2 * (1 - c->red) * w, blue = 2 * (1 - c->blue) * u;
    v[0] = whole(y + red);
    v[1] = whole(y - (c->red * red + c->blue * blue) / green);
    v[2] = whole(y + blue);
}

static void to_yuv(const asc_colours *c, uint8_t *v) {
    double luma = c->narrow ? 219.0 / 255 : 1, chroma = c->narrow ? 224.0 / 255 : 1;
    double y = c->red * v[0] + (1 - c->red - c->blue) * v[1] + c->blue * v[2];
    double u = (v[2] - y) / (2 * (1 - c->blue)), w = (v[0] - y) / (2 * (1 - c->red));
    v[0] = whole(y * luma + (c->narrow ? 16 : 0));
    v[1] = whole(u * chroma + 128);
    v[2] = whole(w * chroma + 128);
}

void asc_colour_convert(asc_colour_model from, asc_colour_model to, const asc_colours *colours, uint8_t *value) {
    if (from == to) return;
    (to == ASC_COLOURS_RGB ? to_rgb : to_yuv)(colours, value);
}

/* The mean of a plane's samples that one of `s` at (x, y) of the region stands for. */
static uint8_t mean(const uint8_t *plane, int64_t width, int64_t height, const asc_samples *s, int64_t x, int64_t y) {
    uint32_t sum = 0, count = 0;
    for (int64_t r = y * s->down; r < (y + 1) * s->down && r < height; r++)
        for (int64_t c = x * s->across; c < (x + 1) * s->across && c < width; c++, count++) sum += plane[r * width + c];
    return (uint8_t)(count ? (sum + count / 2) / count : 0);
}

/* Between the models: every component in full size, converted, and averaged again where it stands for several. */
static bool draw_converted(const asc_pixels *from, asc_acl_region crop, const asc_pixels *to, asc_acl_region paste,
                           bool nearest, const asc_colours *colours) {
    int64_t width = (int64_t)paste.right - paste.left + 1, height = (int64_t)paste.bottom - paste.top + 1;
    size_t size = (size_t)(width * height);
    uint8_t *planes = malloc(3 * size);
    if (!planes) return false;
    asc_acl_region all = {0, (uint32_t)width - 1, 0, (uint32_t)height - 1};
    for (uint32_t c = 0; c < 3; c++) {
        asc_samples full = {planes + c * size, (size_t)width, 1, 1, 1, (uint32_t)width, (uint32_t)height};
        if (c < from->count)
            scale(&from->part[c], region_of(crop, &from->part[c]), &full, all, nearest);
        else
            memset(full.at, 128, size);
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t value[3] = {planes[i], planes[size + i], planes[2 * size + i]};
        asc_colour_convert(from->model, to->model, colours, value);
        for (uint32_t c = 0; c < 3; c++) planes[c * size + i] = value[c];
    }
    for (uint32_t c = 0; c < to->count && c < 3; c++) {
        const asc_samples *s = &to->part[c];
        asc_acl_region r = region_of(paste, s);
        for (uint32_t y = r.top; y <= r.bottom; y++)
            for (uint32_t x = r.left; x <= r.right; x++)
                s->at[y * s->pitch + (size_t)x * s->step] =
                    mean(planes + c * size, width, height, s, (int64_t)x - r.left, (int64_t)y - r.top);
    }
    free(planes);
    return true;
}

bool asc_pixels_draw(const asc_pixels *from, asc_acl_region crop, const asc_pixels *to, asc_acl_region paste,
                     bool nearest, const asc_colours *colours) {
    bool same = from->model == to->model;
    if (!same && !draw_converted(from, crop, to, paste, nearest, colours)) return false;
    for (uint32_t c = same ? 0 : 3; c < to->count; c++) {
        asc_acl_region into = region_of(paste, &to->part[c]);
        if (same && c < from->count)
            scale(&from->part[c], region_of(crop, &from->part[c]), &to->part[c], into, nearest);
        else /* grey has no colours, and what isn't transparent is opaque */
            fill(&to->part[c], into, c == 3 ? 255 : 128);
    }
    return true;
}
