/* png_codec.c - PNG to RGB and RGBA, by libpng. */
#include <string.h>

#include "error.h"
#include "image_codec.h"
#include "loaded.h"

#ifdef ASC_HAVE_PNG
#include <png.h>
#include <pthread.h>

#define LIBRARY "libpng16.so.16"

static struct {
    __typeof__(&png_image_begin_read_from_memory) begin_read;
    __typeof__(&png_image_finish_read) finish_read;
    __typeof__(&png_image_free) free;
} png;
static bool is_loaded;

static void load(void) {
    const asc_loaded_name names[] = {
        {"png_image_begin_read_from_memory", &png.begin_read},
        {"png_image_finish_read", &png.finish_read},
        {"png_image_free", &png.free},
    };
    is_loaded = asc_load_library(LIBRARY, names, sizeof names / sizeof *names);
}

static aclError open_image(png_image *image, const void *data, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!is_loaded) return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, "there is no " LIBRARY "; install libpng");
    memset(image, 0, sizeof *image);
    image->version = PNG_IMAGE_VERSION;
    if (png.begin_read(image, data, size)) return ACL_SUCCESS;
    aclError code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the data are no PNG file: %s", image->message);
    png.free(image);
    return code;
}

aclError asc_png_head(const void *data, size_t size, uint32_t *width, uint32_t *height, int32_t *components) {
    png_image image;
    aclError code = open_image(&image, data, size);
    if (code != ACL_SUCCESS) return code;
    *width = image.width;
    *height = image.height;
    *components = (int32_t)PNG_IMAGE_SAMPLE_CHANNELS(image.format);
    png.free(&image);
    return ACL_SUCCESS;
}

aclError asc_png_decode(const void *data, size_t size, const asc_picture *p, uint8_t *to) {
    png_image image;
    aclError code = open_image(&image, data, size);
    if (code != ACL_SUCCESS) return code;
    image.format = p->format == PIXEL_FORMAT_RGBA_8888 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    uint32_t bytes = PNG_IMAGE_ROW_STRIDE(image);
    if (bytes > p->width_stride || image.height > p->height_stride)
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM,
                            "the file has rows of %u bytes, and %u of them; the strides of outputDesc are %u by %u",
                            bytes, image.height, p->width_stride, p->height_stride);
    else if (!png.finish_read(&image, NULL, to, (png_int_32)p->width_stride, NULL))
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the file can't be decoded: %s", image.message);
    png.free(&image);
    return code;
}

#else
#define LACKING "this build of libascendcl has no libpng; install its headers (libpng-dev), and build again"

aclError asc_png_head(const void *data, size_t size, uint32_t *width, uint32_t *height, int32_t *components) {
    (void)data, (void)size, (void)width, (void)height, (void)components;
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, LACKING);
}

aclError asc_png_decode(const void *data, size_t size, const asc_picture *p, uint8_t *to) {
    (void)data, (void)size, (void)p, (void)to;
    return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED, LACKING);
}
#endif
