/* media_vpc_values.c - the second version's histograms, tables of values, and pyramids. */
#include <string.h>

#include "media_vpc.h"
#include "memory.h"

#define FAIL(error, ...) ASC_MEDIA_FAIL(ASC_MEDIA_VPC, error, __VA_ARGS__)
#define NEED(pointer) ASC_MEDIA_NEED(ASC_MEDIA_VPC, pointer)

static hi_s32 count_values(const asc_vpc_task *t) {
    const asc_vpc_step *s = t->steps;
    asc_pixels p = asc_pixels_at(&s->from, asc_real(s->from.data));
    uint32_t *counts[] = {t->counts->histogram_y_or_r, t->counts->histogram_u_or_g, t->counts->histogram_v_or_b};
    memset(t->counts, 0, sizeof *t->counts);
    for (uint32_t c = 0; c < p.count && c < 3; c++) asc_pixels_count(&p.part[c], counts[c]);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vpc_calc_hist(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_histogram_config *hist_config,
                            hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    asc_vpc_task *t = NULL;
    NEED(hist_config);
    hi_s32 code = asc_vpc_begin(chn, 1, task_id, &t);
    if (code != HI_SUCCESS) return code;
    t->run = count_values;
    t->counts = hist_config;
    return asc_vpc_finish(t, asc_vpc_picture(source_pic, "source_pic", &t->steps[0].from), task_id);
}

static hi_s32 map_values(const asc_vpc_task *t) {
    const asc_vpc_step *s = t->steps;
    asc_pixels from = asc_pixels_at(&s->from, asc_real(s->from.data));
    asc_pixels to = asc_pixels_at(&s->to, asc_real(s->to.data));
    const uint8_t *tables[] = {t->tables.map_value_y_or_r, t->tables.map_value_u_or_g, t->tables.map_value_v_or_b};
    for (uint32_t c = 0; c < from.count && c < 3; c++) asc_pixels_map(&from.part[c], &to.part[c], tables[c]);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_vpc_equalize_hist(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_pic_info *dest_pic,
                                const hi_vpc_lut_remap *lut_remap, hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    asc_vpc_task *t = NULL;
    NEED(lut_remap);
    hi_s32 code = asc_vpc_begin_one(chn, source_pic, dest_pic, task_id, &t);
    if (code != HI_SUCCESS) return code;
    t->run = map_values;
    t->tables = *lut_remap;
    code = asc_vpc_same_size(t->steps);
    if (code == HI_SUCCESS && t->steps[0].from.format != t->steps[0].to.format)
        code = FAIL(ASC_MEDIA_PARAMETER, "source_pic has format %d and dest_pic %d; they must be the same",
                    (int)t->steps[0].from.format, (int)t->steps[0].to.format);
    return asc_vpc_finish(t, code, task_id);
}

static hi_s32 halve(const asc_vpc_task *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const asc_vpc_step *s = &t->steps[i];
        asc_pixels from = asc_pixels_at(&s->from, asc_real(s->from.data));
        asc_pixels to = asc_pixels_at(&s->to, asc_real(s->to.data));
        asc_pixels_halve(&from.part[0], &to.part[0], t->filter, t->divisor, s->border, s->value[0]);
    }
    return HI_SUCCESS;
}

/* Each level from the one before. */
static hi_s32 read_level(asc_vpc_task *t, uint32_t i, const hi_vpc_pic_info *source, const hi_vpc_pic_info dest[],
                         const hi_vpc_make_border_info *border) {
    asc_vpc_step *s = &t->steps[i];
    hi_s32 code = asc_vpc_picture(i ? &dest[i - 1] : source, "source_pic", &s->from);
    if (code == HI_SUCCESS) code = asc_vpc_picture(&dest[i], "dest_pic", &s->to);
    if (code != HI_SUCCESS) return code;
    if (s->from.format != PIXEL_FORMAT_YUV_400 || s->to.format != PIXEL_FORMAT_YUV_400)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "a pyramid is of pictures in grey (0); formats %d and %d are given",
                    (int)s->from.format, (int)s->to.format);
    if (s->to.width != (s->from.width + 1) / 2 || s->to.height != (s->from.height + 1) / 2)
        return FAIL(ASC_MEDIA_PARAMETER, "level %u has %u by %u pixels; half of %u by %u is %u by %u", i, s->to.width,
                    s->to.height, s->from.width, s->from.height, (s->from.width + 1) / 2, (s->from.height + 1) / 2);
    return asc_vpc_border(t, s, border->border_type, &border->scalar_value);
}

hi_s32 hi_mpi_vpc_pyrdown(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_pic_info dest_pic[],
                          hi_u32 filter_level, hi_s8 gaussian_filter[][5], hi_u16 divisor,
                          hi_vpc_make_border_info make_border_info, hi_u32 *task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    (void)milli_sec;
    asc_vpc_task *t = NULL;
    NEED(dest_pic);
    NEED(gaussian_filter);
    if (!divisor || !filter_level || filter_level > 4)
        return FAIL(ASC_MEDIA_PARAMETER, "filter_level is %u and divisor %u; there are 1 to 4 levels, and a divisor",
                    filter_level, divisor);
    hi_s32 code = asc_vpc_begin(chn, filter_level, task_id, &t);
    if (code != HI_SUCCESS) return code;
    t->run = halve;
    t->divisor = divisor;
    memcpy(t->filter, gaussian_filter, sizeof t->filter);
    for (uint32_t i = 0; code == HI_SUCCESS && i < filter_level; i++)
        code = read_level(t, i, source_pic, dest_pic, &make_border_info);
    return asc_vpc_finish(t, code, task_id);
}
