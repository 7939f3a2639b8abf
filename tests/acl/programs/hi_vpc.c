/* hi_vpc.c - the second version's work on a picture of 16 by 8 pixels in YUV 420 semi-planar, whose bytes are 0, 1, 2,
 * ... Prints a line for each: its name, its code and the bytes of the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/dvpp/hi_dvpp.h"

enum { WIDTH = 16, HEIGHT = 8, BYTES = WIDTH * HEIGHT * 3 / 2, ROOM = 4 * WIDTH * HEIGHT };

static hi_vpc_chn chn;
static hi_u32 task; /* that the step before was given */

static hi_vpc_pic_info picture(uint32_t width, uint32_t height, hi_pixel_format format, uint32_t pixel,
                               const uint8_t *bytes) {
    hi_vpc_pic_info p = {.picture_width = width,
                         .picture_height = height,
                         .picture_width_stride = width * pixel,
                         .picture_height_stride = height,
                         .picture_format = format,
                         .picture_buffer_size = width * pixel * height * (pixel == 1 ? 3 : 2) / 2};
    if (hi_mpi_dvpp_malloc(0, &p.picture_address, ROOM) != HI_SUCCESS) exit(3);
    aclrtMemset(p.picture_address, ROOM, 0, ROOM);
    if (bytes) aclrtMemcpy(p.picture_address, ROOM, bytes, BYTES, ACL_MEMCPY_HOST_TO_DEVICE);
    return p;
}

static void show(const char *name, hi_s32 code, const hi_vpc_pic_info *result) {
    uint8_t bytes[ROOM];
    if (code == HI_SUCCESS) code = hi_mpi_vpc_get_process_result(chn, task, -1);
    printf("%s %x", name, (unsigned)code);
    if (code == HI_SUCCESS) {
        uint32_t size = result->picture_width_stride * result->picture_height_stride;
        if (result->picture_width_stride == result->picture_width) size = size * 3 / 2;
        aclrtMemcpy(bytes, ROOM, result->picture_address, size, ACL_MEMCPY_DEVICE_TO_HOST);
        for (uint32_t i = 0; i < size; i++) printf(" %d", bytes[i]);
    }
    printf("\n");
}

static void regions(hi_vpc_pic_info *from) {
    hi_vpc_crop_region crop = {.top_offset = 2, .left_offset = 4, .crop_width = 8, .crop_height = 4};
    hi_vpc_pic_info half = picture(WIDTH / 2, HEIGHT / 2, HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420, 1, NULL);
    hi_vpc_pic_info same = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420, 1, NULL);
    show("half", hi_mpi_vpc_resize(chn, from, &half, 0, 0, 0, &task, -1), &half);
    show("nearest", hi_mpi_vpc_resize(chn, from, &half, 0.5, 0.5, 1, &task, -1), &half);
    hi_vpc_crop_region_info cut = {half, crop};
    show("crop", hi_mpi_vpc_crop(chn, from, &cut, 1, &task, -1), &half);
    hi_vpc_crop_resize_paste_region paste = {same, crop, {8, 4, 0}, 4, 8};
    show("paste", hi_mpi_vpc_crop_resize_paste(chn, from, &paste, 1, &task, -1), &same);
    hi_vpc_crop_resize_border_region border = {same, crop, {8, 4, 0}, 4, 8, HI_BORDER_CONSTANT, {{7, 8, 9, 0}}};
    const hi_vpc_pic_info *sources[] = {from};
    hi_u32 one = 1;
    show("constant", hi_mpi_vpc_batch_crop_resize_make_border(chn, sources, 1, &border, &one, &task, -1), &same);
    border.border_type = HI_BORDER_REPLICATE;
    show("replicate", hi_mpi_vpc_crop_resize_make_border(chn, from, &border, 1, &task, -1), &same);
    crop.crop_width = 13;
    hi_vpc_crop_region_info beyond = {half, crop};
    show("beyond", hi_mpi_vpc_crop(chn, from, &beyond, 1, &task, -1), &half);
}

static void colours(hi_vpc_pic_info *from) {
    hi_vpc_pic_info bgr = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_BGR_888, 3, NULL);
    hi_vpc_pic_info argb = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_ARGB_8888, 4, NULL);
    hi_vpc_pic_info back = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420, 1, NULL);
    hi_vpc_pic_info packed = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_YUYV_PACKED_422, 2, NULL);
    hi_vpc_pic_info small = picture(WIDTH / 2, HEIGHT, HI_PIXEL_FORMAT_BGR_888, 3, NULL);
    hi_vpc_pic_info planar = back;
    planar.picture_format = HI_PIXEL_FORMAT_YVU_PLANAR_420;
    show("bgr", hi_mpi_vpc_convert_color(chn, from, &bgr, &task, -1), &bgr);
    show("argb", hi_mpi_vpc_convert_color(chn, from, &argb, &task, -1), &argb);
    show("back", hi_mpi_vpc_convert_color(chn, &bgr, &back, &task, -1), &back);
    show("packed", hi_mpi_vpc_convert_color(chn, from, &packed, &task, -1), &packed);
    show("sizes", hi_mpi_vpc_convert_color(chn, from, &small, &task, -1), &small);
    show("planar", hi_mpi_vpc_convert_color(chn, from, &planar, &task, -1), &planar);
    show("matrix", hi_mpi_sys_set_chn_csc_matrix(HI_ID_VPC, chn, HI_CSC_MATRIX_BT601_NARROW, NULL), &packed);
    show("narrow", hi_mpi_vpc_convert_color(chn, from, &bgr, &task, -1), &bgr);
}

static void values(hi_vpc_pic_info *from) {
    hi_vpc_histogram_config counts;
    hi_vpc_lut_remap tables;
    hi_vpc_pic_info same = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420, 1, NULL);
    memset(&tables, 0, sizeof tables);
    for (int i = 0; i < 256; i++)
        tables.map_value_y_or_r[i] = (hi_u8)(255 - i), tables.map_value_u_or_g[i] = 1, tables.map_value_v_or_b[i] = 2;
    show("mapped", hi_mpi_vpc_equalize_hist(chn, from, &same, &tables, &task, -1), &same);
    hi_s32 code = hi_mpi_vpc_calc_hist(chn, &same, &counts, &task, -1);
    if (code == HI_SUCCESS) code = hi_mpi_vpc_get_process_result(chn, task, -1);
    printf("counts %x %u %u %u %u\n", (unsigned)code, counts.histogram_y_or_r[255], counts.histogram_y_or_r[0],
           counts.histogram_u_or_g[1], counts.histogram_v_or_b[2]);
    hi_s8 filter[5][5] = {{0}};
    filter[2][2] = 1, filter[2][3] = 1;
    hi_vpc_make_border_info border = {.border_type = HI_BORDER_REFLECT_101};
    hi_vpc_pic_info grey = *from, level[2];
    grey.picture_format = HI_PIXEL_FORMAT_YUV_400;
    for (uint32_t i = 0; i < 2; i++)
        level[i] = picture(WIDTH >> (i + 1), HEIGHT >> (i + 1), HI_PIXEL_FORMAT_YUV_400, 1, NULL);
    show("level", hi_mpi_vpc_pyrdown(chn, &grey, level, 2, filter, 2, border, &task, -1), &level[1]);
}

int main(void) {
    uint8_t bytes[BYTES];
    hi_vpc_chn_attr attr = {0};
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)i;
    printf("early %x\n", (unsigned)hi_mpi_sys_init());
    aclInit(NULL);
    aclrtSetDevice(0);
    printf("unready %x\n", (unsigned)hi_mpi_vpc_create_chn(3, &attr));
    hi_mpi_sys_init();
    printf("none %x\n", (unsigned)hi_mpi_vpc_get_process_result(3, 1, 0));
    hi_mpi_vpc_create_chn(0, &attr);
    printf("again %x\n", (unsigned)hi_mpi_vpc_create_chn(0, &attr));
    hi_s32 code = hi_mpi_vpc_sys_create_chn(&chn, &attr);
    printf("channel %x %d\n", (unsigned)code, chn);
    hi_vpc_pic_info from = picture(WIDTH, HEIGHT, HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420, 1, bytes);
    regions(&from);
    colours(&from);
    values(&from);
    printf("task %x\n", (unsigned)hi_mpi_vpc_get_process_result(chn, 1000, 0));
    printf("destroyed %x\n", (unsigned)hi_mpi_vpc_destroy_chn(chn));
    printf("gone %x\n", (unsigned)hi_mpi_vpc_destroy_chn(chn));
    hi_mpi_sys_exit();
    return 0;
}
