/* jpeg_codec.c - JPEG to and from YUV semi-planar, by libjpeg. The decoder hands out its own planes: no colours are
 * converted, and where the picture wants fewer of them than the file has, they are averaged. */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "image_codec.h"
#include "loaded.h"

#ifdef ASC_HAVE_JPEG
#include <setjmp.h>
#include <stdio.h>
/* after stdio.h */
#include <jpeglib.h>
#include <pthread.h>

/* libjpeg, whose number is its interface's. */
#if JPEG_LIB_VERSION >= 80
#define LIBRARY "libjpeg.so.8"
#else
#define LIBRARY "libjpeg.so.62"
#endif

static struct {
    __typeof__(&jpeg_std_error) std_error;
    __typeof__(&jpeg_CreateDecompress) create_decompress;
    __typeof__(&jpeg_mem_src) mem_src;
    __typeof__(&jpeg_read_header) read_header;
    __typeof__(&jpeg_start_decompress) start_decompress;
    __typeof__(&jpeg_read_raw_data) read_raw_data;
    __typeof__(&jpeg_finish_decompress) finish_decompress;
    __typeof__(&jpeg_destroy_decompress) destroy_decompress;
    __typeof__(&jpeg_CreateCompress) create_compress;
    __typeof__(&jpeg_mem_dest) mem_dest;
    __typeof__(&jpeg_set_defaults) set_defaults;
    __typeof__(&jpeg_set_quality) set_quality;
    __typeof__(&jpeg_start_compress) start_compress;
    __typeof__(&jpeg_write_raw_data) write_raw_data;
    __typeof__(&jpeg_finish_compress) finish_compress;
    __typeof__(&jpeg_destroy_compress) destroy_compress;
} jpeg;
static bool is_loaded;

static void load(void) {
    const asc_loaded_name names[] = {
        {"jpeg_std_error", &jpeg.std_error},
        {"jpeg_CreateDecompress", &jpeg.create_decompress},
        {"jpeg_mem_src", &jpeg.mem_src},
        {"jpeg_read_header", &jpeg.read_header},
        {"jpeg_start_decompress", &jpeg.start_decompress},
        {"jpeg_read_raw_data", &jpeg.read_raw_data},
        {"jpeg_finish_decompress", &jpeg.finish_decompress},
        {"jpeg_destroy_decompress", &jpeg.destroy_decompress},
        {"jpeg_CreateCompress", &jpeg.create_compress},
        {"jpeg_mem_dest", &jpeg.mem_dest},
        {"jpeg_set_defaults", &jpeg.set_defaults},
        {"jpeg_set_quality", &jpeg.set_quality},
        {"jpeg_start_compress", &jpeg.start_compress},
        {"jpeg_write_raw_data", &jpeg.write_raw_data},
        {"jpeg_finish_compress", &jpeg.finish_compress},
        {"jpeg_destroy_compress", &jpeg.destroy_compress},
    };
    is_loaded = asc_load_library(LIBRARY, names, sizeof names / sizeof *names);
}

static aclError need_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (is_loaded) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "there is no " LIBRARY "; install libjpeg");
}

typedef struct failure {
    struct jpeg_error_mgr base; /* first, so that it is what libjpeg holds */
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
} failure;

static void fail_back(j_common_ptr info) {
    failure *f = (failure *)info->err;
    f->base.format_message(info, f->text);
    longjmp(f->back, 1);
}

static void say_nothing(j_common_ptr info) {
    (void)info;
}

static struct jpeg_error_mgr *errors_of(failure *f) {
    jpeg.std_error(&f->base);
    f->base.error_exit = fail_back;
    f->base.output_message = say_nothing;
    return &f->base;
}

/* A decoded component: its rows lie `pitch` apart. */
typedef struct plane {
    uint8_t *rows;
    size_t pitch, height;
    uint32_t across, down; /* pixels of the picture for one of it */
} plane;

typedef struct decoding {
    struct jpeg_decompress_struct info;
    failure failed;
    plane planes[3];
    int count;
} decoding;

/* Blocks of rows, as many as libjpeg makes at a time. */
static bool read_planes(decoding *d) {
    struct jpeg_decompress_struct *info = &d->info;
    JSAMPROW rows[3][4 * DCTSIZE];
    JSAMPARRAY pointers[3] = {rows[0], rows[1], rows[2]};
    for (int c = 0; c < d->count; c++) {
        const jpeg_component_info *part = &info->comp_info[c];
        plane *p = &d->planes[c];
        p->pitch = ((size_t)part->width_in_blocks + 4) * DCTSIZE;
        p->height = ((size_t)part->height_in_blocks + 4) * DCTSIZE;
        p->across = (uint32_t)(info->max_h_samp_factor / part->h_samp_factor);
        p->down = (uint32_t)(info->max_v_samp_factor / part->v_samp_factor);
        p->rows = calloc(p->pitch, p->height);
        if (!p->rows) return false;
    }
    JDIMENSION step = (JDIMENSION)info->max_v_samp_factor * DCTSIZE;
    while (info->output_scanline < info->output_height) {
        for (int c = 0; c < d->count; c++) {
            size_t many = (size_t)info->comp_info[c].v_samp_factor * DCTSIZE;
            size_t first = info->output_scanline / step * many;
            for (size_t r = 0; r < many; r++) {
                size_t at = first + r < d->planes[c].height ? first + r : d->planes[c].height - 1;
                rows[c][r] = d->planes[c].rows + at * d->planes[c].pitch;
            }
        }
        if (!jpeg.read_raw_data(info, pointers, step)) return false;
    }
    return true;
}

/* The mean of the samples that cover pixels x to x1 and y to y1 of the picture (ends not included). */
static uint8_t mean(const plane *p, uint32_t x, uint32_t y, uint32_t x1, uint32_t y1) {
    uint32_t left = x / p->across, right = (x1 - 1) / p->across, top = y / p->down, low = (y1 - 1) / p->down;
    uint32_t sum = 0, count = (right - left + 1) * (low - top + 1);
    for (uint32_t r = top; r <= low; r++)
        for (uint32_t c = left; c <= right; c++) sum += p->rows[r * p->pitch + c];
    return (uint8_t)((sum + count / 2) / count);
}

/* Pixels of the picture for one of its colours. */
static void sampling_of(acldvppPixelFormat format, uint32_t *across, uint32_t *down) {
    *across = format == PIXEL_FORMAT_YUV_SEMIPLANAR_444 || format == PIXEL_FORMAT_YVU_SEMIPLANAR_444 ||
                      format == PIXEL_FORMAT_YUV_SEMIPLANAR_440 || format == PIXEL_FORMAT_YVU_SEMIPLANAR_440
                  ? 1
                  : 2;
    *down = format == PIXEL_FORMAT_YUV_SEMIPLANAR_420 || format == PIXEL_FORMAT_YVU_SEMIPLANAR_420 ||
                    format == PIXEL_FORMAT_YUV_SEMIPLANAR_440 || format == PIXEL_FORMAT_YVU_SEMIPLANAR_440
                ? 2
                : 1;
}

static bool first_is_v(acldvppPixelFormat format) {
    return format == PIXEL_FORMAT_YVU_SEMIPLANAR_420 || format == PIXEL_FORMAT_YVU_SEMIPLANAR_422 ||
           format == PIXEL_FORMAT_YVU_SEMIPLANAR_444 || format == PIXEL_FORMAT_YVU_SEMIPLANAR_440;
}

static void write_planes(const decoding *d, const asc_picture *p, uint8_t *to) {
    uint32_t width = d->info.output_width, height = d->info.output_height, across, down;
    const plane *luma = &d->planes[0];
    for (uint32_t y = 0; y < height; y++) memcpy(to + (size_t)y * p->width_stride, luma->rows + y * luma->pitch, width);
    if (p->format == PIXEL_FORMAT_YUV_400) return;
    uint8_t *colours = to + (size_t)p->width_stride * p->height_stride;
    sampling_of(p->format, &across, &down);
    int swap = first_is_v(p->format);
    size_t pitch = across == 1 ? 2 * (size_t)p->width_stride : p->width_stride;
    for (uint32_t y = 0; y < height; y += down) {
        uint8_t *row = colours + y / down * pitch;
        for (uint32_t x = 0; x < width; x += across, row += 2) {
            uint32_t x1 = x + across < width ? x + across : width, y1 = y + down < height ? y + down : height;
            row[swap] = d->count == 1 ? 128 : mean(&d->planes[1], x, y, x1, y1);
            row[1 - swap] = d->count == 1 ? 128 : mean(&d->planes[2], x, y, x1, y1);
        }
    }
}

static aclError decode_planes(decoding *d, const asc_picture *p, uint8_t *to) {
    struct jpeg_decompress_struct *info = &d->info;
    jpeg.read_header(info, TRUE);
    bool plain = info->jpeg_color_space == JCS_YCbCr || info->jpeg_color_space == JCS_GRAYSCALE;
    if (!plain || (info->num_components != 1 && info->num_components != 3))
        return asc_acl_fail(ACL_ERROR_UNSUPPORTED_JPEG,
                            "the file has %d components that aren't YCbCr or grey; the decoder takes no others",
                            info->num_components);
    uint32_t across, down;
    sampling_of(p->format, &across, &down);
    /* Colours that stand for two pixels need whole pairs. */
    uint32_t wide = (info->image_width + across - 1) / across * across;
    uint32_t high = (info->image_height + down - 1) / down * down;
    if (p->format == PIXEL_FORMAT_YUV_400) wide = info->image_width, high = info->image_height;
    if (wide > p->width_stride || high > p->height_stride)
        return asc_acl_fail(
            ACL_ERROR_INVALID_PARAM,
            "the file has %u by %u pixels, which take strides of %u by %u; those of outputDesc are %u by %u",
            info->image_width, info->image_height, wide, high, p->width_stride, p->height_stride);
    d->count = info->num_components;
    info->raw_data_out = TRUE;
    info->do_fancy_upsampling = FALSE;
    info->dct_method = JDCT_ISLOW;
    info->out_color_space = info->jpeg_color_space;
    jpeg.start_decompress(info);
    if (!read_planes(d)) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for the picture");
    write_planes(d, p, to);
    jpeg.finish_decompress(info);
    return ACL_SUCCESS;
}

aclError asc_jpeg_decode(const void *data, size_t size, const asc_picture *p, uint8_t *to) {
    aclError code = need_library();
    if (code != ACL_SUCCESS) return code;
    decoding *d = calloc(1, sizeof *d);
    if (!d) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for the picture");
    d->info.err = errors_of(&d->failed);
    if (setjmp(d->failed.back)) {
        code = asc_acl_fail(ACL_ERROR_UNSUPPORTED_JPEG, "the file can't be decoded: %s", d->failed.text);
    } else {
        jpeg.create_decompress(&d->info, JPEG_LIB_VERSION, sizeof d->info);
        jpeg.mem_src(&d->info, data, size);
        code = decode_planes(d, p, to);
    }
    jpeg.destroy_decompress(&d->info);
    for (int c = 0; c < 3; c++) free(d->planes[c].rows);
    free(d);
    return code;
}

typedef struct encoding {
    struct jpeg_compress_struct info;
    failure failed;
    unsigned char *bytes;
    unsigned long size;
    uint8_t *rows; /* of one block of 16 lines: those of Y, then 8 of each colour */
} encoding;

static const uint8_t *line_at(const uint8_t *plane, size_t pitch, uint32_t at, uint32_t count) {
    return plane + (at < count ? at : count - 1) * pitch;
}

/* 16 lines, widened to whole blocks by their last pixel. */
static void encode_lines(encoding *e, const asc_picture *p, const uint8_t *from, uint32_t y) {
    uint32_t wide = (p->width + 15) / 16 * 16, colours = (p->width + 1) / 2, lines = (p->height + 1) / 2;
    JSAMPROW rows[3][16];
    JSAMPARRAY pointers[3] = {rows[0], rows[1], rows[2]};
    const uint8_t *chroma = from + (size_t)p->width_stride * p->height_stride;
    int swap = first_is_v(p->format);
    for (uint32_t r = 0; r < 16; r++) {
        rows[0][r] = e->rows + (size_t)r * wide;
        const uint8_t *line = line_at(from, p->width_stride, y + r, p->height);
        memcpy(rows[0][r], line, p->width);
        memset(rows[0][r] + p->width, line[p->width - 1], wide - p->width);
    }
    for (uint32_t r = 0; r < 8; r++) {
        const uint8_t *line = line_at(chroma, p->width_stride, y / 2 + r, lines);
        for (int c = 0; c < 2; c++) {
            uint8_t *row = rows[1 + c][r] = e->rows + (size_t)wide * 16 + ((size_t)c * 8 + r) * (wide / 2);
            for (uint32_t x = 0; x < wide / 2; x++)
                row[x] = line[2 * (x < colours ? x : colours - 1) + (uint32_t)(swap ? 1 - c : c)];
        }
    }
    jpeg.write_raw_data(&e->info, pointers, 16);
}

static void encode_all(encoding *e, const asc_picture *p, const uint8_t *from, int quality) {
    struct jpeg_compress_struct *info = &e->info;
    info->image_width = p->width;
    info->image_height = p->height;
    info->input_components = 3;
    info->in_color_space = JCS_YCbCr;
    jpeg.set_defaults(info);
    jpeg.set_quality(info, quality, TRUE);
    info->raw_data_in = TRUE;
    jpeg.start_compress(info, TRUE);
    for (uint32_t y = 0; y < p->height; y += 16) encode_lines(e, p, from, y);
    jpeg.finish_compress(info);
}

aclError asc_jpeg_encode(const asc_picture *p, const uint8_t *from, int quality, uint8_t *to, uint32_t *size) {
    aclError code = need_library();
    if (code != ACL_SUCCESS) return code;
    encoding *e = calloc(1, sizeof *e);
    uint32_t wide = (p->width + 15) / 16 * 16;
    if (e) e->rows = malloc((size_t)wide * 24);
    if (!e || !e->rows) {
        free(e);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for the picture");
    }
    e->info.err = errors_of(&e->failed);
    if (setjmp(e->failed.back)) {
        code = asc_acl_fail(ACL_ERROR_INTERNAL_ERROR, "the picture can't be encoded: %s", e->failed.text);
    } else {
        jpeg.create_compress(&e->info, JPEG_LIB_VERSION, sizeof e->info);
        jpeg.mem_dest(&e->info, &e->bytes, &e->size);
        encode_all(e, p, from, quality);
    }
    if (code == ACL_SUCCESS && e->size > *size)
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the file has %lu bytes; there is room for %u", e->size, *size);
    if (code == ACL_SUCCESS) {
        memcpy(to, e->bytes, e->size);
        *size = (uint32_t)e->size;
    }
    jpeg.destroy_compress(&e->info);
    free(e->bytes);
    free(e->rows);
    free(e);
    return code;
}

#else
#define LACKING "this build of libascendcl has no libjpeg; install its headers (libjpeg-dev), and build again"

aclError asc_jpeg_decode(const void *data, size_t size, const asc_picture *p, uint8_t *to) {
    (void)data, (void)size, (void)p, (void)to;
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, LACKING);
}

aclError asc_jpeg_encode(const asc_picture *p, const uint8_t *from, int quality, uint8_t *to, uint32_t *size) {
    (void)p, (void)from, (void)quality, (void)to, (void)size;
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, LACKING);
}
#endif
