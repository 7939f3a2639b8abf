/* acl/dvpp/hi_dvpp_vdec.h - media functions of the second version: decoding of JPEG. Video is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HI_DVPP_VDEC_H
#define ASCEND_EP_HI_DVPP_VDEC_H

#include "hi_media_common.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VDEC_MAX_CHN_NUM 256

#define HI_ERR_VDEC_INVALID_CHN_ID 0xA0058002
#define HI_ERR_VDEC_ILLEGAL_PARAM 0xA0058003
#define HI_ERR_VDEC_EXIST 0xA0058004
#define HI_ERR_VDEC_UNEXIST 0xA0058005
#define HI_ERR_VDEC_NULL_PTR 0xA0058006
#define HI_ERR_VDEC_NOT_CFG 0xA0058007
#define HI_ERR_VDEC_NOT_SUPPORT 0xA0058008
#define HI_ERR_VDEC_NOT_PERM 0xA0058009
#define HI_ERR_VDEC_NO_MEM 0xA005800C
#define HI_ERR_VDEC_NO_BUF 0xA005800D
#define HI_ERR_VDEC_BUF_EMPTY 0xA005800E
#define HI_ERR_VDEC_BUF_FULL 0xA005800F
#define HI_ERR_VDEC_SYS_NOT_READY 0xA0058010
#define HI_ERR_VDEC_BAD_ADDR 0xA0058011
#define HI_ERR_VDEC_BUSY 0xA0058012
#define HI_ERR_VDEC_SYS_ERROR 0xA0058015

typedef hi_s32 hi_vdec_chn;

typedef enum { HI_VDEC_SEND_MODE_STREAM = 0, HI_VDEC_SEND_MODE_FRAME } hi_vdec_send_mode;
typedef enum { HI_VIDEO_DEC_MODE_IPB = 0, HI_VIDEO_DEC_MODE_IP, HI_VIDEO_DEC_MODE_I } hi_video_dec_mode;
typedef enum { HI_VIDEO_OUT_ORDER_DISPLAY = 0, HI_VIDEO_OUT_ORDER_DEC } hi_video_out_order;

typedef struct {
    hi_u32 ref_frame_num;
    hi_bool temporal_mvp_en;
    hi_u32 tmv_buf_size;
} hi_vdec_video_attr;

typedef struct {
    hi_payload_type type;
    hi_vdec_send_mode mode;
    hi_u32 pic_width;
    hi_u32 pic_height;
    hi_u32 stream_buf_size;
    hi_u32 frame_buf_size;
    hi_u32 frame_buf_cnt;
    union {
        hi_vdec_video_attr video_attr;
    };
} hi_vdec_chn_attr;

typedef struct {
    hi_s32 err_threshold;
    hi_video_dec_mode dec_mode;
    hi_video_out_order out_order;
    hi_compress_mode compress_mode;
    hi_video_format video_format;
} hi_vdec_video_param;

typedef struct {
    hi_pixel_format pixel_format;
    hi_u32 alpha;
} hi_vdec_pic_param;

typedef struct {
    hi_payload_type type;
    hi_u32 display_frame_num;
    union {
        hi_vdec_video_param video_param;
        hi_vdec_pic_param pic_param;
    };
} hi_vdec_chn_param;

typedef struct {
    hi_bool end_of_frame;
    hi_bool end_of_stream;
    hi_bool need_display;
    hi_u64 pts;
    hi_u64 private_data;
    hi_u32 len;
    hi_u8 *addr;
} hi_vdec_stream;

/* Where the picture goes. With HI_PIXEL_FORMAT_UNKNOWN it keeps the file's sampling; sizes and strides of 0 are the
 * file's. */
typedef struct {
    hi_u32 width;
    hi_u32 height;
    hi_u32 width_stride;
    hi_u32 height_stride;
    hi_u32 offset_top;
    hi_u32 offset_bottom;
    hi_u32 offset_left;
    hi_u32 offset_right;
    hi_u32 buffer_size;
    hi_pixel_format pixel_format;
    hi_u64 vir_addr;
} hi_vdec_pic_info;

typedef struct {
    hi_s32 set_pic_size_err;
    hi_s32 set_protocol_num_err;
    hi_s32 set_ref_num_err;
    hi_s32 set_pic_buf_size_err;
    hi_s32 format_err;
    hi_s32 stream_unsupport;
    hi_s32 pack_err;
    hi_s32 stream_size_over;
    hi_s32 stream_not_release;
} hi_vdec_dec_err;

typedef struct {
    hi_payload_type type;
    hi_u32 left_stream_bytes;
    hi_u32 left_stream_frames;
    hi_u32 left_decoded_frames;
    hi_bool is_started;
    hi_u32 recv_stream_frames;
    hi_u32 dec_stream_frames;
    hi_vdec_dec_err dec_err;
    hi_u32 width;
    hi_u32 height;
    hi_u64 latest_frame_pts;
} hi_vdec_chn_status;

typedef struct {
    hi_u32 reserved;
} hi_vdec_video_supplement_info;

typedef struct {
    hi_payload_type type;
    union {
        hi_vdec_video_supplement_info video_supplement_info;
    };
} hi_vdec_supplement_info;

ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_create_chn(hi_vdec_chn chn, const hi_vdec_chn_attr *attr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_sys_create_chn(hi_vdec_chn *chn, const hi_vdec_chn_attr *attr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_destroy_chn(hi_vdec_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_get_chn_attr(hi_vdec_chn chn, hi_vdec_chn_attr *attr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_start_recv_stream(hi_vdec_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_stop_recv_stream(hi_vdec_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_query_status(hi_vdec_chn chn, hi_vdec_chn_status *status);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_reset_chn(hi_vdec_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_set_chn_param(hi_vdec_chn chn, const hi_vdec_chn_param *chn_param);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_get_chn_param(hi_vdec_chn chn, hi_vdec_chn_param *chn_param);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_send_stream(hi_vdec_chn chn, const hi_vdec_stream *stream,
                                                   hi_vdec_pic_info *vdec_pic_info, hi_s32 milli_sec);
/* The next picture, and the stream that it was. v_frame.frame_flag isn't 0 where it could not be decoded. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_get_frame(hi_vdec_chn chn, hi_video_frame_info *frame_info,
                                                 hi_vdec_supplement_info *supplement, hi_vdec_stream *stream,
                                                 hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_release_frame(hi_vdec_chn chn, const hi_video_frame_info *frame_info);
/* The stream lies in memory of the host. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_dvpp_get_image_info(hi_payload_type type, const hi_vdec_stream *stream,
                                                      hi_img_info *img_info);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_vdec_get_jpegd_output_info(const hi_vdec_stream *stream,
                                                             hi_pixel_format dst_pixel_format, hi_img_info *img_info);
ACL_FUNC_VISIBILITY hi_u32 hi_vdec_get_pic_buf_size(hi_payload_type type, hi_pic_buf_attr *buf_attr);
ACL_FUNC_VISIBILITY hi_u32 hi_vdec_get_tmv_buf_size(hi_payload_type type, hi_u32 width, hi_u32 height);

#ifdef __cplusplus
}
#endif

#endif
