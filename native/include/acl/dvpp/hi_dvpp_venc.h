/* acl/dvpp/hi_dvpp_venc.h - media functions of the second version: encoding to JPEG. Video is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HI_DVPP_VENC_H
#define ASCEND_EP_HI_DVPP_VENC_H

#include "hi_media_common.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VENC_MAX_CHN_NUM 256
#define HI_VENC_JPEG_QT_COEF_NUM 64

#define HI_ERR_VENC_INVALID_CHN_ID 0xA0088002
#define HI_ERR_VENC_ILLEGAL_PARAM 0xA0088003
#define HI_ERR_VENC_EXIST 0xA0088004
#define HI_ERR_VENC_UNEXIST 0xA0088005
#define HI_ERR_VENC_NULL_PTR 0xA0088006
#define HI_ERR_VENC_NOT_CFG 0xA0088007
#define HI_ERR_VENC_NOT_SUPPORT 0xA0088008
#define HI_ERR_VENC_NOT_PERM 0xA0088009
#define HI_ERR_VENC_NO_MEM 0xA008800C
#define HI_ERR_VENC_NO_BUF 0xA008800D
#define HI_ERR_VENC_BUF_EMPTY 0xA008800E
#define HI_ERR_VENC_BUF_FULL 0xA008800F
#define HI_ERR_VENC_SYS_NOT_READY 0xA0088010
#define HI_ERR_VENC_BAD_ADDR 0xA0088011
#define HI_ERR_VENC_BUSY 0xA0088012

typedef hi_s32 hi_venc_chn;

typedef enum { HI_VENC_PIC_RECV_SINGLE = 0, HI_VENC_PIC_RECV_MULTI } hi_venc_pic_recv_mode;
typedef enum {
    HI_VENC_RC_MODE_H264_CBR = 1,
    HI_VENC_RC_MODE_H264_VBR,
    HI_VENC_RC_MODE_H264_AVBR,
    HI_VENC_RC_MODE_H264_QVBR,
    HI_VENC_RC_MODE_H264_CVBR,
    HI_VENC_RC_MODE_H264_FIXQP,
    HI_VENC_RC_MODE_H264_QPMAP,
    HI_VENC_RC_MODE_MJPEG_CBR,
    HI_VENC_RC_MODE_MJPEG_VBR,
    HI_VENC_RC_MODE_MJPEG_FIXQP,
    HI_VENC_RC_MODE_H265_CBR,
    HI_VENC_RC_MODE_H265_VBR
} hi_venc_rc_mode;
typedef enum { HI_VENC_GOP_MODE_NORMAL_P = 0 } hi_venc_gop_mode;
typedef enum { HI_VENC_SCENE_0 = 0, HI_VENC_SCENE_1, HI_VENC_SCENE_2 } hi_venc_scene_mode;

typedef struct {
    hi_u8 large_thumbnail_num;
    hi_video_size large_thumbnail_size[2];
} hi_venc_mpf_cfg;

typedef struct {
    hi_bool dcf_en;
    hi_venc_mpf_cfg mpf_cfg;
    hi_venc_pic_recv_mode recv_mode;
} hi_venc_jpeg_attr;

typedef struct {
    hi_bool rcn_ref_share_buf_en;
} hi_venc_h26x_attr;

typedef struct {
    hi_payload_type type;
    hi_u32 max_pic_width;
    hi_u32 max_pic_height;
    hi_u32 buf_size;
    hi_u32 profile;
    hi_bool is_by_frame;
    hi_u32 pic_width;
    hi_u32 pic_height;
    union {
        hi_venc_h26x_attr h264_attr;
        hi_venc_h26x_attr h265_attr;
        hi_venc_jpeg_attr jpeg_attr;
    };
} hi_venc_attr;

typedef struct {
    hi_u32 gop;
    hi_u32 stats_time;
    hi_u32 src_frame_rate;
    hi_u32 dst_frame_rate;
    hi_u32 bit_rate;
} hi_venc_cbr;

typedef struct {
    hi_u32 gop;
    hi_u32 stats_time;
    hi_u32 src_frame_rate;
    hi_u32 dst_frame_rate;
    hi_u32 max_bit_rate;
} hi_venc_vbr;

typedef struct {
    hi_venc_rc_mode rc_mode;
    union {
        hi_venc_cbr h264_cbr;
        hi_venc_vbr h264_vbr;
        hi_venc_cbr h265_cbr;
        hi_venc_vbr h265_vbr;
    };
} hi_venc_rc_attr;

typedef struct {
    hi_s32 ip_qp_delta;
} hi_venc_gop_normal_p;

typedef struct {
    hi_venc_gop_mode gop_mode;
    union {
        hi_venc_gop_normal_p normal_p;
    };
} hi_venc_gop_attr;

typedef struct {
    hi_venc_attr venc_attr;
    hi_venc_rc_attr rc_attr;
    hi_venc_gop_attr gop_attr;
} hi_venc_chn_attr;

typedef struct {
    hi_s32 recv_pic_num; /* -1: any number */
} hi_venc_start_param;

/* A file, or a part of one, in memory of the device. */
typedef struct {
    hi_u64 phys_addr;
    hi_u8 *addr;
    hi_u32 len;
    hi_u64 pts;
    hi_bool is_frame_end;
    hi_u32 offset;
    hi_u64 input_addr; /* the picture that it was */
} hi_venc_pack;

typedef struct {
    hi_venc_pack *pack;
    hi_u32 pack_cnt;
    hi_u32 seq;
} hi_venc_stream;

typedef struct {
    hi_u32 ref_type;
} hi_venc_stream_info;

typedef struct {
    hi_u32 left_pics;
    hi_u32 left_stream_bytes;
    hi_u32 left_stream_frames;
    hi_u32 cur_packs;
    hi_u32 left_recv_pics;
    hi_u32 left_enc_pics;
    hi_bool is_jpeg_snap_end;
    hi_u64 release_pic_pts;
    hi_venc_stream_info stream_info;
} hi_venc_chn_status;

/* The quality is qfactor's, 1 to 100. The tables are kept and given back, and change nothing. */
typedef struct {
    hi_u32 qfactor;
    hi_u8 y_qt[HI_VENC_JPEG_QT_COEF_NUM];
    hi_u8 cb_qt[HI_VENC_JPEG_QT_COEF_NUM];
    hi_u8 cr_qt[HI_VENC_JPEG_QT_COEF_NUM];
    hi_u32 mcu_per_ecs;
} hi_venc_jpeg_param;

typedef struct {
    hi_u32 priority;
} hi_venc_chn_param;

typedef struct {
    hi_u32 reserved[64];
} hi_venc_rc_param;

ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_create_chn(hi_venc_chn chn, const hi_venc_chn_attr *attr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_destroy_chn(hi_venc_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_start_chn(hi_venc_chn chn, const hi_venc_start_param *recv_param);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_stop_chn(hi_venc_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_query_status(hi_venc_chn chn, hi_venc_chn_status *status);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_get_jpeg_param(hi_venc_chn chn, hi_venc_jpeg_param *jpeg_param);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_set_jpeg_param(hi_venc_chn chn, const hi_venc_jpeg_param *jpeg_param);
/* Room that is enough for the picture's file. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_get_jpege_predicted_size(const hi_video_frame_info *frame,
                                                                const hi_venc_jpeg_param *jpeg_param,
                                                                hi_u32 *output_size);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_send_frame(hi_venc_chn chn, const hi_video_frame_info *frame, hi_s32 milli_sec);
/* Into memory of the program's. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_send_jpege_frame(hi_venc_chn chn, const hi_video_frame_info *frame,
                                                        const hi_img_stream *stream, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_get_stream(hi_venc_chn chn, hi_venc_stream *stream, hi_s32 milli_sec);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_release_stream(hi_venc_chn chn, hi_venc_stream *stream);
/* A descriptor for hi_mpi_sys_ctl_epoll; -1 when it fails. */
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_get_fd(hi_venc_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_close_fd(hi_venc_chn chn);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_set_chn_param(hi_venc_chn chn, const hi_venc_chn_param *chn_param);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_set_scene_mode(hi_venc_chn chn, const hi_venc_scene_mode scene_mode);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_get_rc_param(hi_venc_chn chn, hi_venc_rc_param *rc_param);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_venc_set_rc_param(hi_venc_chn chn, const hi_venc_rc_param *rc_param);

#ifdef __cplusplus
}
#endif

#endif
