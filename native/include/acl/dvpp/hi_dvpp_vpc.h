/* acl/dvpp/hi_dvpp_vpc.h - media functions of the second version: scaling, cropping, pasting, colours of pictures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HI_DVPP_VPC_H
#define ASCEND_EP_HI_DVPP_VPC_H

#include "hi_media_common.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VPC_MAX_CHN_NUM 256

#define HI_ERR_VPC_INVALID_CHN_ID 0xA0078002
#define HI_ERR_VPC_ILLEGAL_PARAM 0xA0078003
#define HI_ERR_VPC_EXIST 0xA0078004
#define HI_ERR_VPC_UNEXIST 0xA0078005
#define HI_ERR_VPC_NULL_PTR 0xA0078006
#define HI_ERR_VPC_NOT_SUPPORT 0xA0078008
#define HI_ERR_VPC_NO_MEM 0xA007800C
#define HI_ERR_VPC_SYS_NOT_READY 0xA0078010
#define HI_ERR_VPC_BAD_ADDR 0xA0078011
#define HI_ERR_VPC_TIME_OUT 0xA0078014

typedef hi_s32 hi_vpc_chn;

typedef struct {
    hi_s32 attr; /* length of the queue */
    hi_u32 pic_width;
    hi_u32 pic_height;
} hi_vpc_chn_attr;

typedef hi_pic_info hi_vpc_pic_info;

typedef struct {
    hi_u32 top_offset;
    hi_u32 left_offset;
    hi_u32 crop_width;
    hi_u32 crop_height;
} hi_vpc_crop_region;

/* interpolation 0: bilinear, 1: the nearest. */
typedef struct {
    hi_u32 resize_width;
    hi_u32 resize_height;
    hi_u32 interpolation;
} hi_vpc_resize_info;

/* R, G, B or Y, U, V. */
typedef struct {
    hi_double val[4];
} hi_vpc_scalar;

typedef enum { HI_BORDER_CONSTANT = 0, HI_BORDER_REPLICATE, HI_BORDER_REFLECT, HI_BORDER_REFLECT_101 } hi_vpc_bord_type;

typedef struct {
    hi_u32 top;
    hi_u32 bottom;
    hi_u32 left;
    hi_u32 right;
    hi_vpc_bord_type border_type;
    hi_vpc_scalar scalar_value;
} hi_vpc_make_border_info;

typedef struct {
    hi_vpc_pic_info dest_pic_info;
    hi_vpc_crop_region crop_region;
} hi_vpc_crop_region_info;

typedef struct {
    hi_vpc_pic_info dest_pic_info;
    hi_vpc_crop_region crop_region;
    hi_vpc_resize_info resize_info;
} hi_vpc_crop_resize_region;

typedef struct {
    hi_vpc_pic_info dest_pic_info;
    hi_vpc_crop_region crop_region;
    hi_vpc_resize_info resize_info;
    hi_u32 dest_top_offset;
    hi_u32 dest_left_offset;
} hi_vpc_crop_resize_paste_region;

typedef struct {
    hi_vpc_pic_info dest_pic_info;
    hi_vpc_crop_region crop_region;
    hi_vpc_resize_info resize_info;
    hi_u32 dest_top_offset;
    hi_u32 dest_left_offset;
    hi_vpc_bord_type border_type;
    hi_vpc_scalar scalar_value;
} hi_vpc_crop_resize_border_region;

typedef struct {
    hi_u32 histogram_y_or_r[256];
    hi_u32 histogram_u_or_g[256];
    hi_u32 histogram_v_or_b[256];
} hi_vpc_histogram_config;

typedef struct {
    hi_u8 map_value_y_or_r[256];
    hi_u8 map_value_u_or_g[256];
    hi_u8 map_value_v_or_b[256];
} hi_vpc_lut_remap;

ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_create_chn(hi_vpc_chn chn, const hi_vpc_chn_attr *attr);
/* Gives the channel's number. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_sys_create_chn(hi_vpc_chn *chn, const hi_vpc_chn_attr *attr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_destroy_chn(hi_vpc_chn chn);
/* Each of these is work of the channel; hi_mpi_vpc_get_process_result waits for it. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_crop(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                           hi_vpc_crop_region_info crop_info[], hi_u32 count, hi_u32 *task_id,
                                           hi_s32 milli_sec);
/* fx, fy: how many times wider and higher; 0: the size of dest_pic says it. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_resize(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                             hi_vpc_pic_info *dest_pic, hi_double fx, hi_double fy,
                                             hi_u32 interpolation, hi_u32 *task_id, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_crop_resize(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                                  hi_vpc_crop_resize_region crop_resize_info[], hi_u32 count,
                                                  hi_u32 *task_id, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_crop_resize_paste(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                                        hi_vpc_crop_resize_paste_region crop_resize_paste_info[],
                                                        hi_u32 count, hi_u32 *task_id, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_crop_resize_make_border(
    hi_vpc_chn chn, const hi_vpc_pic_info *source_pic, hi_vpc_crop_resize_border_region crop_resize_make_border_info[],
    hi_u32 count, hi_u32 *task_id, hi_s32 milli_sec);
/* Several pictures: region_num has the number of regions of each. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_batch_crop_resize_paste(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic[],
                                                              hi_u32 pic_num,
                                                              hi_vpc_crop_resize_paste_region crop_resize_paste_info[],
                                                              hi_u32 region_num[], hi_u32 *task_id, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32
hi_mpi_vpc_batch_crop_resize_make_border(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic[], hi_u32 pic_num,
                                         hi_vpc_crop_resize_border_region crop_resize_make_border_info[],
                                         hi_u32 region_num[], hi_u32 *task_id, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_convert_color(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                                    hi_vpc_pic_info *dest_pic, hi_u32 *task_id, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_copy_make_border(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                                       hi_vpc_pic_info *dest_pic,
                                                       hi_vpc_make_border_info make_border_info, hi_u32 *task_id,
                                                       hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_pyrdown(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                              hi_vpc_pic_info dest_pic[], hi_u32 filter_level,
                                              hi_s8 gaussian_filter[][5], hi_u16 divisor,
                                              hi_vpc_make_border_info make_border_info, hi_u32 *task_id,
                                              hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_calc_hist(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                                hi_vpc_histogram_config *hist_config, hi_u32 *task_id,
                                                hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_equalize_hist(hi_vpc_chn chn, const hi_vpc_pic_info *source_pic,
                                                    hi_vpc_pic_info *dest_pic, const hi_vpc_lut_remap *lut_remap,
                                                    hi_u32 *task_id, hi_s32 milli_sec);
/* milli_sec: -1 waits, 0 doesn't, others wait so long. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vpc_get_process_result(hi_vpc_chn chn, hi_u32 task_id, hi_s32 milli_sec);

#ifdef __cplusplus
}
#endif

#endif
