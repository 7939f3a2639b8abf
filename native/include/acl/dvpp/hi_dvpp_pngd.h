/* acl/dvpp/hi_dvpp_pngd.h - media functions of the second version: decoding of PNG.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HI_DVPP_PNGD_H
#define ASCEND_EP_HI_DVPP_PNGD_H

#include "hi_media_common.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PNGD_MAX_CHN_NUM 128

#define HI_ERR_PNGD_INVALID_CHN_ID 0xA0098002
#define HI_ERR_PNGD_ILLEGAL_PARAM 0xA0098003
#define HI_ERR_PNGD_EXIST 0xA0098004
#define HI_ERR_PNGD_UNEXIST 0xA0098005
#define HI_ERR_PNGD_NULL_PTR 0xA0098006
#define HI_ERR_PNGD_NOT_SUPPORT 0xA0098008
#define HI_ERR_PNGD_NO_MEM 0xA009800C
#define HI_ERR_PNGD_BUF_EMPTY 0xA009800E
#define HI_ERR_PNGD_BUF_FULL 0xA009800F
#define HI_ERR_PNGD_SYS_NOT_READY 0xA0098010
#define HI_ERR_PNGD_BAD_ADDR 0xA0098011

typedef hi_s32 hi_pngd_chn;

typedef struct {
    hi_u32 pic_width;
    hi_u32 pic_height;
} hi_pngd_chn_attr;

ACL_FUNC_VISIBILITY hi_s32 hi_mpi_pngd_create_chn(hi_pngd_chn chn, const hi_pngd_chn_attr *attr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_pngd_destroy_chn(hi_pngd_chn chn);
/* To HI_PIXEL_FORMAT_RGB_888 or RGBA_8888; HI_PIXEL_FORMAT_UNKNOWN: as the file has it. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_pngd_send_stream(hi_pngd_chn chn, const hi_img_stream *stream, hi_pic_info *pic_info,
                                                   hi_s32 milli_sec);
/* The next picture, and the stream that it was; fails where it could not be decoded. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_pngd_get_image_data(hi_pngd_chn chn, hi_pic_info *pic_info, hi_img_stream *stream,
                                                      hi_s32 milli_sec);
/* The stream lies in memory of the host. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_png_get_image_info(const hi_img_stream *stream, hi_img_info *img_info);

#ifdef __cplusplus
}
#endif

#endif
