/* media_vpc.c - the second version's scaling, cropping and pasting: pictures and regions, checked and drawn. */
#include "media_vpc.h"

#include "memory.h"

#define FAIL(error, ...) ASC_MEDIA_FAIL(ASC_MEDIA_VPC, error, __VA_ARGS__)
#define NEED(pointer) ASC_MEDIA_NEED(ASC_MEDIA_VPC, pointer)

enum { MOST_REGIONS = 256, MOST_SIDE = 8192 };

/* ---- pictures and regions ---------------------------------------------------------------------------------------- */

hi_s32 asc_vpc_picture(const hi_vpc_pic_info *given, const char *name, asc_picture *p) {
    if (!given) return FAIL(ASC_MEDIA_NULL, "%s must not be NULL", name);
    *p = (asc_picture){.data = given->picture_address,
                       .bytes = given->picture_buffer_size,
                       .format = (acldvppPixelFormat)given->picture_format,
                       .width = given->picture_width,
                       .height = given->picture_height,
                       .width_stride = given->picture_width_stride,
                       .height_stride = given->picture_height_stride};
    uint32_t bytes = asc_pixel_bytes(p->format);
    if (!bytes)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "%s has pixels of format %d; there are formats 0 to 17, 1000 and 1001", name,
                    (int)p->format);
    if (!p->data) return FAIL(ASC_MEDIA_NULL, "the address of %s is NULL", name);
    if (p->width < 2 || p->height < 2 || p->width > MOST_SIDE || p->height > MOST_SIDE)
        return FAIL(ASC_MEDIA_PARAMETER, "%s has %u by %u pixels; it has 2 to %d each way", name, p->width, p->height,
                    MOST_SIDE);
    if (p->width_stride < p->width * bytes || p->height_stride < p->height || p->width_stride > 4 * 65536 ||
        p->height_stride > 65536)
        return FAIL(ASC_MEDIA_PARAMETER, "%s has strides of %u by %u; its pixels need %u by %u", name, p->width_stride,
                    p->height_stride, p->width * bytes, p->height);
    if (p->bytes < asc_pixels_bytes(p))
        return FAIL(ASC_MEDIA_PARAMETER, "%s has %u bytes; its pixels and strides need %zu", name, p->bytes,
                    asc_pixels_bytes(p));
    if (asc_memory_check(p->data, asc_pixels_bytes(p), ASC_PLACE_DEVICE, name) != ACL_SUCCESS)
        return asc_media_code(ASC_MEDIA_VPC, ASC_MEDIA_ADDRESS);
    return HI_SUCCESS;
}

static asc_acl_region whole(const asc_picture *p) {
    return (asc_acl_region){0, p->width - 1, 0, p->height - 1};
}

static hi_s32 read_region(const asc_picture *p, uint32_t left, uint32_t top, uint32_t width, uint32_t height,
                          const char *name, asc_acl_region *region) {
    if (width < 2 || height < 2 || left >= p->width || width > p->width - left || top >= p->height ||
        height > p->height - top)
        return FAIL(ASC_MEDIA_PARAMETER, "%s is %u by %u at %u, %u; the picture has %u by %u pixels", name, width,
                    height, left, top, p->width, p->height);
    *region = (asc_acl_region){left, left + width - 1, top, top + height - 1};
    return HI_SUCCESS;
}

static hi_s32 read_crop(asc_vpc_step *s, const hi_vpc_crop_region *crop) {
    return read_region(&s->from, crop->left_offset, crop->top_offset, crop->crop_width, crop->crop_height,
                       "crop_region", &s->crop);
}

static hi_s32 read_way(asc_vpc_step *s, uint32_t interpolation) {
    if (interpolation > 1)
        return FAIL(ASC_MEDIA_PARAMETER, "interpolation is %u; it is 0 (bilinear) or 1 (nearest)", interpolation);
    s->nearest = interpolation == 1;
    return HI_SUCCESS;
}

/* A colour that is given in RGB unless both pictures have Y, U and V. */
hi_s32 asc_vpc_border(const asc_vpc_task *t, asc_vpc_step *s, hi_vpc_bord_type type, const hi_vpc_scalar *scalar) {
    if (type < HI_BORDER_CONSTANT || type > HI_BORDER_REFLECT_101)
        return FAIL(ASC_MEDIA_PARAMETER, "border_type is %d, no hi_vpc_bord_type", (int)type);
    s->has_border = true;
    s->border = (asc_border)type;
    for (int c = 0; c < ASC_COMPONENTS; c++) {
        double v = scalar->val[c];
        s->value[c] = (uint8_t)(!(v > 0) ? 0 : v > 255 ? 255 : v + 0.5);
    }
    asc_colour_model from = asc_model_of(s->from.format), to = asc_model_of(s->to.format);
    if (from != to && to == ASC_COLOURS_YUV) asc_colour_convert(ASC_COLOURS_RGB, to, &t->colours, s->value);
    return HI_SUCCESS;
}

hi_s32 asc_vpc_draw(const asc_vpc_task *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const asc_vpc_step *s = &t->steps[i];
        asc_pixels from = asc_pixels_at(&s->from, asc_real(s->from.data));
        asc_pixels to = asc_pixels_at(&s->to, asc_real(s->to.data));
        if (!asc_pixels_draw(&from, s->crop, &to, s->paste, s->nearest, &t->colours))
            return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a picture");
        if (s->has_border) asc_pixels_border(&to, s->paste, s->border, s->value);
    }
    return HI_SUCCESS;
}

/* A picture drawn into another. */
hi_s32 asc_vpc_begin_one(hi_vpc_chn chn, const hi_vpc_pic_info *source, const hi_vpc_pic_info *dest,
                         const hi_u32 *task_id, asc_vpc_task **t) {
    hi_s32 code = asc_vpc_begin(chn, 1, task_id, t);
    if (code != HI_SUCCESS) return code;
    asc_vpc_step *s = (*t)->steps;
    (*t)->run = asc_vpc_draw;
    code = asc_vpc_picture(source, "source_pic", &s->from);
    if (code == HI_SUCCESS) code = asc_vpc_picture(dest, "dest_pic", &s->to);
    if (code == HI_SUCCESS) {
        s->crop = whole(&s->from);
        s->paste = whole(&s->to);
        return HI_SUCCESS;
    }
    hi_u32 none;
    return asc_vpc_finish(*t, code, &none);
}

hi_s32 asc_vpc_same_size(const asc_vpc_step *s) {
    if (s->from.width == s->to.width && s->from.height == s->to.height) return HI_SUCCESS;
    return FAIL(ASC_MEDIA_PARAMETER, "source_pic has %u by %u pixels and dest_pic %u by %u; they must be the same",
                s->from.width, s->from.height, s->to.width, s->to.height);
}

hi_s32 hi_mpi_vpc_resize(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_pic_info *dest_pic, hi_double fx,
                         hi_double fy, hi_u32 interpolation, hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec; /* the channel takes any number of tasks at once */
    asc_vpc_task *t = NULL;
    hi_s32 code = asc_vpc_begin_one(chn, source_pic, dest_pic, task_id, &t);
    if (code != HI_SUCCESS) return code;
    asc_vpc_step *s = t->steps;
    code = read_way(s, interpolation);
    if (code == HI_SUCCESS && (!(fx >= 0) || !(fy >= 0)))
        code = FAIL(ASC_MEDIA_PARAMETER, "fx is %g and fy %g; they are 0 or positive", fx, fy);
    return asc_vpc_finish(t, code, task_id);
}

hi_s32 hi_mpi_vpc_convert_color(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_pic_info *dest_pic,
                                hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    asc_vpc_task *t = NULL;
    hi_s32 code = asc_vpc_begin_one(chn, source_pic, dest_pic, task_id, &t);
    return code == HI_SUCCESS ? asc_vpc_finish(t, asc_vpc_same_size(t->steps), task_id) : code;
}

hi_s32 hi_mpi_vpc_copy_make_border(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_pic_info *dest_pic,
                                   hi_vpc_make_border_info make_border_info, hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    asc_vpc_task *t = NULL;
    const hi_vpc_make_border_info *b = &make_border_info;
    hi_s32 code = asc_vpc_begin_one(chn, source_pic, dest_pic, task_id, &t);
    if (code != HI_SUCCESS) return code;
    asc_vpc_step *s = t->steps;
    uint64_t width = (uint64_t)b->left + s->from.width + b->right,
             height = (uint64_t)b->top + s->from.height + b->bottom;
    if (width != s->to.width || height != s->to.height)
        code = FAIL(ASC_MEDIA_PARAMETER, "the picture and its border have %llu by %llu pixels, dest_pic %u by %u",
                    (unsigned long long)width, (unsigned long long)height, s->to.width, s->to.height);
    if (code == HI_SUCCESS)
        code = read_region(&s->to, b->left, b->top, s->from.width, s->from.height, "the picture", &s->paste);
    if (code == HI_SUCCESS) code = asc_vpc_border(t, s, b->border_type, &b->scalar_value);
    return asc_vpc_finish(t, code, task_id);
}

/* ---- regions of pictures -------------------------------------------------------------------------------------------
 */

/* What the kinds of regions have in common; those that one lacks are NULL. */
typedef struct region {
    const hi_vpc_pic_info *dest;
    const hi_vpc_crop_region *crop;
    const hi_vpc_resize_info *resize;
    const hi_u32 *left, *top;
    const hi_vpc_bord_type *border;
    const hi_vpc_scalar *scalar;
} region;

typedef region (*region_reader)(const void *regions, uint32_t i);

static region read_crop_region(const void *regions, uint32_t i) {
    const hi_vpc_crop_region_info *r = (const hi_vpc_crop_region_info *)regions + i;
    return (region){.dest = &r->dest_pic_info, .crop = &r->crop_region};
}

static region read_resize_region(const void *regions, uint32_t i) {
    const hi_vpc_crop_resize_region *r = (const hi_vpc_crop_resize_region *)regions + i;
    return (region){.dest = &r->dest_pic_info, .crop = &r->crop_region, .resize = &r->resize_info};
}

static region read_paste_region(const void *regions, uint32_t i) {
    const hi_vpc_crop_resize_paste_region *r = (const hi_vpc_crop_resize_paste_region *)regions + i;
    return (region){.dest = &r->dest_pic_info,
                    .crop = &r->crop_region,
                    .resize = &r->resize_info,
                    .left = &r->dest_left_offset,
                    .top = &r->dest_top_offset};
}

static region read_border_region(const void *regions, uint32_t i) {
    const hi_vpc_crop_resize_border_region *r = (const hi_vpc_crop_resize_border_region *)regions + i;
    return (region){.dest = &r->dest_pic_info,
                    .crop = &r->crop_region,
                    .resize = &r->resize_info,
                    .left = &r->dest_left_offset,
                    .top = &r->dest_top_offset,
                    .border = &r->border_type,
                    .scalar = &r->scalar_value};
}

static hi_s32 read_step(asc_vpc_task *t, asc_vpc_step *s, const hi_vpc_pic_info *source, const region *r) {
    hi_s32 code = asc_vpc_picture(source, "source_pic", &s->from);
    if (code == HI_SUCCESS) code = asc_vpc_picture(r->dest, "dest_pic_info", &s->to);
    if (code == HI_SUCCESS) code = read_crop(s, r->crop);
    if (code == HI_SUCCESS && r->resize) code = read_way(s, r->resize->interpolation);
    if (code != HI_SUCCESS) return code;
    s->paste = whole(&s->to);
    uint32_t width = r->resize ? r->resize->resize_width : r->crop->crop_width;
    uint32_t height = r->resize ? r->resize->resize_height : r->crop->crop_height;
    uint32_t left = r->left ? *r->left : 0, top = r->top ? *r->top : 0;
    code = read_region(&s->to, left, top, width, height, "the region of dest_pic_info", &s->paste);
    return code == HI_SUCCESS && r->border ? asc_vpc_border(t, s, *r->border, r->scalar) : code;
}

static hi_s32 push_regions(hi_vpc_chn chn, const hi_vpc_pic_info *const sources[], uint32_t pictures,
                           const void *regions, const hi_u32 *counts, region_reader read, hi_u32 *task_id) {
    asc_vpc_task *t = NULL;
    uint32_t total = 0, at = 0;
    NEED(regions);
    if (!pictures || pictures > MOST_REGIONS)
        return FAIL(ASC_MEDIA_PARAMETER, "%u pictures; a task has 1 to %d", pictures, MOST_REGIONS);
    for (uint32_t i = 0; i < pictures && total <= MOST_REGIONS; i++)
        total += counts[i] < MOST_REGIONS + 1 ? counts[i] : MOST_REGIONS + 1;
    hi_s32 code = asc_vpc_begin(chn, total, task_id, &t);
    if (code != HI_SUCCESS) return code;
    t->run = asc_vpc_draw;
    for (uint32_t i = 0; code == HI_SUCCESS && i < pictures; i++)
        for (uint32_t k = 0; code == HI_SUCCESS && k < counts[i]; k++, at++) {
            region r = read(regions, at);
            code = read_step(t, &t->steps[at], sources[i], &r);
        }
    return asc_vpc_finish(t, code, task_id);
}

hi_s32 hi_mpi_vpc_crop(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_crop_region_info crop_info[],
                       hi_u32 count, hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    return push_regions(chn, &source_pic, 1, crop_info, &count, read_crop_region, task_id);
}

hi_s32 hi_mpi_vpc_crop_resize(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                              hi_vpc_crop_resize_region crop_resize_info[], hi_u32 count, hi_u32 *task_id,
                              hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    return push_regions(chn, &source_pic, 1, crop_resize_info, &count, read_resize_region, task_id);
}

hi_s32 hi_mpi_vpc_crop_resize_paste(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                    hi_vpc_crop_resize_paste_region crop_resize_paste_info[], hi_u32 count,
                                    hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    return push_regions(chn, &source_pic, 1, crop_resize_paste_info, &count, read_paste_region, task_id);
}

hi_s32 hi_mpi_vpc_crop_resize_make_border(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                          hi_vpc_crop_resize_border_region crop_resize_make_border_info[], hi_u32 count,
                                          hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    return push_regions(chn, &source_pic, 1, crop_resize_make_border_info, &count, read_border_region, task_id);
}

hi_s32 hi_mpi_vpc_batch_crop_resize_paste(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic[], hi_u32 pic_num,
                                          hi_vpc_crop_resize_paste_region crop_resize_paste_info[], hi_u32 region_num[],
                                          hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    NEED(source_pic);
    NEED(region_num);
    return push_regions(chn, source_pic, pic_num, crop_resize_paste_info, region_num, read_paste_region, task_id);
}

hi_s32 hi_mpi_vpc_batch_crop_resize_make_border(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic[], hi_u32 pic_num,
                                                hi_vpc_crop_resize_border_region crop_resize_make_border_info[],
                                                hi_u32 region_num[], hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    NEED(source_pic);
    NEED(region_num);
    return push_regions(chn, source_pic, pic_num, crop_resize_make_border_info, region_num, read_border_region,
                        task_id);
}
